"""What is removed from a cache, and DVC's repository as the package opens it, in this process."""

import hashlib
import json
import logging
import shutil
from contextlib import chdir
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from asterism.core.messages.errors import UserError
from asterism.dvc_hydra import experiments
from asterism.dvc_hydra.guard import _leads_elsewhere, _remove, clean, require_results
from asterism.dvc_hydra.hashes import Hashes, _value
from asterism.dvc_hydra.repository import (
    UnknownStageError,
    open_checked_repository,
    open_repository,
)
from asterism.dvc_hydra.run_cache import key_of
from asterism.dvc_hydra.stage import CommandFailedError, Stage
from asterism.sweep import sharing

HASH = "0123456789abcdef" * 2
VALUE = "ab" * 32
ENTRY = {
    "cmd": "python stages a",
    "deps": [{"path": "stages/a.py", "hash": "md5", "md5": HASH, "size": 1}],
    "outs": [{"path": "artifacts/a/b", "hash": "md5", "md5": HASH, "size": 3}],
}
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


@pytest.fixture(autouse=True)
def dvc_as_it_starts(caplog, monkeypatch):
    """DVC tells what it runs, also where Hydra has turned its log off in an earlier test."""
    caplog.set_level(logging.INFO, "dvc")
    monkeypatch.setattr(logging.getLogger("dvc.stage.run"), "disabled", False)


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
    key = key or key_of(entry)
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
    half = put_entry(root, "half", key_of(ENTRY), f"{VALUE}.tmp")
    wrong = put_entry(root, ENTRY, key="cd" + "0" * 62)
    odd = put_entry(root, "a: *b\n", key="ce" + "0" * 62)
    beside = put_entry(root, "[" * 60, key=key_of(ENTRY), value="cd" * 32)
    listed = put_list(root, [{"relpath": "a/b", "md5": HASH}])
    escaping = put_list(root, [{"relpath": "../b", "md5": HASH}])
    broken = put_list(root, "{")
    plain = put_object(root, "../content")
    with open_repository(root) as repository:
        repository.clean_cache()
    assert all(path.is_file() for path in (good, half, listed, plain))
    told = capsys.readouterr().err
    for path in (wrong, odd, beside, escaping, broken):
        assert not path.exists()
        assert told.count(f"{path.relative_to(root)} is not used and removed from the cache") == 1
    # DVC takes an empty folder of an entry for an error.
    assert not wrong.parent.exists()
    assert good.parent.is_dir()
    assert good.read_text() == yaml.safe_dump(ENTRY)


@pytest.mark.parametrize("failing", [False, True])
def test_what_a_pull_has_brought_is_cleaned_also_when_it_failed(root, monkeypatch, failing):
    brought = []

    def fetch_by_dvc(origin):
        brought.append(put_entry(root, ENTRY, key="cd" + "0" * 62))
        brought.append(put_list(root, [{"relpath": "../b", "md5": HASH}]))
        if failing:
            raise UserError("the server is gone")
        return 7

    monkeypatch.setattr(sharing, "fetch_by_dvc", fetch_by_dvc)
    if failing:
        with pytest.raises(UserError, match="the server is gone"):
            sharing.pull(root, None)
    else:
        assert sharing.pull(root, None) == 7
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


def test_cleaning_an_empty_cache_does_nothing():
    nothing = Path("/nonexistent/cache")
    entries = SimpleNamespace(cache_dir=str(nothing))
    store = SimpleNamespace(local=SimpleNamespace(path=str(nothing)), local_cache_dir=str(nothing))
    clean(SimpleNamespace(stage_cache=entries, cache=store, root_dir="/nonexistent"))


def test_a_cache_with_a_link_is_not_opened_by_a_command(root, tmp_path):
    with open_checked_repository(root) as repository:
        assert repository.root == root
        assert repository.cache == root / ".dvc/cache"
    (root / ".dvc/cache/files/md5/aa").symlink_to(tmp_path)
    rejected = pytest.raises(UserError, match=r"the cache is not used: .*aa' is a link")
    with rejected, open_checked_repository(root):
        pytest.fail("it is open")
    with open_repository(root) as repository:
        assert repository.cache == root / ".dvc/cache"


