"""What a sweep checks and decides before its points run, and what they ask of a cluster."""

import os
import re
import shlex
import shutil
from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise

import pytest
from dvc.utils.hydra import get_hydra_sweeps
from imports import ROOT
from typer.testing import CliRunner
from workspace import commit, run

from asterism.cli import commands
from asterism.config import compose
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import validate
from asterism.dvc_hydra.repository import Repository
from asterism.sweep import app, launch, point, resources, workspace
from asterism.sweep.executors import Shards
from asterism.sweep.launch import hydra_settings, is_adaptive
from asterism.sweep.plan import check_targets, unknown_stage
from asterism.sweep.point import PointOutcome
from asterism.sweep.points import (
    Point,
    check_name,
    check_space,
    derive_sweep_name,
    hydra_choice_path,
)
from asterism.sweep.resources import TABLE, StageKindTable, open_resources, read_table
from asterism.sweep.table import (
    list_parameter_columns,
    make_table,
    order_metrics,
    shared_overrides,
    write_outcome,
    write_overview,
)
from asterism.sweep.worker import Sweep, SweepRequest
from thinning import every

CONF = ROOT / "conf"


def make_sweep(folder, name="s"):
    return point.Sweep(name, folder, "HEAD", folder / "cache", SweepRequest(), Shards())


@pytest.mark.parametrize("name", ["a", "v1.0", "lstm_2-b", "sweep-3fa2b1c"])
def test_names_that_a_folder_and_a_reference_can_have(name):
    check_name(name)


@pytest.mark.parametrize("name", ["", "a b", "x~1", "a/b", "..", "a..b", ".a", "-a", "a.lock", "ä"])
def test_other_names_are_rejected(name):
    with pytest.raises(UserError, match="--name"):
        check_name(name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("vet-small", "vet-small"),
        ("vet-model.v1", "vet-model.v1"),
        ("vet-model (1)", "vet-model-1"),
        ("vet-größe é", "vet-grosse-e"),
        ("vet-a=b,c", "vet-a-b-c"),
        ("vet-模型", "vet-"),
        ("vet-" + "x" * 81, "vet-" + "x" * 51),
        ("a.lock", "a-lock"),
    ],
)
def test_a_name_is_made_of_any_text(text, name):
    made = derive_sweep_name(text)
    check_name(made)
    assert made == name or made.startswith(name)
    assert derive_sweep_name(text + "模") != derive_sweep_name(text + "型")


def test_a_choice_of_options_may_be_spelled_with_dots():
    given = ["fuzz.selection=random,recent", "fuzz.selection.options.newest=3", "seed=1", "rnn=gru"]
    expected = ["fuzz/selection=random,recent", *given[1:]]
    assert hydra_choice_path(CONF, given) == expected
    section = ["fuzz.selection={name: random, options: {}}", "hydra.launcher.n_jobs=2"]
    assert hydra_choice_path(CONF, section) == section


def documented(command):
    """Each line of the docs and of conf/ that has this command, its continuation too, as words."""
    lines = [
        line.removeprefix("#").strip()
        for page in [*sorted(ROOT.glob("docs/*.md")), *sorted(CONF.rglob("*.yaml"))]
        for line in page.read_text().replace("\\\n", " ").splitlines()
    ]
    found = [line.partition("   #")[0] for line in lines if line.startswith(command)]
    return [pytest.param(shlex.split(line), id=line[len(command) :]) for line in found]


@pytest.mark.parametrize("words", every(8, documented("dvc exp run --queue ")))
def test_every_queue_that_is_documented_composes(words):
    overrides = [value for flag, value in pairwise(words) if flag == "-S"]
    for point_ in get_hydra_sweeps({"params.yaml": overrides}):
        compose(CONF, point_["params.yaml"])


@pytest.mark.parametrize("words", every(8, documented("asterism sweep ")))
def test_every_sweep_that_is_documented_composes(words, monkeypatch):
    requests = []

    def note(request, _dry, _say):
        requests.append(request)
        return 0

    monkeypatch.setattr(app, "sweep_command", note)
    monkeypatch.setattr(shutil, "which", lambda _name: "there")
    result = CliRunner().invoke(commands.app, words[1:])
    assert result.exit_code == 0, result.output
    overrides = hydra_choice_path(CONF, requests[0].overrides)
    if "hydra/sweeper=optuna" not in overrides:  # its plugin may be missing
        assert not is_adaptive(hydra_settings(CONF, overrides)["sweeper"])
    assert check_space(CONF, overrides)


