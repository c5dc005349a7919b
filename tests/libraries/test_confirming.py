"""A finding's script runs several times, each time as a process of its own runs it."""

import json
import os

import pytest

from asterism.differential.report.confirming import Death, exit_status, exit_statuses

HEAD = """
import os
import sys

os.environ.update(KERAS_BACKEND="numpy")

import keras
"""

#: Notes who runs it, what it finds, and leaves a mark that another run must not find.
NOTES = """
import json, pathlib

facts = {
    "pid": os.getpid(),
    "parent": os.getppid(),
    "argv": sys.argv,
    "name": __name__,
    "file": __file__,
    "first": sys.path[0],
    "backend": keras.backend.backend(),
    "marked": hasattr(keras, "marked"),
}
keras.marked = True
pathlib.Path(FOLDER, f"{os.getpid()}.json").write_text(json.dumps(facts))
sys.exit(1)
"""


@pytest.fixture
def written(tmp_path):
    """Writes a script."""

    def write(text):
        script = tmp_path / "repro.py"
        script.write_text(text)
        return script

    return write


def notes_of(folder):
    found = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    for path in folder.glob("*.json"):
        path.unlink()
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting", ['.update(KERAS_BACKEND="numpy")', '["KERAS_BACKEND"] = "numpy"']
)
def test_runs_share_an_import_and_nothing_else(written, tmp_path, setting):
    head = HEAD.replace('.update(KERAS_BACKEND="numpy")', setting)
    script = written(f"FOLDER = {str(tmp_path)!r}\n{head}{NOTES}")
    assert exit_status(script) == 1
    (alone,) = notes_of(tmp_path)
    assert alone["backend"] == "numpy"
    assert exit_statuses(script, 3) == (1, 1, 1)
    together = notes_of(tmp_path)
    assert len({notes["pid"] for notes in together}) == 3
    assert len({notes["parent"] for notes in together}) == 1, "one has imported it"
    for notes in together:
        assert {k: v for k, v in notes.items() if k not in ("pid", "parent")} == {
            k: v for k, v in alone.items() if k not in ("pid", "parent")
        }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("os.kill(os.getpid(), 11)", 2),
        ("os._exit(7)", 7),
        ("sys.exit(1)", 1),
        ("sys.exit('said')", 1),
        ("1 / 0", 2),
        ("pass", 0),
    ],
)
def test_each_run_ends_as_it_does_alone(written, ending, status):
    script = written(HEAD + ending)
    assert exit_status(script) == status
    assert exit_statuses(script, 3) == (status,) * 3


@pytest.mark.slow
def test_where_the_import_starts_a_thread_nothing_is_forked(written, tmp_path, monkeypatch):
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "sitecustomize.py").write_text(
        "from threading import Event, Thread\nThread(target=Event().wait, daemon=True).start()"
    )
    notes = tmp_path / "notes"
    notes.mkdir()
    script = written(f"FOLDER = {str(notes)!r}\n{HEAD}{NOTES}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"), prepend=os.pathsep)
    assert exit_statuses(script, 3) == (1, 1, 1)
    found = notes_of(notes)
    assert {n["parent"] for n in found} == {os.getpid()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hang", "signal"])
def test_a_death_shows_a_finding_where_it_is_what_was_recorded(written, kind):
    ends = {"hang": "import time\ntime.sleep(1000)", "signal": "os.kill(os.getpid(), 11)"}
    for end, text in ends.items():
        death = Death(kind, 8)
        assert exit_statuses(written(HEAD + text), 2, death=death) == (
            (1, 1) if end == kind else (124, 124) if end == "hang" else (2, 2)
        )


def test_a_script_that_is_no_python_is_not_run(written):
    assert exit_statuses(written("def ("), 2) == (2, 2)
