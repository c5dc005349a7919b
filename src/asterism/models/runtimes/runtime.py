"""What an open model is, what a format of model files is, and the way from a file to its model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from asterism.core.files.artifacts import require_file
from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import Registry
from asterism.core.settings.regular_files import open_regular
from asterism.models.signatures.signature import Signature

Tensors = dict[str, NDArray[Any]]


class Runtime(ABC):
    """A model with named inputs and outputs that is open and can be run.

    ``run`` is called from several threads at once, so it should release Python's lock while it
    works.

    Attributes:
        signature: what the model takes and gives.
        fixed_batch: rows that each call must have; None where any number will do.
        sizes: numbers of rows, beside one, into which the runtime cuts a call; empty where it cuts
            none.
        varies_in: the library that runs the model, where the last bits of a row differ with the
            number of rows beside it; empty where they do not.
        notes: what a reader of the results should know about how the model is run.
        calls_alone: whether one call waits for another, so that threads gain nothing.
    """

    signature: Signature
    fixed_batch: int | None = None
    sizes: tuple[int, ...] = ()
    varies_in: str = ""
    notes: tuple[str, ...] = ()
    calls_alone: bool = False

    @abstractmethod
    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """All outputs by name, in the signature's order, for all inputs by name."""

    def reset(self) -> None:  # noqa: B027 - most models have nothing to forget
        """Forget the state that the model keeps inside itself, in this thread."""


class Format(ABC):
    """How files of one format are recognised and opened."""

    #: File name suffixes that claim this format, with their dots.
    suffixes: ClassVar[tuple[str, ...]]
    #: Whether files begin in a way that tells them from those of all other formats.
    has_signature: ClassVar[bool] = True

    @staticmethod
    @abstractmethod
    def recognises(head: bytes, path: Path) -> bool:
        """Whether a file that starts with these bytes (64 of them, or all) can be one."""

    @staticmethod
    @abstractmethod
    def open(path: Path) -> Runtime:
        """Open a file.

        Raises:
            UserError: it is damaged, or asks for something that this format's library lacks.
        """


FORMATS: Registry[type[Format]] = Registry("model format", "asterism.models.runtimes.formats")


def open_runtime(path: Path) -> Runtime:
    """Open a model file of any supported format in this process.

    Raises:
        UserError: no such file, damaged, or of another format than its name says.
    """
    return _format_of(path).open(path)


def _format_of(path: Path) -> type[Format]:
    require_file(path, "model file")
    formats = {name: FORMATS[name] for name in FORMATS}
    with open_regular(path) as file:
        head = file.read(64)
    claimed = next((f for f in formats.values() if path.suffix in f.suffixes), None)
    if claimed is None:
        known = ", ".join(sorted(suffix for f in formats.values() for suffix in f.suffixes))
        raise UserError(f"{path}: no model format has the suffix {path.suffix!r} (known: {known})")
    if claimed.recognises(head, path):
        return claimed
    for name, other in formats.items():
        for suffix in other.suffixes if other.has_signature else ():
            if other.recognises(head, path.with_suffix(suffix)) and len(head) == 64:
                raise UserError(
                    f"{path} is not what its name says: its content looks like {name}, so its "
                    f"suffix should be {suffix}"
                )
    raise UserError(f"{path} is damaged, or is no {path.suffix} file")
