"""Tables: what functions of a framework are tried, filed by name; the name begins with it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import Registry
from asterism.findings.calls.call import Call, Family, Input

#: Gives the families of a table.
Table = Callable[[], list[Family]]

#: Tables by ``framework:part``.
TABLES: Registry[Table] = Registry("table of functions", "asterism.findings.calls.tables")


def calls_of(framework: str, chosen: Collection[str] = ()) -> dict[str, Call]:
    """All calls of a framework by name: families take turns, the usual call of each first.

    Args:
        framework: whose functions.
        chosen: names of tables; none for all.

    Raises:
        UserError: the framework has no such table.
    """
    names = [name for name in TABLES if name.split(":")[0] == framework]
    if odd := sorted(set(chosen) - set(names)):
        raise UserError(f"there is no table {odd[0]!r}; {framework} has {', '.join(names)}")
    names = [name for name in names if not chosen or name in chosen]
    rows = [list(family.calls(framework)) for name in names for family in TABLES[name]()]
    longest = max((len(row) for row in rows), default=0)
    turns = [row[at] for at in range(longest) for row in rows if at < len(row)]
    return {call.name: call for call in turns}


def floats(*shape: int, values: str = "normal") -> Input:
    """An input of float32."""
    return Input(shape, "float32", values)


def ints(*shape: int, below: int, dtype: str = "int64") -> Input:
    """An input of whole numbers from 0 on."""
    return Input(shape, dtype, f"below {below}")


def of_one(
    prefix: str,
    names: str,
    shapes: tuple[tuple[int, ...], ...],
    dtypes: tuple[str, ...],
    values: str = "normal",
) -> list[Family]:
    """Functions of one input without options.

    Args:
        prefix: before each name.
        names: with spaces between.
        shapes: of the input.
        dtypes: tried beside float32.
        values: of the input.
    """
    given = tuple((floats(*shape, values=values),) for shape in shapes)
    return [Family(prefix + n, f"{prefix}{n}(x)", given, dtypes=dtypes) for n in names.split()]


def of_two(
    prefix: str,
    names: str,
    shapes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...],
    dtypes: tuple[str, ...],
    values: str = "normal",
) -> list[Family]:
    """Functions of two inputs without options, see :func:`of_one`."""
    given = tuple((floats(*one, values=values), floats(*two, values=values)) for one, two in shapes)
    return [Family(prefix + n, f"{prefix}{n}(x, y)", given, dtypes=dtypes) for n in names.split()]
