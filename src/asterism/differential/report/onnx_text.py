"""A converted model as ONNX's own text, for scripts of what a runtime does wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from asterism.differential.report.decisions import ExpectedOutputs
from asterism.differential.report.numbers import Array

#: Lines and characters of a text that a reader takes in.
_MOST_LINES, _MOST_CHARACTERS = 40, 6000

#: The number in a name that tf2onnx makes: it counts through all that its process has converted.
_COUNTED = re.compile(r"(?<=__)\d+\b")


def renumber_names(text: str) -> str:
    """The text with tf2onnx's numbers counted from 0, so that what ran before is not seen."""
    numbers: dict[str, str] = {}
    return _COUNTED.sub(lambda found: numbers.setdefault(found[0], str(len(numbers))), text)


def onnx_text(content: bytes) -> str | None:
    """The model in the syntax of ``onnx.parser``; None where it is long, or its text no literal.

    Names of nodes and of the producer, descriptions and shapes in between are left out: they
    compute nothing.

    Args:
        content: of an ``.onnx`` file that a converter wrote.
    """
    from onnx import ModelProto, parser, printer

    model = ModelProto()
    model.ParseFromString(content)
    del model.graph.value_info[:]
    del model.metadata_props[:]
    model.graph.doc_string = ""
    for name in ("doc_string", "producer_name", "producer_version"):
        model.ClearField(name)
    for node in model.graph.node:
        node.name = node.doc_string = ""
        del node.metadata_props[:]
    try:
        text: str = printer.to_text(model).strip()
    except UnicodeDecodeError:  # bytes in a string, which the printer does not escape
        return None
    if text.count("\n") >= _MOST_LINES or len(text) > _MOST_CHARACTERS:
        return None
    if "\\" in text or '"""' in text or text.endswith('"') or not text.isascii():
        return None
    try:
        parsed = parser.parse_model(text)
    except Exception:  # what the printer writes is not always what the parser reads
        return None
    return text if len(parsed.graph.node) == len(model.graph.node) else None


def onnx_reference(text: str, inputs: Sequence[Array], right: ExpectedOutputs | None) -> str:
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
