"""A Jupyter kernel of Onrush behind a Python notebook: it is spoken to by ZeroMQ, and ends with Python.

It needs jupyter_client and pyzmq, which every Python kernel of Jupyter has.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import time
import uuid
from typing import Any, Callable

from ._client import program
from ._errors import OnrushError, needed

#: Seconds for a kernel to answer its first message.
START = 60.0
#: Seconds that an interrupted cell has to end before its kernel is killed.
STOP = 15.0
#: Milliseconds between two looks at whether the process lives.
LOOK = 200


class KernelDied(Exception):
    """The process ended while a cell ran. It has the last lines that the process wrote.

    `began` is false if the process had ended before it took the cell.
    """

    def __init__(self, said: str, began: bool) -> None:
        super().__init__(said)
        self.began = began


class RustKernel:
    """One kernel process and its channels."""

    def __init__(self) -> None:
        zmq = needed("zmq", "%%onrush")
        connect = needed("jupyter_client.connect", "%%onrush")
        sessions = needed("jupyter_client.session", "%%onrush")
        found = program("onrush")
        if found is None:
            raise OnrushError(
                "the program `onrush` was not found",
                [
                    "pip install onrush-kernel puts it next to Python",
                    "ONRUSH_PROGRAMS names the folder of Onrush's programs",
                ],
                error_class="environment",
                code="no-program",
            )
        self._zmq = zmq
        self._folder = tempfile.mkdtemp(prefix="onrush-magic-")
        self._log = open(os.path.join(self._folder, "log"), "w+b", buffering=0)  # noqa: SIM115
        key = uuid.uuid4().hex.encode()
        file, ports = connect.write_connection_file(os.path.join(self._folder, "kernel.json"), key=key)
        self._session = sessions.Session(key=key, signature_scheme="hmac-sha256")
        environment = os.environ | {"JPY_PARENT_PID": str(os.getpid())}
        self.process = subprocess.Popen(
            [found, "kernel", "-f", file],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=environment,
            # Ctrl-C of a terminal is for Python, which passes it on.
            start_new_session=True,
        )
        self._owner = os.getpid()
        self._context = zmq.Context()
        identity = self._session.bsession
        self._shell, self._control, self._stdin = (
            self._socket(zmq.DEALER, ports[f"{name}_port"], identity) for name in ("shell", "control", "stdin")
        )
        self._iopub = self._socket(zmq.SUB, ports["iopub_port"], None)
        atexit.register(self.close)
        try:
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise

    def _socket(self, kind: int, port: int, identity: bytes | None) -> Any:
        socket = self._context.socket(kind)
        socket.linger = 0
        if identity is None:
            socket.subscribe(b"")
        else:
            socket.identity = identity
        socket.connect(f"tcp://127.0.0.1:{port}")
        return socket

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def said(self) -> list[str]:
        """The last lines that the process wrote outside of cells."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace").strip().splitlines()[-5:]

    def _wait_until_ready(self) -> None:
        """Asks until an answer is broadcast too: then no output of a cell is lost."""
        until = time.monotonic() + START
        while time.monotonic() < until:
            if not self.is_alive:
                raise OnrushError(
                    f"the Rust kernel ended with status {self.process.returncode}",
                    notes=self.said(),
                    code="kernel-died",
                )
            self._session.send(self._shell, "kernel_info_request", {})
            if self._iopub.poll(LOOK) and self._shell.poll(LOOK):
                for channel in (self._shell, self._iopub):
                    while channel.poll(50):
                        channel.recv_multipart()
                return
        raise OnrushError(f"the Rust kernel did not answer in {START:.0f} s", notes=self.said(), code="kernel-died")

    def execute(
        self, code: str, silent: bool, shown: Callable[[str, dict], None], ask: Any, timeout: float | None = None
    ) -> dict[str, Any]:
        """Runs a cell and returns its reply. `shown` gets what it sends; `ask` answers `input!`.

        `KeyboardInterrupt` and the end of the time interrupt the cell, which then ends with its own error.
        """
        content = {
            "code": code,
            "silent": False,
            "store_history": not silent,
            "user_expressions": {},
            "allow_stdin": not silent,
            "stop_on_error": True,
        }
        request = self._session.send(self._shell, "execute_request", content)["header"]["msg_id"]
        deadline = None if timeout is None else time.monotonic() + timeout
        stop: float | None = None
        reply: dict[str, Any] | None = None
        is_idle = began = False
        poller = self._zmq.Poller()
        for channel in (self._iopub, self._shell, self._stdin):
            poller.register(channel, self._zmq.POLLIN)
        while reply is None or not is_idle:
            try:
                ready = dict(poller.poll(LOOK))
                if self._stdin in ready:
                    message = self._receive(self._stdin)
                    if message["msg_type"] == "input_request":
                        value = ask(message["content"])
                        self._session.send(self._stdin, "input_reply", {"value": value}, parent=message)
                if self._iopub in ready:
                    message = self._receive(self._iopub)
                    if message["parent_header"].get("msg_id") == request:
                        began = True
                        kind, body = message["msg_type"], message["content"]
                        if kind == "status":
                            is_idle = body["execution_state"] == "idle"
                        else:
                            shown(kind, body)
                elif self._shell in ready:
                    message = self._receive(self._shell)
                    if message["parent_header"].get("msg_id") == request:
                        reply = message["content"]
                elif not ready and not self.is_alive:
                    raise KernelDied("\n".join(self.said()), began)
            except KeyboardInterrupt:
                if stop is not None:
                    # The second time.
                    self.kill()
                    raise
                self.interrupt()
                stop = time.monotonic() + STOP
            now = time.monotonic()
            if deadline is not None and now > deadline:
                self.interrupt()
                deadline, stop = None, now + STOP
            if stop is not None and now > stop:
                self.kill()
                raise KernelDied(f"it did not stop in {STOP:.0f} s and was killed", began)
        return reply

    def _receive(self, channel: Any) -> dict[str, Any]:
        _, parts = self._session.feed_identities(channel.recv_multipart())
        return self._session.deserialize(parts)

    def interrupt(self) -> None:
        self._session.send(self._control, "interrupt_request", {})

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Ends the process: by a message, then by signals. In a forked child nothing is done."""
        atexit.unregister(self.close)
        if os.getpid() != self._owner:
            return
        if self.is_alive:
            self._session.send(self._control, "shutdown_request", {"restart": False})
            for end in (lambda: None, self.process.terminate, self.process.kill):
                end()
                try:
                    self.process.wait(3)
                    break
                except subprocess.TimeoutExpired:
                    continue
        self._context.destroy(linger=0)
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)
