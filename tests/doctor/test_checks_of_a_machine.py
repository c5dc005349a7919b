"""Each check of the machine and of the software by itself, at the limits where it turns."""

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

from asterism.core.messages.errors import UserError
from asterism.doctor import examination, hardware, project, software
from asterism.doctor.check import Check, as_json, as_text


@pytest.mark.parametrize(
    ("usable", "there", "status", "found"),
    [
        (1, 8, "warning", "1 of 8"),
        (1, 1, "warning", "1"),
        (1, None, "warning", "1"),
        (2, 8, "ok", "2 of 8; `asterism repro --jobs 2` uses them"),
        (2, 2, "ok", "2; `asterism repro --jobs 2` uses them"),
        (4, 4, "ok", "4; `asterism repro --jobs 4` uses them"),
        (16, 32, "ok", "16 of 32; `asterism repro --jobs 4` uses them"),
    ],
)
def test_cores_that_may_be_used_are_told_with_all(usable, there, status, found, monkeypatch):
    monkeypatch.setattr(hardware.machine, "available_threads", lambda: usable)
    monkeypatch.setattr(os, "cpu_count", lambda: there)
    check = hardware.cores()
    assert (check.name, check.status, check.found) == ("cores", status, found)
    assert bool(check.advice) == (status == "warning")


@pytest.mark.parametrize(
    ("free", "limit", "status", "found"),
    [
        (2.9, None, "error", "2.9 GB free of 32.0 GB"),
        (3.0, None, "warning", "3.0 GB free of 32.0 GB"),
        (7.9, None, "warning", "7.9 GB free of 32.0 GB"),
        (8.0, None, "ok", "8.0 GB free of 32.0 GB"),
        (20.0, 4.0, "warning", "4.0 GB free of 4.0 GB"),
        (2.0, 4.0, "error", "2.0 GB free of 4.0 GB"),
        (20.0, 64.0, "ok", "20.0 GB free of 32.0 GB"),
    ],
)
def test_memory_is_that_of_the_machine_or_of_the_container(free, limit, status, found, monkeypatch):
    facts = namedtuple("Facts", "total available")(32e9, free * 1e9)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: facts)
    monkeypatch.setattr(hardware, "memory_limit", lambda: limit and limit * 1e9)
    check = hardware.memory()
    assert (check.name, check.status, check.found) == ("memory", status, found)
    advice = {"error": "needs up to 3 GB", "warning": "--jobs 1", "ok": ""}
    assert advice[status] in check.advice and bool(check.advice) == (status != "ok")


def test_the_first_limit_that_is_a_number_holds(monkeypatch, tmp_path):
    files = [tmp_path / name for name in ("gone", "none", "first", "second")]
    for path, text in zip(files[1:], ("max\n", " 5000\n", "7000\n"), strict=True):
        path.write_text(text)
    monkeypatch.setattr(hardware, "_LIMITS", files)
    assert hardware.memory_limit() == 5000.0
    monkeypatch.setattr(hardware, "_LIMITS", files[:2])
    assert hardware.memory_limit() is None


@pytest.mark.parametrize(
    ("free", "status", "advice"),
    [
        (0.9, "error", "asterism state --clean"),
        (1.0, "warning", "more than 10 GB"),
        (9.9, "warning", "more than 10 GB"),
        (10.0, "ok", ""),
    ],
)
def test_room_is_that_of_the_nearest_folder_there_is(free, status, advice, monkeypatch, tmp_path):
    usage = {tmp_path: SimpleNamespace(free=free * 1e9)}
    monkeypatch.setattr(shutil, "disk_usage", usage.__getitem__)
    folder = tmp_path / "not/yet"
    check = hardware._disk("state.root", folder)
    assert (check.name, check.status) == ("disk: state.root", status)
    assert check.found == f"{free:.1f} GB free at {folder}"
    assert advice in check.advice and bool(check.advice) == bool(advice)


def test_a_folder_that_exists_is_looked_at_itself(monkeypatch, tmp_path):
    usage = {tmp_path: SimpleNamespace(free=5e10)}
    monkeypatch.setattr(shutil, "disk_usage", usage.__getitem__)
    assert hardware._disk("project", tmp_path).found == f"50.0 GB free at {tmp_path}"


