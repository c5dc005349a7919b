"""All readers under test: name, the libraries that they need, how to make whole files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Families by the libraries that a server of theirs loads; the first are quick to start.
FAMILIES = ("data", "results", "project", "onnx", "litert", "torch", "keras")


@dataclass(frozen=True)
class Reader:
    """A function of Asterism's that reads files, and is given damaged ones.

    Args:
        name: for the command line and the table.
        family: one of :data:`FAMILIES`.
        main: the file that it is given in an example's folder; ``.`` for the folder.
        read: reads, and uses what it has read; raises UserError for what it rejects.
        seeds: writes whole examples, each into a folder of its own.
        weight: its share of a family's examples.
        isolated: whether Asterism opens such files in a process of their own only, so that a
            library that dies of one is an answer (``ModelCrashError``) and no crash.
        fresh: name of the strategy in ``reader_fuzzing.fresh`` that makes whole files too.
    """

    name: str
    family: str
    main: str
    read: Callable[[Path], object]
    seeds: Callable[[Path], None]
    weight: int = 10
    isolated: bool = False
    fresh: str = ""


READERS: dict[str, Reader] = {}


def register(reader: Reader) -> None:
    assert reader.name not in READERS and reader.family in (*FAMILIES, "planted"), reader.name
    READERS[reader.name] = reader


from reader_fuzzing import of_data, of_models, of_project, of_results, planted  # noqa: E402, F401
