"""`%load_ext onrush`: `%%onrush` runs a Rust cell in a Python notebook, and `%%onsql` a query.

The Rust cells of a notebook run in one Jupyter kernel of Onrush behind Python's. Tables are handed over by name through
the session. What a cell shows is shown by Python's kernel.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Iterable
from typing import Any

from IPython.core.magic import Magics, cell_magic, line_magic, magics_class

from ._errors import OnrushError, optional
from ._frame import Frame
from ._rust_kernel import KernelDied, RustKernel

#: MIME types that need a comm with the Rust kernel, which Python's front end cannot have.
LIVE = "application/vnd.onrush."
WIDGET = "application/vnd.jupyter.widget-view+json"
FORMS = ("polars", "pandas", "pyarrow", "onrush")
#: Integers of a Rust `i64`.
I64 = range(-(1 << 63), 1 << 63)


class CellFailed(Exception):
    """The error of a Rust cell or of a query: shown as it is, without the lines of Python that ran it."""

    def __init__(self, ename: str, evalue: str, traceback: list[str]) -> None:
        super().__init__(evalue)
        self.ename, self.lines = ename, traceback

    def _render_traceback_(self) -> list[str]:
        return self.lines


def failed(ename: str, evalue: str, traceback: Iterable[str]) -> CellFailed:
    """An exception whose class has the name of the error: front ends show the name of the class."""
    kind = type(ename or "Error", (CellFailed,), {"__module__": "onrush"})
    return kind(ename, evalue, list(traceback))


def misused(message: str) -> CellFailed:
    return failed("UsageError", message.splitlines()[0], f"\x1b[1;31merror\x1b[0m: {message}".split("\n"))


def of_session(error: OnrushError) -> CellFailed:
    return failed("OnrushError", error.message, f"\x1b[1;31merror\x1b[0m: {error}".split("\n"))


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise misused(f"{message}\n{self.format_usage().strip()}")

    def exit(self, status: int = 0, message: str | None = None) -> Any:
        raise misused(message or self.format_help())


def names_of(lists: Iterable[str]) -> list[str]:
    """The names of `-i a,b -i c`."""
    names = [name.strip() for given in lists for name in given.split(",") if name.strip()]
    for name in names:
        if not name.isidentifier():
            raise misused(f"{name!r} is not the name of a variable")
    return names


def literal(value: Any) -> str | None:
    """A Rust expression for a number, a string or a truth value, of Python or of NumPy."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{int(value)}i64" if value in I64 else None
    if isinstance(value, float):
        if value != value:
            return "f64::NAN"
        if value in (float("inf"), float("-inf")):
            return "f64::INFINITY" if value > 0 else "f64::NEG_INFINITY"
        return f"{float(value)!r}f64"
    if isinstance(value, str):
        return f"String::from({quoted(value)})"
    return None


def quoted(text: str) -> str:
    """A string literal of Rust."""
    escaped = "".join(
        f"\\{c}" if c in '"\\' else c if c.isprintable() else f"\\u{{{ord(c):x}}}"
        for c in text.encode("utf-8", "replace").decode()
    )
    return f'"{escaped}"'


def converted(frame: Frame, form: str) -> Any:
    return frame if form == "onrush" else getattr(frame, f"to_{form}")()


