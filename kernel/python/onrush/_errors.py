"""The one exception of the package, and imports of packages that are optional."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import Any


class OnrushError(Exception):
    """An error of the session, or of the way to it.

    `message` says what was found and what was expected, `help` what to do, `notes` what else is known. `error_class`
    and `code` are those of the session's diagnostics, such as `plan` and `unknown-name`.
    """

    def __init__(
        self,
        message: str,
        help: Iterable[str] = (),
        notes: Iterable[str] = (),
        error_class: str = "python",
        code: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.help = [help] if isinstance(help, str) else [line for line in help if line]
        self.notes = [notes] if isinstance(notes, str) else [line for line in notes if line]
        self.error_class = error_class
        self.code = code

    def __str__(self) -> str:
        lines = [self.message]
        lines += [f"note: {line}" for line in self.notes]
        lines += [f"help: {line}" for line in self.help]
        return "\n".join(lines)

    def __reduce__(self) -> Any:
        return type(self), (self.message, self.help, self.notes, self.error_class, self.code)

    @classmethod
    def of(cls, error: dict) -> OnrushError:
        """Makes an exception of a diagnostic as it stands in a reply."""
        return cls(
            str(error.get("message", "the session answered with an error")),
            error.get("help") or (),
            error.get("notes") or (),
            str(error.get("class", "")),
            str(error.get("code", "")),
        )


def optional(name: str) -> ModuleType | None:
    """Imports a package, or gives None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def needed(name: str, why: str) -> ModuleType:
    """Imports a package that a call cannot do without."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise OnrushError(
            f"{why} needs the package `{package}`, which cannot be imported here",
            [f"pip install {package}"],
            [str(error)],
            code="missing-package",
        ) from error
