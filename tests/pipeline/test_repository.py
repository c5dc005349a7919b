"""A workspace that DVC keeps, in this process: what is removed from its cache, and its stages."""

import hashlib
import json
import os
import shutil
from contextlib import chdir
from pathlib import Path

import pytest
import yaml
from imports import ROOT

from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.cache_objects import objects_of
from asterism.dvc_hydra.hashes import WorkspaceHashes
from asterism.dvc_hydra.lockfile import (
    LOCK_FILE,
    mend_lockfile,
    protect_lockfile,
    read_locked_stage,
    set_entries,
    set_order,
    stage_names,
)
from asterism.dvc_hydra.remote import Remote
from asterism.dvc_hydra.repository import (
    Repository,
    StageFailedError,
    open_checked_repository,
)
from asterism.dvc_hydra.run_cache import _remove, find_entry, run_cache_key
from asterism.dvc_hydra.stage import Stage
from asterism.sweep import sharing
from asterism.sweep.plan import require_results

HASH = "0123456789abcdef" * 2
VALUE = "ab" * 32
ENTRY = {
    "cmd": "python stages a",
    "deps": [{"path": "stages/a.py", "hash": "md5", "md5": HASH, "size": 1}],
    "outs": [{"path": "artifacts/a/b", "hash": "md5", "md5": HASH, "size": 3}],
}
KEY = run_cache_key(ENTRY)
PIPELINE = """
stages:
  one:
    cmd: mkdir -p artifacts && cp in artifacts/one
    deps: [in]
    outs: [artifacts/one]
  two:
    cmd: cp artifacts/one artifacts/two
    deps: [artifacts/one]
    outs: [artifacts/two]
    meta: {shards: true}
  other:
    cmd: exit 3
    outs: [artifacts/other]
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A workspace without git, in which nothing has run."""
    from dvc.repo import Repo

    root = tmp_path_factory.mktemp("guarded") / "project"
    root.mkdir()
    Repo.init(str(root), no_scm=True).close()
    (root / "dvc.yaml").write_text(PIPELINE)
    (root / "in").write_text("given")
    return root


@pytest.fixture
def root(made):
    """It, with an empty cache; paths in it are told from there."""
    shutil.rmtree(made / ".dvc/cache", ignore_errors=True)
    (made / ".dvc/cache/files/md5").mkdir(parents=True)
    with chdir(made):
        yield made


def put_entry(root, entry, key=None, value=VALUE):
    key = key or run_cache_key(entry)
    path = root / ".dvc/cache/runs" / key[:2] / key / value
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(entry if isinstance(entry, str) else yaml.safe_dump(entry))
    return path


