"""A finding's script runs several times, each time as a process of its own runs it."""

import json
import os
import signal
import time

import pytest

from asterism.differential.report import confirming
from asterism.differential.report.confirming import exit_status, exit_statuses

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
def test_runs_share_an_import_and_nothing_else(written, tmp_path):
    script = written(f"FOLDER = {str(tmp_path)!r}\n{HEAD}{NOTES}")
    assert exit_status(script) == 1
    (alone,) = notes_of(tmp_path)
    assert exit_statuses(script, 3) == (1, 1, 1)
    together = notes_of(tmp_path)
    assert len({notes["pid"] for notes in together}) == 3
    last = next(n for n in together if n["parent"] not in {m["pid"] for m in together})
    assert {n["parent"] for n in together if n is not last} == {last["pid"]}, "one has imported it"
    for notes in together:
        assert {k: v for k, v in notes.items() if k not in ("pid", "parent")} == {
            k: v for k, v in alone.items() if k not in ("pid", "parent")
        }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("os.kill(os.getpid(), 11)", -signal.SIGSEGV),
        ("os._exit(7)", 7),
        ("1 / 0", 1),
        ("sys.excepthook = lambda *_: sys.exit(2)\n1 / 0", 2),
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
    assert not {n["parent"] for n in found} & {n["pid"] for n in found}


@pytest.mark.slow
def test_a_run_that_hangs_is_too_late(written, monkeypatch):
    monkeypatch.setattr(confirming, "_SECONDS", 8)
    script = written(HEAD + "import time\ntime.sleep(1000)")
    started = time.monotonic()
    statuses = exit_statuses(script, 2)
    assert statuses == (124, 124)
    assert time.monotonic() - started < 120
