"""The connection to the session: its socket, its messages, and memory that travels as file descriptors.

There is one connection for each process. It is opened by the first call and stays open, because a session ends some
time after its last connection. Nothing here knows Arrow. The protocol is documented in `docs/client-protocol.md`.
"""

from __future__ import annotations

import json
import os
import platform
import select
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from ._errors import OnrushError

#: The first bytes of a connection: they tell a client of this protocol from one of the session's internal protocol.
MAGIC = b"ONRUSHC1"
#: Bytes of the largest message.
LARGEST = 16 << 20
#: Seconds that a session has to listen, or to answer the first message.
PATIENCE = 30.0
#: Milliseconds between two looks at signals.
PAUSE = 200
#: Seconds that a session has to confirm an interrupt.
INTERRUPT_PATIENCE = 5.0


class Column(NamedTuple):
    """A column as `names` lists it, with its type as Rust cells spell it."""

    name: str
    type: str


class FrameInfo(NamedTuple):
    """A frame as `names` lists it. `rows` is None while nobody has counted them."""

    name: str
    columns: list[Column]
    rows: int | None
    published: bool


class Lost(Exception):
    """The other side has closed the connection before it answered."""


def session_socket() -> Path:
    """The path of the session's socket, by the rules of `onrush-session`."""
    given = os.environ.get("ONRUSH_SESSION")
    return Path(given) if given else runtime_dir() / "session.sock"


def runtime_dir() -> Path:
    given = os.environ.get("ONRUSH_RUNTIME_DIR")
    if given:
        return Path(given)
    of_user = os.environ.get("XDG_RUNTIME_DIR")
    if of_user:
        return Path(of_user) / "onrush"
    return Path(os.environ.get("TMPDIR") or "/tmp") / f"onrush-{os.geteuid()}"


def program(name: str) -> str | None:
    """The path of a program of Onrush: in `$ONRUSH_PROGRAMS`, next to this Python, or on PATH."""
    folders = [os.environ.get("ONRUSH_PROGRAMS"), os.path.dirname(sys.executable), os.path.join(sys.prefix, "bin")]
    for folder in folders:
        if folder:
            path = os.path.join(folder, name)
            if os.access(path, os.X_OK) and os.path.isfile(path):
                return path
    return shutil.which(name)


