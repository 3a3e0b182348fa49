"""Drives `python -m onrush.worker` as the Jupyter kernel does: cells as lines of JSON, outputs as lines of JSON."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "kernel/python"
PATIENCE = 60


@dataclass
class CellResult:
    """Everything that one cell sent."""

    messages: list = field(default_factory=list)
    seconds: float = 0.0

    @property
    def done(self) -> dict:
        return self.messages[-1]

    @property
    def ok(self) -> bool:
        return self.done["ok"]

    def text(self, name: str = "stdout") -> str:
        return "".join(m["text"] for m in self.messages if m["type"] == "stream" and m["name"] == name)

    @property
    def displays(self) -> list[dict]:
        return [m for m in self.messages if m["type"] == "display"]

    @property
    def value(self) -> str:
        """text/plain of the last display."""
        return self.displays[-1]["data"]["text/plain"]

    @property
    def error(self) -> dict:
        [error] = [m for m in self.messages if m["type"] == "error"]
        return error


class WorkerProcess:
    """A worker and both ends of its pipes."""

    def __init__(self, python: str = sys.executable, options: tuple = (), **environment: str) -> None:
        ours, theirs = socket.socketpair()
        self.connection = ours
        merged = os.environ | {
            "ONRUSH_WORKER_FD": str(theirs.fileno()),
            "ONRUSH_NOTEBOOK": "note-1",
            "PYTHONPATH": str(PACKAGE),
        }
        merged.pop("MPLBACKEND", None)
        self.process = subprocess.Popen(
            [python, *options, "-m", "onrush.worker"],
            pass_fds=[theirs.fileno()],
            env=merged | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        theirs.close()
        #: What came by the pipes of standard output and error.
        self.pipes = {"stdout": b"", "stderr": b""}
        for name in self.pipes:
            threading.Thread(target=self._drain, args=[name], daemon=True).start()
        self.lines = ours.makefile("rb")
        self.number = 0

    def _drain(self, name: str) -> None:
        pipe = getattr(self.process, name)
        while data := pipe.read1(65536):
            self.pipes[name] += data

    def send(self, **message) -> None:
        self.connection.sendall(json.dumps(message).encode() + b"\n")

    def start(self, code: str, **options) -> None:
        self.number += 1
        cell = {"type": "execute", "id": self.number, "code": code, "name": f"In [{self.number}]"}
        self.send(**cell, **{"inputs": [], "outputs": [], "as": None, **options})

    def receive(self) -> dict:
        self.connection.settimeout(PATIENCE)
        line = self.lines.readline()
        assert line, f"the worker closed the connection: {self.pipes['stderr'].decode()}"
        return json.loads(line)

    def finish(self) -> CellResult:
        begun, messages = time.monotonic(), []
        while not messages or messages[-1]["type"] != "done":
            messages.append(self.receive())
        return CellResult(messages, time.monotonic() - begun)

    def run(self, code: str, **options) -> CellResult:
        self.start(code, **options)
        return self.finish()

    def ok(self, code: str, **options) -> CellResult:
        result = self.run(code, **options)
        assert result.ok, result.error
        return result

    def until_text(self, text: str) -> None:
        """Waits until a running cell has written a text."""
        seen = ""
        while text not in seen:
            message = self.receive()
            seen += message.get("text", "")

    def complete(self, code: str) -> dict:
        self.send(type="complete", id=99, code=code, cursor=len(code))
        message = self.receive()
        assert message["type"] == "matches" and message["id"] == 99
        return message

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def close(self) -> int:
        """Hangs up, as a Jupyter kernel that ends does, and waits for the end."""
        self.lines.close()
        self.connection.close()
        return self.process.wait(PATIENCE)
