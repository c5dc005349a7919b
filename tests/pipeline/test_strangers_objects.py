"""Objects of a stranger's cache that are not what their names say: never taken for a result."""

import json

import pytest
import yaml
from sharing import add_remote, call, clone, make, set_remote
from small_pipeline import asterism
from test_strangers_cache import entry_of, forget_results
from workspace import commit

from asterism.dvc_hydra.cache_files import object_path

pytestmark = pytest.mark.slow

LIE = '{"k": 666, "square": 443556}'


def cache(project):
    return project.root / ".dvc/cache"


def object_of(project, stage):
    """What the cache holds of a stage's output."""
    digest = yaml.safe_load(entry_of(cache(project), stage).read_text())["outs"][0]["md5"]
    return object_path(cache(project), digest)


def rewrite(path, content):
    """As somebody does who has the right to, and makes DVC believe that it has hashed the file."""
    path.chmod(0o644)
    path.write_text(content)
    path.chmod(0o444)
    return path


def another_content(project):
    return rewrite(object_of(project, "left"), LIE)


COMMANDS = {
    "check": asterism("check"),
    "repro": asterism("repro"),
    "side by side": asterism("repro", "--jobs", "2"),
    "one stage": asterism("repro", "left"),
    "sweep": asterism("sweep", "--name", "s"),
    "dry sweep": asterism("sweep", "--name", "s", "--dry-run"),
    "pull": asterism("pull"),
    "push": asterism("push"),
}
LOCKED = pytest.mark.parametrize("locked", [True, False], ids=["dvc.lock", "run-cache"])


def require_rejected(project, command, poisoned):
    """The command says one line of the object, takes nothing of it, and leaves ``dvc.lock``."""
    lock = project.root / "dvc.lock"
    before = lock.read_bytes() if lock.exists() else b""
    status, output = call(project, "timeout", "100", *command, check=False)
    output += "".join(log.read_text() for log in project.root.glob("sweeps/s/points/*/log.txt"))
    assert status != 0, output
    assert str(poisoned.relative_to(cache(project))) in output
    assert "Traceback" not in output
    after = lock.read_bytes() if lock.exists() else b""
    assert "left" not in project.ran()
    assert after == before or b"  left:" not in after, "what was sound may stand there"
    assert not (project.root / "metrics/left.json").exists()


@LOCKED
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_takes_one(project, command, locked, tmp_path):
    if not locked and command in ("pull", "push"):
        pytest.skip("it takes only what dvc.lock names")
    add_remote(project, tmp_path / "store")
    poisoned = another_content(project)
    forget_results(project, locked)
    require_rejected(project, COMMANDS[command], poisoned)


def test_the_remedy_in_the_message_works(project):
    poisoned = another_content(project)
    forget_results(project, locked=True)
    assert call(project, *asterism("repro"), check=False)[0] != 0
    poisoned.unlink()
    call(project, *asterism("repro"))
    assert project.ran() == ["left"]
    assert json.loads((project.root / "metrics/left.json").read_text())["k"] != 666
    assert call(project, "git", "status", "--porcelain") == ""


def test_a_remote_that_is_not_verified_brings_none(project, tmp_path):
    store = tmp_path / "store"
    add_remote(project, store)
    set_remote(project, project.root, verify="false")
    call(project, *make("push"))
    commit(project.root, "no verification")
    here = object_of(project, "left").relative_to(cache(project))
    rewrite(store / here, LIE)
    other = clone(project, tmp_path)
    status, output = call(project, *make("pull"), folder=other, check=False)
    assert status != 0 and str(here) in output
    assert not (other / "metrics/left.json").exists()
    assert call(project, "git", "status", "--porcelain", folder=other) == ""


def test_what_was_computed_is_not_exchanged_for_what_lay_in_its_place(project):
    """A link to the cache takes the place of a result that has just been written."""
    call(project, "dvc", "config", "cache.type", "symlink")
    commit(project.root, "links")
    poisoned = another_content(project)
    for entry in cache(project).glob("runs/*/*/*"):
        entry.unlink()
        entry.parent.rmdir()
    forget_results(project)
    status, output = call(project, *asterism("repro"), check=False)
    assert status != 0 and poisoned.name in output
    lock = project.root / "dvc.lock"
    assert not lock.exists() or "  left:" not in lock.read_text()
