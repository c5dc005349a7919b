"""Reports of findings and the processes that confirm them, with processes that are made up."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import pytest

from asterism.differential.oracle.finding import Finding
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.report import bug_reports, confirming, keras_files, repeating
from asterism.differential.report.bug_reports import Report, Reporter, folder_name
from asterism.differential.report.confirming import exit_status, exit_statuses
from asterism.differential.report.known_issues import KnownIssue
from asterism.differential.triage.groups import layer_at_fault
from asterism.differential.triage.triage import UniqueFinding
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer

JUDGE = JudgeParams(ulps=64, conditioning=8)


GRAPH = sequential(Tensor((4,)), [layer("ReLU"), layer("Dense", units=4), layer("LeakyReLU")])


def finding(symptom="values differ", library="jax", distributions=("normal",), **more):
    facts = {"backends": (f"{library}:jit",), "distributions": distributions} | more
    return Finding(3, symptom, "run", library, **facts)


def unique(found=None, **more):
    return UniqueFinding("a | b", found or finding(), GRAPH, None, {5, 3}, 4, **more)


def test_a_folder_is_named_by_library_symptom_and_signature():
    found = unique(finding(symptom="NaN/Inf mask differs", library="ONNX runtime"))
    digest = hashlib.sha256(b"a | b").hexdigest()[:8]
    assert folder_name(found) == f"onnx-runtime-nan-inf-mask-differs-{digest}"


def test_the_list_of_findings_tells_all_of_one():
    found = unique(ablation={"batch of 1": "gone"})
    found.layer = layer_at_fault(GRAPH, 1)
    report = Report("folder", "a | b", (1, 1, 0), "link")
    told = report.to_json(found)
    json.dumps(told)
    assert told == {
        "folder": "folder",
        "signature": "a | b",
        "confirmed": [1, 1, 0],
        "known": "link",
        "limit": "",
        "layer": "ReLU()",
        "models": [3, 5],
        "layers": 3,
        "original_layers": 4,
        "minimality": "minimal, reduced from 4 layers to 3",
        "ablation": {"batch of 1": "gone"},
        "finding": found.finding.to_json(),
        "graph": GRAPH.to_json(),
        "changed": {},
    }
    assert Report("f", "s", (), "").to_json(unique())["layer"] == ""
    assert not report.reproduced
    assert Report("f", "s", (1, 1), "").reproduced


class Writer:
    """Writes scripts that say of which kind they are."""

    def __init__(self, *given):
        self.given = given

    def write(self, found, folder, kinds=("short", "whole")):
        (folder / "repro.py").write_text(f"{kinds[0]}\n")
        return kinds[1:]


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
    monkeypatch.setattr(bug_reports, "ScriptWriter", Writer)
    monkeypatch.setattr(
        bug_reports,
        "exit_statuses",
        lambda script, times, _python, _death: (asked.append((script, times)), next(statuses))[1],
    )
    known = {"x": KnownIssue("other"), "a |": KnownIssue("the link", limit)}
    found = unique(ablation={"batch of 1": "gone"})
    with Reporter("pool", JUDGE, 9, {"stored": 1}, tmp_path, known) as reporter:
        assert reporter._scripts.given == ("pool", JUDGE, 9, {"stored": 1})
        reporter.start(found)
        report = reporter.finish(found)
    assert asked == [(tmp_path / folder_name(found) / "repro.py", 3)] * len(ends)
    assert report == Report(f"{place}{folder_name(found)}", "a | b", ends[-1], "the link", limit)
    folder = tmp_path / report.folder
    assert {path.name for path in tmp_path.rglob("*.py")} == {"repro.py"}
    assert json.loads((folder / "model.json").read_text()) == json.loads(
        json.dumps(GRAPH.to_json())
    )
    assert (folder / "repro.py").read_text() == f"{written}\n"
    text = (folder / "report.md").read_text()
    assert text.startswith("# jax: values differ")
    assert "the link" in text and limit in text
    assert ("Not reproduced" in text) == (place == "not-reproduced/")
    assert "| batch of 1 | gone |" in text


def test_a_reporter_that_ends_confirms_nothing_more(tmp_path):
    ran = []
    with Reporter(None, JUDGE, 0, {}, tmp_path, {}) as reporter:
        reporter._pool._max_workers = 1
        blocked = Future()
        waiting = [reporter._pool.submit(blocked.result), reporter._pool.submit(ran.append, 1)]
        reporter._pool.submit(ran.append, 2)
        while not waiting[0].running():
            pass
        shutdown = reporter._pool.shutdown

        def release(**options):
            shutdown(wait=False, **options)
            blocked.set_result(None)
            shutdown()

        reporter._pool.shutdown = release
    assert waiting[1].cancelled()
    assert ran == []


class Ended:
    """Stands for the processes of scripts: what is asked of them, and how they end."""

    def __init__(self, monkeypatch, last=1, before=None):
        self.asked, self._last, self._before = [], last, before
        monkeypatch.setattr(confirming, "run_alone", self.run)

    def run(self, command, seconds, *, cwd, env, stdout, stderr):
        self.asked.append(
            (command[1:], seconds, {k: env.get(k) for k in ("MINE", "OPENBLAS_NUM_THREADS")})
        )
        assert command[0] == sys.executable
        assert env["TMPDIR"] == str(cwd)
        assert stdout == stderr == subprocess.DEVNULL
        assert Path(cwd).is_dir()
        if self._before is not None and "-m" in command:
            Path(command[-1]).write_text(json.dumps(self._before))
        return self._last


SCRIPT = "import os\nos.environ.update(MINE='yes')\nimport keras\nos.environ.update(MINE='late')\n"


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    path = tmp_path / "repro.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_runs_once_by_itself(script, monkeypatch):
    ended = Ended(monkeypatch, last=7)
    assert exit_status(script) == 7
    ((command, seconds, environment),) = ended.asked
    assert (command[0], command[-1], seconds) == ("-c", str(script), 300)
    assert environment == {"MINE": "yes", "OPENBLAS_NUM_THREADS": None}


def test_several_runs_share_an_import_where_that_is_safe(script, monkeypatch):
    ended = Ended(monkeypatch, last=0, before=[1, 124])
    assert exit_statuses(script, 3) == (1, 124, 0)
    ((command, seconds, environment),) = ended.asked
    assert command[:-1] == ["-m", repeating.__name__, str(script), "3", "300"]
    assert Path(command[-1]).name == "statuses.json"
    assert (seconds, environment) == (900, {"MINE": "yes", "OPENBLAS_NUM_THREADS": "1"})


@pytest.mark.parametrize("before", [[], None])
def test_where_it_is_not_safe_each_run_is_alone(script, monkeypatch, before):
    ended = Ended(monkeypatch, last=None, before=before)
    assert exit_statuses(script, 3) == (124, 124, 124)
    assert [seconds for _, seconds, _ in ended.asked] == [900, 300, 300]
    assert ended.asked[1][0][-1] == str(script)


def test_a_script_that_is_no_python_is_not_run(script, monkeypatch):
    ended = Ended(monkeypatch)
    script.write_text("def (")
    assert exit_statuses(script, 2) == (2, 2)
    assert ended.asked == []


def test_only_what_is_set_before_keras_is_set_for_the_import():
    lines = ["import os", "x = 2", "os.environ.update(A='1', D='4')", "import keras"]
    assert confirming._environment("\n".join(lines)) == {"A": "1", "D": "4"}
    assert confirming._environment("\n".join(lines[::-1])) == {}


@pytest.mark.parametrize(
    ("command", "status"),
    [("exit 3", 3), ("exit 0", 0), ("kill -9 $$", -signal.SIGKILL), ("exec sleep 60", 124)],
)
def test_a_child_is_awaited_up_to_its_limit(monkeypatch, command, status):
    monkeypatch.setattr(repeating, "_LOOK_SECONDS", 0.002)
    child = subprocess.Popen(["sh", "-c", command])
    limit = 0.05 if status == 124 else 60
    assert repeating._awaited(child.pid, limit) == status
    child.returncode = 0  # it has been waited for


@pytest.mark.parametrize(
    ("imported", "lone", "times", "expected"),
    [
        (True, True, 3, [5, 6]),
        (True, True, 1, []),
        (False, True, 3, []),
        (True, False, 3, []),
    ],
)
def test_the_runs_before_the_last_are_forked_where_it_is_safe(
    tmp_path, monkeypatch, imported, lone, times, expected
):
    awaited, forked = iter([5, 6]), iter([41, 42])
    asked = []
    monkeypatch.setattr(repeating, "_is_imported", lambda: imported)
    monkeypatch.setattr(repeating, "_has_one_thread", lambda: lone)
    monkeypatch.setattr(os, "fork", lambda: next(forked))
    monkeypatch.setattr(
        repeating, "_awaited", lambda *facts: (asked.append(facts), next(awaited))[1]
    )
    repeating.go_on_to_run(times, 7.5, tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text()) == expected
    assert asked == [(41, 7.5), (42, 7.5)][: len(expected)]


def test_a_fork_goes_on_at_once(tmp_path, monkeypatch):
    parents = []
    monkeypatch.setattr(repeating, "_is_imported", lambda: True)
    monkeypatch.setattr(repeating, "_has_one_thread", lambda: True)
    monkeypatch.setattr(os, "fork", lambda: 0)
    monkeypatch.setattr(repeating, "killed_with_parent", parents.append)
    repeating.go_on_to_run(3, 1.0, tmp_path / "s.json")
    assert parents == [os.getpid()]
    assert not (tmp_path / "s.json").exists()


def test_whether_keras_is_there_and_threads_are_not(monkeypatch):
    from threading import Event, Thread

    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace())
    assert repeating._is_imported()
    monkeypatch.setitem(sys.modules, "keras", None)
    assert not repeating._is_imported()
    ended = Event()
    thread = Thread(target=ended.wait)
    thread.start()
    assert not repeating._has_one_thread()
    ended.set()
    thread.join()


def test_models_are_written_by_name_and_a_rejected_one_is_left_out(tmp_path, monkeypatch):
    cleared, built = [], []
    keras = SimpleNamespace(
        backend=SimpleNamespace(clear_session=lambda: cleared.append(len(built)))
    )

    def build(graph, stored):
        built.append((graph, stored))
        if graph == "bad":
            raise ValueError("rejected")
        return f"model of {graph}"

    asked = []
    monkeypatch.setattr(keras_files, "import_keras", lambda name: (asked.append(name), keras)[1])
    monkeypatch.setattr(keras_files, "read_weights", lambda path: f"weights of {path.name}")
    monkeypatch.setattr(keras_files, "read_graph", lambda path: path.read_text())
    monkeypatch.setattr("asterism.memo.graphs.keras_build.build", build)
    monkeypatch.setattr(
        "asterism.models.keras_models.reading.save_keras",
        lambda model, path: path.write_text(model),
    )
    folders = []
    for name in ("one", "bad", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.json").write_text(name)
        folders.append(tmp_path / name)
    target = tmp_path / "made"
    target.mkdir()
    keras_files.main(tmp_path / "w.npz", target, folders)
    assert asked == ["numpy"]
    assert built == [(name, "weights of w.npz") for name in ("one", "bad", "two")]
    assert cleared == [0, 1, 2]
    written = {path.name: path.read_text() for path in target.iterdir()}
    assert written == {"one.keras": "model of one", "two.keras": "model of two"}
