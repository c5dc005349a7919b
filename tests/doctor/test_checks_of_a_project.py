"""Each check of a project by itself, with what it asks put in its place."""

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from asterism.core.files.locks import held
from asterism.core.messages.errors import UserError
from asterism.doctor import project
from asterism.doctor.check import Check
from asterism.dvc_hydra.left_locks import LeftLock


def failing(error):
    def fail(*_arguments):
        raise error

    return fail


@pytest.fixture
def quiet(monkeypatch, tmp_path):
    """A project in which nothing is locked and nothing is left; its root."""
    monkeypatch.setattr(project, "locks_of_dvc", lambda _root: [])
    monkeypatch.setattr(project, "temporary_experiments", lambda _root: [])
    monkeypatch.setattr(project, "lock_folder", lambda root: root / "running")
    monkeypatch.setattr(project, "git", lambda _root, *words: f".git/{words[-1]}")
    return tmp_path


def test_all_checks_are_of_the_folder_and_in_order(monkeypatch, tmp_path):
    asked = []

    def asking(name, many):
        def ask(*roots):
            asked.append((name, *roots))
            return [Check(name, "ok", "x")] if many else Check(name, "ok", "x")

        return ask

    names = ["code", "parameters", "tree", "remote", "locks", "saved_state"]
    for name in names:
        monkeypatch.setattr(project, name, asking(name, name in names[-2:]))
    (tmp_path / "dvc.yaml").touch()
    assert [check.name for check in project.project(tmp_path)] == names
    assert asked == [*((name, tmp_path) for name in names[:-1]), ("saved_state",)]


def test_a_folder_without_a_project_is_one_warning(tmp_path):
    (check,) = project.project(tmp_path)
    assert (check.name, check.status) == ("project", "warning")
    assert check.found == f"there is none in {tmp_path}" and "asterism new FOLDER" in check.advice


