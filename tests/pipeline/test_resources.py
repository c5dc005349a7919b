"""What jobs ask of a cluster."""

import pytest
from imports import ROOT

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import validate
from asterism.dvc_hydra.repository import open_repository
from asterism.sweep import launch
from asterism.sweep.executors import Shards
from asterism.sweep.points import Point
from asterism.sweep.resources import TABLE, StageKindTable, fill, read_table
from asterism.sweep.worker import Sweep

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
    assert fill(SLURM, request) == TRAIN
    told = SLURM | {"timeout_min": 7, "partition": "mine", "gpus_per_node": 0}
    assert fill(told, request) == {"cpus_per_task": 4, "mem_gb": 8}


def test_every_stage_of_the_pipeline_has_a_kind_and_no_other():
    names = {name.partition("@")[0] for name in open_repository(ROOT).stages}
    table = read_table(ROOT)
    assert set(table.stages) == names
    assert set(table.stages.values()) == set(table.kinds)


def test_points_are_grouped_by_what_they_ask_for(tmp_path, monkeypatch):
    sweep = Sweep("s", tmp_path, "HEAD", tmp_path, (), 1, Shards())
    points = [Point(number, (), "") for number in range(4)]
    runs = [["fuzz@state"], [], ["fuzz@k_step", "report"], ["report"]]
    monkeypatch.setattr(launch, "plan_points", lambda *_: [{"runs": names} for names in runs])
    monkeypatch.setattr(
        launch.resources, "read_table", lambda _: validate(StageKindTable, DOCUMENT)
    )
    found = launch.groups(sweep, points, SLURM)
    assert {group.numbers: dict(group.request)["mem_gb"] for group in found} == {
        (0, 2): 16,
        (1, 3): 2,
    }
    everywhere = {"_target_": "x.JoblibLauncher"}
    assert launch.groups(sweep, points, everywhere) == [launch.Group((0, 1, 2, 3))]
    (unknown,) = launch.groups(sweep, [], SLURM)
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
