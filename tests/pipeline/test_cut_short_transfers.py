"""Sending and fetching after a command that was cut short while DVC listed what there is to do."""

import shutil
from contextlib import chdir
from pathlib import Path

import pytest
from test_cache_files import temporary

from asterism.sweep import sharing

NAMES = ("one", "two", "three")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A workspace without git with three folders in its cache, and a folder as its remote."""
    from dvc.repo import Repo

    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "site"))
    made = tmp_path / "project"
    made.mkdir()
    with chdir(made):
        with Repo.init(str(made), no_scm=True) as repository:
            for name in NAMES:
                (made / name).mkdir()
                (made / name / "file").write_text(name)
                repository.add(name)
            with repository.config.edit() as config:
                config["remote"] = {"store": {"url": str(tmp_path / "store")}}
                config["core"]["remote"] = "store"
        yield made


class CutShortError(BaseException):
    """Ends a command as a signal would: nothing of DVC's catches it."""


def cut_short(monkeypatch, command):
    """Give a command that ends when DVC has written the first part of its list of files."""
    from dvc_data.index import collect

    own, calls = collect._collect_from_index, []

    def listing(*arguments, **options):
        calls.append(arguments)
        if len(calls) > 1:
            raise CutShortError
        return own(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(collect, "_collect_from_index", listing)
        with pytest.raises(CutShortError):
            command()


def objects(folder):
    """Content of all files that are no lists, by DVC's layout of a store."""
    found = folder.glob("files/md5/??/*")
    return sorted(path.read_text() for path in found if path.suffix != ".dir")


def test_a_push_after_one_that_was_cut_short_sends_everything(root, monkeypatch):
    cut_short(monkeypatch, lambda: sharing.push(root))
    assert sharing.push(root) == 0
    assert objects(root.parent / "store") == sorted(NAMES)


def test_a_push_removes_what_interrupted_ones_left_in_a_folder(root):
    store = root.parent / "store"
    left, running = (temporary(store / "files/md5/00", age) for age in (4000, 3000))
    assert sharing.push(root) == 0
    assert not left.exists() and running.exists()
    assert objects(store) == sorted([*NAMES, running.read_text()])


def test_a_pull_after_one_that_was_cut_short_in_a_copy_checks_out_everything(root, monkeypatch):
    """DVC makes a file first, asks the file system to share its blocks, and removes it if not."""
    from dvc_objects.fs import system

    assert sharing.push(root) == 0
    for name in NAMES:
        shutil.rmtree(root / name)

    def cloning(source, target):
        Path(target).touch()
        raise CutShortError

    with monkeypatch.context() as patch:
        patch.setattr(system, "reflink", cloning)
        with pytest.raises(CutShortError):
            sharing.pull(root, None)
    assert [path.stat().st_size for path in root.glob("*/file")] == [0]
    assert sharing.pull(root, None) == 0
    assert [(root / name / "file").read_text() for name in NAMES] == list(NAMES)
