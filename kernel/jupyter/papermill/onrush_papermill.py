"""Parameters of papermill for notebooks in Rust: papermill's translators are its own, and none of them writes Rust.

papermill loads the entry points of its engines when it starts. The engine here is papermill's own: loading it registers
the translator, for whatever engine runs the notebook.
"""

import math
import re

from papermill.engines import NBClientEngine
from papermill.models import Parameter
from papermill.translators import PapermillTranslators, Translator, papermill_translators

# Integers beyond these bounds say their type: rustc refuses them otherwise.
I32 = range(-(2**31), 2**31)
I64 = range(-(2**63), 2**63)

# `let mut rate: f64 = 0.5; // per year`
DEFAULT = re.compile(
    r"^\s*(?:let(?:\s+mut)?|const|static)\s+(\w+)\s*(?::\s*([^=]+?))?\s*=\s*(.+?);\s*(?://\s*(.*))?$", re.MULTILINE
)


class RustTranslator(Translator):
    """Writes values as literals of Rust."""

    @classmethod
    def translate_none(cls, val):
        raise NotImplementedError("null has no type in Rust: leave the parameter out")

    @classmethod
    def translate_bool(cls, val):
        return "true" if val else "false"

    @classmethod
    def translate_int(cls, val):
        return str(val) if val in I32 else f"{val}{'i64' if val in I64 else 'i128'}"

    @classmethod
    def translate_float(cls, val):
        if math.isfinite(val):
            return repr(float(val))
        return "f64::NAN" if math.isnan(val) else f"f64::{'' if val > 0 else 'NEG_'}INFINITY"

    @classmethod
    def translate_str(cls, val):
        special = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
        plain = (special.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in str(val))
        return f'"{"".join(plain)}"'

    @classmethod
    def translate_list(cls, val):
        has_float = any(isinstance(item, float) for item in val)
        is_number = all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in val)
        items = [float(item) for item in val] if has_float and is_number else val
        return f"vec![{', '.join(cls.translate(item) for item in items)}]"

    @classmethod
    def translate_tuple(cls, val):
        return cls.translate_list(val)

    @classmethod
    def translate_dict(cls, val):
        raise NotImplementedError("a parameter of a notebook in Rust is a scalar or a list")

    @classmethod
    def comment(cls, cmt_str):
        return f"// {cmt_str}".strip()

    @classmethod
    def assign(cls, name, str_val):
        return f"let {name} = {str_val};"

    @classmethod
    def inspect(cls, parameters_cell):
        return [
            Parameter(name=name, inferred_type_name=ty or "None", default=default, help=comment or "")
            for name, ty, default, comment in DEFAULT.findall(parameters_cell["source"])
        ]


class Engine(NBClientEngine):
    """papermill's own engine."""


def register(translators: PapermillTranslators = papermill_translators) -> None:
    """Makes the translator known, by the language and by the name of the kernel."""
    translators.register("rust", RustTranslator)
    translators.register("onrush", RustTranslator)


register()
