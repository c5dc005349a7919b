import contextlib

from asterism.core import checkpoints
from asterism.core.checkpoints import Checkpoint, dependency_key


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


def save(checkpoint, text):
    checkpoint.save(lambda folder: (folder / "state").write_text(text))


def test_the_latest_whole_state_is_found_and_forgotten():
    checkpoint = Checkpoint("stage", "key")
    assert checkpoint.load() is None
    save(checkpoint, "one")
    save(checkpoint, "two")
    found = Checkpoint("stage", "key").load()
    assert (found / "state").read_text() == "two"
    assert Checkpoint("stage", "other key").load() is None
    checkpoint.discard()
    assert checkpoint.load() is None


def test_a_state_is_due_some_seconds_after_the_one_before(monkeypatch):
    now = 100.0
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now)
    checkpoint = Checkpoint("stage", "key")
    now += checkpoints.SAVE_EVERY - 1
    assert not checkpoint.is_due()
    now += 1
    assert checkpoint.is_due()
    save(checkpoint, "one")
    assert not checkpoint.is_due()
    now += checkpoints.SAVE_EVERY
    assert checkpoint.is_due()


def test_a_save_that_is_cut_short_leaves_the_state_before(state_root):
    checkpoint = Checkpoint("stage", "key")
    save(checkpoint, "one")
    with contextlib.suppress(ZeroDivisionError):
        checkpoint.save(lambda folder: 1 / 0)
    assert (checkpoint.load() / "state").read_text() == "one"
    assert not list(state_root.rglob(".*"))
