"""What DVC has committed, told from ``dvc.lock`` and the cache alone."""

import hashlib
import json

import pytest
import yaml

from asterism.core.resuming.commits import content_of, is_committed


def md5(content):
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """A workspace whose stage has a file and a folder as outputs; the folder of its cache."""
    monkeypatch.chdir(tmp_path)
    cache = tmp_path / ".dvc/cache/files/md5"
    tree = {"a.txt": b"one", "deep/b.txt": b"two"}
    for name, content in tree.items():
        path = tmp_path / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "metrics.json").write_bytes(b"{}")
    listed = [{"md5": md5(content), "relpath": name} for name, content in tree.items()]
    folder = json.dumps(listed).encode()
    objects = {md5(folder) + ".dir": folder, md5(b"{}"): b"{}"}
    objects |= {md5(content): content for content in tree.values()}
    for name, content in objects.items():
        path = cache / name[:2] / name[2:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    outs = [
        {"path": "out", "md5": md5(folder) + ".dir"},
        {"path": "metrics.json", "md5": md5(b"{}")},
    ]
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump({"stages": {"fuzz@state": {"outs": outs}}}))
    return cache


@pytest.fixture
def outputs(committed, tmp_path):
    found = [tmp_path.joinpath(name).relative_to(tmp_path) for name in ("out", "metrics.json")]
    return content_of(found)


def test_the_content_of_outputs_is_that_of_their_files(outputs, tmp_path):
    assert outputs == {
        "out": {"a.txt": md5(b"one"), "deep/b.txt": md5(b"two")},
        "metrics.json": md5(b"{}"),
    }
    assert content_of([tmp_path / "nothing"]) == {}


@pytest.mark.parametrize("quote", ["", '"', "'"])
def test_a_cache_elsewhere_is_found_with_and_without_quotes(outputs, committed, tmp_path, quote):
    committed.parents[1].rename(tmp_path / "elsewhere")
    assert not is_committed("fuzz@state", outputs)
    settings = f"[cache]\n    dir = {quote}{tmp_path / 'elsewhere'}{quote}\n"
    (tmp_path / ".dvc/config.local").write_text(settings)
    assert is_committed("fuzz@state", outputs)


def test_outputs_that_are_locked_and_in_the_cache_are_committed(outputs):
    assert is_committed("fuzz@state", outputs)
    assert not is_committed("fuzz@none", outputs)


@pytest.mark.parametrize("gone", [*(md5(file)[2:] for file in (b"one", b"two", b"{}")), "*.dir"])
def test_a_file_or_list_that_the_cache_lacks_is_not_committed(committed, outputs, gone):
    (lacking,) = committed.rglob(gone)
    lacking.unlink()
    assert not is_committed("fuzz@state", outputs)


@pytest.mark.parametrize(
    "change",
    [
        lambda outputs: outputs | {"metrics.json": md5(b"other")},
        lambda outputs: outputs | {"out": {"a.txt": md5(b"one")}},
        lambda outputs: outputs | {"out": {"a.txt": md5(b"one"), "deep/b.txt": md5(b"other")}},
        lambda outputs: outputs | {"more": md5(b"{}")},
        lambda outputs: {"metrics.json": outputs["metrics.json"]},
    ],
)
def test_other_outputs_than_the_locked_ones_are_not_committed(outputs, change):
    assert not is_committed("fuzz@state", change(outputs))
