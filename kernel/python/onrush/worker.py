"""The process of a notebook's `%%python` cells: `python -m onrush.worker`, started by the Jupyter kernel.

Messages are lines of JSON on the socket `ONRUSH_WORKER_FD`. Cells run one after another in one namespace, which is the
module `__main__`. Standard output and error of Python travel as messages. What subprocesses and C code write goes to
the file descriptors 1 and 2, which the Jupyter kernel reads.
"""

from __future__ import annotations
import __future__ as futures

import ast
import asyncio
import builtins
import contextlib
import ctypes
import importlib.abc
import importlib.util
import inspect
import io
import json
import linecache
import os
import re
import select
import signal
import socket
import sys
import threading
import time
import tokenize
import traceback
import types
import uuid
from threading import get_ident
from typing import Any, Callable

from . import _display
from ._errors import OnrushError

#: Seconds that text waits for more.
DELAY = 0.05
#: Characters of a message with text.
PIECE = 1 << 15
#: Seconds that the process has to end after the Jupyter kernel has closed the connection.
GRACE = 2.0
RED, GREEN, DIM, BOLD, OFF = "\x1b[1;31m", "\x1b[1;32m", "\x1b[2m", "\x1b[1m", "\x1b[0m"


class Interrupts:
    """SIGINT raises `KeyboardInterrupt` in the user's code: not while a message is sent, and not between cells."""

    def __init__(self) -> None:
        self.is_running = False
        self._depth = 0
        self._is_pending = False
        self._main = threading.main_thread().ident
        signal.signal(signal.SIGINT, self._arrived)

    def _arrived(self, _number: int, _frame: Any) -> None:
        if self._depth:
            self._is_pending = True
        elif self.is_running:
            raise KeyboardInterrupt

    def __enter__(self) -> None:
        """Holds an interrupt back: half of a message would spoil all that follow."""
        if get_ident() == self._main:
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        if get_ident() != self._main:
            return
        self._depth -= 1
        if self._is_pending and not self._depth:
            self._is_pending = False
            if self.is_running:
                raise KeyboardInterrupt


class Output:
    """Sends messages. Text is collected for a moment, in the order in which it was written to both streams.

    At most `PIECE` characters wait; the writer of more waits until the Jupyter kernel has read them.
    """

    def __init__(self, connection: socket.socket, interrupts: Interrupts) -> None:
        self._connection = connection
        self._interrupts = interrupts
        self._lock = threading.RLock()
        self._name = "stdout"
        self._text: list[str] = []
        self._length = 0
        self._has_text = threading.Event()
        #: False in a forked child: its output goes to the file descriptors.
        self.is_own = True
        threading.Thread(target=self._flush_soon, daemon=True, name="onrush-output").start()
        os.register_at_fork(after_in_child=self._forked)

    def write(self, name: str, text: str) -> None:
        if not self.is_own:
            with contextlib.suppress(OSError):
                os.write(1 if name == "stdout" else 2, text.encode(errors="backslashreplace"))
            return
        with self._interrupts, self._lock:
            if name != self._name:
                self._flush()
                self._name = name
            self._text.append(text)
            self._length += len(text)
            if self._length >= PIECE:
                self._flush()
            elif not self._has_text.is_set():
                self._has_text.set()

    def send(self, message: dict[str, Any]) -> None:
        """Sends a message after the text before it."""
        if not self.is_own:
            return
        # Half of a surrogate pair is not UTF-8, and no JSON for the Jupyter kernel.
        line = json.dumps(message, default=str, ensure_ascii=False).encode(errors="replace") + b"\n"
        with self._interrupts, self._lock:
            self._flush()
            self._connection.sendall(line)

    def flush(self) -> None:
        if self.is_own:
            with self._interrupts, self._lock:
                self._flush()

    def _flush(self) -> None:
        if self._text:
            text, self._text, self._length = "".join(self._text), [], 0
            text = text.encode(errors="backslashreplace").decode()
            self._has_text.clear()
            for at in range(0, len(text), PIECE):
                message = {"type": "stream", "name": self._name, "text": text[at : at + PIECE]}
                self._connection.sendall(json.dumps(message).encode() + b"\n")

    def _flush_soon(self) -> None:
        while True:
            self._has_text.wait()
            time.sleep(DELAY)
            try:
                self.flush()
            except OSError:
                return

    def _forked(self) -> None:
        self.is_own = False
        self._lock = threading.RLock()
        self._text, self._length = [], 0