@pytest.mark.parametrize("launcher", sorted(p.stem for p in CONF.glob("hydra/launcher/*.yaml")))
def test_every_launcher_composes(launcher, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _name: "there")
    settings = hydra_settings(CONF, [f"hydra/launcher={launcher}"])["launcher"]
    assert settings["_target_"].endswith("SlurmLauncher")
    asked = read_table(ROOT).request(["fuzz@state"])
    assert settings | open_resources(settings, asked) == settings | {
        key: value for key, value in asked.items() if value is not None
    }


def test_slurm_where_there_is_none(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="needs Slurm's sbatch"):
        hydra_settings(CONF, ["hydra/launcher=slurm"])


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("fuz", "'fuz'; did you mean 'fuzz'? (known: fuzz, repair, report)"),
        ("fuzz@stat", "'fuzz@stat'; did you mean 'fuzz@state'? (known: fuzz@state, fuzz@none)"),
        ("repeir@int8", "did you mean 'repair@int8'? (known: fuzz@none, fuzz@state, repair@int8)"),
        ("report@x", "'report@x'; did you mean 'report'? (known: report)"),
    ],
)
def test_a_stage_that_there_is_not_names_the_closest(target, told):
    names = ["fuzz@state", "fuzz@none", "repair@int8", "report"]
    assert told in str(unknown_stage(target, names))


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("hydra/launcher=slrum", "no choice of hydra/launcher is called 'slrum'; did you mean"),
        ("hydra/launcher=null", "must be a string"),
        ("hydra/sweeper=optuna", "pip install hydra-optuna-sweeper"),
    ],
)
def test_a_launcher_or_sweeper_that_there_is_not(override, told):
    if "optuna" in override and find_spec("hydra_plugins.hydra_optuna_sweeper") is not None:
        pytest.skip("hydra-optuna-sweeper is installed")
    with pytest.raises(UserError) as error:
        hydra_settings(CONF, [override])
    assert str(error.value).startswith(f"{override}: ")
    assert told in str(error.value)
    assert "search path" not in str(error.value)


def test_a_space_is_checked_at_every_choice_and_at_the_ends_of_ranges():
    found = check_space(CONF, ["abstraction.k=choice(1,4)"])
    assert [re.search(r"^  k: (\d+)", text, re.MULTILINE)[1] for text in found] == ["1", "4"]
    for space in ("choice(1,0,2)", "range(0,3)"):
        with pytest.raises(UserError, match=r"abstraction\.k is 0"):
            check_space(CONF, [f"abstraction.k={space}", "fuzz.mutants=range(1,4)"])


def test_targets_are_looked_up_under_each_points_parameters():
    default = (ROOT / "params.yaml").read_text()
    fewer = default.replace("  - k_step\n", "")
    assert fewer != default
    check_targets(ROOT, ["report", "fuzz", "fuzz@k_step"], [default])
    with pytest.raises(UserError, match=r"'fuzz@nope'.*fuzz@state"):
        check_targets(ROOT, ["fuzz@nope"], [default])
    with pytest.raises(UserError, match="fuzz@k_step"):
        check_targets(ROOT, ["fuzz@k_step"], [default, fewer])