def test_a_folder_that_cannot_be_written_is_an_error(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(os, "access", lambda *words: asked.append(words))
    right = "give yourself the right to write there"
    found = f"{tmp_path} cannot be written"
    assert hardware._disk("project", tmp_path / "x") == Check(
        "disk: project", "error", found, right
    )
    other = hardware._disk("temporary files", tmp_path / "x")
    assert (other.status, other.found) == ("error", found)
    assert other.advice.startswith(f"{right}, or choose another folder")
    assert asked == [(tmp_path, os.W_OK)] * 2


def test_disks_are_of_the_project_of_temporary_files_and_of_the_state(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(hardware, "_disk", lambda *words: seen.append(words) or words[0])
    monkeypatch.setattr(hardware.machine, "state_root", lambda: tmp_path / "state")
    monkeypatch.setattr(hardware.tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path)
    assert hardware.disks() == ["project", "temporary files", "state.root"]
    assert seen == [
        ("project", tmp_path),
        ("temporary files", tmp_path / "tmp"),
        ("state.root", tmp_path / "state"),
    ]


def test_a_state_root_that_cannot_be_known_is_an_error(monkeypatch):
    def fail():
        raise UserError("no such setting")

    monkeypatch.setattr(hardware, "_disk", lambda name, _folder: name)
    monkeypatch.setattr(hardware.machine, "state_root", fail)
    wrong = Check("state.root", "error", "no such setting", "mend machine.yaml")
    assert hardware.disks() == [wrong, "project", "temporary files"]


def graphics(monkeypatch, answer):
    def run(words, **options):
        assert words[0] == "/bin/nvidia-smi"
        assert options["text"] and options["capture_output"], "its text is read, and not shown"
        assert options["timeout"] < 60, "a driver may hang"
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(stdout=answer, returncode=0)

    monkeypatch.setattr(shutil, "which", "/bin/{}".format)
    monkeypatch.setattr(subprocess, "run", run)
    return hardware.graphics()


@pytest.mark.parametrize(
    ("answer", "told"), [("A\nB\n", "A, B"), ("A\n", "A"), ("", "none answers")]
)
def test_graphics_cards_are_listed(answer, told, monkeypatch):
    check = graphics(monkeypatch, answer)
    assert (check.name, check.status) == ("GPU", "ok")
    assert check.found.startswith(f"{told}; only training uses one")


@pytest.mark.parametrize("error", [OSError(), subprocess.TimeoutExpired("x", 1)])
def test_a_driver_that_does_not_answer_is_a_warning(error, monkeypatch):
    check = graphics(monkeypatch, error)
    assert (check.name, check.status) == ("GPU", "warning")
    assert check.found == "nvidia-smi does not answer" and "driver" in check.advice


def test_a_program_for_graphics_that_fails_is_a_warning(monkeypatch, tmp_path):
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho the driver does not answer\nexit 9\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(program))
    check = hardware.graphics()
    assert (check.status, check.found) == ("warning", "nvidia-smi does not answer")


def test_no_graphics_card_is_needed(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert hardware.graphics() == Check("GPU", "ok", "none; none is needed")


# software


@pytest.mark.parametrize(
    ("version", "needed", "status"),
    [
        ("3.11.2", ">=3.11", "ok"),
        ("3.99.0rc1", ">=3.11", "ok"),
        ("3.10.9", ">=3.11", "error"),
        ("2.7", None, "ok"),
    ],
)
def test_the_python_is_one_that_the_package_names(version, needed, status, monkeypatch):
    monkeypatch.setattr(sys, "version", f"{version} (main, today)")
    known = {"asterism": {"Requires-Python": needed}}
    monkeypatch.setattr(metadata, "metadata", known.__getitem__)
    check = software.python()
    assert (check.name, check.status) == ("Python", status)
    assert check.found == f"{version} at {sys.executable}"
    advice = f"make an environment with Python {needed}" if status == "error" else ""
    assert check.advice == advice


@pytest.fixture
def installed(monkeypatch):
    """Versions of what is installed, by name."""
    versions = {"asterism": "1.0", "good": "2.0", "early": "3.0rc1", "old": "0.1"}

    def version(name):
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "version", version)
    return versions


def requirements(monkeypatch, *texts):
    known = {"asterism": list(texts) or None}
    monkeypatch.setattr(metadata, "requires", known.__getitem__)
    return software.requirements()


def test_packages_that_are_needed_are_there(installed, monkeypatch):
    whole = Check("packages", "ok", "asterism 1.0 has all that it needs")
    assert requirements(monkeypatch) == whole
    needed = [
        "good>=1",
        "early>=3.0rc0",
        "early>2",
        "none; extra == 'more'",
        "none; python_version < '3'",
    ]
    assert requirements(monkeypatch, *needed) == whole
    assert requirements(monkeypatch, "none; python_version > '3'").status == "error"


def test_packages_that_are_wrong_are_told_with_the_repair(installed, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    check = requirements(monkeypatch, "none", "old>=1", "good", "later; python_version > '3'")
    found = "none is not installed, old 0.1 is not >=1, later is not installed"
    repair = "run `pip install --upgrade asterism`"
    assert check == Check("packages", "error", found, repair)
    (tmp_path / "Makefile").touch()
    assert requirements(monkeypatch, "none").advice == "run `make install`"


def test_pins_are_read_by_canonical_names(tmp_path):
    lock = tmp_path / "lock"
    lock.write_text(
        "# x==1\nBig_Name.x==1.0 ; python_version > '3'\n    # via a\nb==2.0+cpu\nc>=1\n"
    )
    assert software.pins_of(lock) == {"big-name-x": "1.0", "b": "2.0+cpu"}


def test_versions_are_compared_without_the_build(installed, tmp_path):
    lock = tmp_path / "lock"
    installed["built"] = "4.0+cpu"
    lock.write_text("good==2.0+cu12\nbuilt==4.0\nnone==1\n")
    assert software.pinned(lock) == Check(
        "pinned versions", "ok", f"2 packages are as {lock} has them"
    )
    lock.write_text("good==2.1\nbuilt==4.0\nold==0.2\nnone==1\n")
    check = software.pinned(lock)
    assert (check.name, check.status) == ("pinned versions", "warning")
    assert check.found == "good 2.0 instead of 2.1, old 0.1 instead of 0.2"
    assert f"`pip install -r {lock}`" in check.advice


def test_a_lock_that_is_not_there_is_a_warning(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    check = software.pinned()
    assert (check.name, check.status) == ("pinned versions", "warning")
    assert check.found == "there is no requirements.lock here" and "root" in check.advice


def test_libraries_are_of_the_pinned_version_or_not(monkeypatch, tmp_path):
    there = {"A_b": "1.0+cpu", "c": "2.0", "d": "not installed", "e": "3.0", "f": "not installed"}
    monkeypatch.setattr(software, "installed_versions", lambda: there)
    lock = tmp_path / "lock"
    lock.write_text("a-b==1.0\nc==2.1\nd==1\n")
    checks = software.under_test(lock)
    assert [(c.name, c.status, c.found) for c in checks] == [
        ("A_b", "ok", "1.0+cpu"),
        ("c", "warning", "2.0, pinned is 2.1"),
        ("e", "ok", "3.0"),
        ("not installed", "warning", "d, f"),
    ]
    assert "computed anew" in checks[1].advice and "asterism[libraries]" in checks[3].advice
    checks = software.under_test(tmp_path / "none")
    assert [c.status for c in checks] == ["ok", "ok", "ok", "warning"]
    del there["d"], there["f"]
    assert len(software.under_test(lock)) == 3


def test_programs_are_told_with_their_places(monkeypatch):
    places = {"git": "/bin/git", "make": "/bin/make", "c++": "/bin/c++", "clang++": "/bin/x"}
    monkeypatch.setattr(shutil, "which", places.get)
    assert software.programs() == [
        Check("git", "ok", "/bin/git"),
        Check("make", "ok", "/bin/make"),
        Check("compiler", "ok", "c++, for torch.compile"),
    ]


def test_programs_that_are_missing_are_told_with_their_use(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    git, make, compiler = software.programs()
    assert git == Check(
        "git", "error", "not found (every project is a git repository)", "install git"
    )
    assert make.found == "not found (only a checkout of the source needs it)"
    assert (make.name, make.status, make.advice) == ("make", "warning", "install make")
    assert (compiler.name, compiler.status) == ("compiler", "warning")
    assert compiler.found == "no C++ compiler for torch.compile"
    assert "install g++" in compiler.advice


def test_of_many_texts_five_are_shown():
    assert software._shortened(list("abcde")) == "a, b, c, d, e"
    assert software._shortened(list("abcdefg")) == "a, b, c, d, e and 2 more"


def test_everything_is_looked_at_in_order(monkeypatch):
    single = {software: ["python", "requirements", "pinned"], hardware: ["cores", "memory"]}
    single[hardware] += ["own_programs", "graphics"]
    several = {software: ["under_test", "programs"], hardware: ["disks"]}
    for module, names in single.items():
        for name in names:
            monkeypatch.setattr(module, name, lambda name=name: name)
    for module, names in several.items():
        for name in names:
            monkeypatch.setattr(module, name, lambda name=name: [name, "more"])
    monkeypatch.setattr(project, "project", lambda root: [root])
    assert examination.examine(Path("root")) == [
        "python", "requirements", "pinned", "under_test", "more", "programs", "more",
        "cores", "memory", "disks", "more", "own_programs", "graphics", Path("root"),
    ]  # fmt: skip


def test_all_checks_of_a_status_are_counted():
    checks = [Check("a", status, "x") for status in ("error", "ok", "warning", "error", "warning")]
    assert (as_json(checks)["error"], as_json(checks)["warning"]) == (2, 2)
    assert as_text(checks)[-1] == "2 errors, 2 warnings"
    assert as_json([]) == {"checks": [], "error": 0, "warning": 0}