class Stream(io.TextIOBase):
    """`sys.stdout` and `sys.stderr` of cells."""

    encoding = "utf-8"
    errors = "backslashreplace"
    newlines = None

    def __init__(self, name: str, output: Output) -> None:
        self.name = f"<{name}>"
        self._stream = name
        self._output = output
        #: For code that writes bytes.
        self.buffer = Bytes(self)

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if text:
            self._output.write(self._stream, text)
        return len(text)

    def flush(self) -> None:
        self._output.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        """The file descriptor that subprocesses write to."""
        return 1 if self._stream == "stdout" else 2


class Bytes(io.RawIOBase):
    """The binary side of a stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        data = bytes(data)
        self._stream.write(data.decode(errors="backslashreplace"))
        return len(data)

    def flush(self) -> None:
        if not self.closed:
            self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()


class AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function after a module was imported for the first time: packages that nobody uses cost nothing."""

    def __init__(self, hooks: dict[str, Callable[[Any], None]]) -> None:
        self._hooks = hooks
        self._busy: set[str] = set()

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name not in self._hooks or name in self._busy:
            return None
        self._busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy.discard(name)
        if spec is None or spec.loader is None:
            return None
        hook, execute = self._hooks.pop(name), spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            try:
                hook(module)
            except Exception as error:
                sys.stderr.write(f"{name} is not set up for `%%python` cells: {type(error).__name__}: {error}\n")

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


class Handle:
    """What `display(..., display_id=True)` returns."""

    def __init__(self, worker: Worker, display_id: str) -> None:
        self._worker = worker
        self.display_id = display_id

    def update(self, value: Any, **options: Any) -> None:
        """Shows another value in the place of the one before."""
        self._worker.show(value, display_id=self.display_id, update=True, **options)

    def display(self, value: Any, **options: Any) -> None:
        self._worker.show(value, display_id=self.display_id, **options)


