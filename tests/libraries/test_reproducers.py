"""Scripts of findings: 1 while the bug lives, 0 after, 2 when something else fails."""

import inspect
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from asterism.core.messages.errors import UserError
from asterism.libraries.adapters.library import LIBRARIES, Library
from asterism.libraries.judging.compare import first_difference
from asterism.libraries.judging.difference import difference
from asterism.libraries.judging.finding import Finding
from asterism.libraries.reporting.bug_reports import Report
from asterism.libraries.reporting.confirming import exit_status
from asterism.libraries.reporting.known_issues import KnownIssue, issue_of, read_known_issues
from asterism.libraries.reporting.reproducer import script_of, tolerated
from asterism.libraries.reporting.script_checks import OTHERWISE, check_of, values_check, watch_of
from asterism.libraries.running.tolerance import Tolerance
from asterism.libraries.running.worker_environment import variables
from asterism.libraries.triage.triage import UniqueFinding
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer
from places import ROOT

GRAPH = sequential(Tensor((2,)), [layer("ReLU")])
ENDS = {
    "crash": "import os; os.abort()",
    "hang": "import time; time.sleep(1000)",
    "memory": "np.ones(2**34)",
    "exception": "raise ValueError('no')",
    "none": "return [inputs[0]]",
}


@LIBRARIES.register("made_up")
class MadeUp(Library):
    """A library whose scripts end as their option says."""

    name = "made_up"
    packages = ("numpy",)
    keras_backend = "numpy"
    options = tuple(ENDS)

    def script(self, option):
        return f"\ndef run(model, inputs):\n    {ENDS[option]}\n"

    def compile(self, model_under_test, option):
        raise NotImplementedError

    def run(self, compiled, inputs):
        raise NotImplementedError


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "symptom", "exception"),
    [
        ("crash", "runtime crash", "SIGABRT"),
        ("hang", "hang", ""),
        ("memory", "memory", ""),
        ("exception", "runtime crash", "ValueError"),
    ],
)
def test_a_script_says_whether_the_bug_lives(end, symptom, exception, tmp_path, monkeypatch):
    monkeypatch.setattr("asterism.libraries.reporting.script_checks.PATIENCE", 25)
    statuses = []
    for option in (end, "none"):
        backend = f"made_up:{option}"
        finding = made(symptom, exception, backends=(backend,))
        unique = UniqueFinding("s", finding, GRAPH, None, {0}, 1)
        script = tmp_path / "repro.py"
        script.write_text(script_of(unique, {}, {}, [np.zeros((2, 2), np.float32)], [], []))
        statuses.append(exit_status(script))
    assert statuses == [1, 0]


def made(symptom, exception="", message="", backends=("made_up:none",)):
    """A failure as it is recorded."""
    return Finding(0, symptom, "run", "made_up", backends, exception=exception, message=message)


def status_of(finding, step, folder):
    """How a script ends that does nothing but one step."""
    script = folder / "repro.py"
    begin = f"import os, sys, time\n{OTHERWISE}{watch_of(finding)}"
    script.write_text(begin + check_of(finding, [step]))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, check=False)
    return done.returncode


@pytest.mark.parametrize(
    ("step", "status"),
    [
        ("raise ValueError('shape (9, 9) of node 77 is bad at 0x12')", 1),
        ("raise ValueError('rank of input is bad')", 2),
        ("raise TypeError('shape of node is bad')", 2),
        ("import no_such_module", 2),
        ("sys.exit(1)", 2),
        ("os.abort()", -6),
        ("pass", 0),
    ],
)
def test_another_exception_is_not_the_bug(step, status, tmp_path):
    finding = made("runtime crash", "ValueError", "shape (3, 4) of node 1 is bad at ADDRESS")
    assert status_of(finding, step, tmp_path) == status


@pytest.mark.parametrize(("condition", "status"), [("rank == 2", 1), ("data_type.is_real()", 2)])
def test_another_condition_of_openvino_is_not_the_bug(condition, status, tmp_path):
    said = (
        "Exception from src/core.cpp:117: Check 'false' failed at a.cpp:1: Check '{}' failed at b"
    )
    finding = made("runtime crash", "RuntimeError", said.format("rank == 2"))
    step = f"raise RuntimeError({said.format(condition)!r})"
    assert status_of(finding, step, tmp_path) == status


@pytest.mark.parametrize(
    ("symptom", "exception", "ends"),
    [
        ("runtime crash", "SIGABRT", {"os.abort()": 1, "import no_such_module": 2}),
        ("runtime crash", "exit status 3", {"os._exit(3)": 1, "os._exit(4)": 2, "os.abort()": 2}),
        ("memory", "", {"raise MemoryError": 1, "os.abort()": 1, "import no_such_module": 2}),
        ("hang", "", {"import no_such_module": 2, "os.abort()": 2}),
    ],
)
def test_another_end_is_not_the_bug(symptom, exception, ends, tmp_path):
    finding = made(symptom, exception)
    assert finding.deadly
    for step, status in {**ends, "pass": 0}.items():
        assert status_of(finding, step, tmp_path) == status, step


@pytest.mark.parametrize(("symptom", "status"), [("hang", 1), ("runtime crash", 2), ("memory", 2)])
def test_only_a_hang_takes_for_ever(symptom, status, tmp_path, monkeypatch):
    monkeypatch.setattr("asterism.libraries.reporting.script_checks.PATIENCE", 0.5)
    finding = made(symptom, "" if symptom != "runtime crash" else "SIGABRT")
    assert status_of(finding, "time.sleep(9)", tmp_path) == status


