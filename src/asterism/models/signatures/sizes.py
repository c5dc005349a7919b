"""Numbers for a model's free sizes: those of one name are one size, and sums of them stay sums."""

from __future__ import annotations

import re
from collections.abc import Mapping

from asterism.models.signatures.signature import Signature, TensorSpec, growing_axis

#: A sum of names and numbers, as exporters write it: ``past_sequence_length + 1``.
_SUM = re.compile(r"\s*[^\s+]+(\s*\+\s*[^\s+]+)+\s*")


def is_sum(name: str) -> bool:
    """Whether a free size is called by the sum that it is."""
    return _SUM.fullmatch(name) is not None


def terms(name: str) -> list[str]:
    """The parts of a sum; the name itself of another."""
    return [part.strip() for part in name.split("+")] if is_sum(name) else [name]


class Sizes:
    """Numbers for free sizes, which fit together.

    Args:
        known: by name; what is missing is given :attr:`usual`, once for each name.
        batch: for a first axis without a name.
        usual: for everything else.
    """

    def __init__(self, known: Mapping[str, int], batch: int, usual: int) -> None:
        self._known, self._batch, self.usual = dict(known), batch, usual

    def of(self, name: str) -> int:
        """The number for a name, or for a sum of names and numbers."""
        if name.isdecimal():
            return int(name)
        parts = terms(name)
        if name not in self._known and len(parts) > 1:
            self._known[name] = sum(map(self.of, parts))
        return self._known.setdefault(name, self.usual)

    def shape(self, spec: TensorSpec) -> tuple[int, ...]:
        """All axes of an input as numbers."""
        names = spec.dims or ("",) * len(spec.shape)
        return tuple(
            size if size is not None else self.of(name) if name else self._unnamed(axis)
            for axis, (size, name) in enumerate(zip(spec.shape, names, strict=True))
        )

    def _unnamed(self, axis: int) -> int:
        return self.usual if axis else self._batch


def sizes_of(signature: Signature, batch: int, usual: int) -> Sizes:
    """Numbers for a model's free sizes, with caches of one item beside ``usual`` new ones.

    What a growing cache is called when a step is over is what it was called before, and the step.
    """
    known: dict[str, int] = {}
    main = signature.given[0] if signature.given else None
    if main is not None and main.dims and main.shape[0] is None and main.dims[0]:
        known[main.dims[0]] = batch
    step = _step(main, usual)
    answers = {spec.name: spec for spec in signature.outputs}
    for spec in signature.inputs:
        answer = answers.get(dict(signature.states).get(spec.name, ""))
        axis = None if answer is None else growing_axis(spec, answer, main)
        if axis is not None and answer is not None and spec.dims and answer.dims:
            before, after = spec.dims[axis], answer.dims[axis]
            past = known.setdefault(before, 1) if before else 1
            if after and after != before and not is_sum(after):
                known.setdefault(after, past + step)
    return Sizes(known, batch, usual)


def _step(main: TensorSpec | None, usual: int) -> int:
    size = main.shape[1] if main is not None and len(main.shape) > 1 else 1
    return usual if size is None else size
