"""Whether sums of 8-bit products fit into what ONNX Runtime holds them in on this machine.

On x86 processors without VNNI, its kernels add two products of an unsigned and a signed 8-bit
integer in 16 bits. A sum that does not fit is cut off, so that a quantised file answers otherwise
than on other processors. ONNX Runtime's documentation of quantisation names two remedies, weights
of 7 bits and a session option.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import onnx
from numpy.typing import NDArray

from asterism.core.statistics import exact_interval
from asterism.localisation.running import Run, Session, run_in_threads
from asterism.models.foreign.onnx_files import read_onnx
from asterism.models.formats.onnx import open_session
from asterism.vetting.onnx_pairs import OnnxPair

_REMEDY = (
    "On x86 processors without VNNI, such as this one, ONNX Runtime adds 8-bit products in 16 "
    "bits, and cuts off sums that do not fit: quantise with reduce_range=True, or set the session "
    "option session.x64quantprecision to 1"
)

#: The sum of an unsigned and a signed integer's products, twice.
_SUM = """<ir_version: 8, opset_import: ["": 17]>
    sum (uint8[1,2] inputs) => (int32[1,1] sums) <int8[2,1] weights = {127, 127}> {
        sums = MatMulInteger (inputs, weights)
    }"""


@cache
def cuts_sums_off() -> bool:
    """Whether ONNX Runtime cuts off the sum of the two largest products of 8-bit integers here."""
    model = onnx.parser.parse_model(_SUM)
    session = open_session(model.SerializeToString(), "a sum of two products")
    (found,) = session.run(None, {"inputs": np.full((1, 2), 255, np.uint8)})
    return int(found[0, 0]) != 2 * 255 * 127


def describe_cut_sums(
    pair: OnnxPair, items: NDArray[np.generic], deviates: NDArray[np.bool_], confidence: float
) -> list[str]:
    """What a verdict has to say about answers that cut sums change.

    The compressed file is run once more without ONNX Runtime's optimisations, that is, without
    its kernels for 8-bit products. A file that names operators of such kernels itself answers as
    before then, and nothing is said of it.

    Args:
        pair: both files.
        items: given inputs, ``(n, ...)``.
        deviates: on which of them the models deviate as ONNX Runtime runs them, ``(n,)``.
        confidence: of intervals.

    Returns:
        One sentence; none where the share of deviating inputs is not shown to be another.

    Raises:
        UserError: a file cannot be run.
    """
    first = Session(read_onnx(pair.original), pair.original.name)
    second = Session(read_onnx(pair.compressed), pair.compressed.name, optimised=False)
    names = dict(zip(first.output_types, second.output_types, strict=True))
    deviation = pair.deviation()

    def judge(run: Run) -> NDArray[np.bool_]:
        wanted = first.answers(run, {name: name for name in names})
        return deviation(wanted, second.answers(run, names)) > 0

    exact = np.concatenate(run_in_threads(judge, pair.runs(items)))
    only_cut, only_exact = int((deviates & ~exact).sum()), int((exact & ~deviates).sum())
    if not only_cut + only_exact:
        return []
    low, high = exact_interval(only_cut, only_cut + only_exact, confidence)
    if low <= 0.5 <= high:  # as many inputs may change for the better as for the worse
        return []
    here, exactly = 1 - deviates.mean(), 1 - exact.mean()
    return [
        f"the models agree on {here:.1%} of {len(items)} inputs here, and on {exactly:.1%} where "
        f"8-bit products are added up exactly. {_REMEDY}"
    ]
