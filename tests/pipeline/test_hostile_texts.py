"""No command passes on to the terminal what a name of others' makes a terminal do."""

import sys
from pathlib import Path
from types import SimpleNamespace as Made

import numpy as np
import onnx
import pytest

from asterism import cli
from asterism.asking import lanes
from asterism.cli import commands, projects
from asterism.cli import judging as judging_command
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra import saved_state as saved
from asterism.dvc_hydra.cache_files import warn_once as warn_of_cache
from asterism.models.tensor_models import trial
from asterism.report.base.section import FrontPageAnswer, KeyFigure, Level, Step
from asterism.sweep import app as sweep_app
from asterism.sweep.live_lines import LiveLines, messages_file
from asterism.sweep.point import PointOutcome
from asterism.sweep.worker import SweepRequest
from models.onnx_networks import linear
from places import ROOT
from terminal_text import HOSTILE, tame

#: The same without what no name of a file or of git's can have.
NAME = HOSTILE.replace("/", "").replace("\x00", "")[:80]


@pytest.fixture
def said(tmp_path, monkeypatch, capfd):
    """Runs a command in a project's root; what it has printed, which must not be empty."""
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    (tmp_path / "params.yaml").symlink_to(ROOT / "params.yaml")
    monkeypatch.chdir(tmp_path)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["asterism", *map(str, words)])
        with pytest.raises(SystemExit):
            cli.main()
        told = capfd.readouterr()
        return told.out + told.err

    return run


def puts(value):
    return lambda *_, **__: value


def says(*_, **__):
    """Stands for what says lines by the function that it is given."""
    next(filter(callable, [*_, *__.values()]))(HOSTILE)
    return 0


FIGURES, STEPS = (KeyFigure(HOSTILE, HOSTILE, HOSTILE),), (Step(HOSTILE, HOSTILE),)
ANSWER = FrontPageAnswer(HOSTILE, Level.LOOK, HOSTILE, FIGURES, "", (), STEPS)
STATE = Made(
    run=Made(stage=HOSTILE, key=HOSTILE), units=1, size=1, days=1.0, damaged=1, status=HOSTILE
)


def fails(error):
    def fail(*_, **__):
        raise error

    return fail


#: One of each way out: lines, JSON, lines that a command's function says, and errors. All others
#: take the same, since ruff bans the streams themselves.
@pytest.mark.parametrize(
    ("command", "replaced"),
    [
        (
            "state",
            [
                (saved, "saved_runs", puts([STATE])),
                (saved, "other_folder_sizes", puts({HOSTILE: 1})),
            ],
        ),
        ("state --json", [(saved, "other_folder_sizes", puts({HOSTILE: 1}))]),
        ("sweep", [(sweep_app, "sweep_command", says)]),
        (
            "judge-tests m --data d",
            [
                (trial, "require_runs", puts(None)),
                (
                    lanes,
                    "resolve_judging",
                    puts(
                        Made(
                            said=[HOSTILE], overrides=[], lane=Made(stage="x", section="x", kept=())
                        )
                    ),
                ),
                (judging_command, "write_answers", puts((Path("p"), [ANSWER]))),
                (sweep_app, "sweep_command", puts(0)),
            ],
        ),
        ("budget", [(commands, "app", fails(UserError(HOSTILE)))]),
        ("budget", [(commands, "app", fails(ValueError(HOSTILE.replace("\n", ""))))]),
    ],
)
def test_no_command_tells_a_terminal_what_to_do(said, monkeypatch, command, replaced):
    for owner, name, stand_in in replaced:
        monkeypatch.setattr(owner, name, stand_in)
    told = said(*command.split())
    assert tame(told)
    assert "x1b[2J" in told or "u001b[2J" in told


def test_models_and_files_of_others_are_told_plainly(said, tmp_path):
    model = onnx.load(linear(tmp_path / "m.onnx", np.ones((4, 2), np.float32)))
    model.graph.input[0].name = model.graph.node[0].input[0] = HOSTILE
    model.graph.output[0].name = model.graph.node[0].output[0] = "y" + HOSTILE
    onnx.save(model, tmp_path / NAME)
    (tmp_path / NAME).rename(tmp_path / f"{NAME}.onnx")
    (tmp_path / f"folder{NAME}").mkdir()
    (tmp_path / f"folder{NAME}" / f"{NAME}.png").touch()
    for words in (
        [f"{NAME}.onnx"],
        [f"{NAME}.onnx", "--json"],
        [f"{NAME}.no"],
        ["--inputs", f"folder{NAME}"],
    ):
        told = said("check", *words)
        assert tame(told) and "1b[2J" in told


def test_a_point_that_failed_ends_its_log_plainly(monkeypatch, tmp_path):
    record = PointOutcome(
        "failed", 1, HOSTILE, number=0, overrides=[HOSTILE], total_seconds=1.0, log=NAME,
        log_tail=f"a\n{HOSTILE}\nb",
    )  # fmt: skip
    sweep = Made(name=HOSTILE, folder=tmp_path / NAME)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sweep_app, "hydra_choice_path", puts([]))
    monkeypatch.setattr(sweep_app, "prepare_sweep", puts((sweep, [1], "basic")))
    monkeypatch.setattr(sweep_app, "run_sweep", puts(1))
    monkeypatch.setattr(sweep_app, "launcher_name", puts(HOSTILE))
    monkeypatch.setattr(sweep_app, "read_records", puts([record]))
    lines = []
    sweep_app.sweep_command(SweepRequest(), False, lines.append)
    assert "a" in lines and lines[-2] == "b", "each line of the log is one that is said"


def test_lines_of_running_stages_hold_texts_only(tmp_path):
    import io
    import json

    stream = io.StringIO()
    with LiveLines(stream, 2) as lines:
        (lines.folder / "a").write_text(json.dumps([HOSTILE, 1, 2, 3.0]))
        messages_file(lines.folder, "a").write_text(HOSTILE.replace("\n", ""))
        lines.draw(["a"], 0)
        lines.draw(["a"], 0)
    told = stream.getvalue()
    assert "x1b" in told
    assert tame(told.replace("\x1b[J", "").replace("\x1b[2F", ""))


def test_a_warning_of_the_cache_is_plain(capsys):
    warn_of_cache(HOSTILE)
    told = capsys.readouterr().err
    assert told.startswith("warning: ") and tame(told)


@pytest.mark.parametrize(
    "name",
    ["$(touch${IFS}x)", "`id`", "a;id", "a|id", "a&id", "a'b", 'a"b', "-x", "a\u202eb"],
)
def test_a_shell_is_offered_only_names_that_stand_for_themselves(tmp_path, monkeypatch, name):
    for sweep in ("plain", name):
        folder = tmp_path / "sweeps" / sweep
        folder.mkdir(parents=True)
        (folder / "index.html").touch()
    monkeypatch.chdir(tmp_path)
    assert "plain" in projects.list_page_names("")
    assert name not in projects.list_page_names("")