@magics_class
class OnrushMagics(Magics):
    """The magics, and the kernel of this notebook's Rust cells."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._kernel: RustKernel | None = None
        self._count = 0
        #: Numbers of Python cells by those that the Rust kernel gave to their Rust.
        self._numbers: dict[int, int] = {}

    @cell_magic
    def onrush(self, line: str, cell: str) -> None:
        """Runs a Rust cell: `%%onrush [-i NAMES] [-o NAMES] [--as KIND] [--restart] [--timeout SECONDS]`.

        `-i df,n` makes variables of Rust of variables of Python: a table becomes a `Frame`, a number `i64` or `f64`, a
        string `String`. `-o out` makes a variable of Python of a `Frame`.
        """
        parser = Parser(prog="%%onrush", add_help=True)
        parser.add_argument(
            "-i", "--input", action="append", default=[], metavar="NAMES", help="variables for the cell"
        )
        parser.add_argument("-o", "--output", action="append", default=[], metavar="NAMES", help="frames of the cell")
        parser.add_argument("--as", dest="form", choices=FORMS, help="what the outputs become")
        parser.add_argument("--restart", action="store_true", help="start with a new kernel")
        parser.add_argument("--timeout", type=float, metavar="SECONDS", help="interrupt the cell after this time")
        options = parser.parse_args(shlex.split(line))
        inputs, outputs = names_of(options.input), names_of(options.output)
        values = [(name, self._variable(name)) for name in inputs]
        if options.restart:
            self._close()
        # The first line of the Python cell is the magic. Commands and magics of Onrush stand in the first line.
        is_rust = cell.lstrip()[:1] not in (":", "%", "!")
        code = "\n" + cell if is_rust else cell
        try:
            try:
                kernel = self._run_with(values, code, options.timeout)
            except KernelDied as died:
                if died.began:
                    raise
                # The process was ending when the cell was sent, and did nothing of it.
                kernel = self._run_with(values, code, options.timeout)
            form = options.form or preferred(value for _, value in values)
            for name in outputs:
                self.shell.user_ns[name] = converted(self._fetch(kernel, name), form)
        except OnrushError as error:
            raise of_session(error) from None
        except KernelDied as died:
            self._close()
            raise failed(
                "KernelDied",
                "the Rust kernel died",
                ["\x1b[1;31merror\x1b[0m: the Rust kernel died", *str(died).splitlines(), RESTARTS],
            ) from None

    def _run_with(self, values: list[tuple[str, Any]], code: str, timeout: float | None) -> RustKernel:
        """Runs a cell after its variables were made."""
        kernel = self._started()
        self._send(kernel, values)
        self._run(kernel, code, silent=False, timeout=timeout)
        return kernel

    @cell_magic
    def onsql(self, line: str, cell: str) -> Any:
        """Runs a query over published frames: `%%onsql [-o NAME] [--as KIND]`. Without `-o` the answer is shown."""
        import onrush

        parser = Parser(prog="%%onsql", add_help=True)
        parser.add_argument("-o", "--output", metavar="NAME", help="the variable that gets the answer")
        parser.add_argument("--as", dest="form", choices=FORMS, help="what the answer becomes")
        options = parser.parse_args(shlex.split(line))
        try:
            answer = onrush.sql(cell)
            if options.output is None:
                return converted(answer, options.form or "onrush")
            [name] = names_of([options.output])
            self.shell.user_ns[name] = converted(answer, options.form or preferred(()))
            return None
        except OnrushError as error:
            raise of_session(error) from None

    @line_magic
    def onrush_restart(self, line: str) -> None:
        """Ends the kernel of the Rust cells. The next one starts a new kernel, without variables."""
        self._close()

    def _variable(self, name: str) -> Any:
        if name not in self.shell.user_ns:
            raise misused(f"there is no variable `{name}`, which `-i {name}` asks for")
        return self.shell.user_ns[name]

    def _started(self) -> RustKernel:
        if self._kernel is not None and not self._kernel.is_alive:
            self._close()
            print(
                "The Rust kernel had ended. A new one was started: variables of Rust cells are gone.", file=sys.stderr
            )
        if self._kernel is None:
            try:
                self._kernel = RustKernel()
            except OnrushError as error:
                raise of_session(error) from None
        return self._kernel

    def _close(self) -> None:
        kernel, self._kernel = self._kernel, None
        self._numbers = {}
        if kernel is not None:
            kernel.close()

    def _private(self, name: str) -> str:
        """A name that `names` does not list and no other notebook has."""
        self._count += 1
        return f"%cell:{os.getpid()}:{self._count}:{name}"

    def _send(self, kernel: RustKernel, values: list[tuple[str, Any]]) -> None:
        """Makes the variables, in a cell before the user's: the lines of his stay as they are."""
        import onrush

        lines, published = [], []
        try:
            for name, value in values:
                expression = literal(value)
                if expression is None:
                    private = self._private(name)
                    try:
                        onrush.publish(value, private)
                    except OnrushError as error:
                        if error.code != "not-a-table":
                            raise
                        takes = f"`-i {name}` takes a table, a number, a string or a truth value"
                        message = error.message.replace("`publish` takes a table", takes)
                        raise OnrushError(message, error.help, error.notes, code=error.code) from None
                    published.append(private)
                    expression = f"get({quoted(private)})"
                lines.append(f"let {name} = {expression};")
            if lines:
                self._run(kernel, "\n".join(lines), silent=True)
        finally:
            _forget(published)

    def _fetch(self, kernel: RustKernel, name: str) -> Frame:
        import onrush

        private = self._private(name)
        try:
            self._run(kernel, f"publish({quoted(private)}, &{name});", silent=True)
        except CellFailed as error:
            message = f"`-o {name}` takes a `Frame` of the cell"
            lines = [f"\x1b[1;31merror\x1b[0m: {message}", f"note: {str(error).splitlines()[0] if str(error) else ''}"]
            raise failed(error.ename, message, lines) from None
        try:
            frame = onrush.get(private)
            # The name is taken away: columns cannot be asked for by it.
            frame.name = None
            return frame
        finally:
            _forget([private])

    def _run(self, kernel: RustKernel, code: str, silent: bool, timeout: float | None = None) -> None:
        errors: list[dict] = []

        def shown(kind: str, content: dict) -> None:
            if kind == "error":
                errors.append(content)
            elif kind == "execute_input" and not silent:
                # Not `execution_count`, which is the next cell's in newer versions of IPython.
                self._numbers[content["execution_count"]] = len(self.shell.history_manager.input_hist_parsed) - 1
            elif not silent:
                self._show(kind, content)

        reply = kernel.execute(code, silent, shown, self._ask, timeout)
        if reply.get("status") != "ok":
            error = errors[-1] if errors else reply
            lines = [self._numbered(line) for line in error.get("traceback") or []]
            raise failed(error.get("ename", "Error"), error.get("evalue", ""), lines)

    def _numbered(self, line: str) -> str:
        """A line of an error with the numbers that the Python notebook shows."""
        return re.sub(r"In \[(\d+)\]", lambda found: f"In [{self._numbers.get(int(found[1]), found[1])}]", line)

    def _show(self, kind: str, content: dict) -> None:
        """Shows what a Rust cell has sent as an output of the Python cell."""
        if kind == "stream":
            stream = sys.stderr if content["name"] == "stderr" else sys.stdout
            stream.write(content["text"])
            stream.flush()
        elif kind in ("display_data", "update_display_data", "execute_result"):
            data = {
                mime: value for mime, value in content["data"].items() if not mime.startswith(LIVE) and mime != WIDGET
            }
            transient = {key: value for key, value in (content.get("transient") or {}).items() if key == "display_id"}
            self.shell.display_pub.publish(
                data=data,
                metadata=content.get("metadata") or {},
                transient=transient,
                update=kind == "update_display_data",
            )
        elif kind == "clear_output":
            self.shell.display_pub.clear_output(wait=bool(content.get("wait")))

    @staticmethod
    def _ask(request: dict) -> str:
        if request.get("password"):
            import getpass

            return getpass.getpass(request.get("prompt", ""))
        return input(request.get("prompt", ""))


RESTARTS = "help: the next `%%onrush` cell starts a new one, without variables"


def preferred(inputs: Iterable[Any]) -> str:
    """What outputs become: what the first table among the inputs is, or else a package that is in use."""
    for value in inputs:
        package = type(value).__module__.partition(".")[0]
        if package in FORMS and literal(value) is None:
            return package
    loaded = [name for name in ("polars", "pandas", "pyarrow") if name in sys.modules]
    installed = loaded or [name for name in ("polars", "pandas", "pyarrow") if optional(name) is not None]
    return installed[0] if installed else "onrush"


def _forget(names: list[str]) -> None:
    import onrush

    for name in names:
        try:
            onrush.unpublish(name)
        except OnrushError:
            # The session has ended, and the name with it.
            continue


def load(shell: Any) -> None:
    magics = OnrushMagics(shell)
    shell.register_magics(magics)
    shell._onrush_magics = magics


def unload(shell: Any) -> None:
    magics = getattr(shell, "_onrush_magics", None)
    if magics is not None:
        magics._close()
        del shell._onrush_magics
        for kind, name in (("cell", "onrush"), ("cell", "onsql"), ("line", "onrush_restart")):
            shell.magics_manager.magics[kind].pop(name, None)
