"""A finding's script runs in fresh processes, and shows it by its end."""

import os

import pytest

from asterism.differential.report import confirming
from asterism.differential.report.confirming import exit_statuses, run_script

ACTUAL = "print('actual   2', flush=True)\n"


@pytest.fixture
def written(tmp_path):
    """Writes a script."""

    def write(text):
        script = tmp_path / "repro.py"
        script.write_text(f"import os\nimport sys\nimport time\n{text}")
        return script

    return write


def test_each_run_is_a_process_of_its_own_in_an_empty_folder(written, tmp_path):
    notes = tmp_path / "notes.txt"
    script = written(f"""
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
def test_a_run_shows_the_bug_where_it_has_printed_what_it_saw(written, text, status):
    assert exit_statuses(written(text), 1) == (status,)


def test_after_a_run_without_the_bug_no_other_one_is_started(written):
    assert exit_statuses(written("sys.exit(0)"), 3) == (0,)


@pytest.mark.parametrize("kind", ["hang", "signal", "3"])
def test_a_death_shows_a_finding_where_it_is_what_was_recorded(written, kind, monkeypatch):
    for limit in ("PATIENCE", "SECONDS"):
        monkeypatch.setattr(confirming, limit, 3.0)
    ends = {
        "hang": ("time.sleep(1000)", 124),
        "signal": ("os.kill(os.getpid(), 11)", 2),
        "3": ("os._exit(3)", 3),
    }
    for end, (text, otherwise) in ends.items():
        (status,) = exit_statuses(written(text), 1, death=kind)
        assert status == (1 if end == kind else otherwise)


@pytest.mark.slow
@pytest.mark.parametrize("package", ["onnx2torch", "onnx2pytorch"])
def test_scripts_import_what_workers_do(written, package):
    script = written(
        f"import {package}\nassert sys.path[0] == os.path.dirname(__file__)\nexit(7)\n"
    )
    assert run_script(script).status == 7