def test_a_folder_that_is_no_workspace_is_told(tmp_path):
    with (
        pytest.raises(UserError, match="not inside of a DVC repository"),
        open_repository(tmp_path),
    ):
        pytest.fail("it is open")


def test_stages_come_in_order_each_with_those_right_above(root):
    with open_repository(root) as repository:
        stages = repository.stages()
        ordered = repository.in_order(["two"])
        everything = repository.in_order([])
        with pytest.raises(UnknownStageError) as caught:
            repository.in_order(["three"])
    assert sorted(stages) == ["one", "other", "two"]
    assert [(stage.name, above) for stage, above in ordered] == [("one", []), ("two", ["one"])]
    assert sorted(stage.name for stage, _ in everything) == ["one", "other", "two"]
    assert {stage.name: above for stage, above in everything}["two"] == ["one"]
    assert (caught.value.name, str(caught.value)) == ("three", "three")
    two = stages["two"]
    assert two.command == "cp artifacts/one artifacts/two"
    assert (two.is_long, stages["one"].is_long) == (True, False)
    assert two.inputs == [root / "artifacts/one"]
    assert two.outputs == [root / "artifacts/two"]
    assert two.output_names == ["artifacts/two"]


def test_a_command_that_fails_tells_its_status(root):
    with open_repository(root) as repository:
        stage = repository.stages()["other"]
        asked = []
        with stage.lock(), pytest.raises(CommandFailedError) as caught:
            stage.bring_up_to_date(None, [lambda: asked.append("first"), lambda: asked.append(2)])
    assert (caught.value.exit_code, str(caught.value)) == (3, "exit status 3")
    assert asked == ["first", 2]


def test_stages_write_below_the_folders_of_results_only(tmp_path):
    def stage(*paths):
        outs = [SimpleNamespace(fs_path=str(tmp_path / path)) for path in paths]
        return Stage(SimpleNamespace(addressing="mine", outs=outs))

    require_results(tmp_path, [stage("artifacts/a", "metrics/b.json"), stage()])
    for path in ("src/x.py", "../beside/artifacts/a", "artifacts"):
        with pytest.raises(UserError, match=r"stage mine writes '.*', but stages write only below"):
            require_results(tmp_path, [stage("artifacts/a", path)])


@pytest.mark.parametrize("link", ["artifacts", "artifacts/a"])
def test_no_output_lies_behind_a_link(tmp_path, link):
    """DVC would delete it there before a run."""
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / "elsewhere")
    outs = [SimpleNamespace(fs_path=str(tmp_path / "artifacts/a/b"))]
    with pytest.raises(UserError, match=f"{link} is a symbolic link"):
        require_results(tmp_path, [Stage(SimpleNamespace(addressing="mine", outs=outs))])


@pytest.mark.parametrize(
    ("is_import", "protocols", "leads"),
    [
        (False, [], False),
        (False, ["local", "local"], False),
        (True, ["local"], True),
        (False, ["local", "s3"], True),
        (True, [], True),
    ],
)
def test_what_comes_from_elsewhere_is_known(is_import, protocols, leads):
    outs = [SimpleNamespace(protocol=name) for name in protocols]
    assert _leads_elsewhere(SimpleNamespace(is_import=is_import, outs=outs)) == leads


@pytest.mark.parametrize("status", [0, 251])
@pytest.mark.parametrize(
    ("origin", "words"),
    [
        (None, ["fetch", "--run-cache"]),
        ("origin", ["exp", "pull", "--run-cache", "--all-commits", "--", "origin"]),
        ("--odd", ["exp", "pull", "--run-cache", "--all-commits", "--", "--odd"]),
    ],
)
def test_dvc_itself_is_asked_to_pull(monkeypatch, origin, words, status):
    asked = []
    monkeypatch.setattr("dvc.cli.main", lambda words: (asked.append(words), status)[1])
    assert experiments.fetch_by_dvc(origin) == status
    assert asked == [words]


