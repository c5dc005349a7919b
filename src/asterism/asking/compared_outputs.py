"""The outputs of both models that are compared: which belong together, and whether they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from asterism.asking.outputs import Output
from asterism.asking.request import VetRequest
from asterism.core.messages.errors import UserError
from asterism.dflare.comparisons import Comparison, build_comparison
from asterism.models.signatures.signature import Signature
from asterism.models.tensor_models.answers import find_channel_permutation
from asterism.vetting.opening import find_row_shape
from asterism.vetting.params import VetParams

#: How far outputs of unlike sizes are apart; others are at most 1 apart.
_UNLIKE = 2.0
#: Outputs are reordered only if that at least halves their total distance.
_CLEARLY = 0.5


def choose_compared_names(params: VetParams, outputs: Sequence[Output]) -> list[str]:
    """The original's outputs that are compared: those that were chosen, or all of real numbers."""
    return params.feeding.outputs or _real(outputs)


def select_compared_rows(
    params: VetParams, outputs: Sequence[Output]
) -> tuple[Comparison, NDArray[np.float32]]:
    """The comparison, and the rows of the original's outputs that it compares."""
    named = {output.name: output for output in outputs}
    names = choose_compared_names(params, outputs)
    shape = find_row_shape({name: named[name].shape for name in names})
    rows = np.concatenate([named[name].rows for name in names], axis=1)
    return build_comparison(params.comparison, shape), rows


def are_matched_by_name(names: Sequence[str], chosen: bool, other: Sequence[Output]) -> bool:
    """Whether names, or there being one output only, tell which outputs belong together.

    Args:
        names: the names of the original's outputs that are compared.
        chosen: whether it has others too.
        other: the compressed model's outputs.
    """
    by_name = set(names) <= {output.name for output in other}
    return by_name or (not chosen and len(names) == len(_real(other)) == 1)


def match_outputs(
    file: str,
    names: Sequence[str],
    chosen: bool,
    own: Sequence[Output],
    other: Sequence[Output],
) -> dict[str, str]:
    """The compressed model's outputs that correspond to the original's, by size and values.

    Args:
        file: the compressed model's, for messages.
        names: the names of the original's outputs that are compared.
        chosen: whether it has others too. If not, the order of both files counts, unless outputs
            are clearly nearer to each other in another one.
        own: the original's outputs for some inputs.
        other: the compressed model's outputs for them.

    Returns:
        The compressed model's names by the original's; empty where the order tells.

    Raises:
        UserError: there are too few outputs, or the files have some names in common and not all.
    """
    mine, theirs = ({output.name: output for output in side} for side in (own, other))
    real = _real(other)
    missing = UserError(
        f"{file} has no output {', '.join(sorted(set(names) - set(theirs)))} such as the original "
        "has: say which outputs are compared, and how, by --comparison"
    )
    if len(real) < len(names) or set(names) & set(theirs):
        raise missing
    from scipy.optimize import linear_sum_assignment  # here, because names tell mostly

    apart = np.array([[_apart(mine[name], theirs[one]) for one in real] for name in names])
    rows, columns = linear_sum_assignment(apart)
    total = apart[rows, columns].sum()
    if not chosen and len(names) == len(real) and total >= _CLEARLY * np.trace(apart):
        return {}
    if (apart[rows, columns] == _UNLIKE).any():
        raise missing
    return {names[row]: real[column] for row, column in zip(rows, columns, strict=True)}


def find_counterparts(
    params: VetParams, names: Sequence[str], other: Sequence[Output]
) -> list[str]:
    """The compressed model's outputs that correspond to given ones, by name or order."""
    found = [params.counterpart(name) for name in names]
    return found if {output.name for output in other}.issuperset(found) else _real(other)


