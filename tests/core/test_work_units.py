"""WorkUnits of a long stage, computed by several processes."""

from functools import partial

import pytest
from structlog.testing import capture_logs
from text_result import Text

from asterism.core.messages.errors import UserError
from asterism.core.resuming.work_units import (
    ALONE,
    PartEnded,
    SharedWorkUnits,
    UnitShare,
    split_evenly,
)


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


def test_the_stage_merges_what_parts_have_left_and_computes_the_rest(state_root):
    done = []
    with pytest.raises(PartEnded):
        SharedWorkUnits("stage", "key", UnitShare(0, 2)).gather(jobs("abc", done), Text.load)
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


@pytest.mark.parametrize("of", [1, 2, 3, 7, 50])
def test_parts_are_all_units_and_each_once(state_root, of):
    done, names = [], [str(n) for n in range(20)]
    for number in reversed(range(of)):
        with pytest.raises(PartEnded):
            SharedWorkUnits("stage", "key", UnitShare(number, of)).gather(
                jobs(names, done), Text.load
            )
    assert sorted(done, key=int) == names


def test_of_two_that_compute_the_same_unit_the_first_that_is_done_counts(state_root):
    def compute(_checkpoint):
        SharedWorkUnits("stage", "key").gather({"a": lambda _: Text("the same")}, Text.load)
        return Text("the same")

    (result,) = SharedWorkUnits("stage", "key").gather({"a": compute}, Text.load)
    assert result.text == "the same"
    assert [path.name for path in (state_root / "units/stage/key").glob("*/")] == ["a"]


@pytest.mark.parametrize("text", ["", "1", "1/1", "2/1", "-1/2", "a/b", "0/0", "0/2/3", "9" * 20])
def test_a_part_that_there_is_not_is_a_line(text):
    with pytest.raises(UserError, match="no part"):
        UnitShare.parse(text)


def test_a_part_is_read():
    assert UnitShare.parse("3/8") == UnitShare(3, 8)


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


@pytest.mark.parametrize(
    ("budget", "units", "expected"),
    [(10, 3, [4, 3, 3]), (9, 3, [3, 3, 3]), (2, 3, [1, 1, 0]), (11, 4, [3, 3, 3, 2]), (0, 1, [0])],
)
def test_a_budget_is_shared_by_all_units(budget, units, expected):
    assert split_evenly(budget, units) == expected
