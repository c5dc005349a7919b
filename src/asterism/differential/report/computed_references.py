"""Lines of a script that compute what it expects, where another program is right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from asterism.differential.report.decisions import Right
from asterism.differential.report.numbers import Array
from asterism.differential.report.program_text import Runner
from asterism.differential.triage.unique import UniqueFinding


def eager_reference(found: UniqueFinding, runner: Runner) -> str:
    """Lines that compute what is right by an eager run, where that is right; or nothing."""
    finding = found.finding
    backend = {"torch": "pytorch"}.get(runner.keras_backend, runner.keras_backend)
    eager = f"{backend}:eager"
    plain = not finding.question and finding.distributions[:1] not in (("split",), ("lengthened",))
    if not plain or not finding.by_values or eager not in finding.agreeing:
        return ""
    given = "inputs" if len(found.graph.inputs) > 1 else "inputs[0]"
    called = f"keras.tree.flatten(model({given}, training=False))"
    return f"expected = [keras.ops.convert_to_numpy(y) for y in {called}]  # eagerly"


def onnx_reference(text: str, inputs: Sequence[Array], right: Right | None) -> str:
    """Lines that compute what is right by ONNX's evaluator, where it is right; or nothing.

    Args:
        text: the model.
        inputs: the batch.
        right: what is right; None where something fails.
    """
    from onnx import parser
    from onnx.reference import ReferenceEvaluator

    if right is None:
        return ""
    try:
        evaluator = ReferenceEvaluator(parser.parse_model(text))
        given = dict(zip(evaluator.input_names, (a.values for a in inputs), strict=True))
        with np.errstate(all="ignore"):
            found = evaluator.run(None, given)
    except Exception:  # whatever an evaluator raises of an operator that it does not know
        return ""
    for actual, wanted, limit in zip(found, right.expected, right.allowed, strict=True):
        with np.errstate(all="ignore"):
            near = np.abs(actual.astype(np.float64) - wanted) <= limit
            same = near | (actual == wanted) | (np.isnan(actual) & np.isnan(wanted))
        if actual.shape != wanted.shape or not same[np.isfinite(limit)].all():
            return ""
    return """from onnx.reference import ReferenceEvaluator
reference = ReferenceEvaluator(path)
expected = reference.run(None, dict(zip(reference.input_names, inputs)))"""
