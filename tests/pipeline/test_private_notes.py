"""DVC's notes, which it unpickles, lie where nobody else can write."""

import os
import pickle
import shutil
import sqlite3
from contextlib import chdir

import pytest

from asterism.dvc_hydra import commands
from asterism.dvc_hydra.repository import Repository

PIPELINE = "stages: {one: {cmd: cp in artifacts/one, deps: [in], outs: [artifacts/one]}}"


class Pickled:
    """Runs a shell's command where it is unpickled."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.fixture
def places(tmp_path, monkeypatch):
    """The folders of temporary files, where everybody may write: DVC's own place, and this one."""
    monkeypatch.delenv(commands.VARIABLE, raising=False)
    monkeypatch.setenv("ASTERISM_PROGRAMS_ROOT", str(tmp_path / "var"))
    (tmp_path / "var").mkdir()
    own = tmp_path / "everybodys"
    monkeypatch.setattr(
        "dvc.dirs.site_cache_dir",
        lambda chosen=None: os.environ.get(commands.VARIABLE) or chosen or str(own),
    )
    return own


@pytest.fixture
def root(tmp_path, places):
    """A project with a result in its cache, and DVC's notes of it where it keeps them itself."""
    from dvc.repo import Repo

    root = tmp_path / "project"
    root.mkdir()
    with chdir(root):
        with Repo.init(str(root), no_scm=True) as repo:
            (root / "dvc.yaml").write_text(PIPELINE)
            (root / "artifacts").mkdir()
            (root / "in").write_text("1")
        with Repo(str(root)) as repo:
            repo.reproduce()
            repo.checkout()
        yield root


def take(root):
    shutil.rmtree(root / "artifacts")
    repository = Repository(root)
    entry = repository.find(repository.stages["one"])
    assert entry is not None
    repository.take({"one": entry})
    assert (root / "artifacts/one").exists()


@pytest.mark.parametrize(
    "run", [take, lambda root: commands.run_dvc(root, "checkout")], ids=["take", "dvc"]
)
def test_what_others_write_into_dvcs_own_place_is_not_unpickled(root, places, tmp_path, run):
    mark = tmp_path / "owned"
    spoilt = sqlite3.Binary(pickle.dumps(Pickled(f"touch {mark}")))
    for base in places.rglob("cache.db"):
        column = "key=?, raw=0" if "links" in base.parts else "value=?, mode=4"
        with sqlite3.connect(base) as database:
            database.execute(f"update Cache set {column}", (spoilt,))
    run(root)
    assert not mark.exists()
    assert commands.VARIABLE not in os.environ
    assert (tmp_path / "var/dvc").stat().st_mode & 0o777 == 0o700


def test_what_the_user_has_chosen_stays(root, tmp_path, monkeypatch):
    with (root / ".dvc/config.local").open("a") as settings:
        settings.write(f"[core]\n    site_cache_dir = {tmp_path / 'chosen'}\n")
    take(root)
    monkeypatch.setenv(commands.VARIABLE, str(tmp_path / "said"))
    take(root)
    assert list((tmp_path / "chosen").glob("repo/*")) and list((tmp_path / "said").glob("repo/*"))
    assert not list((tmp_path / "var").iterdir())