def test_a_point_that_cannot_be_made_leaves_its_reason(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    sweep = make_sweep(tmp_path)
    monkeypatch.setattr(workspace, "create_workspace", full)
    assert point.run_point(sweep, Point(0, (), "seed: 0")) is None
    (record,) = app.read_records(sweep, [])
    assert record.status == "failed"
    assert "No space left on device" in record.message


def test_jobs_of_another_checkout_have_another_name(tmp_path):
    names = {launch.job_name(make_sweep(tmp_path / place)) for place in "ab"}
    assert len(names) == 2


@pytest.mark.parametrize(("script", "queued"), [("exit 1", True), ("", False), ("echo 7", True)])
def test_slurm_that_gives_no_answer_is_asked_again(tmp_path, monkeypatch, script, queued):
    for name in ("squeue", "scancel"):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert resources.is_queued("asterism-s") is queued
    resources.cancel_pending("asterism-s")


def test_files_that_the_points_would_lack_are_rejected(tmp_path):
    run(tmp_path, "git", "init", "-q")
    (tmp_path / "conf/data").mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("*.pyc\n")
    written = [tmp_path / name for name in ("dvc.lock", "results/run.json", "docs/page.md")]
    for path in written:
        path.parent.mkdir(exist_ok=True)
        path.write_text("before\n")
    commit(tmp_path, "start")
    for path in written:
        path.write_text("after\n")
    (tmp_path / "notes.txt").touch()
    (tmp_path / "conf/data/x.pyc").touch()
    assert len(workspace.require_clean(tmp_path)) == 40
    (tmp_path / "conf/data/my own.yaml").touch()
    with pytest.raises(UserError, match=r"\(conf/data/my own.yaml\)"):
        workspace.require_clean(tmp_path)


def record(number, *overrides, status="finished", **metrics):
    """What a point leaves."""
    return PointOutcome(
        status, number=number, overrides=overrides, total_seconds=1.0, metrics=metrics
    )


def test_a_parameter_that_is_called_as_a_column_has_its_plus():
    table = make_table([replace(record(0, "+experiment=mine", "seed=1"), experiment="s-1")])
    assert table.row(0, named=True)["+experiment"] == "mine"
    assert table.row(0, named=True)["experiment"] == "s-1"
    assert list_parameter_columns(table) == ["+experiment", "seed"]


@pytest.mark.parametrize("points", [1, 2])
def test_the_page_shows_some_metrics_of_each_point_and_the_range_of_all(tmp_path, points):
    records = [
        record(
            number, f"seed={number}", **{f"m:{n:02d}": n * 9 + number % 2 * n for n in range(30)}
        )
        for number in range(points)
    ]
    write_outcome(tmp_path, records, "s")
    page = (tmp_path / "index.html").read_text()
    shown = re.findall(r"<th>m:<wbr>(\d+)</th>", page)
    differing = [f"{n:02d}" for n in range(1, 25)]  # the first is 0 at every point
    assert shown == (differing if points == 2 else [f"{n:02d}" for n in range(24)])
    assert f"30 metrics, {29 if points == 2 else 0} of which differ" in page
    for n in range(30):
        ends = (n * 9, n * 9 + n * (points - 1))
        assert f"<td>m:{n:02d}</td><td>{ends[0]}</td><td>{ends[1]}</td>" in page
    assert 'href="table.csv"' in page


def test_the_page_counts_the_points_that_finished(tmp_path):
    failed = replace(record(3, "seed=3", status="failed"), exit_code=3, message="bad luck")
    records = [*(record(n, f"seed={n}", m=n) for n in range(3)), failed]
    write_outcome(tmp_path, records, "s")
    page = re.sub(r"<[^>]+>|\s+", " ", (tmp_path / "index.html").read_text())
    assert re.search(r"\b4 +points\b", page) and re.search(r"\b3 +finished\b", page)
    assert "Point 3 failed" in page and "bad luck" in page


def test_the_most_telling_metrics_are_the_highest_of_every_file_in_turn():
    names = ["attack:bim.l2", "attack:bim.success", "fuzz:coverage.k.a", "fuzz:crashes", "rnn:test"]
    assert order_metrics(names) == [
        "fuzz:crashes", "rnn:test", "attack:bim.l2", "fuzz:coverage.k.a", "attack:bim.success",
    ]  # fmt: skip


def test_what_all_points_share_stands_above_the_table_once(tmp_path):
    given = [
        (0, "rnn/cell=gru", "seed=1", "fuzz.mutants=5"),
        (1, "rnn/cell=gru", "seed=1", "fuzz.mutants=6"),
    ]
    table = write_outcome(tmp_path, [record(*each, m=each[0]) for each in given], "s")
    assert shared_overrides(table) == ["rnn/cell=gru", "seed=1"]
    page = (tmp_path / "index.html").read_text()
    assert page.count("<code>seed=1</code>") == 1
    assert "<th>seed</th>" not in page
    assert "<th>fuzz.mutants</th>" in page
    assert "seed" in table.columns


def test_the_page_of_all_sweeps_lists_the_latest_first_and_its_links_lead_somewhere(tmp_path):
    for name, statuses in {"old": ["finished"], "new": ["finished", "failed"]}.items():
        records = [
            record(number, f"fuzz.mutants={number}", "seed=1", status=status, m=number)
            for number, status in enumerate(statuses)
        ]
        write_outcome(tmp_path / name, records, name)
        os.utime(tmp_path / name / "table.csv", ns=(0, len(statuses)))
    (tmp_path / "running").mkdir()
    write_overview(tmp_path / "none")
    assert "None yet" in (tmp_path / "none/index.html").read_text()
    write_overview(tmp_path)
    page = (tmp_path / "index.html").read_text()
    links = [link for link in re.findall(r'href="([^"#]*)"', page) if link]
    assert links == ["./new/index.html", "./new/table.csv", "./old/index.html", "./old/table.csv"]
    assert all((tmp_path / link).exists() for link in links)
    cells = re.findall(r"<td>(.*?)</td>", page)
    assert cells[1:5] == ["fuzz.mutants", "<code>seed=1</code> ", "2", "1"]
    back = re.findall(r'href="([^"#]+)"', (tmp_path / "old/index.html").read_text())
    assert [(tmp_path / "old" / link).resolve() for link in back] == [
        tmp_path / "index.html",
        tmp_path / "old/table.csv",
    ]


def test_an_objective_is_rejected_where_nothing_goes_by_it(tmp_path):
    request = SweepRequest(overrides=["seed=1"], name="s", objective="fuzz-state:crashes")
    (tmp_path / "conf").symlink_to(CONF)
    with pytest.raises(UserError, match="all of them"):
        app.prepare_sweep(tmp_path, request)


SLURM = {
    "_target_": "x.SlurmLauncher",
    "partition": None,
    "timeout_min": 0,
    "cpus_per_task": None,
    "mem_gb": None,
    "gpus_per_node": None,
}


def needs(partition, minutes, processors, memory, gpus):
    return {
        "partition": partition,
        "timeout_min": minutes,
        "cpus_per_task": processors,
        "mem_gb": memory,
        "gpus_per_node": gpus,
    }


TRAIN, SEARCH = needs("gpu", 60, 4, 8, 1), needs(None, 240, 2, 16, None)
COUNT = needs("small", 10, 1, 2, None)
DOCUMENT = {
    "kinds": {"train": TRAIN, "search": SEARCH, "count": COUNT},
    "stages": {"train_rnn": "train", "fuzz": "search", "report": "count"},
}


@pytest.fixture
def table():
    return validate(StageKindTable, DOCUMENT)


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ([], COUNT),
        (["report"], COUNT),
        (["report", "fuzz@state"], SEARCH),
        (["fuzz@state", "train_rnn"], needs("gpu", 240, 4, 16, 1)),
    ],
)
def test_a_job_asks_for_the_most_that_any_of_its_stages_needs(table, stages, expected):
    assert table.request(stages) == expected


