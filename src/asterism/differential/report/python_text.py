"""Source of reproducer scripts: texts from models and libraries go in as literals only.

Scripts are run. Their texts come from messages, names and files that others wrote. None of them
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
        ValueError: it contains a value without a literal, such as NaN or an object.
    """
    text = repr(value)
    try:
        ast.literal_eval(text)
    except SyntaxError:
        raise ValueError(f"{text} is no literal") from None
    return text


def in_docstring(text: str) -> str:
    """A text for a docstring, escaped; letters and ordinary punctuation stay unchanged."""
    escaped = (repr(c)[1:-1] if c == "\\" or not c.isprintable() else c for c in text)
    return "".join(escaped).replace('"', '\\"')


def call(function: str, arguments: Mapping[str, Any]) -> str:
    """A call with named arguments.

    Args:
        function: source of the function; never a text that others wrote.
        arguments: values by name; names that are no Python identifiers are passed by ``**``.
    """
    # Python normalises other letters to similar ones of ASCII.
    named = {
        k: v for k, v in arguments.items() if k.isascii() and k.isidentifier() and not iskeyword(k)
    }
    rest = {k: v for k, v in arguments.items() if k not in named}
    parts = [f"{name}={literal(value)}" for name, value in named.items()]
    parts += [f"**{literal(rest)}"] if rest else []
    return f"{function}({', '.join(parts)})"
