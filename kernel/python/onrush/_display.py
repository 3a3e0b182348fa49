"""MIME bundles of Python objects, by the rules of IPython's display protocol.

IPython's own formatters are used once something has imported IPython. The small ones here need no package.
"""

from __future__ import annotations

import base64
import pprint
import sys
from typing import Any, Callable

#: Methods that give one MIME type each.
METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_pdf_": "application/pdf",
    "_repr_latex_": "text/latex",
    "_repr_json_": "application/json",
    "_repr_javascript_": "application/javascript",
}
#: Views of widgets are nothing without the comm of a kernel that holds their models.
WIDGET = "application/vnd.jupyter.widget-view+json"

Bundle = "tuple[dict[str, Any], dict[str, Any]]"


def bundle(value: Any, figure: Callable[[Any], bytes] | None = None) -> Bundle | None:
    """Data and metadata of a value, or None if it has displayed itself. `figure` draws a figure of matplotlib."""
    shell = _shell()
    if shell is not None:
        data, metadata = shell.display_formatter.format(value)
        return clean(data, metadata) if data else None
    if not isinstance(value, type) and callable(_method(value, "_ipython_display_")):
        try:
            value._ipython_display_()
            return None
        except Exception as error:
            _failed(value, "_ipython_display_", error)
    data: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    if not isinstance(value, type):
        _by_methods(value, data, metadata)
        if figure is not None and is_figure(value):
            data["image/png"] = figure(value)
    data.setdefault("text/plain", plain(value))
    return clean(data, metadata)


def is_figure(value: Any) -> bool:
    figures = sys.modules.get("matplotlib.figure")
    return figures is not None and isinstance(value, figures.Figure)


def _by_methods(value: Any, data: dict[str, Any], metadata: dict[str, Any]) -> None:
    whole = _method(value, "_repr_mimebundle_")
    if whole is not None:
        try:
            given = whole(include=None, exclude=None)
            if isinstance(given, tuple):
                metadata.update(given[1])
                given = given[0]
            data.update(given or {})
        except NotImplementedError:
            pass
        except Exception as error:
            _failed(value, "_repr_mimebundle_", error)
    for name, kind in METHODS.items():
        method = None if kind in data else _method(value, name)
        if method is None:
            continue
        try:
            given = method()
        except NotImplementedError:
            continue
        except Exception as error:
            _failed(value, name, error)
            continue
        if isinstance(given, tuple) and len(given) == 2:
            metadata[kind] = given[1]
            given = given[0]
        if given is not None:
            data[kind] = given


def _method(value: Any, name: str) -> Any:
    """A method of the class. Objects that answer to every name have it only if their class does."""
    try:
        if getattr(type(value), name, None) is None and name not in getattr(value, "__dict__", {}):
            return None
        method = getattr(value, name, None)
    except Exception:
        return None
    return method if callable(method) else None


def _failed(value: Any, method: str, error: BaseException) -> None:
    sys.stderr.write(f"{type(value).__name__}.{method} failed: {type(error).__name__}: {error}\n")


def plain(value: Any) -> str:
    """`text/plain`: long containers on several lines."""
    text = repr(value)
    if isinstance(value, (dict, list, tuple, set, frozenset)) and len(text) > 79 and len(text) < 1_000_000:
        return pprint.pformat(value, width=79, compact=True, sort_dicts=False)
    return text


def clean(data: dict[str, Any], metadata: dict[str, Any]) -> Bundle:
    """What JSON can carry: bytes become base64."""
    kept = {kind: _jsonable(value) for kind, value in data.items() if kind != WIDGET}
    return kept, dict(metadata)


def _jsonable(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, (bytes, bytearray)) else value


def _shell() -> Any:
    """IPython's shell, if there is one."""
    module = sys.modules.get("IPython.core.interactiveshell")
    shell = getattr(module, "InteractiveShell", None)
    return shell.instance() if shell is not None and shell.initialized() else None
