"""Running experiments as sweeps, and collecting what their points left."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner
from workspace import COMMAND, commit, copy_tree, run

from asterism.cli.commands import app
from asterism.config import SeriesParams
from asterism.core.files.artifacts import write_json, write_table
from asterism.core.files.interrupts import INTERRUPTED
from asterism.core.messages.errors import UserError
from asterism.reproduction import app as reproduction_app
from asterism.reproduction.collecting import collect_run
from asterism.reproduction.experiments import read_experiments
from asterism.reproduction.records import (
    RecordedRun,
    RecordedSeries,
    largest_runs,
    read_all_runs,
    write_run,
)
from asterism.sweep.point import KEPT, PointRecord
from places import ROOT

NAME = "dflare_released_lenet1"
RESULTS = Path("results/reproduction")
RECORD = PointRecord(
    number=0,
    overrides=[
        f"+experiment={NAME}",
        "seed=0",
        "~trigger.searches.diffchaser",
        "pairs.file.original=/a",
    ],
    experiment="e",
    metrics={"trigger-file:dflare.mean_queries": 12.3456789012, "trigger-file:dflare.mean_l2": 3},
    host="h",
    total_seconds=9.0,
    status="finished",
    exit_code=0,
    message="",
    ran=["trigger@file"],
    seconds=7.5,
    revision="0123456789abcdef",
)

RUN_FACTS = {"peak_memory_with_children_mb": 341, "processor_seconds": 6.25}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder with conf/, in which no sweep has run."""
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def leave(record, scale="full", seconds=2.5):
    """What a sweep leaves of a point."""
    folder = Path("sweeps") / f"{NAME}-{scale}" / "points" / f"{record.number:04d}"
    write_json(folder / "record.json", asdict(record))
    write_json(folder / "logs/trigger-file.run.json", RUN_FACTS)
    event = {"event": "searched", "search": "dflare", "processor_seconds": seconds}
    groups = [json.dumps(event)] * 2
    lines = [json.dumps({"event": "started"}), *groups, ""]
    (folder / "logs/trigger-file.jsonl").write_text("\n".join(lines))


def collected(beside=True, series=None):
    experiment = read_experiments()[NAME]
    if series is not None:
        settings = experiment.settings.model_copy(update={"series": series})
        experiment = replace(experiment, settings=settings)
    recorded = collect_run(Path.cwd(), experiment, "full", beside, RESULTS)
    write_run(recorded)
    return recorded


def test_a_point_becomes_a_recorded_one(root):
    leave(RECORD)
    leave(replace(RECORD, number=1, overrides=["seed=1"], status="failed", metrics={}))
    recorded = collected()
    first, second = recorded.points
    assert first.values == {"seed": "0", "trigger.searches.diffchaser": ""}
    assert first.metrics == {"trigger-file:dflare.mean_queries": 12.3456789}
    assert (first.seconds, first.processor_seconds, first.memory_mb) == (7.5, 6.25, 341)
    assert first.processor_seconds_of_searches == {"trigger-file:dflare": 5.0}
    assert first.commit == "0123456789"
    assert recorded.beside_other_work
    assert set(recorded.machine) == {"system", "processor", "cores", "memory"}
    assert [p.values["seed"] for p in recorded.finished] == ["0"]
    assert second.status == "failed"
    assert largest_runs(read_all_runs()) == {
        NAME: RecordedRun(**{**vars(recorded), "points": recorded.points})
    }


def test_a_point_from_the_cache_keeps_what_it_took_when_it_ran(root):
    leave(RECORD)
    before = collected()
    other = {"trigger-file:dflare.mean_queries": 5}
    later = replace(RECORD, revision="fedcba9876543210")
    leave(replace(later, ran=[], seconds=0.5, metrics=other), seconds=0.1)
    after = collected(beside=False)
    assert after.points[0] == replace(
        before.points[0], metrics={"trigger-file:dflare.mean_queries": 5.0}
    )
    assert after.beside_other_work
    leave(replace(later, seconds=1.5))
    again = collected(beside=False)
    assert (again.points[0].seconds, again.beside_other_work) == (1.5, False)
    assert again.points[0].commit == "fedcba9876"


