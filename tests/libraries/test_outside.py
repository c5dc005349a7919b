"""Configurations just outside of the constraints: what is tried, said, and written up."""

from dataclasses import replace

import numpy as np
import pytest

from asterism.core.files.artifacts import read_json
from asterism.core.files.records import record_from
from asterism.differential.adapters.backend_names import FLOAT64, REFERENCES
from asterism.differential.engine.execution import execute
from asterism.differential.engine.inputs import OUTSIDE
from asterism.differential.engine.invalid_configurations import (
    draw_invalid_configuration,
    is_invalid_configuration_due,
)
from asterism.differential.engine.tasks import ExecutionOutcome, Result
from asterism.differential.oracle.finding import (
    INTERNAL_ERROR,
    OUTSIDE_DIFFERS,
    SILENT_ACCEPTANCE,
    Finding,
)
from asterism.differential.oracle.oracle import judge_all
from asterism.differential.report.script_writer import ScriptWriter
from asterism.differential.report.writing import Reporter, write_reports
from asterism.differential.shrinking.reproduction import Reproduction
from asterism.differential.triage.groups import unite_invalid_configurations
from asterism.memo.universe.layers import universe
from libraries.small_results import JUDGE, chained, made_finding, made_result, verdict_on
from libraries.small_runs import tasks_of, working
from memo.small_graphs import branching, layer

GRAPH = chained(
    (8, 8, 2),
    layer("Conv2D", filters=4, kernel_size=[3, 3]),
    layer("MaxPooling2D"),
    layer("Flatten"),
)
TESTED = ("tensorflow:eager", "pytorch:eager", "jax:jit", "openvino_keras:predict")


@pytest.mark.parametrize("model", range(20))
def test_what_is_tried_is_one_layer_that_the_universe_rejects(model):
    found = draw_invalid_configuration(GRAPH, 0, model)
    assert found is not None and found == draw_invalid_configuration(GRAPH, 0, model)
    (identity,) = found.graph.layers
    node, (name,) = found.graph.nodes[identity], found.changed
    spec = universe()[node.type]
    inputs = [found.graph.tensors[i] for i in node.inputs]
    spec.output(node.config, inputs)  # valid without the change
    with pytest.raises((ValueError, IndexError, TypeError, ArithmeticError, KeyError)):
        spec.output({**node.config, **found.changed}, inputs)
    assert node.type in str(found) and f"{name}=" in str(found)


def test_different_models_are_tried_with_different_values():
    assert len({str(draw_invalid_configuration(GRAPH, 0, model)) for model in range(20)}) > 5


def test_a_layer_without_numbers_is_not_tried():
    assert draw_invalid_configuration(chained((4,), layer("Flatten")), 0, 0) is None


def test_the_share_of_the_models_is_planned_beside_their_inputs():
    tasks = tasks_of([GRAPH] * 200, ["normal"], TESTED, outside_share=0.25)
    planned = [task for task in tasks if list(task.inputs) == [OUTSIDE]]
    assert [t.index for t in planned] == [
        i for i in range(200) if is_invalid_configuration_due(0, i, 0.25)
    ]
    assert 30 < len(planned) < 70
    for task in planned[:3]:
        found = draw_invalid_configuration(GRAPH, 0, task.index)
        assert (task.graph, task.changed) == (found.graph, found.changed)
    asked = tasks_of([GRAPH], ["normal", OUTSIDE], TESTED)
    assert [list(task.inputs) for task in asked] == [["normal"], [OUTSIDE]]


def said(values=None, failed=None):
    """Symptom and library of what the oracle says; all accept, but those that are named."""
    given = {"keras_onnx": ExecutionOutcome(0, "keras_onnx", "convert", "ok")}
    outputs = dict.fromkeys((*TESTED, *REFERENCES), np.ones((2, 3))) | (values or {})
    given |= {backend: [output] for backend, output in outputs.items()} | (failed or {})
    verdict = verdict_on(branching(), made_result(given, OUTSIDE))
    assert verdict.findings == [] and verdict.unresolved == 0
    assert all(record_from(Finding, f.to_json()) == f for f in verdict.excluded)
    return [(f.symptom, f.library) for f in verdict.excluded]


def rejects(*backends, exception="ValueError", message="no", status="error"):
    return {b: ExecutionOutcome(0, b, "build", status, exception, message) for b in backends}


def test_rejection_by_all_and_agreement_of_all_are_right():
    assert said() == said(failed=rejects(*TESTED, *REFERENCES)) == []


def test_the_one_that_accepts_what_the_others_reject_is_named():
    others = [b for b in (*TESTED, *REFERENCES) if not b.startswith("jax")]
    assert said(failed=rejects(*others)) == [(SILENT_ACCEPTANCE, "jax")]
    assert said(failed=rejects("pytorch:eager", "pytorch:float64")) == [], "the others accept it"


@pytest.mark.parametrize(
    "how",
    [
        {"exception": "IndexError"},
        {"exception": "tensorflow.python.framework.errors_impl.InternalError"},
        {"exception": "RuntimeError", "message": "x INTERNAL ASSERT FAILED at y"},
        {"exception": "SIGSEGV", "status": "crash"},
    ],
)
def test_an_internal_error_is_no_way_to_reject(how):
    others = rejects(*TESTED[1:], *REFERENCES)
    failed = {**others, **rejects("tensorflow:eager", **how)}
    assert said(failed=failed) == [(INTERNAL_ERROR, "tensorflow")]


def test_an_internal_error_of_all_libraries_is_that_of_keras_and_one():
    assert said(failed=rejects(*TESTED, *REFERENCES, exception="ZeroDivisionError")) == [
        (INTERNAL_ERROR, "keras")
    ]


