"""Rules for a cache that others may have written to, in tables; and that DVC applies them here."""

import os
import time
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from asterism.cli.commands import app
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra import cache_files
from asterism.dvc_hydra.run_cache import fault_in_entry, key_of
from places import ROOT

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
    assert fault_in_entry(ENTRY, key_of(ENTRY)) is None
    folder = deepcopy(ENTRY)
    folder["outs"][0] = OUTPUT | {"md5": f"{HASH}.dir", "nfiles": 2}
    assert fault_in_entry(folder, key_of(ENTRY)) is None


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
    assert "another stage" in fault_in_entry(changed, key_of(ENTRY))
    assert fault_in_entry(changed, key_of(changed)) is None


PLACES = [
    *("src/yaml.py", "stages/x.py", ".git/hooks/pre-commit", ".dvc/config", "dvc.yaml", "conf/a"),
    *("artifacts", "artifacts/../src/x.py", "artifacts/./x", "artifacts//x", "/etc/passwd"),
    *("../x", "artifacts/a/..", "artifacts/", "", "./artifacts/x", "artifacts/a\0b"),
]


@pytest.mark.parametrize("path", PLACES)
def test_an_entry_writes_below_the_results_only_whatever_its_key(path):
    changed = deepcopy(ENTRY)
    changed["outs"][0]["path"] = path
    assert repr(path) in fault_in_entry(changed, key_of(changed))
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
    assert fault_in_entry(changed, key_of(changed)) is not None


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
