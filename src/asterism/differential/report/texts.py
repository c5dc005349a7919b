"""Texts of scripts and reports: templates, Python literals, and Markdown that takes no effect.

Scripts are run. Their texts come from messages, names and files that others wrote. None of them
may become code, whatever characters it has.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from functools import cache
from keyword import iskeyword
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from asterism.core.messages.escaping import printable, printable_lines

#: Texts without a meaning in Markdown, and links from a file of the user's.
_PLAIN = re.compile(r"[\w .,:;=()/%+'…–-]*")
_LINK = re.compile(r"https?://[\w.~/?=&%+:#-]+")


@cache
def template_environment(package: str = __package__) -> Environment:
    """The templates of a package, in which each text is escaped by the filter that it needs."""
    made = Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=False,  # noqa: S701  (of HTML, which these are not)
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Callable[..., str]] = {
        "block": code_block,
        "cell": table_cell,
        "code": inline_code,
        "literal": literal_source,
        "shown": inline_text,
    }
    made.filters |= filters
    return made


def render_template(name: str, **context: Any) -> str:
    """A template of this package, filled in."""
    return template_environment().get_template(name).render(**context)


def inline_text(text: str) -> str:
    """A text within a line: as code unless its characters are harmless; white space is joined."""
    words = _words(text)
    return words if _PLAIN.fullmatch(words) or _LINK.fullmatch(words) else inline_code(words)


def inline_code(text: str) -> str:
    """A text as code within a line; backticks in it do not end it, and white space is joined."""
    words = _words(text)
    if not words:
        return ""
    fence = "`" * (_longest_run(words) + 1)
    gap = " " if "`" in (words[0], words[-1]) else ""
    return f"{fence}{gap}{words}{gap}{fence}"


def table_cell(text: str) -> str:
    """A text in a table's cell; bars in it do not divide the cell."""
    return inline_text(text).replace("|", "\\|")


def code_block(text: str, language: str) -> str:
    """Lines of code in a block; backticks in them do not end it."""
    fence = "`" * max(3, _longest_run(text) + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{language}\n{printable_lines(text)}{end}{fence}"


def _words(text: str) -> str:
    return printable(" ".join(text.split()))


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def literal_source(value: Any) -> str:
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


def call_source(function: str, arguments: Mapping[str, Any]) -> str:
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
    parts = [f"{name}={literal_source(value)}" for name, value in named.items()]
    parts += [f"**{literal_source(rest)}"] if rest else []
    return f"{function}({', '.join(parts)})"