@pytest.mark.parametrize(("backend", "said"), [("tensorflow:eager", True), ("jax:jit", False)])
def test_a_script_has_the_kernels_that_the_worker_had(backend, said):
    unique = UniqueFinding("s", made("hang", backends=(backend,)), GRAPH, None, {0}, 1)
    text = script_of(unique, {}, {}, [np.zeros((2, 2), np.float32)], [], [])
    chosen = variables("tensorflow")["TF_ENABLE_ONEDNN_OPTS"]
    assert (f'os.environ["TF_ENABLE_ONEDNN_OPTS"] = "{chosen}"' in text) is said


#: What reproducers compare outputs by.
COMPARISON = inspect.getsource(difference)

NUMBERS = st.sampled_from(
    [0.0, 1.0, -1.0, 1.000001, 1.1, -3e38, 3e38, 1e39, np.inf, -np.inf, np.nan]
)


@given(
    arrays.arrays(np.float64, (2, 2), elements=NUMBERS),
    arrays.arrays(np.float64, (2, 2), elements=NUMBERS),
    st.sampled_from(["float32", "float64"]),
    st.sampled_from([0.0, 1e-3]),
)
def test_a_script_sees_the_differences_that_the_oracle_sees(reference, other, dtype, spread):
    written = {"np": np}
    exec(COMPARISON, written)
    tolerance = Tolerance(64, 8, 2.0**-23, 2)
    with np.errstate(over="ignore"):
        output = other.astype(dtype)
    found = first_difference([output], [reference], ["float32"], [spread], tolerance)
    (allowed,) = tolerated([reference], tolerance, [spread])
    assert allowed.shape == reference.shape
    seen = written["difference"](output, reference, allowed, "float32")
    assert seen == (None if found is None else (found.kind, found.excess))


@pytest.mark.slow
def test_a_script_has_the_oracles_own_comparison(tmp_path):
    unique = UniqueFinding("s", made("values differ"), GRAPH, None, {0}, 1)
    given = [np.zeros((2, 2), np.float32)]
    script = tmp_path / "repro.py"
    for expected, status in ((0.0, 0), (1.0, 1)):
        numbers = [np.full((2, 2), expected)]
        text = script_of(unique, {}, {}, given, numbers, [np.full((2, 2), 1e-6)])
        assert COMPARISON in text
        script.write_text(text)
        assert exit_status(script) == status


def test_a_script_holds_nothing_else_that_is_compared():
    check = values_check(["outputs = []"])
    assert check.count("isinf") == COMPARISON.count("isinf")
    assert "asterism" not in check


def test_an_element_has_the_tolerance_of_its_own_size():
    reference = np.array([1e6, 1e-3])
    (allowed,) = tolerated([reference], Tolerance(64, 8, 2.0**-23, 1), [0.0])
    assert allowed[0] > allowed[1]


def test_known_issues_are_a_mapping(tmp_path):
    file = tmp_path / "issues.yaml"
    file.write_text("values differ | jax: https://example.org/1\n7: 8\n")
    assert read_known_issues(str(file)) == {
        "values differ | jax": KnownIssue("https://example.org/1"),
        "7": KnownIssue("8"),
    }
    assert read_known_issues("conf/no_file") == {}
    file.write_text("")
    assert read_known_issues(str(file)) == {}
    wrong = {
        "- a": "must map",
        "a: [": "is not YAML",
        "a: {limit: no}": "'a' needs a `link`",
        "a: {link: b, more: c}": "'a' needs a `link`",
        "a: {link: b, inputs: odd}": "there are no inputs 'odd'",
    }
    for text, message in wrong.items():
        file.write_text(text)
        with pytest.raises(UserError, match=message):
            read_known_issues(str(file))
    with pytest.raises(UserError, match="cannot read"):
        read_known_issues(str(tmp_path / "none.yaml"))


def test_a_known_issue_is_that_of_a_signature_and_of_its_inputs():
    known = {"a |": KnownIssue("1", "no large numbers", "largest"), "a": KnownIssue("2")}
    finding = Finding(0, "values differ", "run", "jax", ("jax:jit",), ("normal",))
    largest = replace(finding, distributions=("normal", "largest"))
    assert issue_of(known, "a | b", largest) == known["a |"]
    assert issue_of(known, "a | b", finding) == known["a"]
    assert issue_of(known, "c", finding) is None


def test_the_table_of_this_project_names_links_only():
    known = read_known_issues(str(ROOT / "conf/known_issues.yaml"))
    assert all(issue.link.startswith("https://") for issue in known.values())
    assert any(issue.limit for issue in known.values())


def test_only_one_is_a_bug():
    assert Report("f", "s", (1, 1, 1), "").reproduced
    for other in (0, 2, 124, -11):
        assert not Report("f", "s", (1, other, 1), "").reproduced


def test_a_script_of_pytorch_compiles_where_the_backend_does():
    import torch

    from asterism.libraries.adapters.libraries.pytorch import PyTorch

    called = []

    def model(inputs, training):
        return inputs + 1

    for option in ("compile", "eager"):
        scope = {}
        exec(PyTorch().script(option), scope)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch, "compile", lambda made, o=option: called.append(o) or made)
            (answer,) = scope["run"](model, [np.zeros(3, np.float32)])
        assert answer.tolist() == [1, 1, 1]
    assert called == ["compile"]
