"""A cache from a stranger is data: what its entries and lists of files cannot do, tried for real.

Each attack puts files into a cache or a remote as somebody could who may write there, and runs the
project's own commands on it.
"""

import hashlib
import json
import shutil

import pytest
import yaml
from sharing import call
from small_pipeline import asterism
from workspace import commit

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
@pytest.mark.slow
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
