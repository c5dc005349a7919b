"""WorkUnits of a long stage, computed by several processes."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from text_result import Text

from asterism.core.files.locks import held, is_held
from asterism.core.resuming.work_units import ALONE, ShardEnded, SharedWorkUnits, split_evenly


def jobs(names, done):
    def compute(name, _checkpoint):
        done.append(name)
        return Text(f"result of {name}")

    return {name: partial(compute, name) for name in names}


def test_alone_keeps_nothing(state_root):
    done = []
    assert [r.text for r in ALONE.gather(jobs("ba", done), Text.load)] == [
        "result of b",
        "result of a",
    ]
    assert done == ["b", "a"]
    assert not state_root.exists()


def test_the_stage_merges_what_shards_have_left_and_computes_the_rest(state_root):
    done = []
    with held(state_root / "units/stage/key/b.lock"), pytest.raises(ShardEnded):
        # Somebody is at b: the shard leaves it alone and does not wait.
        SharedWorkUnits("stage", "key", is_shard=True).gather(jobs("abc", done), Text.load)
    assert done == ["a", "c"]
    units = SharedWorkUnits("stage", "key")
    results = units.gather(jobs("abc", done), Text.load)
    assert done == ["a", "c", "b"]
    assert [r.text for r in results] == [f"result of {n}" for n in "abc"]
    assert (
        SharedWorkUnits("stage", "key").gather(jobs("abc", done), Text.load)[0].text
        == "result of a"
    )
    assert len(done) == 3
    SharedWorkUnits("stage", "other key").gather(jobs("a", done), Text.load)
    assert len(done) == 4
    units.finish()
    SharedWorkUnits("stage", "key").gather(jobs("abc", done), Text.load)
    assert len(done) == 4, "nobody knows that DVC has committed what the stage wrote"


@pytest.mark.parametrize("hours", [-100_000, 0, 100_000])
def test_a_shard_is_late_when_its_stage_has_finished_since_by_any_clock(state_root, hours):
    """The file server's clock may be years from the shard's: it is never asked."""
    done, folder = [], state_root / "units/stage/key"
    SharedWorkUnits("stage", "key").gather(jobs("a", done), Text.load)

    def finish():
        SharedWorkUnits("stage", "key").finish()
        for path in folder.iterdir():
            os.utime(path, (time.time() + 3600 * hours,) * 2)

    finish()
    early = SharedWorkUnits("stage", "key", is_shard=True)
    with pytest.raises(ShardEnded):
        early.gather(jobs("ab", done), Text.load)
    assert done == ["a", "b"], "it was started after an earlier run had finished"
    late = SharedWorkUnits("stage", "key", is_shard=True)
    finish()
    with pytest.raises(ShardEnded):
        late.gather(jobs("abc", done), Text.load)
    assert done == ["a", "b"], "a shard that comes too late does nothing"


def test_a_unit_that_fails_is_not_kept_and_what_came_before_is():
    done = []
    work = jobs("abc", done)
    work["b"] = lambda _checkpoint: 1 / 0
    with pytest.raises(ZeroDivisionError):
        SharedWorkUnits("stage", "key").gather(work, Text.load)
    with capture_logs() as told:
        SharedWorkUnits("stage", "key").gather(jobs("abc", done), Text.load)
    assert done == ["a", "b", "c"]
    assert [(line["event"], line["finished_units"]) for line in told] == [("goes on", "1 of 3")]


def test_an_unfinished_unit_goes_on_from_its_checkpoint(state_root):
    begun = []

    def compute(checkpoint):
        begun.append(checkpoint.restore(lambda folder: (folder / "half").read_text()))
        if begun[-1] is None:
            checkpoint.save(lambda folder: (folder / "half").write_text("half"))
            raise KeyboardInterrupt
        return Text(begun[-1] + " whole")

    with capture_logs() as told, pytest.raises(KeyboardInterrupt):
        SharedWorkUnits("stage", "key").gather({"a": compute}, Text.load)
    assert told == []
    with capture_logs() as told:
        (result,) = SharedWorkUnits("stage", "key").gather({"a": compute}, Text.load)
    assert [(line["event"], line["unit"]) for line in told] == [("goes on", "a")]
    assert result.text == "half whole"
    assert not list(state_root.rglob("half")), "a finished unit needs no checkpoint"


#: Computes units that take a moment each, as a shard or as the stage: NOTES [--shard]
PROGRAM = """
import sys, time
from functools import partial
from pathlib import Path
from asterism.core.resuming.work_units import ShardEnded, SharedWorkUnits

notes = Path(sys.argv[1])

class Text:
    def __init__(self, text): self.text = text
    def save(self, folder): (folder / "text").write_text(self.text)
    @classmethod
    def load(cls, folder): return cls((folder / "text").read_text())

def compute(name, checkpoint):
    with (notes / "begun").open("a") as file:
        file.write(name + "\\n")
    while (notes / f"hold-{name}").exists():
        time.sleep(0.01)
    time.sleep(0.01)
    return Text(name)

units = SharedWorkUnits("stage", "key", is_shard="--shard" in sys.argv)
try:
    names = [str(n) for n in range(40)]
    found = units.gather({n: partial(compute, n) for n in names}, Text.load)
    (notes / "merged").write_text(" ".join(r.text for r in found))
except ShardEnded:
    pass
"""


def start(notes, *arguments):
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    command = [sys.executable, "-c", PROGRAM, str(notes), *arguments]
    return subprocess.Popen(command, env=environment)


def test_processes_share_the_units_and_one_that_is_killed_costs_nothing(tmp_path, state_root):
    (tmp_path / "hold-0").touch()
    killed = start(tmp_path, "--shard")
    deadline = time.monotonic() + 60
    while not is_held(state_root / "units/stage/key/0.lock"):
        assert killed.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    others = [start(tmp_path, "--shard"), start(tmp_path, "--shard"), start(tmp_path)]
    begun_so_far = tmp_path / "begun"
    while not (begun_so_far.exists() and len(begun_so_far.read_text().split()) >= 40):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    (tmp_path / "hold-0").unlink()
    assert [p.wait(60) for p in others] == [0, 0, 0]
    begun = (tmp_path / "begun").read_text().split()
    assert sorted(begun, key=int) == sorted([*map(str, range(40)), "0"], key=int)
    assert (tmp_path / "merged").read_text().split() == [str(n) for n in range(40)]


@pytest.mark.parametrize("is_shard", [True, False])
def test_an_error_of_a_unit_is_not_taken_for_a_lock(state_root, is_shard):
    done = []

    def compute(_checkpoint):
        done.append("a")
        raise BlockingIOError("no more processes")  # what fork() raises at a user's limit

    with pytest.raises(BlockingIOError, match="no more processes"):
        SharedWorkUnits("stage", "key", is_shard).gather({"a": compute}, Text.load)
    assert done == ["a"]


@pytest.mark.parametrize(
    ("budget", "units", "expected"),
    [(10, 3, [4, 3, 3]), (9, 3, [3, 3, 3]), (2, 3, [1, 1, 0]), (11, 4, [3, 3, 3, 2]), (0, 1, [0])],
)
def test_a_budget_is_shared_by_all_units(budget, units, expected):
    assert split_evenly(budget, units) == expected