class Worker:
    """Runs cells."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._interrupts = Interrupts()
        self._output = Output(connection, self._interrupts)
        self._notebook = os.environ.get("ONRUSH_NOTEBOOK", "")
        self._flags = 0
        self._cells: set[str] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._published: set[str] = set()
        self.main = types.ModuleType("__main__")
        self.main.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = self.main
        sys.stdout = Stream("stdout", self._output)  # type: ignore[assignment]
        sys.stderr = Stream("stderr", self._output)  # type: ignore[assignment]
        self._lines = connection.makefile("rb")
        builtins.input = self.ask  # type: ignore[assignment]
        builtins.display = self.display_all  # type: ignore[attr-defined]
        sys.argv = [""]
        hooks = {
            "IPython": self._use_ipython,
            "getpass": self._use_getpass,
            "matplotlib": _use_backend,
            "plotly.io": _use_renderer,
        }
        sys.meta_path.insert(0, AfterImport(hooks))

    def run(self) -> None:
        """Answers messages until the Jupyter kernel closes the connection."""
        threading.Thread(target=self._end_with_the_kernel, daemon=True, name="onrush-watch").start()
        with self._lines:
            for line in self._lines:
                message = json.loads(line)
                kind = message.get("type")
                if kind == "execute":
                    self.execute(message)
                elif kind == "complete":
                    self.complete(message)
                elif kind == "release":
                    self.release(message.get("names") or [])

    def ask(self, prompt: object = "", password: bool = False) -> str:
        """`input` of cells: the Jupyter kernel asks its front end."""
        if threading.current_thread() is not threading.main_thread() or not self._output.is_own:
            raise OnrushError("`input` asks only in the main thread of a cell", ["ask before the thread starts"])
        self._output.send({"type": "input", "prompt": str(prompt), "password": password})
        line = self._lines.readline()
        text = json.loads(line).get("text") if line else None
        if text is None:
            raise EOFError("the front end cannot ask for input")
        return str(text)

    def execute(self, cell: dict[str, Any]) -> None:
        """Runs a cell, publishes its outputs, and says how it ended."""
        name, code = cell.get("name") or f"cell {cell.get('id')}", cell["code"]
        ok, outputs = True, []
        try:
            self._interrupts.is_running = True
            try:
                self._take(cell.get("inputs") or [], cell.get("as"))
                self._run(code, name)
                outputs = self._give(cell.get("outputs") or [])
            finally:
                self._show_figures()
                self._interrupts.is_running = False
        except SystemExit as error:
            self._interrupts.is_running = False
            if error.code is not None and not (isinstance(error.code, int) and int(error.code) == 0):
                ok = False
                self._fail("SystemExit", _said(error.code), None, [])
        except BaseException as error:
            self._interrupts.is_running = False
            ok = False
            self._report(error, name)
        self._flush_all()
        if not ok:
            self.release([private for _, private in outputs])
            outputs = []
        self._output.send({"type": "done", "id": cell.get("id"), "ok": ok, "outputs": outputs})

    def _take(self, names: list[str], form: str | None) -> None:
        """Makes variables of frames."""
        import onrush

        for name in names:
            frame = onrush.get(name)
            setattr(self.main, name, _as(frame, form))

    def _give(self, names: list[str]) -> list[list[str]]:
        """Publishes variables for the Jupyter kernel: all, or none if one is not a table."""
        given: list[list[str]] = []
        try:
            for name in names:
                given.append([name, self._give_one(name)])
        except BaseException:
            self.release([private for _, private in given])
            raise
        return given

    def _give_one(self, name: str) -> str:
        import onrush

        if name not in self.main.__dict__:
            raise OnrushError(
                f"the cell has no variable `{name}`, which `-o {name}` asks for", [f"assign a table to `{name}`"]
            )
        private = f"%python:{self._notebook}:{name}"
        try:
            onrush.publish(self.main.__dict__[name], private)
        except OnrushError as error:
            if error.code != "not-a-table":
                raise
            message = error.message.replace("`publish` takes", f"`-o {name}` takes")
            raise OnrushError(message, error.help, error.notes, code=error.code) from None
        self._published.add(private)
        return private

    def release(self, names: list[str]) -> None:
        """Forgets what was published, once the Jupyter kernel has it."""
        import onrush

        for name in names:
            self._published.discard(name)
            try:
                onrush.unpublish(name)
            except (OnrushError, OSError):
                # A session that was restarted knows nothing of it.
                continue

    def _run(self, code: str, name: str) -> None:
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        self._cells.add(name)
        tree = ast.parse(code, name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
        if tree.body:
            self._evaluate(self._compiled(tree, name, "exec"))
        if last is not None:
            value = self._evaluate(self._compiled(last, name, "eval"))
            if value is not None and not _ends_with_semicolon(code):
                self.main.__dict__["_"] = value
                self.show(value)

    def _compiled(self, tree: Any, name: str, mode: str) -> types.CodeType:
        flags = self._flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        compiled = compile(tree, name, mode, flags=flags, dont_inherit=True)
        for feature in futures.all_feature_names:
            # `from __future__ import` holds in later cells too.
            self._flags |= compiled.co_flags & getattr(futures, feature).compiler_flag
        return compiled

    def _evaluate(self, code: types.CodeType) -> Any:
        value = eval(code, self.main.__dict__)
        if code.co_flags & inspect.CO_COROUTINE:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                asyncio.set_event_loop(self._loop)
            value = self._loop.run_until_complete(value)
        return value

    def display(self, value: Any) -> None:
        self.show(value)

    def display_all(self, *values: Any, display_id: Any = None, **options: Any) -> Handle | None:
        """`display` of cells: shows values as the last expression of a cell is shown."""
        identity = None
        if display_id is not None and display_id is not False:
            identity = uuid.uuid4().hex if display_id is True else str(display_id)
        for value in values:
            self.show(value, display_id=identity, **options)
        return Handle(self, identity) if identity is not None else None

    def show(
        self,
        value: Any,
        display_id: str | None = None,
        update: bool = False,
        raw: bool = False,
        metadata: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        bundle = _display.clean(value, {}) if raw else _display.bundle(value, _png)
        if bundle is not None:
            data, own = bundle
            self.publish(data, {**own, **(metadata or {})}, display_id, update)

    def publish(
        self, data: dict[str, Any], metadata: dict[str, Any], display_id: str | None = None, update: bool = False
    ) -> None:
        """Sends a MIME bundle."""
        if not self._output.is_own:
            print(data.get("text/plain", ""))
            return
        self._output.send(
            {"type": "display", "data": data, "metadata": metadata, "display_id": display_id, "update": update}
        )

    def clear(self, wait: bool = False) -> None:
        self._output.send({"type": "clear", "wait": bool(wait)})

    def _show_figures(self) -> None:
        backend = sys.modules.get("onrush._mpl")
        if backend is not None and "matplotlib.pyplot" in sys.modules:
            backend.show()

    def _flush_all(self) -> None:
        for stream in (sys.__stdout__, sys.__stderr__, sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()  # type: ignore[union-attr]
        # What C code has printed.
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).fflush(None)

    def complete(self, message: dict[str, Any]) -> None:
        """Names that can stand at the cursor."""
        code = message.get("code", "")
        cursor = min(message.get("cursor", len(code)), len(code))
        try:
            matches, start = completions(code[:cursor], self.main.__dict__)
        except Exception:
            matches, start = [], cursor
        self._output.send(
            {"type": "matches", "id": message.get("id"), "matches": matches, "start": start, "end": cursor}
        )

    def _report(self, error: BaseException, name: str) -> None:
        ename, evalue, line, lines = "Error", UNSAID, None, []
        # Methods of the user's class run here. Their exceptions do not end the process.
        with contextlib.suppress(BaseException):
            ename = type(error).__name__
            evalue = _said(error)
            line = self._line(error, name)
            lines = Report(self._cells).lines(error)
        self._fail(ename, evalue, line, lines)

    @staticmethod
    def _line(error: BaseException, name: str) -> int | None:
        """The line of the cell where it stopped."""
        if isinstance(error, SyntaxError) and error.filename == name:
            return error.lineno
        lines = [number for frame, number in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == name]
        return lines[-1] if lines else None

    def _fail(self, ename: str, evalue: str, line: int | None, lines: list[str]) -> None:
        lines = lines or [f"{RED}{ename}{OFF}: {evalue}"]
        self._output.send({"type": "error", "ename": ename, "evalue": evalue, "line": line, "traceback": lines})

    def _use_ipython(self, _module: Any) -> None:
        """IPython's `display`, and packages that ask for its shell, show what they show here."""
        import atexit
        import shutil
        import tempfile

        from IPython.core.displaypub import DisplayPublisher
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        worker = self

        class Publisher(DisplayPublisher):
            def publish(
                self,
                data: Any,
                metadata: Any = None,
                source: Any = None,
                *,
                transient: Any = None,
                update: bool = False,
                **_: Any,
            ) -> None:
                identity = (transient or {}).get("display_id")
                worker.publish(*_display.clean(data, metadata or {}), identity, update)

            def clear_output(self, wait: bool = False) -> None:
                worker.clear(wait)

        config = Config()
        config.HistoryManager.enabled = False
        folder = tempfile.mkdtemp(prefix="onrush-ipython-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        streams, shown, given = (sys.stdout, sys.stderr), builtins.display, builtins.input  # type: ignore[attr-defined]
        shell = InteractiveShell.instance(
            config=config,
            ipython_dir=folder,
            user_module=self.main,
            user_ns=self.main.__dict__,
            display_pub_class=Publisher,
        )
        sys.stdout, sys.stderr = streams
        builtins.display, builtins.input = shown, given  # type: ignore[attr-defined]
        shell.display_formatter.formatters["image/png"].for_type_by_name("matplotlib.figure", "Figure", _png)
        shell.display_formatter.active_types = shell.display_formatter.format_types

    def _use_getpass(self, module: Any) -> None:
        def getpass(prompt: str = "Password: ", stream: Any = None, **_: Any) -> str:
            return self.ask(prompt, password=True)

        module.getpass = getpass

    def _end_with_the_kernel(self) -> None:
        """A cell that runs does not outlive the Jupyter kernel."""
        watch = select.poll()
        watch.register(self._connection, select.POLLRDHUP)
        while True:
            if any(event & (select.POLLRDHUP | select.POLLHUP | select.POLLERR) for _, event in watch.poll()):
                time.sleep(GRACE)
                os._exit(0)


#: The message of an error whose class cannot make one.
UNSAID = "<the message cannot be made>"


def _said(value: Any) -> str:
    """`str` of the user's value."""
    try:
        return str(value)
    except BaseException:
        return UNSAID


class Report:
    """A traceback with the lines of cells. Frames of packages are counted, not shown."""

    AROUND = 2

    def __init__(self, cells: set[str]) -> None:
        self._cells = cells

    def lines(self, error: BaseException) -> list[str]:
        """Coloured lines, those of causes first."""
        chain: list[tuple[BaseException, str | None]] = [(error, None)]
        seen = {id(error)}
        while True:
            last = chain[-1][0]
            if last.__cause__ is not None and id(last.__cause__) not in seen:
                following, why = last.__cause__, "The error above is the cause of:"
            elif last.__context__ is not None and not last.__suppress_context__ and id(last.__context__) not in seen:
                following, why = last.__context__, "While the error above was handled, another one occurred:"
            else:
                break
            chain[-1] = (last, why)
            chain.append((following, None))
            seen.add(id(following))
        lines: list[str] = []
        for one, why in reversed(chain):
            if why is not None and lines:
                lines += ["", why, ""]
            lines += self._one(one)
        return lines

    def _one(self, error: BaseException) -> list[str]:
        lines: list[str] = []
        if isinstance(error, SyntaxError):
            lines += [line.rstrip("\n") for line in traceback.format_exception_only(type(error), error)[:-1]]
            lines.append(f"{RED}{type(error).__name__}{OFF}: {error.msg}")
            if error.text and error.text.lstrip()[:1] in ("%", "!"):
                lines.append("help: magics and shell commands of IPython are not part of Python")
            return lines
        hidden: list[str] = []
        for frame, number in traceback.walk_tb(error.__traceback__):
            file, function = frame.f_code.co_filename, frame.f_code.co_name
            if file in self._cells:
                lines += self._hidden(hidden) + self._place(file, number, function)
                hidden = []
            elif lines and file != __file__:
                # Frames before the first cell are this process's.
                hidden.append(f"{_short(file)}:{number} in {function}")
        lines += self._hidden(hidden)
        said = traceback.format_exception_only(type(error), error)
        first, _, rest = "".join(said).rstrip("\n").partition(":")
        name = type(error).__name__
        first = name if first.rpartition(".")[2] == name else first
        lines += (f"{RED}{first}{OFF}" + (f":{rest}" if rest else "")).split("\n")
        for inner in getattr(error, "exceptions", ()):
            lines += [f"  {line}" for line in self._one(inner)]
        return lines

    def _place(self, file: str, number: int, function: str) -> list[str]:
        within = "" if function == "<module>" else f" in {BOLD}{function}{OFF}"
        lines = [f"{GREEN}{file}{OFF}, line {number}{within}"]
        source = linecache.getlines(file)
        for at in range(max(1, number - self.AROUND), min(len(source), number + self.AROUND) + 1):
            text = source[at - 1].rstrip("\n")
            mark = f"{RED}-->{OFF} {BOLD}{at:>4}{OFF} | {text}" if at == number else f"    {DIM}{at:>4}{OFF} | {text}"
            lines.append(mark)
        return lines

    @staticmethod
    def _hidden(frames: list[str]) -> list[str]:
        if not frames:
            return []
        more = f"{len(frames) - 1} frames of packages, then " if len(frames) > 1 else ""
        return [f"{DIM}    {more}{frames[-1]}{OFF}"]


def _short(file: str) -> str:
    """A path without the folder of packages."""
    for mark in ("site-packages/", "dist-packages/"):
        if mark in file:
            return file.rpartition(mark)[2]
    return os.path.basename(file)


def _as(frame: Any, form: str | None) -> Any:
    """A frame as a DataFrame of the package that was asked for, or of the first that is installed."""
    if form is None:
        installed = [name for name in ("polars", "pandas", "pyarrow") if importlib.util.find_spec(name) is not None]
        form = installed[0] if installed else "onrush"
    if form == "onrush":
        return frame
    if form not in ("polars", "pandas", "pyarrow"):
        raise OnrushError(f"`--as {form}` is none of polars, pandas, pyarrow and onrush")
    return getattr(frame, f"to_{form}")()


def _ends_with_semicolon(code: str) -> bool:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError):
        return False
    ignored = (tokenize.ENDMARKER, tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.DEDENT, tokenize.INDENT)
    last = next((token for token in reversed(tokens) if token.type not in ignored), None)
    return last is not None and last.string == ";"


