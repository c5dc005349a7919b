"""Experiments beside each other: what differs, and the call of DVC that shows the same."""

import csv
import io
import json
import shlex

import pytest
from committed_results import Recorded, forget
from sharing import call
from small_pipeline import asterism
from typer.testing import CliRunner

from asterism.cli import commands
from asterism.core.messages.errors import UserError
from asterism.results import runs
from asterism.results.revision import cache_of, open_revision
from asterism.results.runs import as_text, compare_runs, differing, experiments, spoken
from asterism.sweep.workspace import git


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A commit and two experiments that started from it."""
    made = Recorded(tmp_path / "own")
    monkeypatch.chdir(made.root)
    for name, k, right in (("", 3, 0.25), ("one", 4, 0.5), ("two", 5, 0.125)):
        results = {"metrics/a.json": {"right": right, "same": 1, "deep": {"er": k, "yes": True}}}
        results["artifacts/a/b.bin"] = b"x"
        parameters = {"seed": 0, "abstraction": {"k": k}, "names": ["x"]}
        made.experiment(name, parameters, results) if name else made.commit(parameters, results)
    return made


def test_only_parameters_and_metrics_that_differ_are_compared(recorded):
    found = compare_runs(recorded.root)
    assert [one.name for one in found.experiments] == ["HEAD", "one", "two"]
    assert found.parameters == {"abstraction.k": [3, 4, 5]}
    assert found.metrics == {"a:right": [0.25, 0.5, 0.125], "a:deep.er": [3, 4, 5]}
    assert found.alike == (2, 1) and found.missing == []


def test_the_table_numbers_experiments_and_names_the_call_of_dvc(recorded):
    ended = CliRunner().invoke(commands.app, ["runs"])
    lines = [line.split() for line in ended.output.splitlines()]
    assert [line[:2] for line in lines[:3]] == [["1", "HEAD"], ["2", "one"], ["3", "two"]]
    assert ["parameters", "1", "2", "3"] in lines and ["abstraction.k", "3", "4", "5"] in lines
    assert ["a:right", "0.25", "0.5", "0.125"] in lines
    assert "2 parameters and 1 metrics are the same in all" in ended.output
    assert lines[-1][:7] == ["the", "same", "by", "DVC:", "dvc", "exp", "show"]


def test_programs_read_json(recorded):
    told = json.loads(CliRunner().invoke(commands.app, ["runs", "--json"]).output)
    assert [one["parameters"] for one in told["experiments"]] == [
        {"abstraction.k": k} for k in (3, 4, 5)
    ]
    assert told["experiments"][1]["metrics"] == {"a:right": 0.5, "a:deep.er": 4}
    assert told["alike"] == {"parameters": 2, "metrics": 1}
    assert len({one["baseline"] for one in told["experiments"]}) == 1


def test_experiments_of_another_commit_are_left_out_until_asked_for(recorded):
    recorded.commit({"seed": 1}, {})
    with pytest.raises(UserError, match="2 started from others: give --all-commits"):
        compare_runs(recorded.root)
    both = compare_runs(recorded.root, all_commits=True).experiments
    assert (
        [one.name for one in both] == ["one", "two"] == [o.name for o in experiments(recorded.root)]
    )


def test_metrics_that_are_not_in_the_cache_are_missing_and_differ_from_nothing(recorded):
    forget(recorded, json.dumps({"right": 0.5, "same": 1, "deep": {"er": 4, "yes": True}}).encode())
    found = compare_runs(recorded.root)
    assert found.missing == ["one"] and found.alike == (2, 1)
    assert found.metrics["a:right"] == [0.25, None, 0.125]
    told = as_text(found, "", everything=True, width=80)
    assert any("not all metrics are in the cache of: one" in line for line in told)


def test_many_metrics_are_cut_short_until_all_are_asked_for(recorded, monkeypatch):
    monkeypatch.setattr(runs, "SHOWN", 1)
    text = CliRunner().invoke(commands.app, ["runs"]).output
    assert "a:right" in text and "a:deep.er" not in text
    assert "1 more metrics differ: --all shows them" in text
    assert "--keep" in text.splitlines()[-1]
    whole = CliRunner().invoke(commands.app, ["runs", "--all"]).output
    assert "a:deep.er" in whole and "more metrics differ" not in whole


def test_a_revision_is_a_commit_an_experiment_or_the_workspace(recorded):
    cache = cache_of(recorded.root)
    assert open_revision(recorded.root, "HEAD", cache).metrics["a:deep.er"] == 3
    assert open_revision(recorded.root, "one", cache).parameters["abstraction.k"] == 4
    recorded.put({"metrics/a.json": {"right": 9}, "params.yaml": b"seed: 7\n"})
    here = open_revision(recorded.root, "workspace", cache)
    assert (here.metrics, here.parameters) == ({"a:right": 9}, {"seed": 7})
    with pytest.raises(UserError, match="no commit and no experiment 'nothing'"):
        open_revision(recorded.root, "nothing", cache)
    recorded.commit({"seed": 1}, {})
    recorded.experiment("one", {"seed": 1}, {})
    with pytest.raises(UserError, match="2 experiments are called one: give a commit"):
        open_revision(recorded.root, "one", cache)


def test_a_lock_of_a_strangers_reads_nothing_outside_of_the_cache(recorded):
    lock = recorded.root / "dvc.lock"
    (recorded.root / "secret").write_text('{"a": 1}')
    lock.write_text(
        "schema: '2.0'\nstages:\n  a:\n    cmd: x\n    outs:\n"
        "    - path: metrics/a.json\n      md5: ../../../../secret\n"
        "    - path: metrics/../../x.json\n      md5: 00\n"
    )
    parts = ("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qam", "x")
    git(recorded.root, *parts)
    revision = open_revision(recorded.root, "HEAD", recorded.cache)
    with pytest.raises(UserError, match=r"HEAD .*x\.json"):
        revision.missing()


def test_what_a_revision_without_results_lacks_is_no_difference():
    tables = [{"a": 1, "b": 2}, {}, {"a": 1, "b": 3}]
    assert differing(tables, [True, False, True]) == ({"b": [2, None, 3]}, 1)
    assert differing(tables)[1] == 0


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "–"),
        (0.123456789, "0.123457"),
        (3, "3"),
        ("/a/very/long/path/of.onnx", "…ng/path/of.onnx"),
    ],
)
def test_values_are_short(value, told):
    assert spoken(value) == told


def test_columns_that_do_not_fit_follow_below():
    rows = {"name": ["1", "2", "3"]}
    assert runs._blocks("p", rows, 3, 10) == ["p     1  2", "name  1  2", "p     3", "name  3"]
    assert runs._blocks("metrics", {}, 3, 10) == ["metrics: none differs"]


@pytest.mark.slow
def test_real_experiments_are_compared_and_dvc_shows_the_same_columns(project):
    call(project, *asterism("sweep", "abstraction.k=4,5", "--name", "two"))
    call(project, "dvc", "exp", "run", "--temp", "-q", "-n", "own", "-S", "fuzz.mutants=77")
    told = json.loads(call(project, *asterism("runs", "--json")))
    by_name = {one["name"]: one for one in told["experiments"]}
    assert len(by_name) == 4
    assert by_name["own"]["parameters"]["fuzz.mutants"] == 77
    assert by_name["own"]["metrics"]["right:square"] == 77**2
    assert {one["parameters"]["abstraction.k"] for one in told["experiments"]} >= {4, 5}
    shown = call(project, *shlex.split(told["dvc"]), "--csv")
    (header, *rows) = csv.reader(io.StringIO(shown))
    assert len(rows) == 4
    columns = [name for name in header if name not in FACTS]
    assert sorted(columns) == sorted(
        ["abstraction.k", "fuzz.mutants", "k", "mutants"]
        + [f"metrics/{stage}.json:square" for stage in ("left", "right")]
    )
    found = compare_runs(project.root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "SHOWN", 1)
        command = runs.dvc_command(found, all_commits=False, everything=False)
    header = next(csv.reader(io.StringIO(call(project, *shlex.split(command), "--csv"))))
    columns = {name.rpartition(":")[2] for name in header if name not in FACTS}
    assert columns == {*found.parameters, next(iter(found.metrics)).partition(":")[2]}


#: What DVC shows of every experiment.
FACTS = ("Experiment", "rev", "typ", "Created", "parent")
