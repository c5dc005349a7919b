"""Tables of functions: a YAML file for each framework says which are tried, and with what."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from importlib.resources import files
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.core.settings.yaml_files import parse_yaml
from asterism.findings.calls.call import FRAMEWORKS, NAMES, Call, CodeText, Family, Input

#: An input in a table.
_INPUT = re.compile(
    r"(scalar|\d+(?: \d+)*)(?: (bool|(?:b?float|u?int|complex)\d+\w*))?"
    r"(?: (positive|unit|below \d+))?"
)


def calls_of(framework: str, chosen: Collection[str] = ()) -> dict[str, Call]:
    """All calls of a framework by name: families take turns, the usual call of each first.

    Args:
        framework: whose functions.
        chosen: parts of its table, as ``pytorch:algebra``; none for all.

    Raises:
        UserError: the framework has no such part.
    """
    parts = {f"{framework}:{part}": rows for part, rows in read_table(framework).items()}
    if odd := sorted(set(chosen) - set(parts)):
        raise UserError(f"there is no table {odd[0]!r}; {framework} has {', '.join(parts)}")
    families = [f for name, some in parts.items() if not chosen or name in chosen for f in some]
    rows = [list(family.calls(framework)) for family in families]
    longest = max((len(row) for row in rows), default=0)
    turns = [row[at] for at in range(longest) for row in rows if at < len(row)]
    return {call.name: call for call in turns}


def read_table(framework: str) -> dict[str, list[Family]]:
    """The families of each part of a framework's table; ``docs/extending.md`` describes the file.

    Args:
        framework: by name.

    Raises:
        UserError: there is no such table.
    """
    if framework not in FRAMEWORKS:
        raise UserError(f"there is no table of {framework!r}; there are {', '.join(FRAMEWORKS)}")
    file = files("asterism.findings.calls").joinpath("tables", f"{framework}.yaml")
    document = parse_yaml(file.read_text(encoding="utf-8"), file.name)
    return {part: [f for row in rows for f in families_of(row)] for part, rows in document.items()}


def families_of(row: Mapping[str, Any]) -> Iterator[Family]:
    """The families of a row: one call of several functions, or several calls of the same inputs."""
    inputs = tuple(tuple(map(_input, str(text).split(";"))) for text in row["inputs"])
    options = {name: _values(str(text)) for name, text in row.get("options", {}).items()}
    dtypes = tuple(row.get("dtypes", "").split())
    plain = f"{{name}}({', '.join(NAMES[: len(inputs[0])])})"
    calls = row.get("calls") or {
        function: row.get("call", plain) for function in _functions(row["functions"])
    }
    for name, call in calls.items():
        text = call.replace("{name}", name)
        yield Family(name, text, inputs, options, dtypes, row.get("setup", ""))


def _functions(text: str) -> list[str]:
    """``torch.{abs, neg}`` as ``torch.abs`` and ``torch.neg``."""
    if (found := re.fullmatch(r"([\w.]*)\{(.*)\}", text)) is None:
        return [text]
    return [found[1] + name.strip() for name in found[2].split(",")]


def _input(text: str) -> Input:
    """An input from its sizes, its dtype and its values: ``3 4 int64 below 5``."""
    if (found := _INPUT.fullmatch(text.strip())) is None:
        raise UserError(
            f"{text!r} is no input: write sizes, a dtype and values, as `3 4 int64 below 5`"
        )
    sizes, dtype, values = found.groups()
    shape = tuple(map(int, sizes.split())) if sizes != "scalar" else ()
    return Input(shape, dtype or "float32", values or "normal")


def _values(text: str) -> tuple[Any, ...]:
    """The values of an option: Python literals, and Python text that stands for itself."""
    (tuple_,) = ast.parse(f"({text},)").body
    assert isinstance(tuple_, ast.Expr) and isinstance(tuple_.value, ast.Tuple)
    return tuple(_value(element, f"({text},)") for element in tuple_.value.elts)


def _value(element: ast.expr, text: str) -> Any:
    match element:
        case ast.Call(func=ast.Name(id="Code"), args=[ast.Constant(value=str(code))]):
            return CodeText(code)
    try:
        return ast.literal_eval(element)
    except ValueError:
        return CodeText(ast.get_source_segment(text, element) or "")
