"""Facts that one process leaves for another as JSON: a dataclass, checked where it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from asterism.core.files.artifacts import read_json
from asterism.core.messages.errors import UserError

T = TypeVar("T")


@dataclass(frozen=True)
class Recorded:
    """What a point of a sweep has left behind, as far as its table and its page show it.

    Attributes:
        number: the point's.
        overrides: its parameters, as Hydra takes them.
        experiment: the DVC experiment that holds its results; empty where it did not finish.
        metrics: all its numbers, by ``file:path.of.keys``.
        total_seconds: that it took.
        status, exit_code, message, ran: see :class:`~asterism.sweep.worker.Answer`.
    """

    number: int
    overrides: Sequence[str]
    experiment: str
    metrics: dict[str, int | float]
    total_seconds: float
    status: str
    exit_code: int
    message: str
    ran: Sequence[str]


def read_record(kind: type[T], path: Path) -> T:
    """A dataclass that was written with its fields' names, its tuples as lists.

    Args:
        kind: the dataclass; its fields may be dataclasses too.
        path: the JSON file.

    Raises:
        UserError: the file is missing or damaged, or a field is missing or of another type.
    """
    facts = read_json(path)
    try:
        return TypeAdapter(kind).validate_python(facts)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "it"
        raise UserError(f"{path} is damaged: {field}: {first['msg']}") from None
    except (OverflowError, RecursionError) as error:  # a number that no float holds
        raise UserError(f"{path} is damaged: {error}") from None
