"""Reading dataclasses from JSON that another process, or another person, has written."""

from __future__ import annotations

import json
import reprlib
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import StringConstraints, TypeAdapter, ValidationError

from asterism.core.files.artifacts import read_json, write_json
from asterism.core.messages.errors import UserError, prefix_errors

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")

#: A text of at most 2,000 characters. Messages are far shorter; searching one with a pattern takes
#: time by the square of its length.
ShortText = Annotated[str, StringConstraints(max_length=2000)]


def record_from(kind: type[T], value: Any) -> T:
    """A dataclass from a JSON value: a mapping of its fields' names to their values.

    Types are checked and nothing is converted: a number is no text, a truth value no number.

    Args:
        kind: the dataclass; its fields may be dataclasses too.
        value: the mapping, with lists for tuples. Fields that have a default may be missing.

    Raises:
        UserError: a field is missing, unknown or of another type, or does not fit its limits.
    """
    try:
        text = json.dumps(value, allow_nan=False)
        adapter: TypeAdapter[T] = _adapter(kind)  # type: ignore[arg-type]
        record = adapter.validate_json(text, strict=True, extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(place)[:80] for place in first["loc"])
        place = f"{field!r}: " if field else ""
        raise UserError(f"{place}{first['msg']}, not {reprlib.repr(first['input'])}") from None
    except (ValueError, RecursionError) as error:  # no finite number, or too deep
        raise UserError(str(error)) from None
    return record


def record_as_json(record: DataclassInstance) -> Any:
    """A dataclass as a JSON value that :func:`record_from` reads, with lists for tuples."""
    return json.loads(json.dumps(asdict(record)))


def read_record(kind: type[T], path: Path) -> T:
    """The record of a JSON file, see :func:`record_from`.

    Raises:
        UserError: the file is missing or damaged.
    """
    value = read_json(path)
    with prefix_errors(f"{path} is damaged"):
        return record_from(kind, value)


def write_record(path: Path, record: Any) -> None:
    """A dataclass, whose fields may be paths, as the JSON file that :func:`read_record` reads."""
    kind: Any = type(record)
    write_json(path, _adapter(kind).dump_python(record, mode="json"))


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
