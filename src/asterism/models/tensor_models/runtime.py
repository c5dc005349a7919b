"""What a runtime of model files of any signature is, and the way to get one for a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import Registry
from asterism.models.signatures.signature import Signature

Tensors = dict[str, NDArray[Any]]


class Runtime(Protocol):
    """A model file that is open. ``run`` is called from several threads at once.

    Attributes:
        suffixes: of the files that it opens.
        signature: what the file takes and gives.
        fixed_batch: rows that each call must have; None where any number will do.
    """

    suffixes: ClassVar[tuple[str, ...]]
    signature: Signature
    fixed_batch: int | None

    def __init__(self, path: Path) -> None:
        """Open a file.

        Raises:
            UserError: it is damaged, or its library cannot run it.
        """
        ...

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
        """All outputs by name, for all inputs by name."""
        ...

    def reset(self) -> None:
        """Forget the state that the model keeps inside itself, in this thread."""
        ...


RUNTIMES: Registry[type[Runtime]] = Registry(
    "runtime of model files", "asterism.models.tensor_models.runtimes"
)


def open_runtime(path: Path) -> Runtime:
    """Open a model file by its suffix.

    Raises:
        UserError: no runtime opens such files, or this file cannot be opened.
    """
    for name in RUNTIMES:
        if path.suffix in RUNTIMES[name].suffixes:
            return RUNTIMES[name](path)
    known = sorted(suffix for name in RUNTIMES for suffix in RUNTIMES[name].suffixes)
    raise UserError(f"{path}: no model format has that suffix (known: {', '.join(known)})")
