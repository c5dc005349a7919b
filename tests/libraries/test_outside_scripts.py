"""Scripts of findings on configurations just outside of what is valid."""

from dataclasses import replace

import numpy as np
import pytest

from asterism.core.files.artifacts import read_json
from asterism.core.workers.worker import Limits
from asterism.differential.adapters.backends import FLOAT64
from asterism.differential.engine.execution import execute
from asterism.differential.engine.inputs import OUTSIDE
from asterism.differential.engine.outside import outside_of
from asterism.differential.engine.tasks import Result
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.oracle.finding import (
    INTERNAL_ERROR,
    OUTSIDE_DIFFERS,
    SILENT_ACCEPTANCE,
    Finding,
)
from asterism.differential.oracle.judged import judge_all
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.report.script_writer import ScriptWriter
from asterism.differential.report.writing import Reporter, write_reports
from asterism.differential.triage.groups import unique_outside
from asterism.differential.triage.reproduction import Reproduction
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer

JUDGE = JudgeParams(ulps=64, conditioning=8)
GRAPHS = [sequential(Tensor((6, 6, 2)), [layer("MaxPooling2D", pool_size=[2, 2])])] * 12


def finding(model, symptom=SILENT_ACCEPTANCE, backend="jax:jit", **more):
    said = f"{outside_of(GRAPHS[model], 0, model)}{more.pop('said', '')}"
    library = backend.partition(":")[0]
    agreeing = ("pytorch:eager", "tensorflow:eager")
    return Finding(
        model, symptom, "run", library, (backend,), (OUTSIDE,), agreeing, message=said, **more
    )


def test_one_of_each_symptom_library_layer_and_parameter_is_written_up():
    found = unique_outside([finding(model) for model in range(12)], GRAPHS, 0, 9)
    names = [set(outside_of(GRAPHS[0], 0, model).changed) for model in range(12)]
    assert len(found) == len({frozenset(n) for n in names}) > 1
    assert set().union(*(f.models for f in found)) == set(range(12))
    assert all(f.signature.startswith(f"{SILENT_ACCEPTANCE} | jax | MaxPooling2D(") for f in found)
    assert all(f.changed and not f.finding.message for f in found)
    known = {found[0].signature}
    assert unique_outside([finding(0), finding(1)], GRAPHS, 0, 0) == []
    left = unique_outside([finding(model) for model in range(12)], GRAPHS, 0, 9, known)
    assert len(left) == len(found) - 1
    other = replace(finding(0), distributions=("nan",))
    assert unique_outside([other], GRAPHS, 0, 9) == []


def test_the_one_that_kills_comes_first_and_its_message_is_the_librarys():
    dies = finding(3, INTERNAL_ERROR, exception="SIGSEGV", said=": the last words")
    (found,) = unique_outside([finding(0), dies], GRAPHS, 0, 1)
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
    (found,) = unique_outside([finding(0, symptom)], GRAPHS, 0, 1)
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
        sequential(Tensor((6, 2)), [layer("AdaptiveMaxPooling1D", output_size=[2])]),
        sequential(Tensor((5, 3, 2)), [layer("CenterCrop", height=2, width=2)]),
        sequential(Tensor((5, 2, 2)), [layer("LayerNormalization")]),
    ] * 4
    backends = ("tensorflow:eager", "pytorch:eager", "jax:jit", *FLOAT64)
    with WorkerPool(backends, Limits(60.0, 2000)) as pool:
        assert pool.start() == {}
        judged = judge_all(graphs, execute(graphs, pool, [OUTSIDE], 0), JUDGE, 0)
        assert judged.apart, "at least one library is odd"
        unique, place = unique_outside(judged.apart, graphs, 0, 2), tmp_path / "outside"
        place.mkdir()
        with Reporter(Reproduction(pool, JUDGE, 0, 10), {}, place, {}) as reporter:
            for found in unique:
                reporter.start(found)
            reports = write_reports(reporter, unique, place)
    assert reports and all(report.reproduced for report in reports)
    for value in read_json(tmp_path / "outside/unique.json"):
        assert value["confirmed"] == [1, 1, 1] and value["changed"]
