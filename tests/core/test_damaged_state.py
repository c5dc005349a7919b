"""Damaged state below ``state.root``: set aside, said in one line, computed again."""

import json
import os

import numpy as np
import pytest
from structlog.testing import capture_logs

from asterism.core.files.artifacts import read_arrays, read_json, write_arrays, write_json
from asterism.core.messages.errors import UserError
from asterism.core.resuming import saved_folders
from asterism.core.resuming.state import runs_with_state
from asterism.core.resuming.work_units import SharedWorkUnits

NUMBERS = np.arange(600).reshape(20, 30)


class Result:
    """An array and a number, as stages keep them."""

    def __init__(self, numbers, total):
        self.numbers, self.total = numbers, total

    def save(self, folder):
        write_arrays(folder / "numbers.npz", numbers=self.numbers)
        write_json(folder / "facts.json", {"total": self.total})

    @classmethod
    def load(cls, folder):
        numbers = read_arrays(folder / "numbers.npz")["numbers"]
        return cls(numbers, read_json(folder / "facts.json")["total"])


def gather(done):
    def compute(_checkpoint):
        done.append(1)
        return Result(NUMBERS, 17)

    (result,) = SharedWorkUnits("stage", "key").gather({"unit-0": compute}, Result.load)
    assert np.array_equal(result.numbers, NUMBERS)
    assert result.total == 17


