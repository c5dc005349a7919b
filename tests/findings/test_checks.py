"""Running the scripts of a collection again, and noting what they print."""

import sys
from dataclasses import replace

import pytest
from small_findings import SCRIPT, candidate
from typer.testing import CliRunner

from asterism.core.messages.errors import UserError
from asterism.differential.adapters.environments import read_environment
from collection.checking import (
    GONE,
    LATE,
    LIVES,
    OTHER,
    check_all,
    made_environments,
    note_elsewhere,
    note_run,
    sample_of,
    word_of,
)
from collection.commands import app
from collection.diagnosis import Diagnosis
from collection.entry import read_collected_finding, read_collection
from collection.pages import index_page
from places import ROOT
from real_environments import make_or_skip


def collection(folder, **statuses):
    for name, status in statuses.items():
        written(folder, name, status=status)
    return folder


def written(folder, *name, **given):
    """A finding that is collected."""
    made = candidate(folder, *name, **given)
    made.entry.write(made.folder)
    return made.entry


def test_each_script_says_by_its_status_whether_its_bug_lives(tmp_path):
    collection(tmp_path, a=1, b=0, c=2)
    words = [word_of(entry, ran) for entry, ran in check_all(tmp_path, read_collection(tmp_path))]
    assert words == [LIVES, GONE, OTHER]


@pytest.mark.parametrize(
    ("text", "given", "word"),
    [
        ("print('expected 1')\nraise ValueError\n", {}, OTHER),  # it fails before it shows
        ("import time\ntime.sleep(60)\n", {}, LATE),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", {}, OTHER),
        (
            "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
            {"symptom": "crash"},
            LIVES,
        ),
        (SCRIPT, {"symptom": "crash"}, OTHER),
        (SCRIPT, {"told": Diagnosis("a", "difference", shows=("actual   2",))}, LIVES),
        (SCRIPT, {"told": Diagnosis("a", "difference", shows=("another error",))}, OTHER),
    ],
)
def test_an_end_that_says_nothing_of_the_bug_is_told_apart(tmp_path, text, given, word):
    entry = written(tmp_path, text=text, **given)
    ((_, ran),) = check_all(tmp_path, [entry], seconds=0.5 if word == LATE else 20)
    assert word_of(entry, ran) == word


def test_what_a_script_printed_is_noted_with_the_machine_and_without_its_folders(tmp_path):
    text = "import sys\nprint('noise', sys.prefix)\nprint('expected 1')\n"
    text += "print('actual  ', sys.prefix + '/x.py', hex(2**40), __file__)\nsys.exit(1)\n"
    (checked,) = check_all(tmp_path, [written(tmp_path, "a", text=text)])
    noted = note_run(tmp_path, *checked)
    assert noted == read_collected_finding(tmp_path, "a")
    assert noted.ran.output.splitlines()[0] == "expected 1"
    assert noted.ran.output.splitlines()[1].split() == ["actual", "x.py", "0x…", "repro.py"]
    assert noted.ran.python and noted.ran.system and noted.ran.processor


def test_a_crash_is_named_in_what_is_noted(tmp_path):
    text = "import os, signal\nprint('expected 1')\nos.kill(os.getpid(), signal.SIGFPE)\n"
    (checked,) = check_all(tmp_path, [written(tmp_path, text=text, symptom="crash")])
    assert "SIGFPE" in note_run(tmp_path, *checked).ran.output


@pytest.mark.parametrize(("statuses", "expected"), [({"a": 1, "b": 0}, 0), ({"a": 1, "b": 2}, 1)])
def test_the_command_fails_where_a_script_cannot_tell(tmp_path, statuses, expected):
    collection(tmp_path, **statuses)
    done = CliRunner().invoke(app, ["check", "--folder", str(tmp_path)])
    assert done.exit_code == expected
    assert "2 checked: 1 lives" in done.output


def test_the_command_writes_reports_of_what_its_run_printed(tmp_path):
    collection(tmp_path, a=1)
    done = CliRunner().invoke(app, ["check", "--folder", str(tmp_path), "--write"])
    assert done.exit_code == 0, done.output
    assert "actual   2" in (tmp_path / "a" / "report.md").read_text()
    assert "(a/report.md)" in (tmp_path / "README.md").read_text()


def test_a_folder_without_findings_is_told(tmp_path):
    done = CliRunner().invoke(app, ["check", "--folder", str(tmp_path)])
    assert done.exit_code != 0


def test_a_sample_is_drawn_and_the_same_again(tmp_path):
    entries = read_collection(collection(tmp_path, **dict.fromkeys("abcdefgh", 1)))
    chosen = sample_of(entries, 3, 0)
    assert len(chosen) == 3
    assert chosen == sample_of(entries, 3, 0)
    assert sample_of(entries, 20, 0) == entries


@pytest.mark.slow
def test_some_bugs_of_the_collection_can_be_checked_here():
    folder = ROOT / "findings"
    chosen = sample_of(read_collection(folder), 4, 1)
    assert len(chosen) == 4
    for entry, ran in check_all(folder, chosen):
        assert word_of(entry, ran) in (LIVES, GONE), entry.name


