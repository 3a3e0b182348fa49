// The connection against a kernel that is made up: what is opened when, and what becomes of requests.

import assert from "node:assert/strict";
import test from "node:test";
import { Connection, Failure } from "../ts/connection.ts";
import type { Comm, CommMessage, Kernel, SessionContext, Signal } from "../ts/session.ts";

class FakeSignal<T> implements Signal<T> {
    readonly slots = new Set<(sender: unknown, value: T) => void>();
    connect(slot: (sender: unknown, value: T) => void): boolean {
        this.slots.add(slot);
        return true;
    }
    disconnect(slot: (sender: unknown, value: T) => void): boolean {
        return this.slots.delete(slot);
    }
    emit(value: T): void {
        for (const slot of [...this.slots]) slot(this, value);
    }
}

class FakeComm implements Comm {
    isDisposed = false;
    readonly said: { kind: string; data: unknown }[] = [];
    onMsg: (message: CommMessage) => void = () => {};
    onClose: (message: CommMessage) => void = () => {};
    constructor(readonly commId: string) {}
    open(data?: object): void {
        this.said.push({ kind: "open", data });
    }
    send(data: object): void {
        this.said.push({ kind: "send", data });
    }
    close(data?: object): void {
        this.said.push({ kind: "close", data });
        this.isDisposed = true;
    }
}

class FakeSession implements SessionContext {
    comms: FakeComm[] = [];
    isDisposed = false;
    kernelChanged = new FakeSignal<unknown>();
    statusChanged = new FakeSignal<string>();
    connectionStatusChanged = new FakeSignal<string>();
    kernel: Kernel & { status: string; connectionStatus: string } = {
        id: "k",
        status: "idle",
        connectionStatus: "connected",
        isDisposed: false,
        handleComms: true,
        createComm: () => {
            const comm = new FakeComm(`c${this.comms.length}`);
            this.comms.push(comm);
            return comm;
        },
    };
    get session() {
        return { kernel: this.kernel };
    }
    status(status: string): void {
        this.kernel.status = status;
        this.statusChanged.emit(status);
    }
}

const answer = (data: Record<string, unknown>): CommMessage => ({ content: { data } });

test("requests are answered by their number, in any order", async () => {
    const session = new FakeSession();
    const connection = new Connection(session, "onrush.test", () => ({ frame: 7 }), {});
    await Promise.resolve();
    const [comm] = session.comms;
    assert.deepEqual(comm?.said, [{ kind: "open", data: { frame: 7 } }]);
    const first = connection.request("get_schema", { column_indices: [0] });
    const second = connection.request("get_state");
    assert.deepEqual(comm?.said[1]?.data, { id: 1, method: "get_schema", params: { column_indices: [0] } });
    comm?.onMsg(answer({ id: 2, result: "b" }));
    comm?.onMsg(answer({ id: 1, error: { message: "no such column" } }));
    assert.deepEqual(await second, { result: "b", buffers: [] });
    await assert.rejects(first, (why: Failure) => why instanceof Failure && why.message === "no such column");
});

test("a restart loses the comm and opens another one", async () => {
    const session = new FakeSession();
    const log: string[] = [];
    const events = { opened: () => log.push("opened"), closed: (reason: string) => log.push(`closed ${reason}`) };
    const connection = new Connection(session, "onrush.test", () => ({}), events);
    await Promise.resolve();
    const open = connection.request("get_state");
    session.status("restarting");
    await assert.rejects(open, /the kernel is gone/);
    assert.equal(connection.isOpen, false);
    session.status("starting");
    session.status("idle");
    assert.deepEqual(log, ["opened", "closed ", "opened"]);
    assert.equal(session.comms.length, 2);
});

test("a kernel that closes the comm is not asked again before it is another one", async () => {
    const session = new FakeSession();
    const log: string[] = [];
    new Connection(session, "onrush.test", () => ({}), { closed: reason => log.push(reason) });
    await Promise.resolve();
    session.comms[0]?.onClose(answer({ reason: "gone" }));
    session.status("busy");
    session.status("idle");
    assert.equal(session.comms.length, 1);
    assert.deepEqual(log, ["gone"]);
    session.status("restarting");
    session.status("idle");
    assert.equal(session.comms.length, 2);
});

test("disposing closes the comm and forgets the session", async () => {
    const session = new FakeSession();
    const connection = new Connection(session, "onrush.test", () => ({}), {});
    await Promise.resolve();
    connection.dispose();
    connection.dispose();
    assert.deepEqual(
        session.comms[0]?.said.map(one => one.kind),
        ["open", "close"],
    );
    assert.equal(session.statusChanged.slots.size, 0);
});

test("an answer brings its buffers", async () => {
    const session = new FakeSession();
    const connection = new Connection(session, "onrush.test", () => ({}), {});
    await Promise.resolve();
    const asked = connection.request("raster", { width: 2 });
    const bytes = Uint8Array.of(9, 1, 2, 3);
    session.comms[0]?.onMsg({
        content: { data: { id: 1, result: { nodes: 5 } } },
        buffers: [bytes.subarray(1), bytes.buffer],
    });
    const { result, buffers } = await asked;
    assert.deepEqual(result, { nodes: 5 });
    assert.deepEqual([buffers[0]?.byteLength, buffers[0]?.getUint8(0), buffers[1]?.getUint8(0)], [3, 1, 9]);
});

test("a request without a kernel is refused", async () => {
    const session = new FakeSession();
    session.kernel.connectionStatus = "disconnected";
    const connection = new Connection(session, "onrush.test", () => ({}), {});
    await Promise.resolve();
    await assert.rejects(connection.request("get_state"), (why: Failure) => why.message === "no kernel");
});