class Session:
    """A connection that is opened when it is needed, by one thread at a time."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._socket: socket.socket | None = None
        self._process = 0
        #: What the session said of itself: its version, its process and its engine.
        self.hello: dict[str, Any] = {}

    def request(self, message: dict[str, Any], memory: int | None = None) -> tuple[dict[str, Any], int | None]:
        """Sends a request, with a file descriptor if there is one, and returns the reply with its descriptor.

        A session that ended since the last request is started again, once. `KeyboardInterrupt` stops what the session
        does for this process.
        """
        with self.lock:
            for attempt in (0, 1):
                is_new = self._connect()
                try:
                    reply, descriptor = self._exchange(message, memory)
                    break
                except (Lost, ConnectionError) as error:
                    if is_new or attempt:
                        raise _lost(error) from error
        return checked(reply, descriptor)

    def request_again(self, session: int | None, message: dict[str, Any]) -> tuple[dict[str, Any], int | None] | None:
        """Sends a request to a session that was asked before, by the connection that is open.

        Nothing is opened or started: without a connection to the session of this process number it returns None.
        """
        with self.lock:
            if self._socket is None or self._process != os.getpid() or session != self.hello.get("pid"):
                return None
            try:
                reply, descriptor = self._exchange(message, None)
            except (Lost, OSError):
                return None
        return checked(reply, descriptor)

    def _exchange(self, message: dict[str, Any], memory: int | None) -> tuple[dict[str, Any], int | None]:
        """Sends a request by the open connection, which is closed if that fails."""
        assert self._socket is not None
        try:
            return exchange(self._socket, message, memory)
        except KeyboardInterrupt:
            self._interrupt()
            raise
        except BaseException:
            # Half of a message may be on its way: nothing that follows could be read.
            self._drop()
            raise

    def close(self) -> None:
        """Closes the connection. The next request opens another one."""
        with self.lock:
            self._drop()

    def forget(self) -> None:
        """After a fork: the parent's connection and its lock are not this process's."""
        self.lock = threading.RLock()
        self._drop()

    def _connect(self) -> bool:
        """Opens a connection if there is none. Returns whether it is new."""
        if self._socket is not None and self._process == os.getpid():
            return False
        self._drop()
        path = session_socket()
        try:
            opened = open_socket(path)
        except (FileNotFoundError, ConnectionRefusedError):
            start(path)
            opened = _wait_for(path)
        try:
            self.hello = _greet(opened)
        except BaseException:
            opened.close()
            raise
        self._socket, self._process = opened, os.getpid()
        return True

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _interrupt(self) -> None:
        """Stops the request that runs, from a second connection, which then takes the place of the first."""
        before, self._socket = self._socket, None
        try:
            opened = open_socket(session_socket())
            try:
                self.hello = _greet(opened, INTERRUPT_PATIENCE)
                opened.settimeout(INTERRUPT_PATIENCE)
                exchange(opened, {"op": "interrupt"})
                opened.settimeout(None)
            except BaseException:
                opened.close()
                raise
            self._socket, self._process = opened, os.getpid()
        except (OSError, Lost, OnrushError, KeyboardInterrupt):
            # Closing the connection cancels its request too.
            pass
        finally:
            if before is not None:
                before.close()


def _lost(error: BaseException) -> OnrushError:
    return OnrushError(
        "the session ended while it was asked",
        ["call again: a new session is started, and what was published has to be published again"],
        [str(error)] if str(error) else (),
        error_class="environment",
        code="session-lost",
    )


def checked(reply: dict[str, Any], descriptor: int | None) -> tuple[dict[str, Any], int | None]:
    """Raises the error of a reply that is one."""
    if reply.get("ok") is True:
        return reply, descriptor
    if descriptor is not None:
        os.close(descriptor)
    raise OnrushError.of(reply.get("error") or {})


def open_socket(path: Path) -> socket.socket:
    """Connects to a socket of this user, in a folder that only this user can write to.

    Whoever listens there is asked for his user number too: the path may have been exchanged since it was looked at.
    """
    folder = path.parent
    about = os.stat(folder)
    if about.st_uid not in (os.geteuid(), 0) or (about.st_mode & 0o022 and not about.st_mode & stat.S_ISVTX):
        raise OnrushError(
            f"the folder {folder} of the session's socket is not private: its owner is user {about.st_uid}, "
            f"its mode is {stat.S_IMODE(about.st_mode):o}",
            [f"chmod 700 {folder}, or set ONRUSH_RUNTIME_DIR to a folder of this user alone"],
            error_class="environment",
            code="not-private",
        )
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened.connect(os.fspath(path))
        _, user, _ = struct.unpack("3i", opened.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if user != os.geteuid():
            raise OnrushError(
                f"another user, number {user}, listens at {path}",
                ["set ONRUSH_RUNTIME_DIR to a folder of this user alone"],
                error_class="environment",
                code="not-private",
            )
    except BaseException as error:
        opened.close()
        if isinstance(error, OSError) and "too long" in str(error):
            raise OnrushError(
                f"the path of the session's socket has more than 107 bytes: {path}",
                ["set ONRUSH_RUNTIME_DIR to a folder with a shorter path"],
                error_class="environment",
                code="long-path",
            ) from error
        raise
    return opened


def start(path: Path) -> None:
    """Starts a session. It goes to the background and outlives this process."""
    found = program("onrush-session")
    if found is None:
        raise OnrushError(
            "no session is running, and the program `onrush-session` was not found",
            [
                "pip install onrush-kernel puts it next to Python",
                "ONRUSH_PROGRAMS names the folder of Onrush's programs",
            ],
            [f"the socket would be {path}"],
            error_class="environment",
            code="no-session",
        )
    # Not a pipe: the session in the background would keep it open.
    with tempfile.TemporaryFile() as errors:
        started = subprocess.run(
            [found, "serve"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, timeout=PATIENCE
        )
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip()
    if started.returncode != 0:
        raise OnrushError(
            f"{found} ended with status {started.returncode}",
            ["run `onrush session` in a terminal to see what it says"],
            said.splitlines()[-5:],
            error_class="environment",
            code="no-session",
        )


def _wait_for(path: Path) -> socket.socket:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return open_socket(path)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            if time.monotonic() > until:
                raise OnrushError(
                    f"the session did not listen at {path} after {PATIENCE:.0f} s",
                    ["run `onrush session` in a terminal to see what it says"],
                    [str(error)],
                    error_class="environment",
                    code="no-session",
                ) from error
            time.sleep(0.02)


def _greet(opened: socket.socket, patience: float = PATIENCE) -> dict[str, Any]:
    opened.settimeout(patience)
    try:
        opened.sendall(MAGIC)
        hello = {
            "op": "hello",
            "client": f"python {platform.python_version()}",
            "pid": os.getpid(),
            "notebook": os.environ.get("ONRUSH_NOTEBOOK") or None,
        }
        reply, descriptor = exchange(opened, hello)
    except socket.timeout as error:
        raise OnrushError(
            f"the session did not answer in {patience:.0f} s",
            ["`onrush status` says what it does; a stopped process continues with `kill -CONT`"],
            error_class="environment",
            code="session-lost",
        ) from error
    except (Lost, ConnectionError) as error:
        raise OnrushError(
            "the session does not speak the protocol of this package",
            ["end it with `onrush stop`, so that a session of the installed version is started"],
            error_class="environment",
            code="version",
        ) from error
    opened.settimeout(None)
    return checked(reply, descriptor)[0]


def exchange(
    opened: socket.socket, message: dict[str, Any], memory: int | None = None
) -> tuple[dict[str, Any], int | None]:
    """Sends one message and waits for its answer."""
    send(opened, message, memory)
    return receive(opened)


def send(opened: socket.socket, message: dict[str, Any], memory: int | None = None) -> None:
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    if len(body) > LARGEST:
        raise OnrushError(f"a request has at most {LARGEST} bytes, and this one has {len(body)}", code="too-large")
    whole = struct.pack("<I", len(body)) + body
    if memory is None:
        opened.sendall(whole)
    else:
        # The descriptor rides with the first byte.
        sent = socket.send_fds(opened, [whole], [memory])
        opened.sendall(whole[sent:])


def _wait(opened: socket.socket) -> None:
    """Waits for the first byte, with pauses in which Python sees signals that another thread has got."""
    timeout = opened.gettimeout()
    until = None if timeout is None else time.monotonic() + timeout
    poller = select.poll()
    poller.register(opened, select.POLLIN)
    while not poller.poll(PAUSE):
        if until is not None and time.monotonic() > until:
            raise socket.timeout("no answer")


def receive(opened: socket.socket) -> tuple[dict[str, Any], int | None]:
    descriptors: list[int] = []
    _wait(opened)
    try:
        # `socket.recv_fds` drops its flags: programs that this process starts would inherit the descriptors.
        head, control, flags, _ = opened.recvmsg(4, socket.CMSG_SPACE(8 * 4), socket.MSG_CMSG_CLOEXEC)
        for level, kind, data in control:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors += struct.unpack(f"{len(data) // 4}i", data[: len(data) // 4 * 4])
        if not head:
            raise Lost("the connection was closed")
        if flags & socket.MSG_CTRUNC:
            raise OnrushError(
                "a file descriptor of the session was lost: this process may have too many open files",
                ["delete frames that are not used, or raise the limit with `ulimit -n`"],
                error_class="environment",
                code="too-many-files",
            )
        head += _read(opened, 4 - len(head))
        (length,) = struct.unpack("<I", head)
        if length > LARGEST:
            raise Lost(f"a message of {length} bytes is announced, where {LARGEST} are allowed")
        reply = json.loads(_read(opened, length))
        if not isinstance(reply, dict):
            raise Lost("a message is not a JSON object")
    except BaseException:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    for descriptor in descriptors[1:]:
        os.close(descriptor)
    return reply, descriptors[0] if descriptors else None


def _read(opened: socket.socket, length: int) -> bytes:
    if length == 0:
        return b""
    data = bytearray(length)
    view, at = memoryview(data), 0
    while at < length:
        got = opened.recv_into(view[at:])
        if got == 0:
            raise Lost("the connection was closed within a message")
        at += got
    return bytes(data)


#: The connection of this process.
SESSION = Session()
os.register_at_fork(after_in_child=SESSION.forget)