def test_a_converter_that_writes_a_file_accepts_nothing_by_itself():
    """The library that reads the file does."""
    failed = rejects(*TESTED, *REFERENCES[:1])
    assert said(failed=failed) == []
    assert "keras_onnx" not in {library for _, library in said(failed=rejects(*TESTED[:2]))}


def test_unsupported_is_neither_acceptance_nor_rejection():
    assert said(failed=rejects(*TESTED[1:], *REFERENCES, status="unsupported")) == []


@pytest.mark.parametrize("other", [np.ones((2, 4)), np.zeros((2, 3)), np.full((2, 3), np.nan)])
def test_those_that_accept_must_agree(other):
    assert said(values={"openvino_keras:predict": other}) == [(OUTSIDE_DIFFERS, "openvino_keras")]
    assert said(values={"openvino_keras:predict": np.full((2, 3), 1.001)}) == []


POOLED = [chained((6, 6, 2), layer("MaxPooling2D", pool_size=[2, 2]))] * 12


def finding(model, symptom=SILENT_ACCEPTANCE, backend="jax:jit", **more):
    said = f"{draw_invalid_configuration(POOLED[model], 0, model)}{more.pop('said', '')}"
    facts = {"agreeing": ("pytorch:eager", "tensorflow:eager"), "message": said, **more}
    return made_finding(symptom, backend, OUTSIDE, model=model, **facts)


def test_one_of_each_symptom_library_layer_and_parameter_is_written_up():
    found = unite_invalid_configurations([finding(model) for model in range(12)], POOLED, 0, 9)
    names = [set(draw_invalid_configuration(POOLED[0], 0, model).changed) for model in range(12)]
    assert len(found) == len({frozenset(n) for n in names}) > 1
    assert set().union(*(f.models for f in found)) == set(range(12))
    assert all(f.signature.startswith(f"{SILENT_ACCEPTANCE} | jax | MaxPooling2D(") for f in found)
    assert all(f.changed and not f.finding.message for f in found)
    known = {found[0].signature}
    assert unite_invalid_configurations([finding(0), finding(1)], POOLED, 0, 0) == []
    left = unite_invalid_configurations(
        [finding(model) for model in range(12)], POOLED, 0, 9, known
    )
    assert len(left) == len(found) - 1
    other = replace(finding(0), distributions=("nan",))
    assert unite_invalid_configurations([other], POOLED, 0, 9) == []


def test_the_one_that_kills_comes_first_and_its_message_is_the_librarys():
    dies = finding(3, INTERNAL_ERROR, exception="SIGSEGV", said=": the last words")
    (found,) = unite_invalid_configurations([finding(0), dies], POOLED, 0, 1)
    assert found.finding.exception == "SIGSEGV" and found.finding.message == "the last words"


class Pool:
    """Describes no layer, and gives the same of every backend but the first."""

    def described(self, graph, changed=None):
        return {}

    def run(self, task):
        assert task.changed and list(task.inputs) == [OUTSIDE]
        right, wrong = (np.full((2, 3), value, np.float32) for value in (1, 5))
        outputs = dict(zip(task.backends, ({OUTSIDE: [right]}, {OUTSIDE: [wrong]}), strict=True))
        return Result(task.index, (OUTSIDE,), {}, outputs)


@pytest.mark.parametrize(
    ("symptom", "wanted"),
    [
        (SILENT_ACCEPTANCE, "expected: an exception, as in pytorch:eager"),
        (INTERNAL_ERROR, "or an exception says what is wrong"),
        (OUTSIDE_DIFFERS, "expected = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0]"),
    ],
)
def test_a_short_script_builds_the_invalid_layer_and_says_what_is_wanted(symptom, wanted, tmp_path):
    (found,) = unite_invalid_configurations([finding(0, symptom)], POOLED, 0, 1)
    writer = ScriptWriter(found, Reproduction(Pool(), JUDGE, 0, 10), {})
    assert next(writer.write(tmp_path, ("short", "whole"))) == "short"
    text = (tmp_path / "repro.py").read_text()
    (name,) = found.changed
    assert f"{name}=" in text and "MaxPooling2D" in text
    assert wanted in text and len(text.splitlines()) <= 30
    assert ("np.allclose" in text) == (symptom == OUTSIDE_DIFFERS)
    assert ("np.ones" in text) == (symptom != OUTSIDE_DIFFERS)


@pytest.mark.slow
def test_what_three_libraries_do_just_outside_is_written_up_and_confirmed(tmp_path):
    graphs = [
        chained((6, 2), layer("AdaptiveMaxPooling1D", output_size=[2])),
        chained((5, 3, 2), layer("CenterCrop", height=2, width=2)),
        chained((5, 2, 2), layer("LayerNormalization")),
    ] * 4
    backends = ("tensorflow:eager", "pytorch:eager", "jax:jit", *FLOAT64)
    with working(backends) as pool:
        judged = judge_all(graphs, execute(graphs, pool, [OUTSIDE], 0), JUDGE, 0)
        assert judged.excluded, "at least one library is odd"
        unique, place = (
            unite_invalid_configurations(judged.excluded, graphs, 0, 2),
            tmp_path / "outside",
        )
        place.mkdir()
        with Reporter(Reproduction(pool, JUDGE, 0, 10), {}, place, {}) as reporter:
            for found in unique:
                reporter.start(found)
            reports = write_reports(reporter, unique, place)
    assert reports and all(report.reproduced for report in reports)
    for value in read_json(tmp_path / "outside/unique.json"):
        assert value["confirmed"] == [1, 1, 1] and value["changed"]