def require_comparable_outputs(
    request: VetRequest, params: VetParams, *sides: tuple[Signature, Sequence[Output]]
) -> None:
    """Reject models whose compared outputs have other sizes, or of which one gives logits.

    Args:
        request: the models.
        params: what is compared.
        sides: what the original and what the compressed model is, and what it answered.

    Raises:
        UserError: so they are.
    """
    (own, outputs), (other, theirs) = sides
    names = choose_compared_names(params, outputs)
    matched = find_counterparts(params, names, theirs)
    one = _fixed_sizes(names, own, outputs)
    two = _fixed_sizes(matched, other, theirs)
    if len(one) == len(two) and not all(map(_fit, one, two)):
        raise UserError(
            f"{request.original} gives {_list_outputs(outputs)}, but {request.compressed} "
            f"{_list_outputs(theirs)}: they are no pair"
        )
    mine, others = ({o.name: o for o in side} for side in (outputs, theirs))
    for name, counterpart in zip(names, matched, strict=False):
        by_order = _by_order(name, params)
        if not by_order and _on_unlike_scales(mine[name], others[counterpart]):
            raise UserError(
                f"{request.original}'s {name} comes from {mine[name].made_by}, and "
                f"{request.compressed}'s {counterpart} from {others[counterpart].made_by}: one "
                "gives probabilities and the other logits, which are not compared. Let both files "
                "end with the same operator"
            )


def _by_order(name: str, params: VetParams) -> bool:
    """Whether an output is compared by its largest numbers alone, on whatever scale these are."""
    kind, options = params.comparison.kind, params.comparison.options
    if kind == "together":
        parts = {part["output"]: part for part in options["outputs"]}
        if name not in parts:  # of several that are compared as one
            return False
        kind, options = parts[name]["kind"], parts[name]["options"]
    return kind == "top_label" or (kind == "label_map" and options.get("threshold") is None)


def _on_unlike_scales(one: Output, other: Output) -> bool:
    """Whether one output holds probabilities by its operator, and the other logits."""
    limited = [output.by_sigmoid or output.by_softmax for output in (one, other)]
    logits = [o.linear and o.values.size > 0 and not o.within_unit for o in (one, other)]
    return any(limited) and any(logits)


def _real(outputs: Sequence[Output]) -> list[str]:
    """Names of the outputs of real numbers, of all where there are none."""
    real = [output.name for output in outputs if not output.integer]
    return real or [output.name for output in outputs]


def _apart(one: Output, other: Output) -> float:
    """How far two outputs are apart, by their lengths; the median over the inputs."""
    if one.shape != other.shape:
        if (move := find_channel_permutation(other.shape, one.shape)) is None:
            return _UNLIKE
        other = replace(other, values=np.moveaxis(other.values, *move))
    if len(one.values) != len(other.values):  # one of them has not answered all inputs
        return 1.0
    f, g = one.rows.astype(float), other.rows.astype(float)
    lengths = np.linalg.norm(f, axis=1) + np.linalg.norm(g, axis=1)
    return float(np.median(np.linalg.norm(f - g, axis=1) / np.maximum(lengths, 1e-30)))


def _fixed_sizes(
    names: Sequence[str], signature: Signature, outputs: Sequence[Output]
) -> list[tuple[int, ...] | None]:
    """Sizes of the outputs of these names, but 1; None of one whose rows may vary."""
    given, specs = {o.name: o for o in outputs}, {s.name: s for s in signature.answers}
    return [
        tuple(size for size in given[name].shape if size > 1)
        if len(given[name].shape) == len(specs[name].shape) - 1
        and sum(size is None for size in specs[name].shape) <= 1
        else None
        for name in names
    ]


def _fit(own: tuple[int, ...] | None, other: tuple[int, ...] | None) -> bool:
    """Whether outputs of these sizes can be compared, perhaps with their channels moved."""
    if own is None or other is None:
        return True
    return own == other or find_channel_permutation(other, own) is not None


def _list_outputs(outputs: Sequence[Output]) -> str:
    return ", ".join(f"{o.name} ({', '.join(map(str, o.shape))})" for o in outputs)
