"""What lies below ``state.root``: who uses it, when it goes, and by whose clock."""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from typer.testing import CliRunner

from asterism.cli.commands import app
from asterism.core.files.locks import hold_lock_now, is_lock_held, share_lock
from asterism.core.messages.errors import UserError
from asterism.core.resuming.state import RunState, runs_with_state
from asterism.core.resuming.work_units import SharedWorkUnits
from asterism.core.settings import machine
from asterism.dvc_hydra import saved_state
from asterism.dvc_hydra.lockfile import set_entries
from asterism.dvc_hydra.saved_state import are_committed, is_committed
from marked import wait_until
from places import ROOT
from text_result import Text

KEY, OTHER = "a" * 32, "b" * 32

_DAY = 86400


def make(stage="fuzz-state", key=KEY):
    SharedWorkUnits(stage, key).gather(
        {f"p-{n}": lambda _: Text("x" * 1000) for n in range(3)}, Text.load
    )


def shift(folder, days):
    """Set a folder's times, as a server with such a clock would have."""
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (time.time() + _DAY * days,) * 2, follow_symlinks=False)


#: Gathers three units and then ends with them as a stage does; reading takes as long as it is held.
READER = """
import sys, time
from pathlib import Path
from asterism.core.resuming.work_units import SharedWorkUnits

notes, name = Path(sys.argv[1]), sys.argv[2]

class Text:
    def __init__(self, text): self.text = text
    def save(self, folder): (folder / "text").write_text(self.text)
    @classmethod
    def load(cls, folder):
        (notes / f"{name}-reads").touch()
        while (notes / f"hold-{name}").exists():
            time.sleep(0.01)
        return cls((folder / "text").read_text())

def compute(_checkpoint):
    with (notes / "computed").open("a") as file:
        file.write(name)
    return Text("unit")

units = SharedWorkUnits("fuzz-state", "a" * 32)
found = units.gather({f"p-{n}": compute for n in range(3)}, Text.load)
(notes / f"{name}-merged").write_text(" ".join(unit.text for unit in found))
units.finish()
"""


def start(notes, name):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen([sys.executable, "-c", READER, str(notes), name], env=environment)


@pytest.mark.parametrize("remover", ["finished", "command", "tidy"])
def test_what_a_slow_reader_reads_is_not_removed(tmp_path, state_root, remover):
    """Two checkouts with one state root: one ends, or cleans, while the other reads."""
    (tmp_path / "hold-slow").touch()
    slow = start(tmp_path, "slow")
    wait_until((tmp_path / "slow-reads").exists)
    if remover == "finished":
        assert start(tmp_path, "fast").wait(60) == 0
    elif remover == "command":
        ended = CliRunner().invoke(app, ["state", "--clean", "--older-than", "0"])
        assert ended.exit_code == 0
        assert "in use; kept" in ended.output
    else:
        shift(state_root / "units/fuzz-state" / KEY, -1000)
        saved_state.remove_unneeded_state()
    (tmp_path / "hold-slow").unlink()
    assert slow.wait(60) == 0
    assert (tmp_path / "slow-merged").read_text() == "unit unit unit"
    assert (tmp_path / "computed").read_text() == "slow" * 3
    (run,) = runs_with_state()
    assert run.remove(), "nobody reads any more"


