"""A session for tests of the client: it speaks the protocol of `docs/client-protocol.md` and keeps published tables.

Tables are read and written by pyarrow, so that the layouts it answers with come from another system than the package.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import os
import socket
import threading
from pathlib import Path

import onrush._client as client
import pyarrow as pa


def seal(table: pa.Table) -> int:
    """An Arrow IPC file in a sealed memfd."""
    descriptor = os.memfd_create("fake", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    with pa.OSFile(f"/proc/self/fd/{descriptor}", "wb") as file:
        with pa.ipc.new_file(file, table.schema, options=pa.ipc.IpcWriteOptions(unify_dictionaries=True)) as writer:
            writer.write_table(table)
    fcntl.fcntl(descriptor, 1033, 0xF)
    return descriptor


def layout(descriptor: int) -> dict:
    """Where the buffers of a file lie, found by the addresses that pyarrow reads them at."""
    with open(f"/proc/self/fd/{descriptor}", "rb") as file:
        memory = pa.py_buffer(file.read())
    reader = pa.ipc.open_file(memory)
    batches = []
    for i in range(reader.num_record_batches):
        batch = reader.get_batch(i)
        nodes, buffers = [], []
        for column in batch.columns:
            nodes += nodes_of(column)
            for buffer in column.buffers():
                is_absent = buffer is None or buffer.size == 0
                buffers.append([0, 0] if is_absent else [buffer.address - memory.address, buffer.size])
        batches.append({"rows": batch.num_rows, "nodes": nodes, "buffers": buffers})
    dictionaries = any(pa.types.is_dictionary(field.type) for field in reader.schema)
    schema = base64.b64encode(reader.schema.serialize().to_pybytes()).decode()
    return {"schema": schema, "batches": batches, "dictionaries": dictionaries}


def nodes_of(array: pa.Array) -> list:
    kind, nodes = array.type, [[len(array), array.null_count]]
    if pa.types.is_struct(kind) or pa.types.is_union(kind):
        for i in range(kind.num_fields):
            nodes += nodes_of(array.field(i))
    elif pa.types.is_map(kind):
        entries = pa.StructArray.from_arrays([array.keys, array.items], names=["key", "value"])
        nodes += nodes_of(entries)
    elif pa.types.is_nested(kind) and not pa.types.is_run_end_encoded(kind):
        nodes += nodes_of(array.values)
    return nodes


class FakeSession:
    """Listens at a path and answers in threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.frames: dict[str, pa.Table] = {}
        #: Requests as they came, without those of other connections left out.
        self.requests: list[dict] = []
        self.connections: list[socket.socket] = []
        self.interrupted = threading.Event()
        #: Set to have the next request wait until it is interrupted.
        self.slow = False
        #: Whether columns are on a device, of which there is only a descriptor.
        self.has_device = False
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.talk, args=[connection], daemon=True).start()

    def talk(self, connection: socket.socket) -> None:
        try:
            if connection.recv(8, socket.MSG_WAITALL) != client.MAGIC:
                return
            while True:
                message, memory = client.receive(connection)
                self.requests.append(message)
                reply, answer = self.answer(message, memory)
                client.send(connection, reply, answer)
                for descriptor in (memory, answer):
                    if descriptor is not None:
                        os.close(descriptor)
        except (client.Lost, OSError, ValueError):
            connection.close()

    def answer(self, message: dict, memory):
        op = message["op"]
        if op == "hello":
            return {"ok": True, "version": "0.2.0", "pid": os.getpid(), "engine": "cpu"}, None
        if op == "interrupt":
            self.interrupted.set()
            return {"ok": True}, None
        if op == "names":
            described = [
                {
                    "name": name,
                    "columns": [{"name": f.name, "type": str(f.type)} for f in table.schema],
                    "rows": table.num_rows,
                    "published": True,
                }
                for name, table in self.frames.items()
                if not name.startswith("%")
            ]
            return {"ok": True, "names": described}, None
        if op == "publish":
            with open(f"/proc/self/fd/{memory}", "rb") as file:
                data = file.read()
            seals = fcntl.fcntl(memory, 1034)
            assert seals & 0xE == 0xE, seals
            reader = pa.ipc.open_file(data) if data.startswith(b"ARROW1") else pa.ipc.open_stream(data)
            self.frames[message["name"]] = reader.read_all()
            return {"ok": True, "rows": self.frames[message["name"]].num_rows, "columns": []}, None
        if op == "sql" and self.slow:
            self.slow = False
            self.interrupted.wait(20)
            return self.error("interrupted", "the query was interrupted"), None
        name = message.get("name")
        if op == "sql":
            # As much of SQL as the tests need.
            name = message["query"].rpartition(" ")[2]
        if name not in self.frames:
            return self.error("unknown-name", f"no frame has the name `{name}`", help="the names are `late`"), None
        if op == "unpublish":
            del self.frames[name]
            return {"ok": True}, None
        if op == "get_device":
            table = self.frames[name]
            if not self.has_device or message.get("id", id(table)) != id(table):
                return {"ok": True, "on_host": True}, None
            about = {"rows": table.num_rows, "bytes": table.num_rows * 8, "type": "i64", "device": "GPU"}
            return {"ok": True, "emulated": False, **about}, os.memfd_create("device")
        table = self.frames[name]
        named = id(table)
        if op == "sql" and message.get("name"):
            self.frames[message["name"]] = table
            return {"ok": True, "rows": table.num_rows, "columns": []}, None
        if message.get("columns") is not None:
            table = table.select(message["columns"])
        descriptor = seal(table)
        size = os.fstat(descriptor).st_size
        about = {"rows": table.num_rows, "bytes": size, "layout": layout(descriptor), "id": named}
        return {"ok": True, **about}, descriptor

    @staticmethod
    def error(code: str, message: str, help: str = "") -> dict:
        error = {"class": "plan", "code": code, "message": message, "labels": [], "help": help, "notes": ["a note"]}
        return {"ok": False, "error": error}

    def hang_up(self) -> None:
        """Closes every connection, as a session that ends does. It still listens."""
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self.connections = []

    def close(self) -> None:
        # A thread that waits in `accept` is not woken by `close`.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.hang_up()
        self.path.unlink(missing_ok=True)