def put_object(root, content, kind=""):
    digest = hashlib.md5(content.encode()).hexdigest() + kind
    path = root / ".dvc/cache/files/md5" / digest[:2] / digest[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def put_list(root, listed):
    content = listed if isinstance(listed, str) else json.dumps(listed)
    return put_object(root, content, ".dir")


def test_cleaning_removes_what_the_rules_reject_and_nothing_else(root, capsys):
    good = put_entry(root, ENTRY)
    half = put_entry(root, "half", run_cache_key(ENTRY), f"{VALUE}.tmp")
    wrong = put_entry(root, ENTRY, key="cd" + "0" * 62)
    odd = put_entry(root, "a: *b\n", key="ce" + "0" * 62)
    beside = put_entry(root, "[" * 60, key=run_cache_key(ENTRY), value="cd" * 32)
    listed = put_list(root, [{"relpath": "a/b", "md5": HASH}])
    escaping = put_list(root, [{"relpath": "../b", "md5": HASH}])
    no_list = put_list(root, {"relpath": "b"})
    broken = put_list(root, "{")
    plain = put_object(root, "../content")
    Repository(root).clean_cache()
    assert all(path.is_file() for path in (good, half, listed, plain))
    told = capsys.readouterr().err
    for path, reason in (
        (wrong, "it belongs to another stage"),
        (odd, "YAML aliases"),
        (beside, "nested"),
        (escaping, "'../b', which is no file of the folder"),
        (no_list, "no list of files"),
        (broken, "cannot read"),
    ):
        assert not path.exists()
        said = f"warning: {path.relative_to(root)} is not used and removed from the cache: "
        (line,) = (line for line in told.splitlines() if line.startswith(said))
        assert reason in line
    # DVC takes an empty folder of an entry for an error.
    assert not wrong.parent.exists()
    assert good.parent.is_dir()
    assert good.read_text() == yaml.safe_dump(ENTRY)


@pytest.mark.parametrize("failing", [False, True])
def test_what_a_pull_has_brought_is_cleaned_also_when_it_failed(root, monkeypatch, failing):
    brought = []

    def fetch(_repository, with_experiments):
        brought.append(put_entry(root, ENTRY, key="cd" + "0" * 62))
        brought.append(put_list(root, [{"relpath": "../b", "md5": HASH}]))
        if failing:
            raise UserError("the server is gone")

    monkeypatch.setattr(sharing, "_fetch", fetch)
    if failing:
        with pytest.raises(UserError, match="the server is gone"):
            sharing.pull(root, None)
    else:
        assert sharing.pull(root, None) == 0
    assert len(brought) == 2
    assert not any(path.exists() for path in brought)


def test_an_entry_that_is_removed_by_somebody_else_is_no_error(tmp_path, capsys):
    _remove(tmp_path / "gone" / "entry", "it is odd (gone)")
    assert (
        "entry is not used and removed from the cache: it is odd (gone)" in capsys.readouterr().err
    )
    kept, removed = tmp_path / "kept", tmp_path / "removed"
    kept.write_text("other")
    removed.write_text("x")
    _remove(removed, "it is odd (beside)")
    assert kept.exists()
    assert not removed.exists()


def test_of_a_stages_entries_the_newest_whole_one_is_found(root):
    """Others write to the run-cache at the same time."""
    entries = []
    for age, value in enumerate(("cd" * 32, "ce" * 32)):
        path = put_object(root, value)
        digest = path.parent.name + path.name
        entries.append(ENTRY | {"outs": [ENTRY["outs"][0] | {"md5": digest}]})
        os.utime(put_entry(root, entries[-1], value=value), (9 - age, 9 - age))
    half = put_entry(root, "half", KEY, f"{VALUE}.tmp")
    assert find_entry(root / ".dvc/cache", ENTRY) == entries[0]
    assert half.exists()
    (half.parent / VALUE).symlink_to("none")  # one that vanishes meanwhile
    assert find_entry(root / ".dvc/cache", ENTRY) is None


def test_a_plain_cache_is_opened_by_a_command(root):
    put_entry(root, ENTRY)
    repository = open_checked_repository(root)
    assert (repository.root, repository.cache) == (root, root / ".dvc/cache")


#: Where DVC looks for entries and objects: anybody who knows the pipeline can compute the names.
LOOKED_UP = ("runs", "runs/Do", f"runs/{KEY[:2]}/{KEY}", "files/md5/aa", "files/md5/0d/an_object")


@pytest.mark.parametrize("place", LOOKED_UP)
def test_nothing_is_read_or_removed_through_a_link_in_a_cache(root, tmp_path, place):
    put_entry(root, ENTRY)
    mine = tmp_path / "mine"
    for name in ("Documents/thesis", "thesis.dir", "0" * 64):
        (mine / name).parent.mkdir(parents=True, exist_ok=True)
        (mine / name).write_text("of nobody else")
    link = root / ".dvc/cache" / place
    if link.exists():
        link.rename(tmp_path / "moved")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(mine / "thesis.dir" if link.name == "an_object" else mine)
    with pytest.raises(UserError, match=rf"cache .*{place}' is a link"):
        open_checked_repository(root)
    assert len(list(mine.rglob("*"))) == 4
    assert Repository(root).cache == root / ".dvc/cache"
    link.unlink()


def test_a_folder_that_is_no_workspace_is_told(tmp_path):
    with pytest.raises(UserError, match="DVC repository"):
        Repository(tmp_path)


def test_stages_come_in_order_each_with_those_right_above(root):
    repository = Repository(root)
    ordered, everything = repository.in_order(["two"]), repository.in_order([])
    with pytest.raises(UserError, match="no stage is called 'three'"):
        repository.in_order(["three"])
    assert sorted(repository.stages) == ["one", "other", "two"]
    assert [(stage.name, above) for stage, above in ordered] == [("one", []), ("two", ["one"])]
    assert [stage.name for stage, _ in everything] == ["one", "two", "other"]


@pytest.mark.parametrize(
    ("reads", "writes"),
    [
        ("artifacts/x", "artifacts/x"),
        ("artifacts/x/inside", "artifacts/x"),
        ("artifacts/x", "artifacts/x/inside"),
    ],
)
def test_a_stage_follows_what_writes_its_input_around_it_or_in_it(root, reads, writes):
    repository = Repository(root)
    repository.stages = {
        "reader": Stage("reader", "x", root, (reads,), ()),
        "writer": Stage("writer", "x", root, (), (writes,)),
        "beside": Stage("beside", "x", root, (), ("artifacts/xy",)),
    }
    assert [(s.name, above) for s, above in repository.in_order(["reader"])] == [
        ("writer", []),
        ("reader", ["writer"]),
    ]


def test_stages_that_read_each_other_are_told(root):
    repository = Repository(root)
    repository.stages = {
        "a": Stage("a", "x", root, ("artifacts/b",), ("artifacts/a",)),
        "b": Stage("b", "x", root, ("artifacts/a",), ("artifacts/b",)),
    }
    with pytest.raises(UserError, match="a -> b -> a"):
        repository.in_order([])


def test_a_command_that_fails_tells_its_status(root):
    repository, asked = Repository(root), []
    with pytest.raises(StageFailedError, match="stage other failed with exit status 3") as caught:
        repository.run(repository.stages["other"], lambda: asked.append("before"))
    assert caught.value.exit_code == 3
    assert asked == ["before"]


def test_stages_write_below_the_folders_of_results_only(tmp_path):
    def stage(*paths):
        return Stage("mine", "x", tmp_path, (), paths)

    require_results(tmp_path, [stage("artifacts/a", "metrics/b.json"), stage()])
    for path in ("src/x.py", "../beside/artifacts/a", "artifacts"):
        with pytest.raises(UserError, match=r"stage mine writes '.*'"):
            require_results(tmp_path, [stage("artifacts/a", path)])


@pytest.mark.parametrize("link", ["artifacts", "artifacts/a"])
def test_no_output_lies_behind_a_link(tmp_path, link):
    """DVC would delete it there before a run."""
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=f"{link} is a symbolic link"):
        require_results(tmp_path, [Stage("mine", "x", tmp_path, (), ("artifacts/a/b",))])


