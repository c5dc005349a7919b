"""Reports of findings: what an issue tracker shows is what was seen; how they are confirmed."""

import hashlib
import json
import os
import re
from types import SimpleNamespace

import numpy as np
import pytest

from asterism.core.messages.errors import UserError
from asterism.differential.adapters.code import BackendCode
from asterism.differential.adapters.library import CONVERTERS, LIBRARIES
from asterism.differential.oracle.finding import EarlierModel
from asterism.differential.report import confirming, writing
from asterism.differential.report.confirming import exit_statuses, run_script
from asterism.differential.report.script_writer import ScriptWriter
from asterism.differential.report.writing import (
    LONGEST,
    KnownIssue,
    Reporter,
    find_known_issue,
    folder_name,
    read_known_issues,
    report_text,
)
from asterism.differential.shrinking.reproduction import Reproduction
from asterism.differential.shrinking.unique_finding import UniqueFinding
from asterism.memo.graphs.store import read_weights
from extras import needs
from libraries.small_results import JUDGE, chained, made_finding, made_result
from libraries.small_runs import python
from memo.small_graphs import layer
from places import ROOT

GRAPH = chained((2,), layer("ReLU"))


@pytest.fixture
def written(tmp_path):
    """Writes the report of a finding on a script of a length; its text."""

    def write(symptom="error", script="pass\n", confirmed=(1, 1, 1), **more):
        (tmp_path / "repro.py").write_text(script)
        finding = made_finding(symptom, **more)
        found = unique(finding, ablation={"jax:jit": "shows"}, confirmed=confirmed)
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


def unique(found=None, **more):
    return UniqueFinding("a | b", found or made_finding(), GRAPH, None, {5, 3}, 4, **more)


def write_whole_script(finding, pool, folder):
    """The script of a finding, from the model of the campaign's seed 2."""
    writer = ScriptWriter(unique(finding), Reproduction(pool, JUDGE, 2, 10), {})
    assert list(writer.write(folder, ("whole",))) == ["whole"]
    return folder / "repro.py"


READER = "reads_a_file:bytes"


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
    finding = made_finding("error", READER, exception="ValueError", message="3")
    done = python(write_whole_script(finding, Ran(), tmp_path), folder=tmp_path)
    assert (done.returncode, "ValueError: 3" in done.stdout) == (1, True), done.stderr
    assert sorted(p.name for p in tmp_path.glob("*.*")) == ["model.onnx", "repro.py"]


class Ran:
    """What a worker pool gives of a model that computes ``max(x, 0)``, and is moved by 0.25."""

    def described(self, graph):
        return {}

    def run(self, task):
        ((kind, arrays),) = task.inputs.items()
        exact = [np.maximum(array.astype(np.float64), 0) for array in arrays]
        outputs = {"pytorch:float64": exact, "pytorch:perturbed": [a + 0.25 for a in exact]}
        outputs[READER] = [(array + 9).astype(np.float32) for array in exact]
        return made_result(outputs, kind)


def test_a_script_holds_the_reference_and_what_may_differ_from_it(tmp_path):
    text = write_whole_script(
        made_finding("values differ", READER, "wide"), Ran(), tmp_path
    ).read_text()
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

    for _ in range(2):  # a worker reads a file once: under the same name it would not see another
        write_whole_script(made_finding("values differ", READER, "wide"), Keeping(), tmp_path)
    assert len(read) == len(set(files)) == 2
    assert not any(file.exists() for file in files)


def test_a_folder_is_named_by_library_symptom_and_signature():
    found = unique(made_finding("NaN/Inf mask differs", "ONNX runtime:x"))
    digest = hashlib.sha256(b"a | b").hexdigest()[:8]
    assert folder_name(found) == f"onnx-runtime-nan-inf-mask-differs-{digest}"


class Writer:
    """Writes scripts that say of which kind they are."""

    def __init__(self, *given):
        self.given = given

    def write(self, folder):
        for kind in ("short", "whole"):
            (folder / "repro.py").write_text(f"{kind}\n")
            yield kind


@pytest.mark.parametrize(
    ("ends", "limit", "written", "place"),
    [
        ([(1, 1)], "", "short", ""),
        ([(1, 0), (1, 1)], "", "whole", ""),
        ([(2, 2), (0, 0)], "", "whole", "not-reproduced/"),
        ([(1, 1)], "it cannot", "short", "known-limits/"),
        ([(2, 2), (0, 0)], "it cannot", "whole", "known-limits/"),
    ],
)
def test_a_reporter_writes_the_scripts_confirms_them_and_then_reports(
    ends, limit, written, place, tmp_path, monkeypatch
):
    asked, statuses = [], iter(ends)
    monkeypatch.setattr(writing, "ScriptWriter", Writer)
    monkeypatch.setattr(
        writing,
        "exit_statuses",
        lambda script, times, _python, _death: (asked.append((script, times)), next(statuses))[1],
    )
    known = {"x": KnownIssue("other"), "a |": KnownIssue("the link", limit)}
    found = unique(ablation={"batch of 1": "gone"})
    pool = SimpleNamespace(saved=lambda graph: b"file" if graph == GRAPH else None)
    show = Reproduction(pool, JUDGE, 9, 10)
    with Reporter(show, {"stored": 1}, tmp_path, known) as reporter:
        reporter.start(found)
        report = reporter.finish(found)
    assert asked == [(tmp_path / folder_name(found) / "repro.py", 3)] * len(ends)
    assert report.folder == f"{place}{folder_name(found)}" and report.confirmed == ends[-1]
    assert (report.known, report.limit) == ("the link", limit)
    folder = tmp_path / report.folder
    assert {path.name for path in tmp_path.rglob("*.py")} == {"repro.py"}
    assert json.loads((folder / "model.json").read_text()) == json.loads(
        json.dumps(GRAPH.to_json())
    )
    assert (folder / "repro.py").read_text() == f"{written}\n"
    assert (folder / "model.keras").read_bytes() == b"file"
    text = (folder / "report.md").read_text()
    assert text.startswith("# jax: values differ")
    assert "the link" in text and limit in text
    assert ("Not reproduced" in text) == (place == "not-reproduced/")
    assert "| batch of 1 | gone |" in text


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
        "a: {limit: b}": "'a': 'link'",
        "a: {link: b, more: c}": "'a': 'more'",
        "a: {link: b, inputs: odd}": "there are no inputs 'odd'",
    }
    for text, message in wrong.items():
        file.write_text(text)
        with pytest.raises(UserError, match=message):
            read_known_issues(str(file))
    with pytest.raises(UserError, match=r"none\.yaml"):
        read_known_issues(str(tmp_path / "none.yaml"))


