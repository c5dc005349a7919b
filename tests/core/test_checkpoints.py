"""Checkpoints of work units, and the units, computed by several processes."""

import contextlib
import json
import shutil
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from asterism.core.messages.errors import UserError
from asterism.core.resuming import checkpoints
from asterism.core.resuming.checkpoints import (
    Checkpoint,
    SavedFacts,
    count_appended_items,
    read_facts,
    saved_facts,
)
from asterism.core.resuming.work_units import (
    ALONE,
    PartEnded,
    SharedWorkUnits,
    UnitShare,
    dependency_key,
    split_evenly,
)
from text_result import Text


def test_the_key_covers_parameters_and_the_content_of_every_file(tmp_path):
    folder = tmp_path / "inputs"
    folder.mkdir()
    file = folder / "a"
    file.write_text("1")
    key = dependency_key("s", {"k": 1}, [folder])
    assert dependency_key("s", {"k": 1}, [folder]) == key
    assert dependency_key("s", {"k": 2}, [folder]) != key
    assert dependency_key("t", {"k": 1}, [folder]) != key
    file.write_text("2")
    assert dependency_key("s", {"k": 1}, [folder]) != key
    file.write_text("1")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "a.pyc").write_text("noise")
    assert dependency_key("s", {"k": 1}, [folder]) == key


def test_the_key_covers_the_names_of_files(tmp_path):
    """Two files that change their names, or their contents, are another input."""
    folder = tmp_path / "inputs"
    folder.mkdir()
    (folder / "a").write_text("1")
    (folder / "b").write_text("2")
    key = dependency_key("s", {}, [folder])
    (folder / "b").rename(folder / "c")
    assert dependency_key("s", {}, [folder]) != key, "of the same content and order"
    (folder / "c").rename(folder / "b")
    assert dependency_key("s", {}, [folder]) == key
    (folder / "below").mkdir()
    (folder / "b").rename(folder / "below/b")
    assert dependency_key("s", {}, [folder]) != key
    one, other = tmp_path / "x", tmp_path / "y"
    one.write_text("same")
    other.write_text("same")
    assert dependency_key("s", {}, [one]) != dependency_key("s", {}, [other])


def save(checkpoint, text):
    checkpoint.save(lambda folder: (folder / "state").write_text(text))


def text_of(folder):
    return (folder / "state").read_text()


@pytest.fixture
def folder(state_root):
    return state_root / "stage/key/part.checkpoint"


def test_the_latest_whole_state_is_found_and_forgotten(folder):
    checkpoint = Checkpoint(folder)
    assert checkpoint.restore(text_of) is None
    for text in ("one", "two"):
        save(checkpoint, text)
    assert Checkpoint(folder).restore(text_of) == "two"
    assert [path.name for path in folder.iterdir()] == ["00000001"]
    assert Checkpoint(folder.with_name("other.checkpoint")).restore(text_of) is None
    checkpoint.discard()
    assert checkpoint.restore(text_of) is None


def growing(items):
    """Writes the items that a state does not hold yet, and what is small."""

    def fill(folder):
        (folder / "items").mkdir(exist_ok=True)
        new = items[count_appended_items(folder / "items") :]
        (folder / "items" / f"{len(items):08d}.json").write_text(json.dumps(new))
        (folder / "small").write_text(str(len(items)))

    return fill


def grown(folder):
    parts = sorted((folder / "items").glob("*.json"))
    items = [item for part in parts for item in json.loads(part.read_text())]
    assert (folder / "small").read_text() == str(len(items))
    return items


def test_what_is_old_is_not_written_again(folder):
    checkpoint, items, first = Checkpoint(folder), [], None
    for number in range(4):
        items.append(number)
        checkpoint.save(growing(items), ["items"])
        state = checkpoint.latest()
        first = first or (state / "items/00000001.json").stat().st_ino
        assert (state / "items/00000001.json").stat().st_ino == first, "the very same file"
        assert len(list((state / "items").iterdir())) == number + 1
    assert len(list(folder.iterdir())) == 1
    again = Checkpoint(folder)
    assert again.restore(grown) == items
    items.append(4)
    again.save(growing(items), ["items"])
    assert Checkpoint(folder).restore(grown) == items


def test_another_run_s_state_is_never_taken_for_this_one_s(folder):
    """A state that this object has not saved itself is not added to."""
    Checkpoint(folder).save(growing([7, 8]), ["items"])
    other = Checkpoint(folder)
    other.save(growing([1]), ["items"])
    assert Checkpoint(folder).restore(grown) == [1]


def test_an_old_file_that_was_damaged_is_found_after_later_savings(folder):
    checkpoint = Checkpoint(folder)
    checkpoint.save(growing([1]), ["items"])
    (checkpoint.latest() / "items/00000001.json").write_text("[3]")
    checkpoint.save(growing([1, 2]), ["items"])
    with capture_logs() as told:
        assert Checkpoint(folder).restore(grown) is None
    assert any("damaged" in line["event"] for line in told)


