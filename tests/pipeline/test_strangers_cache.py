"""A cache from a stranger is data: what its entries and lists of files cannot do, tried for real.

Each attack puts files into a cache or a remote as somebody could who may write there, and runs the
project's own commands on it.
"""

import hashlib
import json
import shutil

import pytest
import yaml
from sharing import add_remote, call, clone, make, set_remote
from small_pipeline import asterism
from workspace import commit

from asterism.dvc_hydra.cache_files import object_path

pytestmark = pytest.mark.slow

#: A module that a stage's script imports, as Python finds it first beside the script.
SHADOW = "stages/json.py"


def evil(project):
    """Source that leaves a mark when it is imported."""
    return f"open({str(project.notes / 'owned')!r}, 'w').close()\nraise SystemExit(9)\n"


def put_object(cache, content, kind=""):
    """Add a file to a cache or a remote as DVC would; its hash."""
    digest = hashlib.md5(content).hexdigest() + kind
    path = cache / "files/md5" / digest[:2] / digest[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o444)
    return digest


def entry_of(cache, stage):
    """The run-cache's file for a stage, by the end of its command."""
    (path,) = (path for path in cache.glob("runs/*/*/*") if f" {stage}\n" in path.read_text())
    return path


def change_entry(cache, stage, change):
    """Let a change be made to what the run-cache holds of a stage; the file."""
    path = entry_of(cache, stage)
    entry = yaml.safe_load(path.read_text())
    change(entry)
    path.chmod(0o644)
    path.write_text(yaml.safe_dump(entry))
    return path


def forget_results(project, locked=False):
    """Leave nothing of a run but what the cache has, and ``dvc.lock`` where that is wanted."""
    for name in ("artifacts", "metrics", "report"):
        shutil.rmtree(project.root / name)
    if not locked:
        (project.root / "dvc.lock").unlink()
        commit(project.root, "no results")
    project.ran()


def with_a_file_of_code(project, cache):
    """A change to an entry that names a file of the project among the outputs."""
    digest = put_object(cache, evil(project).encode())
    return lambda entry: entry["outs"].append({"path": SHADOW, "hash": "md5", "md5": digest})


def with_a_folder_that_leaves(project, cache):
    """A change to an entry whose output becomes a folder with a file outside of it."""
    digest = put_object(cache, evil(project).encode())
    inside = "../../" + SHADOW
    listed = json.dumps([{"md5": digest, "relpath": inside}, {"md5": digest, "relpath": "a"}])
    folder = put_object(cache, listed.encode(), ".dir")

    def change(entry):
        entry["outs"][0]["md5"] = folder

    return change


RUNS = {
    "repro": asterism("repro", "--jobs", "2"),
    "sweep": asterism("sweep", "--name", "s", "seed=0"),
}


@pytest.mark.parametrize("command", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("hostile", [with_a_file_of_code, with_a_folder_that_leaves])
def test_no_run_checks_out_what_is_no_output(project, hostile, command):
    cache = project.root / ".dvc/cache"
    entry = change_entry(cache, "left", hostile(project, cache))
    forget_results(project)
    _, output = call(project, *command, check=False)
    output += "".join(log.read_text() for log in project.root.glob("sweeps/s/points/*/log.txt"))
    assert not (project.notes / "owned").exists(), output
    assert not (project.root / SHADOW).exists(), output
    assert hostile is with_a_folder_that_leaves or entry.name in output
    assert project.ran() == ["left"], output


LIE = '{"k": 666, "square": 443556}'


def cache_of(project):
    return project.root / ".dvc/cache"


def object_of(project, stage):
    """What the cache holds of a stage's output."""
    digest = yaml.safe_load(entry_of(cache_of(project), stage).read_text())["outs"][0]["md5"]
    return object_path(cache_of(project), digest)


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
    assert str(poisoned.relative_to(cache_of(project))) in output
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
    here = object_of(project, "left").relative_to(cache_of(project))
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
    for entry in cache_of(project).glob("runs/*/*/*"):
        entry.unlink()
        entry.parent.rmdir()
    forget_results(project)
    status, output = call(project, *asterism("repro"), check=False)
    assert status != 0 and poisoned.name in output
    lock = project.root / "dvc.lock"
    assert not lock.exists() or "  left:" not in lock.read_text()
