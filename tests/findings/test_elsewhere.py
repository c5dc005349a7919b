"""Whether other versions of a library have a finding."""

import sys
from dataclasses import replace

import pytest
from small_findings import candidate
from typer.testing import CliRunner

from asterism.cli.commands import app
from asterism.core.files.artifacts import write_json
from asterism.core.messages.errors import UserError
from asterism.differential.adapters.environments import environment
from asterism.findings.checking import made_environments, note_elsewhere
from asterism.findings.entry import read_entries, read_entry
from asterism.findings.pages import index_page
from places import ROOT
from real_environments import make_or_skip

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
        python = environment(name).executable
        python.parent.mkdir(parents=True)
        version = name.partition("@")[2]
        python.write_text(f'#!/bin/sh\nVERSION_THERE={version} exec {sys.executable} "$@"\n')
        python.chmod(0o755)
    return tmp_path


def finding(project, name="one", text=ASKS, **given):
    made = candidate(project / "findings", name, **given)
    (made.folder / "repro.py").write_text(text)
    made.entry.write(made.folder)
    return made.entry


def elsewhere(collection, entry, environments, **limits):
    (noted,) = note_elsewhere(collection, [entry], environments, **limits)
    return noted.elsewhere


def test_a_check_runs_in_the_versions_of_its_library_alone(project):
    entry = finding(project)
    found = elsewhere(project / "findings", entry, ["jax@0.1", "jax@0.2", "tf2onnx@0.1"])
    assert found == {"jax@0.1": "has it", "jax@0.2": "has it not"}


def test_findings_of_a_converter_run_in_its_versions(project):
    entry = finding(project, library="tf2onnx")
    assert elsewhere(project / "findings", entry, ["jax@0.1", "tf2onnx@0.1"]) == {
        "tf2onnx@0.1": "has it"
    }


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
    (read,) = read_entries(project / "findings")
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


def test_the_index_names_those_that_cannot_tell_where_none_can(project):
    told = {"jax@0.10": "cannot tell", "jax@0.9": "cannot tell"}
    page = index_page([finding(project, elsewhere=told)])
    assert "| cannot tell: jax 0.9, 0.10 |" in page


def test_the_command_notes_it_in_the_index(project):
    finding(project)
    finding(project, "other", library="openvino")
    facts = {
        "pieces": [],
        "coverage": {"types": 0.0, "parameters": 0.0, "inputs": 0.0},
        "counts": {"merged": 0, "limits": 0, "unconfirmed": 0, "large": 0},
        "operators": {"models": 0},
    }
    write_json(project / "findings/campaign.json", facts)
    given = ["--environment", "jax@0.1", "--environment", "jax@0.2"]
    done = CliRunner().invoke(app, ["check-findings", *given])
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
    entry = read_entry(ROOT / "findings", "keras-attention-fails-3351b7")
    found = elsewhere(ROOT / "findings", entry, versions)
    assert found == {"keras@3.12": "has it not", "keras@3.14": "has it"}