def test_a_known_issue_is_that_of_a_signature_and_of_its_inputs():
    known = {"a |": KnownIssue("1", "no large numbers", "largest"), "a": KnownIssue("2")}
    assert find_known_issue(known, "a | b", ["largest"]) == known["a |"]
    assert find_known_issue(known, "a | b", ["normal"]) == known["a"]
    assert find_known_issue(known, "c", ["normal"]) is None


def test_the_table_of_this_project_names_links_only():
    known = read_known_issues(str(ROOT / "conf/known_issues.yaml"))
    assert all(issue.link.startswith("https://") for issue in known.values())
    assert any(issue.limit for issue in known.values())


ACTUAL = "print('actual   2', flush=True)\n"


@pytest.fixture
def written_script(tmp_path):
    """Writes a script."""

    def write(text):
        script = tmp_path / "repro.py"
        script.write_text(f"import os\nimport sys\nimport time\n{text}")
        return script

    return write


def test_each_run_is_a_process_of_its_own_in_an_empty_folder(written_script, tmp_path):
    notes = tmp_path / "notes.txt"
    script = written_script(f"""
facts = os.getpid(), sys.argv, __name__, sys.path[0], sorted(os.listdir()), os.getcwd()
with open({str(notes)!r}, "a") as file:
    print(facts, file=file)
{ACTUAL}sys.exit(1)""")
    assert exit_statuses(script, 3) == (1, 1, 1)
    facts = [eval(line) for line in notes.read_text().splitlines()]
    assert len({pid for pid, *_ in facts} - {os.getpid()}) == 3
    assert len({folder for *_, folder in facts}) == 3
    for _, argv, name, first, files, _ in facts:
        assert (argv, name, first) == ([str(script)], "__main__", str(tmp_path))
        assert files == ["printed.txt"]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (f"{ACTUAL}sys.exit(1)", 1),
        ("sys.exit(1)", 2),  # it has not come to what it compares
        ("1 / 0", 2),
        ("os.kill(os.getpid(), 11)", 2),
        ("os._exit(7)", 7),
        (ACTUAL, 0),
        ("def (", 2),
    ],
)
def test_a_run_shows_the_bug_where_it_has_printed_what_it_saw(written_script, text, status):
    assert exit_statuses(written_script(text), 1) == (status,)


def test_after_a_run_without_the_bug_no_other_one_is_started(written_script):
    assert exit_statuses(written_script("sys.exit(0)"), 3) == (0,)


@pytest.mark.parametrize("kind", ["hang", "signal", "3"])
def test_a_death_shows_a_finding_where_it_is_what_was_recorded(written_script, kind, monkeypatch):
    ends = {
        "signal": ("os.kill(os.getpid(), 11)", 2),
        "3": ("os._exit(3)", 3),
        "hang": ("time.sleep(1000)", 124),
    }
    for end, (text, otherwise) in ends.items():
        if end == "hang":  # the only one that has to wait for the limit
            monkeypatch.setattr(confirming, "PATIENCE", 1.0)
            monkeypatch.setattr(confirming, "SECONDS", 1.0)
        (status,) = exit_statuses(written_script(text), 1, death=kind)
        assert status == (1 if end == kind else otherwise)


@needs("sklearn", "jax", "torch")
@pytest.mark.parametrize(
    ("backend", "found"),
    [
        ("os.environ.update(KERAS_BACKEND='torch')", {"sklearn", "torch"}),
        ("os.environ.update(KERAS_BACKEND='none')", {"sklearn", "matplotlib", "jax", "torch"}),
        ("", {"sklearn", "matplotlib", "jax", "torch"}),
    ],
)
def test_a_script_with_keras_finds_what_it_names_alone(written_script, backend, found):
    names = "'mat' 'plotlib', 'j' 'ax', 'tor' 'ch', 'sklearn'"
    there = "n for n in names if importlib.util.find_spec(n) is not None"
    script = written_script(
        f"{backend}\nimport importlib.util\nnames = [{names}]\nprint(*({there}))\nsys.exit(3)"
    )
    ran = run_script(script)
    assert (ran.status, set(ran.output.split())) == (3, found)


@pytest.mark.slow
@pytest.mark.parametrize("package", ["onnx2torch", "onnx2pytorch"])
def test_scripts_import_what_workers_do(written_script, package):
    script = written_script(
        f"import {package}\nassert sys.path[0] == os.path.dirname(__file__)\nexit(7)\n"
    )
    assert run_script(script).status == 7