class Files:
    """A server with any names and contents: as much of fsspec as is used of it."""

    protocol = "s3"

    def __init__(self, contents):
        self._contents = contents

    def exists(self, path):
        return any(name.startswith(path) for name in self._contents)

    def find(self, path):
        return [name for name in self._contents if name.startswith(path)]

    def size(self, path):
        return len(self._contents[path])

    def get_file(self, path, target):
        if path not in self._contents:
            raise FileNotFoundError(path)
        Path(target).write_bytes(self._contents[path])


def files_below(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_of_a_remote_only_whole_entries_come_into_the_cache(tmp_path, capsys):
    key, entry = run_cache_key(ENTRY), yaml.safe_dump(ENTRY).encode()
    folder = f"b/s/runs/{key[:2]}/{key}"
    odd = [
        *(f"b/s/runs/../../{name}" for name in ("../src/yaml.py", f"{key[:2]}/{key}/{VALUE}")),
        *(f"b/s/runs/{name}" for name in ("odd", f"zz/zz/{VALUE}", f"cd/{key}/{VALUE}")),
        *(f"{folder}/{name}" for name in ("..", f"{VALUE}.tmp")),
    ]
    large, another = f"{folder}/{'cd' * 32}", f"b/s/runs/cd/cd{'0' * 62}/{VALUE}"
    contents = dict.fromkeys([*odd, another, f"{folder}/{VALUE}"], entry)
    remote = Remote(Files(contents | {large: b"#" * 1_000_001}), "b/s", tmp_path / "cache")
    assert remote.fetch_run_cache() == [ENTRY]
    assert files_below(tmp_path) == [tmp_path / "cache/runs" / key[:2] / key / VALUE]
    told = capsys.readouterr().err
    assert all(f"{name!r} is left where it is" in told for name in (*odd, large))
    assert f"runs/cd/cd{'0' * 62}/{VALUE} is not used and removed" in told


def test_a_server_of_plain_http_has_no_run_cache(tmp_path):
    files = Files({"b/runs/x": b""})
    files.protocol = "https"
    assert Remote(files, "b", tmp_path).fetch_run_cache() == []


def test_of_a_remote_only_objects_that_are_what_their_names_say_come(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ASTERISM_LIMITS_TEXT_MB", "1")
    store: dict[str, bytes] = {}

    def put(content, kind=""):
        digest = hashlib.md5(content).hexdigest()
        store[f"s/files/md5/{digest[:2]}/{digest[2:]}{kind}"] = content
        return digest + kind

    def put_listed(*paths_and_hashes):
        listed = [{"relpath": path, "md5": digest} for path, digest in paths_and_hashes]
        return put(json.dumps(listed).encode(), ".dir")

    inner, single = put(b"inner"), put(b"single")
    good = put_listed(("a", inner), ("gone", "0" * 32))
    bad = [
        put_listed(("../x", single)),
        put_listed(("a", "../../../x")),
        put(b"[" * 200_000 + b"]" * 200_000, ".dir"),
        put(b"[" + b" " * 1_000_000 + b"]", ".dir"),
    ]
    store[f"s/files/md5/{'1' * 2}/{'1' * 30}"] = b"another content"
    wanted = [single, good, *bad, "1" * 32, "2" * 32, "../../../x", "..//../x"]
    Remote(Files(store), "s/", tmp_path / "cache").fetch_objects(wanted)
    names = {path.parent.name + path.name for path in files_below(tmp_path)}
    assert names == {inner, single, good}
    told = capsys.readouterr().err
    for digest in (*bad, "1" * 32):
        assert f"{digest[:2]}/{digest[2:]}' is not taken" in told


@pytest.fixture(scope="module")
def ran(made, tmp_path_factory):
    """The workspace after its first stage has run, with nothing but the cache left of that."""
    root = tmp_path_factory.mktemp("ran") / "project"
    shutil.copytree(made, root)
    with chdir(root):
        repository = Repository(root)
        repository.run(repository.stages["one"], lambda: None)
    shutil.rmtree(root / "artifacts")
    return root


@pytest.fixture
def finished(ran, tmp_path):
    """A copy of it to change."""
    root = tmp_path / "project"
    shutil.copytree(ran, root)
    with chdir(root):
        yield root


def restored(root):
    """Whether the cache had the stage's result, and what it is."""
    output, repository = root / "artifacts/one", Repository(root)
    entry = repository.find(repository.stages["one"])
    if entry is not None:
        repository.take({"one": entry})
    return entry is not None, output.read_text() if output.exists() else None


def beside_a_file_of_mine(root):
    (root / "artifacts/one").mkdir(parents=True)
    (root / "artifacts/one/mine").touch()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda root: (root / "dvc.lock").unlink(), True),  # the run cache has it
        (lambda root: shutil.rmtree(root / ".dvc/cache/runs"), True),  # dvc.lock names it
        (lambda root: (root / "in").write_text("other"), False),
        (lambda root: shutil.rmtree(root / ".dvc/cache/files"), False),
        (beside_a_file_of_mine, True),
    ],
)
def test_a_result_is_taken_where_it_is_the_stages(finished, change, found):
    change(finished)
    assert restored(finished) == (found, "given" if found else None)


