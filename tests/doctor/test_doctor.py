"""What the doctor says of software, machine and project, and how it says it."""

import json
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from typer.testing import CliRunner

from asterism.cli import commands
from asterism.core.files.locks import hold_lock
from asterism.doctor import Check, checks_as_json, format_checks, hardware, project, software
from asterism.project import new_project
from asterism.sweep.pipeline import lock_folder
from extras import needs
from places import ROOT
from rights import entered_by_others


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project of its own."""
    folder = tmp_path_factory.mktemp("made") / "own"
    new_project(folder)
    return folder


@pytest.fixture
def own(made, tmp_path, monkeypatch):
    """A copy of it, and the current folder."""
    shutil.copytree(made, tmp_path / "own", symlinks=True)
    monkeypatch.chdir(tmp_path / "own")
    return tmp_path / "own"


def named(checks, name):
    (check,) = [check for check in checks if check.name == name]
    return check


def test_errors_and_warnings_are_counted_and_advice_stands_below():
    checks = [Check("a", "ok", "fine"), Check("longer", "error", "bad", "do it")]
    checks.append(Check("b", "warning", "so"))
    assert checks_as_json(checks)["error"] == checks_as_json(checks)["warning"] == 1
    assert format_checks(checks) == [
        "ok       a       fine",
        "error    longer  bad",
        "                 → do it",
        "warning  b       so",
        "1 errors, 1 warnings",
    ]


# software


def test_this_python_and_its_packages_are_enough():
    assert software.check_python().status == "ok"
    assert software.check_requirements().status == "ok"


def test_another_python_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "version", "3.9.1 (main)")
    check = software.check_python()
    assert check.status == "error" and "3.9.1" in check.found and ">=3.11" in check.advice


def test_a_package_that_is_missing_or_of_another_version_is_an_error(monkeypatch):
    real = metadata.version

    def version(name):
        if name == "onnx":
            raise metadata.PackageNotFoundError(name)
        return "1.26.4" if name == "numpy" else real(name)

    monkeypatch.setattr(metadata, "version", version)
    check = software.check_requirements()
    assert check.status == "error"
    assert "onnx is not installed" in check.found and "numpy 1.26.4 is not" in check.found


def test_versions_are_compared_with_the_lock(tmp_path):
    lock = tmp_path / "requirements.lock"
    torch = metadata.version("torch").partition("+")[0]
    lock.write_text(f"numpy==1.0\n    # via x\ntorch=={torch}\nno-such-package==3\n")
    check = software.check_pinned_versions(lock)
    assert check.status == "warning" and "numpy" in check.found and "torch" not in check.found
    lock.write_text(f"torch=={torch}\nno-such-package==3\n")
    check = software.check_pinned_versions(lock)
    assert (check.status, check.found[:15]) == ("ok", "1 packages are "), (
        "an absent one is no fault"
    )
    assert software.check_pinned_versions(tmp_path / "none").status == "warning"


def test_libraries_under_test_are_listed_with_what_is_pinned(tmp_path, monkeypatch):
    lock = tmp_path / "requirements.lock"
    lock.write_text("jax==0.0.1\n")
    monkeypatch.setattr(
        software, "installed_versions", lambda: {"jax": "0.10.2", "torch": "not installed"}
    )
    jax, torch = software.check_libraries_under_test(lock)
    assert jax.status == "warning" and "pinned is 0.0.1" in jax.found
    assert torch.status == "warning" and "asterism[libraries]" in torch.advice


def test_without_a_compiler_and_without_git(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    checks = software.check_external_programs()
    assert [(check.name, check.status) for check in checks] == [
        ("git", "error"), ("make", "warning"), ("compiler", "warning"),
    ]  # fmt: skip


def test_pins_are_read_by_canonical_names(tmp_path):
    lock = tmp_path / "lock"
    lock.write_text(
        "# x==1\nBig_Name.x==1.0 ; python_version > '3'\n    # via a\nb==2.0+cpu\nc>=1\n"
    )
    assert software.read_pins(lock) == {"big-name-x": "1.0", "b": "2.0+cpu"}


# machine


@pytest.mark.parametrize(
    ("usable", "status", "jobs"), [(1, "warning", None), (2, "ok", 2), (4, "ok", 4), (16, "ok", 4)]
)
def test_cores_that_may_be_used_tell_how_many_jobs_to_run(usable, status, jobs, monkeypatch):
    monkeypatch.setattr(hardware.machine, "available_threads", lambda: usable)
    check = hardware.check_cores()
    assert check.status == status
    assert jobs is None or f"--jobs {jobs}`" in check.found


@pytest.mark.parametrize(("free", "status"), [(1, "error"), (5, "warning"), (20, "ok")])
def test_memory_is_judged_by_what_is_free(free, status, monkeypatch):
    facts = namedtuple("Facts", "total available")(32e9, free * 1e9)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: facts)
    monkeypatch.setattr(hardware, "read_memory_limit", lambda: None)
    assert hardware.check_memory().status == status


def test_the_limit_of_a_container_counts(monkeypatch, tmp_path):
    facts = namedtuple("Facts", "total available")(64e9, 60e9)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: facts)
    (tmp_path / "max").write_text("4000000000\n")
    (tmp_path / "none").write_text("max\n")
    monkeypatch.setattr(hardware, "_LIMITS", (tmp_path / "none", tmp_path / "max"))
    check = hardware.check_memory()
    assert check.status == "warning" and "4.0 GB free of 4.0 GB" in check.found


@pytest.mark.parametrize(("free", "status"), [(0.5, "error"), (5, "warning"), (50, "ok")])
def test_a_disk_is_judged_by_its_room(free, status, monkeypatch):
    usage = namedtuple("Usage", "total used free")(1e12, 0, free * 1e9)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage)
    assert {check.status for check in hardware.check_disks()} == {status}


def test_a_wrong_machine_yaml_is_an_error_of_its_own(own, monkeypatch):
    monkeypatch.delenv("ASTERISM_STATE_ROOT")
    (own / "machine.yaml").write_text("state.rot: x\n")
    check = named(hardware.check_disks(), "state.root")
    assert check.status == "error" and "unknown setting" in check.found


def test_a_graphics_card_is_named(tmp_path, monkeypatch):
    assert hardware.check_graphics_cards().status == "ok"
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'Card 1'\necho 'Card 2'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert "Card 1, Card 2" in hardware.check_graphics_cards().found


def test_a_program_for_graphics_that_fails_is_a_warning(monkeypatch, tmp_path):
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho the driver does not answer\nexit 9\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(program))
    assert hardware.check_graphics_cards().status == "warning"


def test_a_folder_that_cannot_be_written_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.chdir(tmp_path)
    checks = hardware.check_disks()
    assert {check.status for check in checks} == {"error"}
    elsewhere = {check.name for check in checks if "machine.yaml" in check.advice}
    assert elsewhere == {check.name for check in checks} - {"disk: project"}


# project


def test_a_new_project_is_ready(own):
    checks = project.check_project(own)
    assert {check.status for check in checks} == {"ok"}
    assert named(checks, "locks").found == "none is held or left behind"


def test_without_a_project_only_that_is_said(tmp_path):
    (check,) = project.check_project(tmp_path)
    assert check.status == "warning" and "asterism new" in check.advice


def test_changed_files_and_wrong_parameters_are_seen(own):
    (own / "params.yaml").write_text("seed: many\n")
    (own / "conf/own.yaml").write_text("a: 1\n")
    checks = project.check_project(own)
    assert named(checks, "params.yaml").status == "error"
    tree = named(checks, "tree")
    assert tree.status == "warning" and "params.yaml, conf/own.yaml" in tree.found


def test_a_project_without_git_is_an_error(own):
    shutil.rmtree(own / ".git")
    assert named(project.check_project(own), "tree").status == "error"


def test_the_remote_is_named_and_looked_for(own, tmp_path):
    config = own / ".dvc/config"
    section = f"['remote \"store\"']\n    url = {tmp_path}/far\n"
    config.write_text(f"[core]\n    remote = store\n{section}")
    assert project.check_remote(own).status == "warning"
    (tmp_path / "far").mkdir()
    assert project.check_remote(own) == Check("remote", "ok", f"store: {tmp_path}/far")
    config.write_text("[core]\n    remote = store\n")
    assert project.check_remote(own).status == "error"


def test_locks_that_are_held_or_left_are_told_apart(own):
    temporary = own / ".dvc/tmp"
    temporary.mkdir(exist_ok=True)
    (temporary / "lock").touch()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    gone = {"pid": ended.pid, "cmd": "dvc exp run"}
    (temporary / "rwlock").write_text(json.dumps({"write": {"a": gone}, "read": {"b": [gone]}}))
    (check,) = project.check_locks(own)
    assert "which has ended" in check.found and "dvc exp run" in check.found
    (temporary / "rwlock").unlink()
    with hold_lock(temporary / "lock"), hold_lock(lock_folder(own) / f"{'ab' * 32}.lock"):
        dvc, running = project.check_locks(own)
    assert "DVC command" in dvc.found and "1 stages are running" in running.found
    assert [check.status for check in project.check_locks(own)] == ["ok"]


@pytest.mark.parametrize("name", ["lock", "rwlock"])
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_a_lock_that_is_no_file_is_told(own, name, make):
    (own / ".dvc/tmp").mkdir(exist_ok=True)
    make(own / ".dvc/tmp" / name)
    (check,) = project.check_locks(own)
    assert check.status == "error" and f"tmp/{name} is a" in check.found


def test_a_folder_for_programs_that_others_can_write_to_is_told(monkeypatch):
    with entered_by_others() as folder:
        monkeypatch.setenv("ASTERISM_PROGRAMS_ROOT", str(folder))
        assert hardware.check_programs_root().status == "ok"
        folder.chmod(0o777)
        check = hardware.check_programs_root()
    assert check.status == "error" and "chmod go-w" in check.found


def test_a_damaged_list_of_locks_is_told(own):
    (own / ".dvc/tmp").mkdir(exist_ok=True)
    (own / ".dvc/tmp/rwlock").write_text("[1, 2")
    (check,) = project.check_locks(own)
    assert "damaged" in check.found and "delete" in check.advice


def test_gits_lock_and_workspaces_that_are_left_are_told(own):
    (own / ".git/index.lock").touch()
    (own / ".dvc/tmp/exps/tmpabc").mkdir(parents=True)
    (own / ".dvc/tmp/asterism/workspaces/one-1").mkdir(parents=True)
    git, workspaces = project.check_locks(own)
    assert git.status == "error" and "rm " in git.advice
    assert "2 workspaces" in workspaces.found


@pytest.mark.parametrize(
    ("statuses", "damaged", "status"),
    [([], 0, "ok"), (["in use", "finished", "unfinished"], 0, "ok"), (["committed"], 1, "warning")],
)
def test_saved_state_is_looked_at(monkeypatch, statuses, damaged, status):
    entries = [SimpleNamespace(size=3e6, status=one, damaged=damaged) for one in statuses]
    monkeypatch.setattr(project.saved_state, "saved_runs", lambda: entries)
    (check,) = project.check_saved_runs()
    assert check.status == status


# the command


@needs("tensorflow")
def test_the_status_is_1_where_something_stops_a_run(own):
    ended = CliRunner().invoke(commands.app, ["doctor", "--json"])
    facts = json.loads(ended.output)
    assert (ended.exit_code, facts["error"]) == (0, 0)
    names = [check["name"] for check in facts["checks"]]
    for name in ("Python", "tensorflow", "cores", "memory", "GPU", "remote", "tree", "locks"):
        assert name in names
    (own / ".git/index.lock").touch()
    ended = CliRunner().invoke(commands.app, ["doctor"])
    assert ended.exit_code == 1 and "error    lock of git" in ended.output


def test_the_checkout_has_its_pinned_versions():
    assert software.check_pinned_versions(ROOT / "requirements.lock").status == "ok"