def test_a_lock_is_shared_by_readers_and_kept_from_a_remover(tmp_path):
    lock = tmp_path / "lock"
    with share_lock(lock), share_lock(lock):
        assert is_lock_held(lock)
        with pytest.raises(BlockingIOError), hold_lock_now(lock):
            pass
    assert not is_lock_held(lock)
    assert not is_lock_held(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_who_waited_for_a_lock_whose_file_was_removed_takes_the_new_one(tmp_path):
    """Otherwise two processes hold the lock of two files, and each thinks that it is alone."""
    lock = tmp_path / "folder/lock"
    program = (
        "import sys; from pathlib import Path; from asterism.core.files.locks import hold_lock\n"
        "with hold_lock(Path(sys.argv[1])):\n    print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(lock)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    with hold_lock_now(lock):
        waiting = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        while f":{lock.stat().st_ino} " not in _waiting_locks():
            assert waiting.poll() is None
            time.sleep(0.01)
        lock.unlink()
    assert waiting.stdout.readline() == b"held\n"
    assert is_lock_held(lock)
    waiting.communicate()
    assert not is_lock_held(lock)


def _waiting_locks():
    lines = Path("/proc/locks").read_text().splitlines()
    return "\n".join(line for line in lines if "->" in line)


def test_the_list_says_what_lies_there(state_root):
    make()
    make(key=OTHER)
    (state_root / f"units/fuzz-state/{OTHER}/p-0/text").write_text("damaged")
    make(key=OTHER)
    shift(state_root / f"units/fuzz-state/{OTHER}", -3)
    (state_root / "units/not one of ours/x").mkdir(parents=True)
    (state_root / "units/fuzz-state/strange").mkdir()
    (state_root / "units/fuzz-state" / ("c" * 32)).symlink_to(state_root)
    with RunState("trigger", KEY).in_use():
        ended = CliRunner().invoke(app, ["state"])
    head, one, two, three, total = ended.output.splitlines()
    assert head == f"state.root is {state_root}"
    assert one == f"fuzz-state {KEY}: 3 units, 0.0 MB, 0.0 days, unfinished"
    assert two == f"fuzz-state {OTHER}: 3 units, 0.0 MB, 3.0 days, unfinished, 1 damaged"
    assert three == f"trigger {KEY}: 0 units, 0.0 MB, 0.0 days, in use"
    assert total.startswith("3 runs, ")
    sizes = [run.size() for run in runs_with_state()]
    assert 3000 < sizes[0] < 30_000


def test_the_list_names_the_other_folders_below_the_root(state_root, tmp_path):
    make()
    (state_root / "onnx/0123").mkdir(parents=True)
    (state_root / "onnx/0123/model.onnx").write_bytes(bytes(2_500_000))
    (state_root / "elsewhere").symlink_to(tmp_path)
    lines = CliRunner().invoke(app, ["state", "--clean", "--older-than", "0"]).output.splitlines()
    assert lines[2] == "onnx/: 2.5 MB, kept for all runs; delete it to free the space"
    assert lines[3].startswith("1 runs, ")
    assert (state_root / "onnx/0123/model.onnx").exists()


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (["--clean"], [KEY]),
        (["--clean", "--older-than", "50"], [KEY, OTHER]),
        (["--clean", "--older-than", "0"], []),
        (["--clean", "--older-than", "0", "--dry-run"], [KEY, OTHER]),
    ],
)
def test_cleaning_removes_what_it_says(state_root, arguments, left):
    make()
    make(key=OTHER)
    shift(state_root / f"units/fuzz-state/{OTHER}", -30)
    ended = CliRunner().invoke(app, ["state", *arguments])
    assert ended.exit_code == 0
    assert [run.key for run in runs_with_state()] == left
    lines = ended.output.splitlines()[1:-1]
    told = "would be removed" if "--dry-run" in arguments else "removed"
    for key, line in zip([KEY, OTHER], lines, strict=True):
        gone = key not in left or "--dry-run" in arguments
        assert (f"; {told}: unused for" if gone else "; kept") in line


def test_cleaning_removes_what_was_set_aside_and_keeps_the_rest(state_root):
    for _ in range(2):
        make()
        (state_root / f"units/fuzz-state/{KEY}/p-0/text").write_text("damaged")
    ended = CliRunner().invoke(app, ["state", "--clean"])
    assert "removed: 1 damaged" in ended.output
    (run,) = runs_with_state()
    assert run.units() == ["p-0", "p-1", "p-2"]
    assert run.damaged() == []


def test_links_in_a_run_are_neither_counted_nor_followed(state_root, tmp_path):
    make()
    (run,) = runs_with_state()
    before = run.size()
    (run.folder / "p-0/again").symlink_to(run.folder)
    (run.folder / "out").symlink_to("/usr")
    assert run.units() == ["p-0", "p-1", "p-2"]
    assert before < run.size() < before + 1000


@pytest.mark.parametrize(
    "note",
    [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"workspace": 1}', b'{"token": {}}', None],
)
def test_a_damaged_note_of_the_end_stops_nothing(state_root, note):
    make()
    (run,) = runs_with_state()
    path = run.folder / "finished.json"
    path.mkdir() if note is None else path.write_bytes(note)
    assert not is_committed(run)
    saved_state.remove_unneeded_state()
    assert [entry.units for entry in saved_state.saved_runs()] == [4 if note is None else 3]
    make()


@pytest.mark.parametrize(
    "outputs", [[], {}, 1, {"a": 1}, {"a": []}, {"../a": "x"}, {"a": {"b": 1}}]
)
def test_a_strange_note_of_the_end_is_never_a_commit(state_root, tmp_path, monkeypatch, outputs):
    monkeypatch.chdir(tmp_path)
    make()
    (run,) = runs_with_state()
    entry = [{"path": path, "md5": "../../../x"} for path in ("a", "../a")]
    set_entries(tmp_path, {"fuzz@state": {"outs": entry[:1]}})
    facts = {"workspace": str(tmp_path), "stage": "fuzz@state", "outputs": outputs}
    (run.folder / "finished.json").write_text(json.dumps(facts))
    assert not is_committed(run)


def test_a_folder_whose_place_a_link_takes_is_not_followed(state_root, tmp_path):
    make()
    (run,) = runs_with_state()
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / KEY).mkdir()
    (tmp_path / "victim" / KEY / "precious").touch()
    (state_root / "units/fuzz-state").rename(tmp_path / "moved")
    (state_root / "units/fuzz-state").symlink_to(tmp_path / "victim")
    assert not run.remove()
    assert runs_with_state() == []
    (state_root / "units/fuzz-state").unlink()
    (tmp_path / "moved").rename(state_root / "units/fuzz-state")
    (run.folder / "out").symlink_to(tmp_path / "victim")
    assert run.remove()
    assert (tmp_path / "victim" / KEY / "precious").exists()