CHANGES = {
    "nothing": (lambda _: None, True),
    "an input": (lambda root: (root / "in").write_text("other"), False),
    "the result": (lambda root: (root / "artifacts/one").write_text("other"), False),
    "the result is gone": (lambda root: (root / "artifacts/one").unlink(), False),
    "the object is gone": (lambda root: shutil.rmtree(root / ".dvc/cache/files"), False),
    "the lock is gone": (lambda root: (root / "dvc.lock").unlink(), False),
    "the command": (lambda root: (root / "dvc.yaml").write_text(OTHER_COMMAND), False),
}
OTHER_COMMAND = PIPELINE.replace("mkdir -p artifacts &&", "mkdir -p artifacts;")


@pytest.mark.parametrize(("change", "stays"), CHANGES.values(), ids=CHANGES)
def test_a_stage_is_up_to_date_until_something_of_it_changes(finished, change, stays):
    assert restored(finished)[0]
    change(finished)
    repository = Repository(finished)
    assert repository.is_up_to_date(repository.stages["one"]) is stays


def test_an_object_of_a_stage_that_has_changed_is_named(finished):
    Repository(finished).require_objects()
    (made,) = (p for p in (finished / ".dvc/cache/files/md5").rglob("*") if p.is_file())
    made.unlink()
    made.write_text("other")
    with pytest.raises(UserError, match=made.name):
        Repository(finished).require_objects()


def test_a_copy_is_held_against_its_hash_where_the_object_is_gone(root):
    gone = put_object(root, "given")
    copy, digest = root / "copied", gone.parent.name + gone.name
    gone.unlink()
    objects = objects_of(root, root / ".dvc/cache")
    copy.write_text("given")
    objects.require_copies({copy: digest})
    copy.write_text("other")
    with pytest.raises(UserError, match="copied is removed"):
        objects.require_copies({copy: digest})
    assert not copy.exists()