def test_a_points_tables_become_series_also_where_it_came_from_the_cache(root):
    series = {
        "queries": SeriesParams(file="a/triggers.csv", column="queries"),
        "others": SeriesParams(file="b/triggers.csv", column="queries"),
    }
    leave(RECORD)
    collected(series=series)
    leave(replace(RECORD, ran=[], seconds=0.5))
    write_table(
        Path(f"sweeps/{NAME}-full/points/0000") / KEPT / "a/triggers.csv", {"queries": [5, 9]}
    )
    (point,) = collected(series=series).points
    assert point.series == {"queries": RecordedSeries([4, 8], [1, 1])}
    assert point.seconds == 7.5
    assert largest_runs(read_all_runs())[NAME].points[0] == point


@pytest.fixture
def sweeps(monkeypatch):
    """Requests of sweeps, in the place of running them; each leaves a point."""
    asked = []

    def note(request, dry, say):
        asked.append((request, dry))
        if not dry:
            leave(RECORD)
        return sweeps_end[0]

    sweeps_end = [0]
    note.asked, note.end = asked, sweeps_end
    monkeypatch.setattr(reproduction_app, "sweep_command", note)
    return note


def reproduce(*words):
    return CliRunner().invoke(app, ["reproduce", *map(str, words)])


def test_the_command_runs_a_sweep_and_records_it(root, sweeps, tmp_path):
    for name in ("lenet1.h5", "lenet1-quan.lite"):
        (tmp_path / name).touch()
    done = reproduce(NAME, "--scale", "full", "--models", tmp_path, "--beside-other-work")
    assert done.exit_code == 0, done.output
    ((request, dry),) = sweeps.asked
    assert (request.name, request.targets, dry) == (f"{NAME}-full", ["trigger@file"], False)
    assert f"pairs.file.original={tmp_path.resolve()}/lenet1.h5" in request.overrides
    assert f"experiment 1 of 1: {NAME} at scale full" in done.output
    assert f"recorded in results/reproduction/{NAME}-full.json" in done.output
    assert largest_runs(read_all_runs())[NAME].beside_other_work


def test_what_needs_files_is_left_out_and_said_unless_it_is_named(root, sweeps):
    done = reproduce("--scale", "full", "--dry-run")
    assert done.exit_code == 0, done.output
    assert f"left out: {NAME} needs published files" in done.output
    names = {request.name for request, dry in sweeps.asked if dry}
    assert "dflare_mnist-full" in names
    assert f"{NAME}-full" not in names
    assert not RESULTS.exists()
    assert isinstance(reproduce(NAME, "--scale", "full").exception, UserError)


def test_a_failing_sweep_is_recorded_and_told(root, sweeps, tmp_path):
    for name in ("lenet1.h5", "lenet1-quan.lite"):
        (tmp_path / name).touch()
    words = (NAME, "--scale", "full", "--models", tmp_path)
    sweeps.end[0] = 1
    done = reproduce(*words)
    assert done.exit_code == 1
    assert f"failed: {NAME}; the same command resumes it" in done.output
    assert NAME in largest_runs(read_all_runs())
    sweeps.end[0] = INTERRUPTED
    assert reproduce(*words).exit_code == INTERRUPTED


def stages_run(said):
    """How many stages ran at each point, as the command says it."""
    return [int(count) for count in re.findall(r"finished, (\d+) stages run", said)]


@pytest.mark.slow
def test_all_of_smoke_runs_is_recorded_and_runs_no_stage_twice(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    copy_tree(root)
    run(root, "git", "init", "-q", "-b", "main")
    commit(root, "start")

    def asterism(*words):
        return run(root, *COMMAND, *words, ASTERISM_STATE_ROOT=str(tmp_path / "state"))

    said = asterism("reproduce", "--scale", "smoke", "--jobs", "2")
    runs = {path.stem for path in (root / RESULTS).glob("*-smoke.json")}
    experiments = read_experiments(ROOT / "conf")
    expected = {e.sweep_name("smoke") for e in experiments.values() if "smoke" in e.settings.scales}
    assert runs == expected
    assert 0 not in stages_run(said)
    before = {path.name: path.read_bytes() for path in (root / RESULTS).glob("*-smoke.json")}
    assert set(stages_run(asterism("reproduce", "--scale", "smoke"))) == {0}
    after = {path.name: path.read_bytes() for path in (root / RESULTS).glob("*-smoke.json")}
    assert after == before
    asterism("compare")
    asterism("compare", "--check")
