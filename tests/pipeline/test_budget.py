"""Budgets: each stage of the default run has one, and the command prints the last run's beside."""

import json

import pytest
from typer.testing import CliRunner

from asterism.budget import TABLE, budget_table, run_table, stage_costs, whole_run_cost
from asterism.cli import commands
from asterism.core.files.artifacts import write_json
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.repository import Repository
from places import ROOT


def test_each_stage_of_the_default_run_has_a_budget_and_together_they_keep_the_promise(tmp_path):
    (tmp_path / TABLE).parent.mkdir()
    (tmp_path / TABLE).write_text((ROOT / TABLE).read_text())
    found = stage_costs(tmp_path)
    assert sorted(stage.name for stage in found) == sorted(Repository(ROOT).stages)
    assert sum(stage.seconds for stage in found) <= 2 * 300, "two at a time, in 5 minutes"
    assert max(stage.megabytes for stage in found) <= 4000
    whole = whole_run_cost(tmp_path)
    assert (whole.seconds, whole.megabytes) == (300, 4000)


@pytest.fixture
def project(tmp_path):
    (tmp_path / TABLE).parent.mkdir()
    (tmp_path / TABLE).write_text(
        "| stage | seconds | MB |\n|---|---|---|\n| `one` | 2 | 100 |\n| `two@x` | 3 | 200 |\n"
        "\n| all | seconds | MB |\n|---|---|---|\n| the whole run | 4 | 250 |\n"
    )
    (tmp_path / "dvc.yaml").touch()
    return tmp_path


def took(project, label, seconds, megabytes, **more):
    facts = {"seconds": seconds, "peak_memory_with_children_mb": megabytes, **more}
    write_json(project / "logs" / f"{label}.run.json", facts)


def test_the_last_run_stands_beside_its_budget(project):
    took(project, "two-x", 2.5, 201)
    one, two = stage_costs(project)
    assert (one.took, one.held, one.kept) == (None, None, True)
    assert (two.took, two.held, two.kept) == (2.5, 201, False)
    took(project, "two-x", 3.0, 200)
    assert stage_costs(project)[1].kept
    took(project, "two-x", 3.1, 200)
    lines = budget_table(stage_costs(project), whole_run_cost(project))
    assert lines[1].split() == ["one", "–", "2", "–", "100"]
    assert lines[2].split() == ["two@x", "3.1", "3", "200", "200", "over"]
    assert lines[3].split()[-2:] == ["3.1", "5"]
    assert lines[4].split() == ["the", "whole", "run", "–", "4", "–", "250"]


def test_a_run_of_some_stages_is_no_whole_run(project):
    took(project, "repro", 4.5, 240, stages=1)
    assert whole_run_cost(project).took is None
    took(project, "repro", 4.5, 240, stages=2)
    run = whole_run_cost(project)
    assert (run.took, run.held, run.kept) == (4.5, 240, False)


def test_a_record_that_is_none_and_missing_budgets_are_named(project):
    write_json(project / "logs" / "one.run.json", {"seconds": "x"})
    with pytest.raises(UserError, match=r"one\.run\.json"):
        stage_costs(project)
    (project / TABLE).unlink()
    with pytest.raises(UserError, match="budgets"):
        stage_costs(project)


def test_the_command_prints_them_as_lines_or_json(project, monkeypatch):
    monkeypatch.chdir(project)
    lines = CliRunner().invoke(commands.app, ["budget"]).output.splitlines()
    assert lines == budget_table(stage_costs(project), whole_run_cost(project))
    told = json.loads(CliRunner().invoke(commands.app, ["budget", "--json"]).output)
    one = {"name": "one", "seconds": 2, "megabytes": 100, "took": None, "held": None, "kept": True}
    assert told[0] == one and [line["name"] for line in told] == ["one", "two@x", "repro"]


def test_the_table_says_what_ran_what_came_from_the_cache_and_what_it_took(tmp_path):
    took(tmp_path, "fuzz-state", 12.34, 456)
    (tmp_path / "logs/old.run.json").write_text("[]")
    lines = run_table(tmp_path, ["fuzz@state", "old", "cached"], ["fuzz@state", "old"], 1)
    assert [line.split() for line in lines] == [
        ["stage", "seconds", "MB"],
        ["fuzz@state", "ran", "12.3", "456"],
        ["old", "ran", "–", "–"],
        ["cached", "from", "cache", "–", "–"],
        ["1", "more", "stages", "were", "up", "to", "date"],
        ["all,", "one", "after", "another", "12.3"],
    ]
