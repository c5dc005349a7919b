"""Parts of a script's source: what comes from a model or a library goes in as a literal only.

Scripts are run. Their texts are of messages, names and files that others wrote, so none of them
may become code, whatever characters it has.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from keyword import iskeyword
from typing import Any


def literal(value: Any) -> str:
    """A value of numbers, texts, truth values, None, lists, tuples and mappings as source.

    Raises:
        ValueError: it has something that no literal is, as NaN or an object.
    """
    text = repr(value)
    try:
        ast.literal_eval(text)
    except SyntaxError:
        raise ValueError(f"{text} is no literal") from None
    return text


def in_docstring(text: str) -> str:
    """A text between the quotes of a docstring; letters and ordinary signs stay as they are."""
    escaped = (repr(c)[1:-1] if c == "\\" or not c.isprintable() else c for c in text)
    return "".join(escaped).replace('"', '\\"')


def call(function: str, arguments: Mapping[str, Any]) -> str:
    """A call with named arguments.

    Args:
        function: source of the function, no text of others.
        arguments: values by name; names that are no names in Python go in as texts too.
    """
    # Python takes other letters for one of ASCII that looks alike.
    named = {
        k: v for k, v in arguments.items() if k.isascii() and k.isidentifier() and not iskeyword(k)
    }
    rest = {k: v for k, v in arguments.items() if k not in named}
    parts = [f"{name}={literal(value)}" for name, value in named.items()]
    parts += [f"**{literal(rest)}"] if rest else []
    return f"{function}({', '.join(parts)})"


def compiles(text: str) -> bool:
    """Whether a text is a script that Python takes."""
    try:
        compile(text, "repro.py", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