def test_what_a_launcher_says_stands(table):
    request = table.request(["train_rnn"])
    assert open_resources(SLURM, request) == TRAIN
    told = SLURM | {"timeout_min": 7, "partition": "mine", "gpus_per_node": 0}
    assert open_resources(told, request) == {"cpus_per_task": 4, "mem_gb": 8}


def test_every_stage_of_the_pipeline_has_a_kind_and_no_other():
    names = {name.partition("@")[0] for name in Repository(ROOT).stages}
    table = read_table(ROOT)
    assert set(table.stages) == names
    assert set(table.stages.values()) == set(table.kinds)


def test_points_are_grouped_by_what_they_ask_for(tmp_path, monkeypatch):
    sweep = Sweep("s", tmp_path, "HEAD", tmp_path, SweepRequest(), Shards())
    points = [Point(number, (), "") for number in range(4)]
    runs = [["fuzz@state"], [], ["fuzz@k_step", "report"], ["report"]]
    monkeypatch.setattr(launch, "plan_points", lambda *_: [{"runs": names} for names in runs])
    monkeypatch.setattr(
        launch.resources, "read_table", lambda _: validate(StageKindTable, DOCUMENT)
    )
    found = launch.group_points(sweep, points, SLURM)
    assert {group.numbers: dict(group.request)["mem_gb"] for group in found} == {
        (0, 2): 16,
        (1, 3): 2,
    }
    everywhere = {"_target_": "x.JoblibLauncher"}
    assert launch.group_points(sweep, points, everywhere) == [launch.PointGroup((0, 1, 2, 3))]
    (unknown,) = launch.group_points(sweep, [], SLURM)
    assert dict(unknown.request) == needs("gpu", 240, 4, 16, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is missing"),
        ("kinds: [", "is not YAML"),
        ("kinds: {}\nstages: {}", "kinds"),
        (str(DOCUMENT | {"stages": {"fuzz": "serch"}}), "the stage fuzz has to be under stages"),
        (str(DOCUMENT | {"stages": {}}), "kinds train, search, count"),
        (str(DOCUMENT).replace("240", "0"), "kinds.search.timeout_min is 0"),
    ],
)
def test_a_table_that_cannot_be_used_is_one_line(tmp_path, text, message):
    (tmp_path / TABLE).parent.mkdir(parents=True)
    if text is not None:
        (tmp_path / TABLE).write_text(text.replace("None", "null"))
    with pytest.raises(UserError) as error:
        read_table(tmp_path).request(["fuzz@state"])
    assert str(TABLE) in str(error.value)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
