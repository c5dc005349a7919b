"""Objects are hashed once, and again when the file system says that they may have changed."""

import hashlib
import json
import os
import shutil
import time

import pytest

from asterism.core.messages.errors import UserError
from asterism.dvc_hydra import cache_objects
from asterism.dvc_hydra.cache_files import object_path
from asterism.dvc_hydra.cache_objects import CacheObjects


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


CHANGES = [in_place, replaced, piped, foldered, linked, of_another]


@pytest.mark.parametrize("change", CHANGES)
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