@pytest.mark.parametrize(
    ("more", "stays"), [("frozen: true", True), ("always_changed: true", False)]
)
def test_marks_of_a_stage_hold(finished, more, stays):
    assert restored(finished)[0]
    if stays:
        (finished / "in").write_text("other")
    text = PIPELINE.replace("deps: [in]", f"deps: [in]\n    {more}")
    (finished / "dvc.yaml").write_text(text)
    repository = Repository(finished)
    assert repository.is_up_to_date(repository.stages["one"]) is stays
    assert repository.find(repository.stages["one"]) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", 1),
        ("group", {"k": [1, 2]}),
        ("group.k", [1, 2]),
        ("seed.k", None),
        ("group.j", None),
    ],
)
def test_parameters_are_found_by_their_path(tmp_path, name, value):
    (tmp_path / "params.yaml").write_text("seed: 1\ngroup:\n  k: [1, 2]\n")
    hashes = WorkspaceHashes(tmp_path, tmp_path / "cache")
    if value is not None:
        assert hashes.parameters("params.yaml", [name]) == {name: value}
        return
    with pytest.raises(UserError, match=rf"^params\.yaml has no parameter {name}, which dvc\.yaml"):
        hashes.parameters("params.yaml", [name])


#: As much of a stage's entry as no stage of the project has.
LOCKED = {"cmd": "python stages fuzz new\n\n# with an empty line\n"}


def test_the_projects_own_file_is_read_and_written_as_dvc_does(tmp_path):
    from dvc.utils.serialize import load_yaml

    before = (ROOT / LOCK_FILE).read_bytes()
    (tmp_path / LOCK_FILE).write_bytes(before)
    names = stage_names(tmp_path)
    assert names == list(load_yaml(str(ROOT / LOCK_FILE))["stages"])
    set_order(tmp_path, names)
    assert (tmp_path / LOCK_FILE).read_bytes() == before

    set_order(tmp_path, [names[3], names[1]])
    moved = [name for name in names if name not in (names[3], names[1])] + [names[3], names[1]]
    assert stage_names(tmp_path) == moved
    set_entries(tmp_path, {"fuzz@new": LOCKED})
    assert stage_names(tmp_path) == [*moved, "fuzz@new"]
    entries = load_yaml(str(tmp_path / LOCK_FILE))["stages"]
    assert entries == load_yaml(str(ROOT / LOCK_FILE))["stages"] | {"fuzz@new": LOCKED}


def test_a_first_stage_and_a_file_that_somebody_has_edited(tmp_path):
    assert stage_names(tmp_path) == []
    set_entries(tmp_path, {"fuzz@new": LOCKED})
    text = (tmp_path / LOCK_FILE).read_text()
    assert text.startswith("schema: '2.0'\nstages:\n  fuzz@new:\n    cmd: ")
    (tmp_path / LOCK_FILE).write_text("# mine\n" + text)
    with pytest.raises(UserError, match="not as DVC writes it"):
        stage_names(tmp_path)


def test_what_a_kill_leaves_of_a_file_that_dvc_writes_is_mended(tmp_path):
    set_entries(tmp_path, {"a": LOCKED, "b": LOCKED})
    whole = (tmp_path / LOCK_FILE).read_bytes()
    killed = protect_lockfile(tmp_path)
    killed.__enter__()
    (tmp_path / LOCK_FILE).write_bytes(whole[:50])
    mend_lockfile(tmp_path)
    assert (tmp_path / LOCK_FILE).read_bytes() == whole
    again = protect_lockfile(tmp_path)
    again.__enter__()
    assert stage_names(tmp_path) == [], "DVC need not read what it does not write"
    set_entries(tmp_path, {"a": {"cmd": "other"}})
    mend_lockfile(tmp_path)
    with protect_lockfile(tmp_path):
        set_entries(tmp_path, {"c": LOCKED})
    assert stage_names(tmp_path) == ["a", "b", "c"]
    assert read_locked_stage(tmp_path, "a") == {"cmd": "other"}
    assert read_locked_stage(tmp_path, "b") == LOCKED
    (tmp_path / LOCK_FILE).write_text("mine")
    mend_lockfile(tmp_path)
    assert (tmp_path / LOCK_FILE).read_text() == "mine", "only what DVC was writing is mended"


@pytest.mark.parametrize("before", [True, False])
def test_where_it_is_not_to_stand_the_file_is_as_before(tmp_path, before):
    if before:
        set_entries(tmp_path, {"a": LOCKED})
    with pytest.raises(UserError), protect_lockfile(tmp_path):
        set_entries(tmp_path, {"b": LOCKED})
        raise UserError("rejected")
    assert stage_names(tmp_path) == ["a"] * before
    assert (tmp_path / LOCK_FILE).exists() is before
