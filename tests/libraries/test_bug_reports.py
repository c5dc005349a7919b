"""Reports of findings: what an issue tracker shows of them is what was seen."""

import re
import subprocess
import sys

import numpy as np
import pytest

from asterism.differential.adapters.code import BackendCode
from asterism.differential.adapters.library import CONVERTERS, LIBRARIES
from asterism.differential.engine.tasks import Result
from asterism.differential.oracle.finding import EarlierModel, Finding
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.report.script_writer import ScriptWriter
from asterism.differential.report.writing import LONGEST, report_text
from asterism.differential.triage.reproduction import Reproduction
from asterism.differential.triage.unique import UniqueFinding
from asterism.memo.graphs.graph import sequential
from asterism.memo.graphs.store import read_weights
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer

GRAPH = sequential(Tensor((2,)), [layer("ReLU")])


@pytest.fixture
def written(tmp_path):
    """Writes the report of a finding on a script of a length; its text."""

    def write(symptom="error", script="pass\n", unfinished="", confirmed=(1, 1, 1), **more):
        (tmp_path / "repro.py").write_text(script)
        finding = Finding(0, symptom, "run", "jax", ("jax:jit",), **more)
        found = UniqueFinding(
            "a | b", finding, GRAPH, None, {0}, 3, {"jax:jit": "shows"}, unfinished
        )
        found.confirmed = confirmed
        return report_text(found, tmp_path)

    return write


def test_a_message_stands_in_a_block_of_its_own(written):
    words = "<unknown>:0: error: " + "failed to legalise _N " * 30
    text = written(exception="a.Error", message=words)
    block = text.split("```text\n")[1].split("\n```")[0]
    assert block.split() == words.split() and max(map(len, block.splitlines())) <= 100
    assert "```text" not in written(exception="SIGSEGV")


def test_a_report_fits_into_an_issue(written):
    assert "```python\npass\n```" in written()
    text = written(script="x = 1\n" * LONGEST, exception="a.Error", message="word " * 120)
    assert len(text) < 65_536 and "300,000 characters" in text


def test_what_no_script_shows_names_what_its_worker_had_run_before(written):
    before = (EarlierModel(3, ("normal", "nan")), EarlierModel(7, ("wide",)))
    text = written("crash", exception="SIGABRT", before=before, confirmed=(0,))
    assert "| 3 | normal, nan |\n| 7 | wide |" in text and "SIGABRT" in text
    assert "| 7 | wide |" not in written("crash", before=before)


def test_versions_are_those_of_converters_too(written):
    assert "- tf2onnx " in written() and "- onnxruntime " in written()


def writer_of(found, pool):
    return ScriptWriter(found, Reproduction(pool, JudgeParams(ulps=64, conditioning=8), 2, 10), {})


@LIBRARIES.register("reads_a_file")
class ReadsAFile(LIBRARIES["onnxruntime"]):
    """Says how many bytes a converted file has."""

    options = ("bytes",)

    def source(self, option):
        return "writes_a_file"

    def code(self, option):
        return BackendCode(("import os",), "", "raise ValueError(os.path.getsize(path))")


@CONVERTERS.register("writes_a_file")
class WritesAFile(CONVERTERS["tf2onnx"]):
    """Writes its file in no time."""

    keras_backend = "numpy"

    def code(self):
        return BackendCode(prepare="open(path, 'wb').write(b'123')")


@pytest.mark.slow
def test_a_script_of_a_failure_leaves_the_converted_file_alone(tmp_path):
    backends = ("reads_a_file:bytes",)
    finding = Finding(0, "error", "run", "x", backends, exception="ValueError", message="3")
    found = UniqueFinding("s", finding, GRAPH, None, {0}, 1)
    writer = writer_of(found, Ran())
    assert list(writer.write(tmp_path, ("whole",))) == ["whole"]
    done = subprocess.run(
        [sys.executable, "repro.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "ValueError: 3" in done.stdout) == (1, True), done.stderr
    assert sorted(p.name for p in tmp_path.glob("*.*")) == ["model.onnx", "repro.py"]


class Ran:
    """What a worker pool gives of a model that computes ``max(x, 0)``, and is moved by 0.25."""

    def described(self, graph):
        return {}

    def run(self, task):
        exact = {
            d: [np.maximum(x.astype(np.float64), 0) for x in i] for d, i in task.inputs.items()
        }
        moved = {
            distribution: [array + 0.25 for array in arrays]
            for distribution, arrays in exact.items()
        }
        outputs = {"pytorch:float64": exact, "pytorch:perturbed": moved}
        outputs["reads_a_file:bytes"] = {
            d: [(array + 9).astype(np.float32) for array in arrays] for d, arrays in exact.items()
        }
        return Result(task.index, tuple(task.inputs), {}, outputs)


def test_a_script_holds_the_reference_and_what_may_differ_from_it(tmp_path):
    finding = Finding(
        5, "values differ", "run", "x", ("reads_a_file:bytes",), distributions=("wide",)
    )
    found = UniqueFinding("s", finding, GRAPH, None, {5}, 1)
    writer = writer_of(found, Ran())
    assert list(writer.write(tmp_path, ("whole",))) == ["whole"]
    text = (tmp_path / "repro.py").read_text()
    assert {p.name for p in tmp_path.glob("*.py")} == {"repro.py"}
    stated = [line for line in text.splitlines() if line.startswith(("inputs =", "expected ="))]
    names = {"np": np}
    exec("\n".join(stated), names)
    (given,), expected = names["inputs"], names["expected"]
    assert expected.dtype == np.float64 and given.min() < 0 < given.max()
    right = np.maximum(given.astype(np.float64), 0)
    np.testing.assert_array_equal(expected, right)
    near = dict(re.findall(r"(rtol|atol)=([\d.e-]+)", text))
    rounding = 64 * 2.0**-23  # of one layer in float32
    assert float(near["rtol"]) == pytest.approx(rounding, rel=0.05)
    scale = np.sqrt(np.mean(right**2))
    assert float(near["atol"]) == pytest.approx(rounding * scale + 8 * 0.25, rel=0.05)


def test_a_file_of_weights_is_there_for_one_run_and_has_a_name_of_its_own(tmp_path):
    files, read = [], []

    class Keeping(Ran):
        def run(self, task):
            files.append(task.weights)
            read.append(read_weights(task.weights))
            return super().run(task)

    backends = ("reads_a_file:bytes",)
    finding = Finding(5, "values differ", "run", "x", backends, distributions=("wide",))
    found = UniqueFinding("s", finding, GRAPH, None, {5}, 1)
    for _ in range(2):  # a worker reads a file once: under the same name it would not see another
        writer = writer_of(found, Keeping())
        assert list(writer.write(tmp_path, ("whole",))) == ["whole"]
    assert len(read) == len(set(files)) == 2
    assert not any(file.exists() for file in files)