def test_a_read_only_option_of_another_command_is_rejected():
    for alone in (["--dry-run"], ["--older-than", "3"]):
        with pytest.raises(UserError, match="belong to --clean"):
            CliRunner().invoke(app, ["state", *alone], catch_exceptions=False)


# Age, by the clock of the file server.


@pytest.fixture
def server(monkeypatch):
    """A file server whose clock is years from this process's: its files' times, and its now."""

    def at(days):
        monkeypatch.setattr(saved_state, "server_time", lambda: time.time() + _DAY * days)

    return at


def test_the_servers_time_is_asked_of_its_files(state_root, monkeypatch):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + _DAY)  # this process's clock is another
    assert abs(saved_state.server_time() - now) < 60
    assert list(state_root.iterdir()) == []


@pytest.mark.parametrize("ahead", [-10_000, 0, 10_000])
def test_what_is_unused_goes_by_the_servers_clock_alone(state_root, server, ahead):
    make()
    (run,) = runs_with_state()
    shift(run.folder, ahead - 13)
    server(ahead)
    saved_state.remove_unneeded_state()
    assert runs_with_state(), "13 days"
    server(ahead + 2)
    saved_state.remove_unneeded_state()
    assert runs_with_state(), "15 days, but this is the first time that it is seen"
    mark = run.folder / "found-old"
    os.utime(mark, (time.time() + _DAY * (ahead + 2),) * 2)
    server(ahead + 2.9)
    saved_state.remove_unneeded_state()
    assert runs_with_state()
    server(ahead + 3.1)
    with capture_logs() as told:
        saved_state.remove_unneeded_state()
    assert runs_with_state() == []
    assert [line["because"] for line in told] == ["unused for more than 14 days"]


def test_a_clock_that_jumps_ahead_removes_nothing(state_root, server):
    make()
    for days in (10_000, 0, 10_000, 0, 20_000):
        server(days)
        saved_state.remove_unneeded_state()
        assert runs_with_state()


def test_a_run_that_is_used_again_begins_a_new_age(state_root, server):
    make()
    (run,) = runs_with_state()
    shift(run.folder, -15)
    saved_state.remove_unneeded_state()
    assert (run.folder / "found-old").exists()
    os.utime(run.folder / "found-old", (time.time() - 2 * _DAY,) * 2)
    make()
    saved_state.remove_unneeded_state()
    assert not (run.folder / "found-old").exists()
    assert runs_with_state()


def test_days_are_a_fact_of_the_machine(state_root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert machine.state_days() == 14
    Path("machine.yaml").write_text("state: {days: 2.5}\n")
    assert machine.state_days() == 2.5
    for wrong in ("0", "-1", "soon", "nan"):
        monkeypatch.setenv("ASTERISM_STATE_DAYS", wrong)
        with pytest.raises(UserError, match=r"state\.days in machine\.yaml .* above 0"):
            machine.state_days()
        saved_state.remove_unneeded_state()  # which stops no stage


def test_tidying_without_any_state_makes_none(state_root):
    saved_state.remove_unneeded_state()
    assert not state_root.exists()


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
    set_entries(tmp_path, {"fuzz@state": {"outs": outs}})
    return cache


@pytest.fixture
def outputs(committed, state_root):
    """What a run notes of them, and of one that is not there."""
    run = RunState("fuzz-state", KEY)
    run.finish("fuzz@state", [Path(name) for name in ("out", "metrics.json", "nothing")])
    return run.note()["outputs"]


def test_outputs_that_are_locked_and_in_the_cache_are_committed(outputs):
    assert outputs == {
        "out": {"a.txt": md5(b"one"), "deep/b.txt": md5(b"two")},
        "metrics.json": md5(b"{}"),
    }
    assert are_committed("fuzz@state", outputs)
    assert not are_committed("fuzz@none", outputs)


@pytest.mark.parametrize("home", [True, False], ids=["~", "whole"])
@pytest.mark.parametrize("quote", ["", '"', "'"])
@pytest.mark.parametrize("file", [".dvc/config", ".dvc/config.local", "user/dvc/config"])
def test_a_cache_elsewhere_is_found_as_dvc_finds_it(
    outputs, committed, tmp_path, monkeypatch, file, quote, home
):
    """Its folder may be a setting of the project, or of the user for all projects."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = "~/elsewhere" if home else tmp_path / "elsewhere"
    committed.parents[1].rename(tmp_path / "elsewhere")
    assert not are_committed("fuzz@state", outputs)
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(f"[cache]\n    dir = {quote}{folder}{quote}\n")
    assert are_committed("fuzz@state", outputs)


@pytest.mark.parametrize("gone", [*(md5(file)[2:] for file in (b"one", b"two", b"{}")), "*.dir"])
def test_a_file_or_list_that_the_cache_lacks_is_not_committed(committed, outputs, gone):
    (lacking,) = committed.rglob(gone)
    lacking.unlink()
    assert not are_committed("fuzz@state", outputs)


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
    assert not are_committed("fuzz@state", change(outputs))
