"""What a terminal shows while stages run side by side, and the table at the end."""

import io
import os
import pty
import subprocess

import pytest
from small_pipeline import Project, asterism

from asterism.core.messages.console import Progress, progress, read_progress, report_progress_to
from asterism.sweep.live_lines import (
    LiveLines,
    clock_text,
    divert_messages,
    format_line,
    live_lines,
    messages_file,
)


def test_bars_leave_how_far_they_are(tmp_path):
    with report_progress_to(tmp_path / "share"):
        bar = progress(total=4, label="training", unit="epoch")
        bar.mininterval = 0
        bar.update(1)
        bar.update(1)
        bar.refresh()
    share = read_progress(tmp_path / "share")
    assert (share.label, share.done, share.total) == ("training", 2, 4)
    assert share.seconds >= 0
    assert [path.name for path in tmp_path.iterdir()] == ["share"], "no half file is left"
    assert "ASTERISM_PROGRESS_FILE" not in os.environ


@pytest.mark.parametrize("text", ["", "[1", "{}", "[1, 2]", "null"])
def test_a_damaged_report_is_none(tmp_path, text):
    (tmp_path / "share").write_text(text)
    assert read_progress(tmp_path / "share") is None
    assert read_progress(tmp_path / "none") is None


def test_a_line_has_share_time_left_and_log():
    line = format_line("fuzz@state", Progress("fuzz state", 25, 100, 30.0), 99.0)
    assert line.split() == [
        "fuzz@state", "████░░░░░░░░░░░░", "25%", "1:30", "left", "logs/fuzz-state.jsonl",
        "fuzz", "state",
    ]  # fmt: skip
    for unknown in (None, Progress("x", 5, None, 1.0), Progress("x", 0, 0, 1.0)):
        line = format_line("report", unknown, 75.0)
        assert line.split() == ["report", "1:15", "so", "far", "logs/report.jsonl"]
    assert "  ? left" in format_line("report", Progress("x", 0, 9, 1.0), 1.0)
    assert "100%" in format_line("report", Progress("x", 12, 9, 1.0), 1.0)


@pytest.mark.parametrize(("seconds", "told"), [(5, "0:05"), (65.4, "1:05"), (3661, "1:01:01")])
def test_a_clock(seconds, told):
    assert clock_text(seconds) == told


def shown(text):
    """What a terminal has in the end, by the two commands that are used."""
    lines = []
    for part in text.split("\x1b[J"):
        body, _, up = part.rpartition("\x1b[") if part.endswith("F") else (part, "", "")
        lines += body.split("\n")[:-1]
        if up:
            del lines[len(lines) - int(up[:-1]) :]
    return lines


def test_lines_are_drawn_in_their_place_and_messages_stand_above(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    stream = io.StringIO()
    with LiveLines(stream, 3) as lines:
        lines.draw(["a", "b"], 0)
        assert [line.split()[0] for line in shown(stream.getvalue())] == ["a", "b", "0"]
        messages_file(lines.folder, "a").write_text("a warning\nand half")
        lines.draw(["b", "c"], 1)
        told = shown(stream.getvalue())
        assert told[:2] == ["a warning", "and half"]
        assert [line.split()[0] for line in told[2:]] == ["b", "c", "1"]
        assert told[-1] == "1 of 3 stages done, 0 waiting"
        folder = lines.folder
    assert shown(stream.getvalue()) == ["a warning", "and half"], "nothing else stays"
    assert not folder.exists()


def test_without_a_terminal_there_are_no_lines(monkeypatch):
    assert live_lines(3) is None


def test_what_is_watched_leaves_its_messages(tmp_path, capfd):
    with divert_messages(tmp_path, "a"):
        subprocess.run(["sh", "-c", "echo out; echo err >&2"], check=True)
    assert messages_file(tmp_path, "a").read_text() == "out\nerr\n"
    subprocess.run(["echo", "again"], check=True)
    with divert_messages(None, "a"):
        subprocess.run(["echo", "plainly"], check=True)
    assert capfd.readouterr().out == "again\nplainly\n"


@pytest.mark.slow
def test_a_terminal_shows_each_running_stage_and_the_table(tmp_path):
    project = Project(tmp_path)
    master, slave = pty.openpty()
    with (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen(
            asterism("repro", "--jobs", "2"),
            cwd=project.root,
            env=project.environment | {"COLUMNS": "120"},
            stdout=out,
            stderr=slave,
        )
        os.close(slave)
        said = b""
        while True:
            try:
                said += os.read(master, 1 << 16)
            except OSError:  # the other end is closed
                break
        assert process.wait() == 0
    text = said.decode()
    assert "left" in text or "so far   logs/base.jsonl" in text
    assert "of 4 stages done" in text and "this is right" in text
    table = (tmp_path / "out").read_text()
    assert "base" in table and "4 stages ran" in table
    assert [line.split()[1] for line in table.splitlines()[1:5]] == ["ran"] * 4