def test_an_experiment_lies_below_its_commit():
    commit = "0123456789" * 4
    reference = experiments.experiment_reference(commit, "mine")
    assert reference == f"refs/exps/01/{commit[2:]}/mine"


def test_only_entries_are_fetched_from_a_remote(root, tmp_path, capsys):
    from dvc.fs import LocalFileSystem

    remote, entry = tmp_path / "remote", f"{key_of(ENTRY)[:2]}/{key_of(ENTRY)}"
    names = [
        f"runs/{entry}/{VALUE}",
        f"runs/{entry}/{VALUE}.tmp",
        "runs/odd",
        f"runs/zz/zz/{VALUE}",
    ]
    for name in names:
        (remote / name).parent.mkdir(parents=True, exist_ok=True)
        (remote / name).write_text("x")
    source = SimpleNamespace(fs=LocalFileSystem(), path=str(remote))
    target = SimpleNamespace(fs=LocalFileSystem(), path=str(tmp_path / "own"))
    with open_repository(root) as repository:
        fetched = repository._opened.stage_cache.transfer(source, target)
    assert fetched == [(key_of(ENTRY), VALUE)]
    written = [path for path in (tmp_path / "own").rglob("*") if path.is_file()]
    assert written == [tmp_path / "own" / names[0]]
    told = capsys.readouterr().err
    assert all(f"{str(remote / name)!r} is left where it is" in told for name in names[1:])
    assert len(list(source.fs.find(str(remote)))) == 4  # DVC looks as before


@pytest.fixture
def finished(root):
    """The workspace after its first stage has run, with nothing but the cache left of that."""
    with open_repository(root) as repository:
        stage = repository.stages()["one"]
        with stage.lock():
            assert stage.bring_up_to_date(None, [])
    shutil.rmtree(root / "artifacts")
    yield root
    shutil.rmtree(root / "artifacts", ignore_errors=True)
    (root / "dvc.lock").unlink(missing_ok=True)
    (root / "in").write_text("given")


def restored(root):
    """Whether the cache had the stage's result, and what it is."""
    output = root / "artifacts/one"
    with open_repository(root) as repository:
        stage = repository.stages()["one"]
        with stage.lock():
            found = stage.restore(Hashes())
    return found, output.read_text() if output.exists() else None


def test_a_result_comes_from_the_run_cache(finished):
    (finished / "dvc.lock").unlink()
    assert restored(finished) == (True, "given")


def test_a_result_comes_from_the_lock_file(finished):
    shutil.rmtree(finished / ".dvc/cache/runs")
    assert restored(finished) == (True, "given")


def test_a_result_of_other_inputs_is_not_taken(finished):
    (finished / "in").write_text("other")
    assert restored(finished) == (False, None)


def test_a_result_that_the_cache_has_lost_is_not_taken(finished):
    shutil.rmtree(finished / ".dvc/cache/files")
    assert restored(finished) == (False, None)


def test_a_stage_that_is_up_to_date_does_not_run_again(finished):
    with open_repository(finished) as repository:
        stage = repository.stages()["one"]
        asked = []
        with stage.lock():
            assert not stage.bring_up_to_date(None, [lambda: asked.append(1)])
            assert not stage.changed()
            (finished / "in").write_text("other")
            assert stage.bring_up_to_date(Hashes(), [lambda: asked.append(2)])
    assert asked == [2]
    assert (finished / "artifacts/one").read_text() == "other"


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
def test_parameters_are_found_by_their_path(name, value):
    document = {"seed": 1, "group": {"k": [1, 2]}}
    if value is not None:
        assert _value(document, name, "/p/params.yaml") == value
        return
    with pytest.raises(UserError, match=rf"^params\.yaml has no parameter {name}, which dvc\.yaml"):
        _value(document, name, "/p/params.yaml")
