"""What a device computes for a compressed file, compared with what this machine computes."""

from __future__ import annotations

from dataclasses import dataclass

from asterism.core.messages.errors import UserError
from asterism.core.messages.escaping import counted
from asterism.core.statistics import Share, share_of
from asterism.vetting.half_precision import compare_half_precision, describe_half_precision
from asterism.vetting.onnx_pairs import opened_as_onnx
from asterism.vetting.opening import Vetted
from asterism.vetting.runtime_types import rounding_operators

#: Inputs that the original's tensors are looked at with.
_LOOKED = 500


@dataclass(frozen=True)
class OnDevice:
    """What a device does that computes as the file says.

    Attributes:
        unanswered: share of inputs on which it gives no finite answer; None where the file has no
            numbers of 16 bits.
        told: sentences: tensors beyond the range of their type, constants that are lost, nodes
            that ran in another type here than the file says.
        arithmetic: sentences about operators that round by themselves.
    """

    unanswered: Share | None
    told: tuple[str, ...]
    arithmetic: tuple[str, ...]


def on_device(vetted: Vetted) -> OnDevice:
    """Look at the original's tensors, and at what ONNX Runtime makes of the compressed file."""
    path = vetted.given.compressed.path
    nothing = OnDevice(None, (), ())
    if path is None or path.suffix != ".onnx":
        return nothing
    try:
        rounding = tuple(
            f"{one.operator} ({counted(len(one.nodes), 'node')}"
            f"{', which ONNX Runtime made of others' if one.made_here else ''}): {one.how}"
            for one in rounding_operators(path)
        )
        with opened_as_onnx(vetted) as pair:
            runs = pair.runs(vetted.inputs.items[:_LOOKED])
            found = compare_half_precision(pair.original, pair.compressed, runs)
    except UserError:  # another format, or a graph that is not run node by node
        return nothing
    if found is None:
        return OnDevice(None, (), rounding)
    lost = found.inputs_beyond if found.unanswered is None else found.unanswered
    share = share_of(lost, found.inputs, vetted.params.confidence)
    return OnDevice(share, tuple(describe_half_precision(found)), rounding)
