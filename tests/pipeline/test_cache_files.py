"""Files of a cache: what is left behind, what others may have written, and what is hashed once."""

import hashlib
import json
import os
import secrets
import shutil
import time
from copy import deepcopy

import pytest
from dvc.config import Config
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from asterism.cli.commands import app
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra import cache_files, cache_objects
from asterism.dvc_hydra.cache_files import object_path, require_plain
from asterism.dvc_hydra.cache_objects import CacheObjects
from asterism.dvc_hydra.local_settings import use_cache
from asterism.dvc_hydra.run_cache import fault_in_entry, run_cache_key
from places import ROOT


def temporary(folder, age):
    """A file as DVC names it, last written to so many seconds ago."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".{secrets.token_urlsafe(16)}.tmp"
    path.write_text("half")
    os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.mark.parametrize("place", ["files/md5", "files/md5/0d", "runs/ab/cd"])
def test_left_ones_go_and_those_of_a_running_process_stay(tmp_path, place):
    left, running = temporary(tmp_path / place, 4000), temporary(tmp_path / place, 3000)
    other = tmp_path / place / ".notes.tmp"
    other.write_text("a user's")
    os.utime(other, (0, 0))
    require_plain(tmp_path)
    assert not left.exists()
    assert running.exists()
    assert other.exists()


def test_a_cache_without_any_is_not_written_to(tmp_path):
    (tmp_path / "files").mkdir()
    before = tmp_path.stat().st_mtime_ns
    require_plain(tmp_path)
    assert tmp_path.stat().st_mtime_ns == before


def test_a_workspace_uses_a_cache_and_keeps_what_dvc_writes_for_itself(tmp_path):
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text("[core]\n    analytics = false\n")

    def settings():
        return Config(str(tmp_path / ".dvc")).read("local")

    use_cache(tmp_path, tmp_path / "cache", "hardlink,copy")
    found = settings()
    assert found["cache"] == {"dir": str(tmp_path / "cache"), "type": "hardlink,copy"}
    assert found["core"] == {"site_cache_dir": str(tmp_path / ".dvc/tmp/site")}
    use_cache(tmp_path, tmp_path / "other", "symlink")
    found = settings()["cache"]
    assert found == {"dir": str(tmp_path / "other"), "type": "hardlink,copy"}


HASH = "0123456789abcdef" * 2
OUTPUT = {"path": "artifacts/a/b", "hash": "md5", "md5": HASH, "size": 3}
ENTRY = {
    "cmd": "python stages a",
    "deps": [{"path": "stages/a.py", "hash": "md5", "md5": HASH, "size": 1}],
    "params": {"params.yaml": {"seed": 0, "pairs.a": {"original": "x"}}},
    "outs": [OUTPUT, {"path": "metrics/a.json", "hash": "md5", "md5": HASH, "isexec": True}],
}


def nested(depth):
    """A list in a list in a list."""
    value = []
    for _ in range(depth):
        value = [value]
    return value


def test_an_entry_as_dvc_writes_it_is_taken():
    assert fault_in_entry(ENTRY, run_cache_key(ENTRY)) is None
    folder = deepcopy(ENTRY)
    folder["outs"][0] = OUTPUT | {"md5": f"{HASH}.dir", "nfiles": 2}
    assert fault_in_entry(folder, run_cache_key(ENTRY)) is None


CHANGES = {
    "another output": lambda e: e["outs"].append(OUTPUT | {"path": "artifacts/c"}),
    "an output less": lambda e: e["outs"].pop(),
    "another command": lambda e: e.update(cmd="python stages b"),
    "another dependency": lambda e: e["deps"].append({"path": "x", "md5": HASH}),
    "another hash of a dependency": lambda e: e["deps"][0].update(md5="0" * 32),
    "another parameter": lambda e: e["params"]["params.yaml"].update(seed=1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_entry_of_something_else_is_rejected(change):
    changed = deepcopy(ENTRY)
    change(changed)
    assert "another stage" in fault_in_entry(changed, run_cache_key(ENTRY))
    assert fault_in_entry(changed, run_cache_key(changed)) is None


PLACES = [
    *("src/yaml.py", "stages/x.py", ".git/hooks/pre-commit", ".dvc/config", "dvc.yaml", "conf/a"),
    *("artifacts", "artifacts/../src/x.py", "artifacts/./x", "artifacts//x", "/etc/passwd"),
    *("../x", "artifacts/a/..", "artifacts/", "", "./artifacts/x", "artifacts/a\0b"),
]


@pytest.mark.parametrize("path", PLACES)
def test_an_entry_writes_below_the_results_only_whatever_its_key(path):
    changed = deepcopy(ENTRY)
    changed["outs"][0]["path"] = path
    assert repr(path) in fault_in_entry(changed, run_cache_key(changed))
    assert not cache_files.is_result(path)


@pytest.mark.parametrize(
    "facts",
    [
        {"md5": "../../../../notes/mine"},
        {"md5": HASH.upper()},
        {"md5": HASH + ".dir.dir"},
        {"md5": HASH + "\n"},
        {"md5": None},
        {"hash": "etag"},
        {"hash": "md5-dos2unix"},
        {"files": [{"relpath": "../x", "md5": HASH}]},
        {"cloud": {"store": {"etag": "x"}}},
        {"remote": "store"},
        {"version_id": "1"},
    ],
)
def test_an_output_is_a_path_and_a_hash(facts):
    changed = deepcopy(ENTRY)
    changed["outs"][0].update(facts)
    assert fault_in_entry(changed, run_cache_key(changed)) is not None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"cmd: [", "not YAML"),
        (b"\xff\xfe\x00", "not YAML"),
        (b"a: &a [1]\nb: *a\n", "aliases"),
        (b"[" * 60 + b"]" * 60, "nested"),
        (b"#" * (cache_files.LARGEST_ENTRY + 1), "bytes"),
    ],
)
def test_a_file_that_dvc_has_not_written_is_not_read_by_it(content, reason):
    assert reason in cache_files.fault_in_text(content)


def test_ten_lines_of_references_take_no_time():
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 100))]
    assert "aliases" in cache_files.fault_in_text("\n".join(lines).encode())


@pytest.mark.parametrize(
    "listed",
    [
        {},
        "x",
        [1],
        [{"relpath": "a"}],
        [{"md5": HASH}],
        [{"relpath": 1, "md5": HASH}],
        [{"relpath": "a", "md5": f"{HASH}.dir"}],
        [{"relpath": "a", "md5": "../../../x"}],
        *(
            [{"relpath": p, "md5": HASH}]
            for p in ("", ".", "..", "../x", "a/../../x", "/x", "a//b")
        ),
        *(  # a repository, in which git runs what its settings name; what a terminal obeys
            [{"relpath": p, "md5": HASH}]
            for p in (".git/config", "a/.GIT/config", ".git", "a/HEAD", ".dvc/config")
        ),
        *([{"relpath": p, "md5": HASH}] for p in (".dvcignore", "a\x1b]0;x\x07", "a\n")),
        *(  # what no system can write, or DVC fails at
            [{"relpath": p, "md5": HASH}]
            for p in ("a" * 1_000_000, "a/" * 500_000 + "b", "a/" * 1500 + "b", "ä" * 200, "\ud800")
        ),
        [{"relpath": nested(900), "md5": HASH}],
        [{"relpath": "a", "md5": nested(900)}],
        [{"relpath": "a", "md5": "x" * 1_000_000}],
        [*({"relpath": f"a/{n}", "md5": HASH} for n in range(100_000)), {"relpath": "../x"}],
    ],
)
def test_a_list_that_leaves_its_folder_is_rejected(listed):
    began = time.monotonic()
    assert 0 < len(cache_files.fault_in_list(listed)) < 1000
    assert time.monotonic() - began < 30


def test_a_path_as_long_as_systems_allow_is_taken():
    for path in ("a" * 255, "/".join(["a" * 38] * 100)):
        assert cache_files.fault_in_list([{"relpath": path, "md5": HASH}]) is None


@given(st.text("ab./\\\0 ~", max_size=12))
def test_a_file_of_a_list_that_is_taken_lies_in_the_folder(path):
    if cache_files.fault_in_list([{"relpath": path, "md5": HASH}]) is None:
        assert os.path.normpath(f"/project/out/{path}") == f"/project/out/{path}"
        assert not path.startswith("/")


@given(st.text("ab./\\ ~", max_size=20) | st.text("ab./", max_size=9).map("artifacts/".__add__))
def test_an_output_that_is_taken_lies_below_the_results(path):
    if cache_files.is_result(path):
        assert os.path.normpath(f"/project/{path}") == f"/project/{path}"
        assert path.startswith(tuple(f"{folder}/" for folder in cache_files.RESULTS))


@pytest.mark.parametrize("command", ["pull", "check"])
def test_a_folder_without_dvc_is_rejected_in_one_line(command, tmp_path, monkeypatch):
    for name in ("dvc.yaml", "params.yaml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(app, [command])
    assert isinstance(ended.exception, UserError)
    assert "DVC repository" in str(ended.exception)


class Cache:
    """A cache, and what of it has been hashed."""

    def __init__(self, root, monkeypatch):
        self.root, self.memory, self.hashed = root / "cache", root / "own/memory.json", []
        monkeypatch.setattr(cache_objects, "_TICK", -(10**15))  # the files of tests are new
        own = cache_objects._hash

        def note(path):
            self.hashed.append(path.name)
            return own(path)

        monkeypatch.setattr(cache_objects, "_hash", note)

    def put(self, content, kind=""):
        digest = hashlib.md5(content).hexdigest() + kind
        path = object_path(self.root, digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return digest

    def put_folder(self, **files):
        listed = [{"md5": self.put(files[name]), "relpath": name} for name in sorted(files)]
        return self.put(json.dumps(listed).encode(), ".dir")

    def open(self):
        """As another process does."""
        self.hashed.clear()
        return CacheObjects(self.root, self.memory)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    return Cache(tmp_path, monkeypatch)


def test_each_is_hashed_once_by_all_processes(cache):
    digests = [cache.put(b"a"), cache.put_folder(x=b"b", y=b"c"), "0" * 32, "0" * 32 + ".dir"]
    cache.open().require(digests)
    opened = cache.open()
    opened.require(digests)
    opened.require_all()
    assert not [name for name in cache.hashed if not name.startswith("0" * 30)]


def test_what_is_new_may_change_unseen_and_is_not_remembered(cache, monkeypatch):
    monkeypatch.setattr(cache_objects, "_TICK", 10**15)
    digest = cache.put(b"a")
    cache.open().require([digest])
    assert not cache.memory.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', "{}" * 9])
def test_a_memory_that_cannot_be_read_is_none(cache, text):
    digest = cache.put(b"a")
    cache.memory.parent.mkdir()
    cache.memory.write_text(text)
    cache.open().require([digest])
    assert len(cache.hashed) == 1


def in_place(path):
    before = path.stat()
    path.write_bytes(b"b")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(path):
    in_place(path)
    other = path.with_name("other")
    shutil.copy2(path, other)
    other.replace(path)


def piped(path):
    path.unlink()
    os.mkfifo(path, 0o444)


def foldered(path):
    path.unlink()
    path.mkdir()


def linked(path):
    path.rename(path.with_name("other"))
    path.symlink_to("other")  # though the content is right


def of_another(path):
    path.unlink()
    (path.parent.parent / "other").write_bytes(b"b")
    os.link(path.parent.parent / "other", path)


@pytest.mark.parametrize("change", [in_place, replaced, piped, foldered, linked, of_another])
@pytest.mark.parametrize("known", [True, False])
def test_what_has_changed_is_rejected_by_name(cache, change, known):
    digest = cache.put(b"a")
    time.sleep(0.02)
    opened = cache.open()
    if known:
        opened.require([digest])
    change(object_path(cache.root, digest))
    for objects in (opened, cache.open()):
        with pytest.raises(UserError, match=digest[2:]):
            objects.require([digest])
        with pytest.raises(UserError, match=digest[2:]):
            objects.require_all()


def test_what_many_objects_are_is_told_in_one_short_line(cache):
    digests = [cache.put(str(n).encode()) for n in range(200)]
    for digest in digests:
        in_place(object_path(cache.root, digest))
    with pytest.raises(UserError, match="and 180 more") as told:
        cache.open().require(digests)
    assert "\n" not in str(told.value) and len(str(told.value)) < 3000


@pytest.mark.parametrize("digest", ["../../x", "0" * 31, "A" * 32, "0" * 32 + ".dir.dir", ""])
def test_a_hash_is_no_path(cache, digest):
    with pytest.raises(UserError, match="no hash"):
        cache.open().require([digest])


LINKS = {"copy": shutil.copy, "hardlink": os.link, "symlink": os.symlink}


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_copies_and_links_of_what_was_hashed_are_taken(cache, tmp_path, link):
    file, folder = cache.put(b"a"), cache.put_folder(x=b"b")
    opened = cache.open()
    opened.require([file, folder])
    (tmp_path / "taken").mkdir()
    link(object_path(cache.root, file), tmp_path / "a")
    link(object_path(cache.root, hashlib.md5(b"b").hexdigest()), tmp_path / "taken/x")
    opened.require_copies({tmp_path / "a": file, tmp_path / "taken": folder})
    assert (tmp_path / "a").exists() and (tmp_path / "taken/x").exists()


@pytest.mark.parametrize("more", [{"x": b"z"}, {"x": b"b", "more": b"c"}, {}])
def test_what_was_exchanged_in_between_is_removed_even_if_all_is_as_before(cache, tmp_path, more):
    """Somebody changed the cache for the moment in which DVC copied from it, and back."""
    folder = cache.put_folder(x=b"b")
    opened = cache.open()
    opened.require([folder])
    taken = tmp_path / "taken"
    taken.mkdir()
    for name, content in more.items():
        (taken / name).write_bytes(content)
    time.sleep(0.02)
    for path in cache.root.rglob("*"):
        if path.is_file():
            os.utime(path)
    with pytest.raises(UserError, match="taken"):
        opened.require_copies({taken: folder})
    assert not taken.exists()
