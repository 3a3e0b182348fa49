// A renderer's connection to the kernel of its notebook: one comm, opened when there is a kernel, with requests and
// answers.

import type { Comm, CommMessage, Kernel, SessionContext } from "./session.ts";

/** The reason why a request has no answer. */
export class Failure extends Error {}

/** An answer of the kernel: the `result`, and the binary buffers that came with it. */
export interface Reply {
    result: unknown;
    buffers: DataView[];
}

interface Waiting {
    resolve(reply: Reply): void;
    reject(why: Failure): void;
}

export interface Events {
    /** A comm is open: the first time, and again after a restart of the kernel or a lost connection. */
    opened?(): void;
    /** The comm is closed. `reason` is the message of the kernel, or empty. */
    closed?(reason: string): void;
    /** A message that is not an answer. */
    message?(data: Record<string, unknown>, buffers: DataView[]): void;
}

/**
 * Answers have the `id` of their request, and `result` or `error: {message}`. A comm that the kernel closed is opened again only
 * after a restart of the kernel.
 */
export class Connection {
    private comm: Comm | null = null;
    private kernel: Kernel | null = null;
    private refused: Kernel | null = null;
    private readonly waiting = new Map<number, Waiting>();
    private last = 0;
    private disposed = false;
    private readonly check = () => this.update();

    constructor(
        private readonly session: SessionContext,
        private readonly target: string,
        private readonly openData: () => object,
        private readonly events: Events,
    ) {
        session.kernelChanged.connect(this.check);
        session.statusChanged.connect(this.check);
        session.connectionStatusChanged.connect(this.check);
        // After the creator of the connection has stored it.
        queueMicrotask(this.check);
    }

    get isOpen(): boolean {
        return this.comm !== null;
    }

    /** The answer. Rejected with a `Failure` if the kernel refuses, or if it is gone. */
    request(method: string, params: object = {}): Promise<Reply> {
        const comm = this.comm;
        if (!comm) return Promise.reject(new Failure("no kernel"));
        const id = ++this.last;
        return new Promise((resolve, reject) => {
            this.waiting.set(id, { resolve, reject });
            comm.send({ id, method, params });
        });
    }

    /** Without an answer. */
    send(data: object): void {
        this.comm?.send(data);
    }

    dispose(): void {
        if (this.disposed) return;
        this.disposed = true;
        if (!this.session.isDisposed) {
            this.session.kernelChanged.disconnect(this.check);
            this.session.statusChanged.disconnect(this.check);
            this.session.connectionStatusChanged.disconnect(this.check);
        }
        const comm = this.comm;
        this.forget("the output is gone");
        if (comm && !comm.isDisposed && this.kernel?.connectionStatus === "connected") comm.close({});
    }

    private update(): void {
        if (this.disposed) return;
        const kernel = this.session.session?.kernel ?? null;
        const dead = !kernel || kernel.isDisposed || ["restarting", "autorestarting", "dead"].includes(kernel.status);
        // A restarted kernel is the same object, and has lost its comms.
        if (dead) this.refused = null;
        if (this.comm && (dead || kernel !== this.kernel || this.comm.isDisposed)) this.lose("");
        if (!dead && !this.comm && kernel !== this.refused && kernel.handleComms) this.open(kernel);
    }

    private open(kernel: Kernel): void {
        if (kernel.connectionStatus !== "connected" || kernel.status === "unknown" || kernel.status === "starting")
            return;
        const comm = kernel.createComm(this.target);
        comm.onMsg = message => this.receive(message);
        comm.onClose = message => {
            if (this.comm !== comm) return;
            this.refused = kernel;
            this.lose(String(message.content.data.reason ?? ""));
        };
        this.comm = comm;
        this.kernel = kernel;
        comm.open(this.openData());
        this.events.opened?.();
    }

    private receive(message: CommMessage): void {
        const data = message.content.data;
        const waiting = typeof data.id === "number" ? this.waiting.get(data.id) : undefined;
        const buffers = (message.buffers ?? []).map(one =>
            ArrayBuffer.isView(one) ? new DataView(one.buffer, one.byteOffset, one.byteLength) : new DataView(one),
        );
        if (!waiting) {
            this.events.message?.(data, buffers);
            return;
        }
        this.waiting.delete(data.id as number);
        const error = data.error as { message?: string } | undefined;
        if (error) waiting.reject(new Failure(String(error.message ?? "the kernel gave no reason")));
        else waiting.resolve({ result: data.result, buffers });
    }

    private lose(reason: string): void {
        this.forget("the kernel is gone");
        this.events.closed?.(reason);
    }

    private forget(why: string): void {
        this.comm = null;
        const waiting = [...this.waiting.values()];
        this.waiting.clear();
        for (const one of waiting) one.reject(new Failure(why));
    }
}