DEFINITION = """\
python: "3.11"
download_mb: 1
disk_mb: 2
requirements: [{package}=={version}]
"""
#: A script that says what the version of the library that runs it says.
ASKS = "import os, sys\nprint('actual')\n"
ASKS += "sys.exit({'0.1': 1, '0.2': 0}.get(os.environ['VERSION_THERE'], 2))\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with three versions of JAX and one of tf2onnx, all but the last JAX made."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf/environment").mkdir(parents=True)
    for name in ("jax@0.1", "jax@0.2", "jax@0.3", "tf2onnx@0.1"):
        package, _, version = name.partition("@")
        file = tmp_path / f"conf/environment/{name}.yaml"
        file.write_text(DEFINITION.format(package=package, version=version))
    for name in ("jax@0.1", "jax@0.2", "tf2onnx@0.1"):
        python = read_environment(name).executable
        python.parent.mkdir(parents=True)
        version = name.partition("@")[2]
        python.write_text(f'#!/bin/sh\nVERSION_THERE={version} exec {sys.executable} "$@"\n')
        python.chmod(0o755)
    return tmp_path


def finding(project, *name, text=ASKS, **given):
    return written(project / "findings", *name, text=text, **given)


def elsewhere(collection, entry, environments, **limits):
    (noted,) = note_elsewhere(collection, [entry], environments, **limits)
    return noted.elsewhere


def test_a_check_runs_in_the_versions_of_its_library_alone(project):
    entry = finding(project)
    found = elsewhere(project / "findings", entry, ["jax@0.1", "jax@0.2", "tf2onnx@0.1"])
    assert found == {"jax@0.1": "has it", "jax@0.2": "has it not"}


@pytest.mark.parametrize("text", ["import sys\nsys.exit(2)\n", "import time\ntime.sleep(60)\n"])
def test_a_check_that_fails_otherwise_or_takes_too_long_cannot_tell(project, text):
    entry = finding(project, text=text)
    found = elsewhere(project / "findings", entry, ["jax@0.1"], seconds=0.5)
    assert found == {"jax@0.1": "cannot tell"}


def test_an_environment_that_is_not_made_is_told(project):
    entry = finding(project)
    with pytest.raises(UserError, match=r"jax@0\.3 is not made"):
        elsewhere(project / "findings", entry, ["jax@0.3"])
    assert made_environments() == ["jax@0.1", "jax@0.2", "tf2onnx@0.1"]


def test_what_is_not_asked_again_stays_and_what_is_asked_is_replaced(project):
    entry = finding(project, elsewhere={"jax@0.0": "has it", "jax@0.2": "has it"})
    (noted,) = note_elsewhere(project / "findings", [entry], ["jax@0.2"])
    assert noted.elsewhere == {"jax@0.0": "has it", "jax@0.2": "has it not"}
    (read,) = read_collection(project / "findings")
    assert read.elsewhere == noted.elsewhere


def test_what_another_process_notes_meanwhile_stays(project):
    entry = finding(project)
    replace(entry, elsewhere={"jax@0.1": "has it"}).write(project / "findings" / entry.name)
    (noted,) = note_elsewhere(project / "findings", [entry], ["jax@0.2"])
    assert noted.elsewhere == {"jax@0.1": "has it", "jax@0.2": "has it not"}


def test_the_index_has_versions_by_what_they_say_in_their_own_order(project):
    told = {"jax@0.10": "has it", "jax@0.9": "has it", "jax@0.5": "cannot tell"}
    page = index_page([finding(project, elsewhere=told)])
    assert "| has it: jax 0.9, 0.10 |" in page


def test_the_command_notes_it_in_the_index(project):
    finding(project)
    finding(project, "other", library="openvino")
    given = ["--environment", "jax@0.1", "--environment", "jax@0.2"]
    done = CliRunner().invoke(app, ["check", *given])
    assert done.exit_code == 0, done.output
    assert [line.split() for line in done.output.splitlines()] == [
        ["has", "it", "jax@0.1", "one"],
        ["has", "it", "not", "jax@0.2", "one"],
    ]
    rows = (project / "findings/README.md").read_text().splitlines()
    (one,) = [row for row in rows if "(one/report.md)" in row]
    (other,) = [row for row in rows if "(other/report.md)" in row]
    assert "| has it: jax 0.1; has it not: jax 0.2 |" in one and "has it" not in other


@pytest.mark.slow
def test_real_versions_of_keras_say_what_the_index_says(monkeypatch):
    """Keras 3.12 lacks a bug that 3.14 has; both lie over the installed packages."""
    monkeypatch.chdir(ROOT)
    versions = ["keras@3.12", "keras@3.14"]
    for name in versions:
        make_or_skip(name)
    entry = read_collected_finding(ROOT / "findings", "keras-attention-fails-3351b7")
    found = elsewhere(ROOT / "findings", entry, versions)
    assert [found[name] for name in versions] == ["has it not", "has it"]
