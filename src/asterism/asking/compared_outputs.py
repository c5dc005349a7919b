"""The outputs of both models that are compared, and whether they fit together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from asterism.asking.original import Look
from asterism.asking.outputs import Output
from asterism.asking.request import VetRequest
from asterism.core.messages.errors import UserError
from asterism.dflare.comparisons import Comparison, build_comparison
from asterism.models.signatures.signature import Signature
from asterism.models.tensor_models.answers import channels_moved
from asterism.vetting.opening import shape_of
from asterism.vetting.params import VetParams


def compared_names(params: VetParams, outputs: Sequence[Output]) -> list[str]:
    """The outputs that are compared: those that were chosen, or all of real numbers."""
    real = [output.name for output in outputs if not output.integer]
    return params.feeding.outputs or real or [output.name for output in outputs]


def compared(
    params: VetParams, outputs: Sequence[Output]
) -> tuple[Comparison, NDArray[np.float32]]:
    """The comparison, and the rows of those of the original's outputs that it compares."""
    named = {output.name: output for output in outputs}
    names = compared_names(params, outputs)
    shape = shape_of({name: named[name].shape for name in names})
    rows = np.concatenate([named[name].rows for name in names], axis=1)
    return build_comparison(params.comparison, shape), rows


def require_alike(request: VetRequest, params: VetParams, *sides: tuple[Signature, Look]) -> None:
    """Reject models whose compared outputs have other sizes, where both files fix them.

    Args:
        request: the models.
        params: what is compared.
        sides: what the original and what the compressed model is, and what it answered.

    Raises:
        UserError: so they are.
    """
    one, two = (_fixed_sizes(params, *side) for side in sides)
    if len(one) == len(two) and not all(map(_fit, one, two)):
        gives, other = (_shown(seen) for _, seen in sides)
        raise UserError(
            f"{request.original} gives {gives}, but {request.compressed} {other}: they are no pair"
        )


def _fixed_sizes(
    params: VetParams, signature: Signature, found: Look
) -> list[tuple[int, ...] | None]:
    """Sizes of the compared outputs in their order, but 1; None of one whose rows may vary."""
    given, specs = {o.name: o for o in found.outputs}, {s.name: s for s in signature.answers}
    return [
        tuple(size for size in given[name].shape if size > 1)
        if len(given[name].shape) == len(specs[name].shape) - 1
        and sum(size is None for size in specs[name].shape) <= 1
        else None
        for name in compared_names(params, found.outputs)
    ]


def _fit(own: tuple[int, ...] | None, other: tuple[int, ...] | None) -> bool:
    """Whether outputs of these sizes can be compared, perhaps with their channels moved."""
    if own is None or other is None:
        return True
    return own == other or channels_moved(other, own) is not None


def _shown(found: Look) -> str:
    return ", ".join(f"{o.name} ({', '.join(map(str, o.shape))})" for o in found.outputs)
