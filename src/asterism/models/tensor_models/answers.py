"""The outputs of a model that are compared, as real numbers and as one row for each input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.messages.errors import UserError
from asterism.models.signatures.signature import Signature, TensorSpec

Rows = NDArray[np.float32]


class ComparedOutputs:
    """Takes the compared outputs out of all that a model gives.

    Args:
        signature: the model's.
        names: of the outputs that are compared; None for all of real numbers.
        file: the model's file, for messages.

    Raises:
        UserError: the model has no output of a name.
    """

    def __init__(self, signature: Signature, names: list[str] | None, file: str) -> None:
        self._file = file
        self._specs = _chosen(signature.answers, names)

    def answers(self, outputs: Mapping[str, NDArray[Any]], count: int) -> dict[str, Rows]:
        """The compared outputs by name, each float32 ``(count, ...)``.

        Raises:
            UserError: an output's first axis is not that of the inputs.
        """
        found = {}
        for spec in self._specs:
            value = _as_real(outputs[spec.name], spec)
            if value.ndim == 0 or len(value) != count:
                raise UserError(
                    f"{self._file}: the output {spec.name} has the shape {value.shape} for {count} "
                    "inputs; its first axis has to be the inputs'"
                )
            found[spec.name] = value
        return found

    def rows(self, outputs: Mapping[str, NDArray[Any]], count: int) -> Rows:
        """The compared outputs, float32 ``(count, K)``; see :meth:`answers`."""
        return side_by_side(self.answers(outputs, count))


def side_by_side(answers: Mapping[str, Rows]) -> Rows:
    """Outputs by name as one row for each input, in their order."""
    return np.concatenate([value.reshape(len(value), -1) for value in answers.values()], axis=1)


def _chosen(answers: tuple[TensorSpec, ...], names: list[str] | None) -> list[TensorSpec]:
    known = {spec.name: spec for spec in answers}
    if names is None:
        real = [spec for spec in answers if np.dtype(spec.dtype).kind == "f" or spec.scale]
        return real or list(answers)
    for name in names:
        if name not in known:
            raise UserError(f"the model has no output {name} (it has {', '.join(known)})")
    return [known[name] for name in names]


def _as_real(values: NDArray[Any], spec: TensorSpec) -> Rows:
    """An output as real numbers: what integers stand for, where the file says it."""
    real = np.asarray(values, np.float32)
    if spec.scale and values.dtype.kind in "iu":
        real = (real - np.float32(spec.zero)) * np.float32(spec.scale)
    return real