def completions(before: str, namespace: dict[str, Any]) -> tuple[list[str], int]:
    """Names that can follow, and where what they replace begins: columns of tables, attributes, names."""
    key = re.search(r"([A-Za-z_][\w.]*)\[\s*(['\"])([^'\"\n]*)$", before)
    if key is not None:
        table = _resolved(key[1], namespace)
        keys = getattr(table, "columns", None)
        keys = table.keys() if keys is None and isinstance(table, dict) else keys
        found = sorted({str(one) for one in (() if keys is None else keys) if str(one).startswith(key[3])})
        return found, len(before) - len(key[3])
    word = re.search(r"[A-Za-z_][\w.]*$", before)
    if word is None:
        return [], len(before)
    path, dot, prefix = word[0].rpartition(".")
    if dot:
        owner = _resolved(path, namespace)
        names = [] if owner is None else dir(owner)
    else:
        import keyword

        names = [*namespace, *dir(builtins), *keyword.kwlist]
    found = sorted({name for name in names if name.startswith(prefix) and (prefix or not name.startswith("_"))})
    return found, len(before) - len(prefix)


def _resolved(path: str, namespace: dict[str, Any]) -> Any:
    first, *rest = path.split(".")
    value = namespace.get(first, getattr(builtins, first, None))
    for name in rest:
        value = getattr(value, name, None)
    return value


def _png(figure: Any) -> bytes:
    from . import _mpl

    return _mpl.png(figure)


def _use_backend(matplotlib: Any) -> None:
    if "MPLBACKEND" not in os.environ:
        matplotlib.use("module://onrush._mpl")


def _use_renderer(plotly_io: Any) -> None:
    if "PLOTLY_RENDERER" not in os.environ:
        plotly_io.renderers.default = "plotly_mimetype"


#: The worker of this process, if it is one.
WORKER: Worker | None = None


def main() -> None:
    global WORKER
    number = os.environ.pop("ONRUSH_WORKER_FD", "")
    if not number.isdigit():
        sys.exit("onrush.worker is started by Onrush's Jupyter kernel, for the `%%python` cells of a notebook")
    # Found again as a package's module: `-m` has made it `__main__`, which is the user's from here on.
    connection = socket.socket(fileno=int(number))
    connection.set_inheritable(False)
    connection.setblocking(True)
    WORKER = Worker(connection)
    WORKER.run()


if __name__ == "__main__":
    from onrush import worker

    worker.main()