def test_slow_savings_are_rarer(folder, monkeypatch):
    """However long one takes, savings are 2% of a run at most."""
    now = [0.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    checkpoint = Checkpoint(folder)

    def slowly(seconds):
        def fill(target):
            now[0] += seconds
            (target / "state").write_text("")

        return fill

    now[0] += checkpoints.SAVE_EVERY - 1
    assert not checkpoint.is_due()
    now[0] += 1
    assert checkpoint.is_due(), "since the run began"
    for seconds in (0.001, 0.2, 1.0, 30.0, 0.001):
        checkpoint.save(slowly(seconds))
        waits = max(10.0, seconds / 0.015)
        now[0] += waits * 0.99
        assert not checkpoint.is_due()
        now[0] += waits * 0.02
        assert checkpoint.is_due()
    assert checkpoint.seconds == pytest.approx(31.202)
    assert checkpoint.seconds <= 0.021 * now[0]


def test_a_link_in_the_place_of_a_state_is_set_aside(folder, tmp_path):
    victim = tmp_path / "victim"
    Checkpoint(folder)
    save(Checkpoint(folder), "one")
    (folder / "00000000").rename(victim)
    (folder / "00000007").symlink_to(victim)
    with capture_logs() as told:
        assert Checkpoint(folder).restore(text_of) is None
    assert [(line["event"], line["kept"]) for line in told] == [
        ("damaged, computed again", "00000007.damaged-0")
    ]
    save(Checkpoint(folder), "two")
    assert Checkpoint(folder).restore(text_of) == "two"
    assert (victim / "state").read_text() == "one"


def test_a_link_that_leads_to_states_is_rejected_or_set_aside(folder, tmp_path):
    victim = tmp_path / "victim"
    save(Checkpoint(folder), "one")
    folder.rename(victim)
    folder.symlink_to(victim)
    assert Checkpoint(folder).restore(text_of) is None, "the folder of states itself"
    save(Checkpoint(folder), "two")
    assert Checkpoint(folder).restore(text_of) == "two"
    run = folder.parent
    run.rename(tmp_path / "elsewhere")
    run.symlink_to(tmp_path / "elsewhere")
    for use in (lambda: Checkpoint(folder).restore(text_of), lambda: save(Checkpoint(folder), "x")):
        with pytest.raises(UserError, match=rf"{run} is a symbolic link"):
            use()
    assert text_of(victim / "00000000") == "one"
    assert [path.name for path in victim.iterdir()] == ["00000000"]


def test_numbers_begin_again_after_the_last_one(folder):
    save(Checkpoint(folder), "one")
    (folder / "00000000").rename(folder / "99999999")
    assert Checkpoint(folder).restore(text_of) == "one"
    save(Checkpoint(folder), "two")
    assert Checkpoint(folder).restore(text_of) == "two"


def test_the_state_before_a_damaged_one_is_taken_where_it_is_still_there(folder):
    save(Checkpoint(folder), "one")
    (folder / "00000000").rename(folder.parent / "kept")
    save(Checkpoint(folder), "two")
    (folder / "00000000").rename(folder / "00000001")
    (folder.parent / "kept").rename(folder / "00000000")
    (folder / "00000001/state").write_text("tw")
    assert Checkpoint(folder).restore(text_of) == "one"


def test_a_save_that_is_cut_short_leaves_the_state_before(state_root, folder):
    checkpoint = Checkpoint(folder)
    save(checkpoint, "one")
    with contextlib.suppress(ZeroDivisionError):
        checkpoint.save(lambda folder: 1 / 0)
    assert checkpoint.restore(text_of) == "one"
    assert not list(state_root.rglob(".*"))


@given(facts=st.lists(st.lists(st.text(), max_size=3), max_size=6), saved=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_facts_outlive_a_kill_as_far_as_a_saving_was_due(monkeypatch, state_root, facts, saved):
    monkeypatch.setattr(checkpoints, "SAVE_EVERY", 0.0 if saved else 1e9)
    folder = state_root / "facts"
    shutil.rmtree(folder, ignore_errors=True)
    alive = SavedFacts(Checkpoint(folder))
    for fact in facts:
        alive.add(fact)  # and it is killed before it saves at its end
    assert read_facts(folder) == SavedFacts(Checkpoint(folder)).known == (facts if saved else [])


def test_facts_are_saved_at_the_end_and_by_one_process_at_a_time(state_root):
    folder = state_root / "facts"
    with pytest.raises(ZeroDivisionError), saved_facts(folder) as facts:
        facts.add(1)
        with pytest.raises(BlockingIOError), saved_facts(folder):
            pass
        raise ZeroDivisionError
    with saved_facts(folder) as facts:
        assert facts.known == read_facts(folder) == [1]


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
    with pytest.raises(UserError, match="write 0/4"):
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
    assert [(line["event"], line["finished_units"]) for line in told] == [("resumes", "1 of 3")]


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
    assert [(line["event"], line["unit"]) for line in told] == [("resumes", "a")]
    assert result.text == "half whole"
    assert not list(state_root.rglob("half")), "a finished unit needs no checkpoint"


@pytest.mark.parametrize(
    ("budget", "units", "expected"),
    [(10, 3, [4, 3, 3]), (9, 3, [3, 3, 3]), (2, 3, [1, 1, 0]), (11, 4, [3, 3, 3, 2]), (0, 1, [0])],
)
def test_a_budget_is_shared_by_all_units(budget, units, expected):
    assert split_evenly(budget, units) == expected