def test_stages_of_another_version_are_an_error(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(project, "check_code", asked.append)
    assert project.code(tmp_path) == Check(
        "code", "ok", "the stages run the version that is installed"
    )
    assert asked == [tmp_path]
    monkeypatch.setattr(project, "check_code", failing(UserError("other code")))
    assert project.code(tmp_path) == Check(
        "code", "error", "other code", "run `asterism new --update` and commit"
    )


@pytest.mark.parametrize("error", [UserError("no such key"), OSError("no such key")])
def test_parameters_that_cannot_be_read_are_an_error(error, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(project, "check_params", asked.append)
    assert project.parameters(tmp_path) == Check("params.yaml", "ok", "valid")
    assert asked == [tmp_path]
    monkeypatch.setattr(project, "check_params", failing(error))
    assert project.parameters(tmp_path) == Check(
        "params.yaml", "error", "no such key", "mend it, or run `asterism params`"
    )


@pytest.mark.parametrize(
    ("changed", "status", "found", "advice"),
    [
        ([], "ok", "as commit 0a1b2c3", ""),
        (["params.yaml"], "warning", "1 files differ from 0a1b2c3: params.yaml", "git restore"),
        (["a", "b", "c"], "warning", "3 files differ from 0a1b2c3: a, b, c", "commit them"),
        (["a", "b", "c", "d"], "warning", "4 files differ from 0a1b2c3: a, b, c, …", "commit"),
        (["a", "params.yaml"], "warning", "2 files differ from 0a1b2c3: a, params.yaml", "commit"),
    ],
)
def test_changes_since_the_commit_are_named(changed, status, found, advice, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(project, "git", lambda *words: asked.append(words) or "0a1b2c3")
    monkeypatch.setattr(project, "changed_files", lambda root: changed if root == tmp_path else 0)
    check = project.tree(tmp_path)
    assert (check.name, check.status, check.found) == ("tree", status, found)
    assert advice in check.advice and bool(check.advice) == bool(changed)
    assert asked == [(tmp_path, "rev-parse", "--short", "HEAD")]


def test_a_folder_that_git_does_not_know_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(project, "git", failing(UserError("not a repository")))
    check = project.tree(tmp_path)
    assert (check.name, check.status, check.found) == ("tree", "error", "not a repository")
    assert "make a git repository" in check.advice


def test_remotes_are_addresses_or_folders(monkeypatch, tmp_path):
    def told(found):
        monkeypatch.setattr(project, "default_remote", lambda root: found if root == "root" else 0)
        return project.remote("root")

    check = told(None)
    assert (check.name, check.status) == ("remote", "ok")
    assert check.found == "none: results stay on this machine" and "dvc remote add" in check.advice
    assert told(("far", "s3://b")) == Check("remote", "ok", "far: s3://b")
    assert told(("near", str(tmp_path))) == Check("remote", "ok", f"near: {tmp_path}")
    check = told(("near", f"{tmp_path}/x"))
    assert (check.name, check.status) == ("remote", "warning")
    assert check.found == f"near: {tmp_path}/x is no folder" and "mount" in check.advice
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "store").mkdir()
    assert told(("home", "~/store")) == Check("remote", "ok", "home: ~/store")


def test_settings_of_dvc_that_cannot_be_read_are_an_error(monkeypatch):
    monkeypatch.setattr(project, "default_remote", failing(UserError("no url")))
    check = project.remote(Path("root"))
    assert (check.name, check.status, check.found) == ("remote", "error", "no url")
    assert check.advice == "run `dvc remote add --default NAME URL`"


def test_locks_that_nobody_holds_are_none(quiet):
    (quiet / "running").mkdir()
    (quiet / "running/a.lock").touch()
    assert project.locks(quiet) == [Check("locks", "ok", "none is held, none is left behind")]


def test_a_held_lock_of_dvc_is_waited_for_and_a_left_one_deleted(quiet, monkeypatch):
    locks = [LeftLock(Path("whole"), True, "dvc pull"), LeftLock(Path("list"), False, "dvc (7)")]
    monkeypatch.setattr(project, "locks_of_dvc", lambda root: locks if root == quiet else [])
    assert project.locks(quiet) == [
        Check("lock of DVC", "warning", "whole is held by dvc pull", "wait for it, or end it"),
        Check(
            "lock of DVC", "warning", "list names dvc (7), which has ended",
            "delete list while no DVC command runs",
        ),
    ]  # fmt: skip


def test_stages_that_run_are_called_by_twelve_letters(quiet):
    (quiet / "running").mkdir()
    (quiet / "running/free.lock").touch()
    with held(quiet / "running/0123456789abcdef.lock"):
        assert project.locks(quiet) == [
            Check(
                "running", "warning", "1 stages are running: 0123456789ab",
                "a second run waits for them",
            )
        ]  # fmt: skip


def test_the_age_of_gits_lock_is_told_in_minutes(quiet):
    path = quiet / ".git/index.lock"
    path.parent.mkdir()
    path.touch()
    then = time.time() - 300
    os.utime(path, (then, then))
    (check,) = project.locks(quiet)
    assert (check.name, check.status) == ("lock of git", "error")
    assert check.found == f"{path} is there since 5 minutes"
    assert f"`rm {path}`" in check.advice


def test_without_a_repository_there_is_no_lock_of_git(quiet, monkeypatch):
    monkeypatch.setattr(project, "git", failing(UserError("no repository")))
    assert [check.name for check in project.locks(quiet)] == ["locks"]


def test_workspaces_are_left_where_nobody_holds_their_lock(quiet, monkeypatch):
    folder = quiet / ".dvc/tmp/asterism/workspaces"
    (folder / "used").mkdir(parents=True)
    (folder / "left").mkdir()
    with held(folder / "used.lock"):
        (check,) = project.locks(quiet)
        assert (check.name, check.status) == ("workspaces", "warning")
        assert check.found == (
            "1 workspaces of experiments are left, such as .dvc/tmp/asterism/workspaces/left"
        )
        assert "delete them" in check.advice
    temporary = [quiet / ".dvc/tmp/exps/tmp1"]
    monkeypatch.setattr(project, "temporary_experiments", lambda root: temporary)
    (check,) = project.locks(quiet)
    assert check.found.startswith("3 workspaces")


def entry(size, status, damaged=0):
    return SimpleNamespace(size=size, status=status, damaged=damaged)


def test_saved_state_is_counted(monkeypatch):
    def told(entries):
        monkeypatch.setattr(project.tidying, "entries", lambda: entries)
        return project.saved_state()

    assert told([]) == [Check("saved state", "ok", "none")]
    whole = [entry(3e6, "in use"), entry(4e6, "finished"), entry(5e6, "unfinished")]
    assert told(whole) == [Check("saved state", "ok", "3 runs, 12 MB, 1 in use, 0 damaged parts")]
    assert told([*whole, entry(1e9, "in use", 2), entry(0, "committed", 1)]) == [
        Check(
            "saved state", "warning", "5 runs, 1012 MB, 2 in use, 3 damaged parts",
            "run `asterism state --clean`",
        )
    ]  # fmt: skip


@pytest.mark.parametrize("error", [UserError("no folder"), OSError("no folder")])
def test_state_that_cannot_be_read_is_an_error(error, monkeypatch):
    monkeypatch.setattr(project.tidying, "entries", failing(error))
    assert project.saved_state() == [
        Check("saved state", "error", "no folder", "mend state.root in machine.yaml")
    ]
