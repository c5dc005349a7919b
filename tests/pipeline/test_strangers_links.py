"""Links in a stranger's cache: no file of the user's is read, changed or removed through them."""

import pytest
import yaml
from sharing import call
from small_pipeline import asterism
from test_strangers_cache import entry_of, forget_results

REPRO = asterism("repro")


@pytest.fixture
def mine(project):
    """A folder of the user's, with files of names that a cache has too."""
    folder = project.notes / "mine"
    for name in ("Documents/thesis", "thesis.dir", f"{'0' * 64}", "read_only"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("of nobody else")
    (folder / "read_only").chmod(0o444)
    return folder


def content(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def cache(project):
    return project.root / ".dvc/cache"


def folder_of_entries(project, mine):
    """Where DVC looks for folders of entries, by their first two letters."""
    (cache(project) / "runs/Do").symlink_to(mine)


def folder_of_a_stages_entries(project, mine):
    """Anybody who knows the pipeline can compute the name."""
    entry = entry_of(cache(project), "left")
    entry.unlink()
    entry.parent.rmdir()
    entry.parent.symlink_to(mine)


def folder_of_objects(project, mine):
    (cache(project) / "files/md5/zz").symlink_to(mine)


def all_entries(project, mine):
    (cache(project) / "runs").rename(cache(project) / "moved")
    (cache(project) / "runs").symlink_to(mine.parent)


def an_object(project, mine):
    """DVC takes a file that nobody may write to for one that it has checked."""
    path = object_of(project, "left")
    path.unlink()
    path.symlink_to(mine / "read_only")


def object_of(project, stage):
    """What the cache holds of a stage's output."""
    digest = yaml.safe_load(entry_of(cache(project), stage).read_text())["outs"][0]["md5"]
    return cache(project) / "files/md5" / digest[:2] / digest[2:]


def require_rejected(project, command):
    """The command ends with one line about the cache, and ran nothing."""
    status, output = call(project, "timeout", "100", *command, check=False)
    assert status == 1, output
    assert "'.dvc/cache" in output
    assert "Traceback" not in output
    assert project.ran() == []


@pytest.mark.parametrize(
    "link",
    [folder_of_entries, folder_of_a_stages_entries, folder_of_objects, all_entries, an_object],
)
@pytest.mark.slow
def test_nothing_is_read_or_removed_through_a_link(project, mine, link):
    link(project, mine)
    before = content(mine)
    forget_results(project)
    require_rejected(project, REPRO)
    assert content(mine) == before
    assert not list(project.root.glob("metrics/*"))
