"""Findings in models of one operator: which attributes decide, and the inputs that a script has."""

import json

import numpy as np
import pytest

from asterism.differential.report.numbers import simple_inputs
from collection.occurrences import distinct_causes
from collection.operators import attributes_of, operator_occurrence, operator_occurrences
from tried_operators import tried_operators

SUBJECTS = {subject.name: subject for subject in tried_operators()}


def occurrences(names, inputs="normal", culprit="openvino"):
    """Of models that show wrong values, while all others do not."""
    fine = [subject for name, subject in SUBJECTS.items() if name not in names]
    run = "file", "now wrong", inputs
    shown = [SUBJECTS[name] for name in sorted(names)]
    return [operator_occurrence(one, run, culprit, "values differ", fine) for one in shown]


def named(operator, **wanted):
    """Models of an operator with some attributes."""
    return [
        name
        for name, subject in SUBJECTS.items()
        if name.split()[0] == operator
        and all(attributes_of(subject).get(a) == value for a, value in wanted.items())
    ]


CLIP, FORGET = named("LSTM", clip="0.5"), named("LSTM", input_forget="1")


def test_the_attribute_that_decides_is_the_one_that_all_failing_models_need():
    failing = occurrences(CLIP)
    assert len(failing) > 1
    ((chosen, _),) = distinct_causes(failing)
    assert chosen.entry.signature == "values differ | openvino | LSTM(clip=0.5)"


@pytest.mark.parametrize(
    ("failing", "causes"),
    [
        pytest.param([(named("Shrink"),)], [("normal", ())], id="always"),
        pytest.param(
            [({*CLIP, *FORGET},)],
            [("normal", ("clip",)), ("normal", ("input_forget",))],
            id="two attributes that each decide",
        ),
        pytest.param(
            [({*CLIP, *FORGET}, "nan")], [("nan", ("input_forget",))], id="special inputs"
        ),
        pytest.param([(CLIP, "nan"), (CLIP,)], [("normal", ("clip",))], id="ordinary inputs too"),
        pytest.param(
            [(CLIP, "wide", culprit) for culprit in ("openvino", "onnxruntime")],
            [("wide", ("clip",))] * 2,
            id="two libraries",
        ),
    ],
)
def test_models_that_fail_have_these_causes(failing, causes):
    found = distinct_causes([one for given in failing for one in occurrences(*given)])
    assert sorted((s.entry.inputs, tuple(s.entry.parameters)) for s, _ in found) == causes


@pytest.mark.parametrize("inputs", ["normal", "nan", "infinity"])
@pytest.mark.parametrize("operator", ["Relu", "Min 2x5 1x5"])
def test_simple_inputs_are_what_their_source_says(inputs, operator):
    shapes = [(spec.shape, spec.dtype) for spec in SUBJECTS[operator].inputs]
    for arrays in simple_inputs(inputs, shapes):
        for array in arrays:
            read = eval(array.source, {"np": np})
            np.testing.assert_array_equal(read, array.values)
            assert read.dtype == array.values.dtype
        whole = np.concatenate([a.values.reshape(-1) for a in arrays])
        assert np.isfinite(whole).all() == (inputs == "normal")


def test_a_comparison_names_whom_to_blame_and_leaves_out_what_is_unsupported(tmp_path):
    rows = [
        {"model": "Relu", "kind": kind, "symptom": symptom, "seen": [["file", "nan"]]}
        for kind, symptom in (
            ("now wrong", "values differ"),
            ("now right", "values differ"),
            ("both wrong", "values differ"),
            ("now runs", "unsupported"),
        )
    ]
    (tmp_path / "changes.json").write_text(json.dumps({"findings": rows}))
    found = operator_occurrences(tmp_path, "onnxruntime", "openvino")
    assert [s.entry.library for s in found] == ["openvino", "onnxruntime"]