def truncated(folder):
    content = (folder / "numbers.npz").read_bytes()
    (folder / "numbers.npz").write_bytes(content[: len(content) // 2])


def as_a_link(folder):
    folder.rename(folder.parent.parent.parent.parent / "elsewhere")
    folder.symlink_to(folder.parent.parent.parent.parent / "elsewhere")


def as_a_file(folder):
    folder.rename(folder.parent.parent.parent.parent / "elsewhere")
    folder.write_text("x")


def with_a_link(folder):
    (folder / "facts.json").rename(folder.parent.parent.parent.parent / "elsewhere")
    (folder / "facts.json").symlink_to(folder.parent.parent.parent.parent / "elsewhere")


def digested(change):
    """A change that fits its digests: what another version, or somebody else, has written."""

    def make(folder):
        change(folder)
        (folder / saved_folders.DIGESTS).unlink()
        write_json(folder / saved_folders.DIGESTS, saved_folders._digests(folder))

    return make


DAMAGES = {
    "truncated": truncated,
    "no JSON": lambda f: (f / "facts.json").write_text("{"),
    "missing file": lambda f: (f / "numbers.npz").unlink(),
    "one file more": lambda f: (f / "more").touch(),
    "no digests": lambda f: (f / saved_folders.DIGESTS).unlink(),
    "wrong digests": lambda f: (f / saved_folders.DIGESTS).write_text("nothing"),
    "a folder for a file": lambda f: [(f / "facts.json").unlink(), (f / "facts.json").mkdir()],
    "a pipe": lambda f: [(f / "facts.json").unlink(), os.mkfifo(f / "facts.json")],
    "a link": with_a_link,
    "a unit that is a link": as_a_link,
    "a unit that is a file": as_a_file,
    "digested: no JSON": digested(lambda f: (f / "facts.json").write_text("{")),
    "digested: other keys": digested(lambda f: write_json(f / "facts.json", {})),
    "digested: other JSON": digested(lambda f: write_json(f / "facts.json", [])),
    "digested: deep JSON": digested(lambda f: (f / "facts.json").write_text("[" * 100_000)),
    "digested: truncated": digested(truncated),
    "digested: other arrays": digested(lambda f: write_arrays(f / "numbers.npz", x=NUMBERS)),
    "digested: missing": digested(lambda f: (f / "numbers.npz").unlink()),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_unit_is_set_aside_and_computed_again(state_root, damage):
    done = []
    gather(done)
    folder = state_root / "units/stage/key/unit-0"
    damage(folder)
    with capture_logs() as told:
        gather(done)
    assert len(done) == 2
    (line,) = [line for line in told if line["log_level"] == "warning"]
    assert line["path"] == str(folder)
    assert line["kept"] == "unit-0.damaged-0"
    assert "\n" not in line["reason"]
    assert os.path.lexists(folder.with_name("unit-0.damaged-0"))
    gather(done)
    assert len(done) == 2, "what was computed again is kept"


def test_each_damaged_unit_has_a_name_of_its_own(state_root):
    done = []
    for _ in range(3):
        gather(done)
        (state_root / "units/stage/key/unit-0/facts.json").write_text("")
    gather(done)
    names = [path.name for path in (state_root / "units/stage/key").glob("*.damaged-*")]
    assert sorted(names) == [f"unit-0.damaged-{number}" for number in range(3)]


@pytest.mark.parametrize("damage", ["", "{", '{"half": 1}', "[]"])
def test_a_damaged_checkpoint_is_set_aside_and_its_unit_begun_anew(state_root, damage):
    begun = []

    def compute(checkpoint):
        begun.append(checkpoint.restore(lambda folder: read_json(folder / "half.json")["half"]))
        if len(begun) == 1:
            checkpoint.save(lambda folder: write_json(folder / "half.json", {"half": 7}))
            raise KeyboardInterrupt
        return Result(NUMBERS, 17)

    jobs = {"unit-0": compute}
    with pytest.raises(KeyboardInterrupt):
        SharedWorkUnits("stage", "key").gather(jobs, Result.load)
    state = state_root / "units/stage/key/unit-0.checkpoint/00000000"
    (state / "half.json").write_text(damage)
    with capture_logs() as told:
        SharedWorkUnits("stage", "key").gather(jobs, Result.load)
    assert begun == [None, None]
    (line,) = [line for line in told if line["log_level"] == "warning"]
    assert [line["path"], line["kept"]] == [str(state), "00000000.damaged-0"]


def test_damaged_states_of_an_unfinished_unit_are_found_and_removed_alone(state_root):
    def compute(checkpoint):
        checkpoint.restore(lambda folder: read_json(folder / "half.json"))
        checkpoint.save(lambda folder: write_json(folder / "half.json", {"half": 7}))
        raise KeyboardInterrupt

    folder = state_root / "units/stage" / ("ab" * 16) / "unit-0.checkpoint"
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            SharedWorkUnits("stage", "ab" * 16).gather({"unit-0": compute}, Result.load)
        if not list(folder.glob("*.damaged-*")):
            (folder / "00000000/half.json").write_text("{")
    (run,) = runs_with_state()
    assert run.damaged() == [folder / "00000000.damaged-0"]
    kept = {path.name for path in folder.iterdir()} - {"00000000.damaged-0"}
    assert run.remove_damaged() and run.damaged() == []
    assert {path.name for path in folder.iterdir()} == kept != set()


def test_a_rejection_of_the_system_is_no_damage(state_root, monkeypatch):
    """It may pass: a unit that cannot be read at the moment is not computed again."""
    done = []
    gather(done)

    def rejected(folder):
        raise PermissionError(13, "no", str(folder))

    monkeypatch.setattr(Result, "load", rejected)
    with pytest.raises(PermissionError):
        gather(done)
    assert len(done) == 1
    assert not list(state_root.rglob("*.damaged-*"))


def test_a_reader_that_reads_nothing_is_a_defect_and_no_endless_work(state_root, monkeypatch):
    monkeypatch.setattr(Result, "load", lambda _folder: {}["no such key"])
    done = []
    with pytest.raises(KeyError):
        gather(done)
    assert len(done) == 2


@pytest.mark.parametrize("name", ["../x", "a/b", "..", ".", "", "/tmp/x", "a\nb", "-x"])
def test_a_unit_or_stage_whose_name_leads_elsewhere_is_rejected(state_root, name):
    jobs = {name: lambda _checkpoint: Result(NUMBERS, 17)}
    with pytest.raises(UserError, match="cannot name a folder"):
        SharedWorkUnits("stage", "key").gather(jobs, Result.load)
    with pytest.raises(UserError, match="cannot name a folder"):
        SharedWorkUnits(name, "key").gather({}, Result.load)


@pytest.mark.parametrize("link", ["units", "units/stage", "units/stage/key"])
def test_a_link_on_the_way_is_named_and_nothing_is_written_behind_it(state_root, tmp_path, link):
    (tmp_path / "victim").mkdir()
    (state_root / link).parent.mkdir(parents=True)
    (state_root / link).symlink_to(tmp_path / "victim")
    with pytest.raises(UserError, match=rf"{state_root / link} is a symbolic link"):
        gather([])
    assert not list((tmp_path / "victim").iterdir())


def test_the_root_itself_may_be_a_link(tmp_path, state_root):
    (tmp_path / "large disk").mkdir()
    state_root.symlink_to(tmp_path / "large disk")
    done = []
    gather(done)
    gather(done)
    assert len(done) == 1


@pytest.mark.parametrize("name", ["in-use.lock", "finished.json"])
def test_a_link_in_the_place_of_a_lock_or_note_is_not_followed(state_root, tmp_path, name):
    folder = state_root / "units/stage/key"
    folder.mkdir(parents=True)
    (folder / name).symlink_to(tmp_path / "victim")
    if name == "finished.json":
        (tmp_path / "victim").write_text(json.dumps({"stage": "x"}))
        units = SharedWorkUnits("stage", "key")
        assert units._run.note() is None
        gather([])
        units.finish()
        assert json.loads((tmp_path / "victim").read_text()) == {"stage": "x"}
        assert units._run.note() is not None
    else:
        with pytest.raises(UserError, match="symbolic link"):
            gather([])
        assert not (tmp_path / "victim").exists()
