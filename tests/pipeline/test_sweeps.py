"""Sweeps as users start them, over a small pipeline."""

import csv
import json
import re
import signal
import subprocess
import sys

import pytest
from small_pipeline import Project, call, start
from workspace import commit, run

from rights import obey_modes, read_only

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def table(project, name):
    with (project.root / "sweeps" / name / "table.csv").open() as file:
        return list(csv.DictReader(file))


def test_a_sweep_computes_shared_stages_once_and_its_points_are_experiments(project):
    points = ["sweep", "--name", "s", "abstraction.k=1,2", "fuzz.mutants=5,6"]
    status, output = call(project, *points)
    assert status == 0, output
    assert project.ran() == ["base", *["end"] * 4, *["left"] * 2, *["right"] * 2]
    rows = table(project, "s")
    assert [(r["abstraction.k"], r["fuzz.mutants"]) for r in rows] == [
        ("1", "5"),
        ("1", "6"),
        ("2", "5"),
        ("2", "6"),
    ]
    assert [float(r["left:square"]) for r in rows] == [1, 1, 4, 4]
    assert {r["status"] for r in rows} == {"finished"}
    page = (project.root / "sweeps/s/index.html").read_text()
    assert "By abstraction.k" in page
    for number in range(4):
        report = f"points/{number:04d}/index.html"
        assert f'href="{report}"' in page
        text = (project.root / "sweeps/s" / report).read_text()
        assert text == 'report of <a href="../../index.html">'
    assert re.findall(r'src="(?!data:)', page) == []
    assert "<link" not in page
    assert (project.root / "sweeps/s/plots/fuzz.mutants.svg").exists()

    shown = run(project.root, "dvc", "exp", "show", "--csv")
    assert all(r["experiment"] in shown for r in rows)
    run(project.root, "dvc", "gc", "--all-branches", "--all-tags", "--all-experiments", "--force")
    run(project.root, "dvc", "exp", "apply", rows[3]["experiment"])
    assert '"square": 36' in (project.root / "metrics/right.json").read_text()
    assert "up to date" in run(project.root, "dvc", "status")
    run(project.root, "git", "checkout", "--", ".")

    assert not list((project.root / ".dvc/tmp/asterism/workspaces").glob("s-*/"))
    status, output = call(project, *points)
    assert status == 0, output
    assert project.ran() == []


def test_a_failing_point_is_reported_and_the_others_finish(project):
    status, output = call(project, "sweep", "--name", "s", "fuzz.mutants=13,5")
    assert status == 1
    assert "exit code 3" in output
    assert "thirteen mutants are bad luck" in output
    rows = table(project, "s")
    assert [r["status"] for r in rows] == ["failed", "finished"]
    assert [r["exit_code"] for r in rows] == ["3", "0"]
    assert rows[0]["experiment"] == ""
    page = (project.root / "sweeps/s/index.html").read_text()
    assert "thirteen mutants are bad luck" in page


@pytest.mark.parametrize("launcher", ["basic", "joblib"])
def test_an_interrupt_stops_it_and_the_same_command_goes_on(project, launcher):
    (project.notes / "hold-right").touch()
    sweep = ["sweep", "--name", "s", "fuzz.mutants=5,6", f"hydra/launcher={launcher}"]
    process = start(project, *sweep)
    project.wait_for("right")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 130, output
    assert "the same command" in output
    assert "Traceback" not in output
    assert "None" not in output
    assert "left" in project.ran()
    (project.notes / "hold-right").unlink()
    status, output = call(project, *sweep)
    assert status == 0, output
    assert project.ran() == ["end", "end", "right", "right"]


def test_data_under_dvc_add_and_data_that_are_missing(project):
    pipeline, data = project.root / "dvc.yaml", project.root / "mine.txt"
    script = "deps: [stages/small.py]"
    pipeline.write_text(pipeline.read_text().replace(script, f"{script[:-1]}, '${{data.path}}']"))
    data.write_text("first")
    run(project.root, "dvc", "add", data.name)
    commit(project.root, "data")
    sweep = ["sweep", "--name", "s", "data=npz", "data.path=mine.txt", "abstraction.k=1,2"]
    status, output = call(project, *sweep, "--dry-run")
    assert status == 0, output
    assert "2 points, 6 stages" in output
    status, output = call(project, *sweep)
    assert status == 0, output
    assert project.ran() == ["base", "end", "end", "left", "left", "right"]
    status, output = call(project, *sweep)
    assert status == 0, output
    assert project.ran() == []

    data.write_text("second")
    run(project.root, "dvc", "add", data.name)
    commit(project.root, "other data")
    status, output = call(project, *sweep, "--dry-run")
    assert "2 points, 6 stages" in output

    sweep[4] = "data.path=missing.npz"
    status, output = call(project, *sweep, "--dry-run")
    assert status == 1
    assert output.startswith("error: stage base reads missing.npz, which is not there")
    assert output.count("\n") == 1
    status, output = call(project, *sweep)
    assert status == 1
    assert output.count("stage base reads missing.npz, which is not there") == 2
    assert "Traceback" not in output


def test_parameters_that_an_experiment_changed_and_staged_stop_no_sweep(project):
    project.set_mutants(12)
    run(project.root, "git", "add", "params.yaml")  # as an interrupted `dvc exp run` leaves it
    status, output = call(project, "sweep", "abstraction.k=1,2", "--dry-run")
    assert status == 0, output
    assert output.startswith("params.yaml differs from the commit in fuzz.mutants: no point")
    assert "2 points, 6 stages" in output


def test_repro_says_what_differs_from_the_commit_and_the_way_back_restores_it(project):
    params = project.root / "params.yaml"
    before = params.read_text()
    project.set_mutants(12)
    run(project.root, "git", "add", "params.yaml")
    status, output = call(project, "repro", "base")
    assert status == 0, output
    told = output.splitlines()[0]
    assert told.startswith("params.yaml differs from the commit in fuzz.mutants: `git restore ")
    command = told.partition("`")[2].partition("`")[0]
    run(project.root, *command.split())
    assert params.read_text() == before
    assert "differs from the commit" not in call(project, "repro", "base")[1]


def test_two_sweeps_at_once(project):
    """They share what both need."""
    (project.notes / "hold-base").touch()
    first = start(project, "sweep", "--name", "one", "abstraction.k=1,2")
    project.wait_for("base")
    second = start(project, "sweep", "--name", "two", "abstraction.k=2,3")
    (project.notes / "hold-base").unlink()
    for process in (first, second):
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output
    ran = project.ran()
    assert ran.count("base") == 1
    assert ran.count("left") == 3


def test_stages_side_by_side_give_the_bytes_of_a_serial_run(tmp_path):
    locks = {}
    for jobs in (1, 4):
        project = Project(tmp_path / str(jobs))
        status, output = call(project, "repro", "--jobs", jobs)
        assert status == 0, output
        assert project.ran() == ["base", "end", "left", "right"]
        locks[jobs] = (project.root / "dvc.lock").read_bytes()
        assert "up to date" in run(project.root, "dvc", "status")
        status, output = call(project, "repro", "--jobs", jobs)
        assert "up to date" in output
        assert project.ran() == []
        assert (project.root / "sweeps/index.html").exists(), "the report links to it"
    serial = Project(tmp_path / "dvc")
    subprocess.run(["dvc", "repro", "-q"], cwd=serial.root, env=serial.environment, check=True)
    assert locks[1] == locks[4] == (serial.root / "dvc.lock").read_bytes()


def test_a_point_leaves_the_bytes_that_dvc_leaves(project, tmp_path):
    status, output = call(project, "sweep", "--name", "s", "fuzz.mutants=7")
    assert status == 0, output
    (reference,) = run(
        project.root, "git", "for-each-ref", "refs/exps/", "--format=%(refname)"
    ).split()
    serial = Project(tmp_path / "dvc")
    serial.set_mutants(7)
    subprocess.run(["dvc", "repro", "-q"], cwd=serial.root, env=serial.environment, check=True)
    left = run(project.root, "git", "show", f"{reference}:dvc.lock")
    assert left == (serial.root / "dvc.lock").read_text()


def test_hydras_own_spelling(project):
    command = [sys.executable, "-m", "asterism.sweep", "-m", "abstraction.k=1,2", "--dry-run"]
    result = subprocess.run(
        command, cwd=project.root, env=project.environment, text=True, capture_output=True
    )
    assert result.returncode == 0, result.stderr
    assert "2 points" in result.stdout


def dvc(project, *arguments):
    """The output of a dvc command in a project."""
    where = {"cwd": project.root, "env": project.environment}
    return subprocess.check_output(["dvc", *arguments], text=True, timeout=300, **where)


def metrics(project, *names):
    """Of every experiment, these values of the stage ``left``'s metrics, sorted."""
    shown = json.loads(dvc(project, "exp", "show", "--json"))
    found = []
    for entry in shown[1:]:
        for experiment in entry["experiments"] or []:
            values = experiment["revs"][0]["data"]["metrics"]["metrics/left.json"]["data"]
            found.append(tuple(values[name] for name in names))
    return sorted(found)


def test_an_override_is_an_experiment_that_can_be_compared(project):
    """As DVC offers it."""
    dvc(project, "repro")
    commit(project.root, "results")
    project.ran()
    dvc(project, "exp", "run", "-S", "abstraction.k=4", "-n", "four")
    assert project.ran() == ["end", "left"]
    assert metrics(project, "k", "square") == [(4, 16)]
    compared = json.loads(dvc(project, "metrics", "diff", "--json", "HEAD", "four"))
    assert compared["metrics/left.json"]["square"] == {"old": 9, "new": 16, "diff": 7}
    dvc(project, "exp", "run", "-S", "data=mnist", "-n", "other")
    assert project.ran() == []  # k is the default's again, and its results are cached
    assert metrics(project, "k", "square") == [(3, 9), (4, 16)]


def rejected(project, *arguments):
    """The command's errors, where it ends with one."""
    process = start(project, *arguments, preexec_fn=obey_modes)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 1, output
    assert "Traceback" not in output
    return [line for line in output.splitlines() if line.startswith("error: ")]


def _told(folder):
    """What is said of a folder, and what to do."""
    return (
        f"the folder {folder} cannot be used (Permission denied): "
        "give yourself the right to read and write there"
    )


@pytest.mark.parametrize(
    ("folder", "command"),
    [
        (".", ["params"]),
        (".dvc", ["repro"]),
        ("sweeps", ["sweep", "--name", "s", "fuzz.mutants=5"]),
        (".dvc/cache", ["repro"]),
        (".dvc/tmp/asterism/locks", ["repro"]),
        (".dvc/tmp/asterism/locks", ["repro", "--jobs", 2]),
    ],
)
def test_a_read_only_folder_is_named(project, folder, command):
    with read_only(project.root / folder) as path:
        (told,) = rejected(project, *command)
    assert told.startswith("error: ") and told.endswith(_told(path))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_into_which_the_cache_cannot_put_results_is_named(project, jobs):
    assert call(project, "repro")[0] == 0
    (project.root / "metrics/left.json").unlink()
    with read_only(project.root / "metrics") as path:
        (told,) = rejected(project, "repro", "--jobs", jobs)
    assert told.startswith("error: ") and told.endswith(_told(path))


def test_a_point_names_the_folder_that_it_cannot_write_and_the_sweep_has_its_record(project):
    with read_only(project.root / ".dvc/tmp/asterism/workspaces") as path:
        assert rejected(project, "sweep", "--name", "s", "fuzz.mutants=5") == []
    (record,) = project.records("s")
    assert record["status"] == "failed"
    assert _told(path) in record["message"]


def test_a_file_in_the_place_of_the_sweeps_is_named(project):
    (project.root / "sweeps").touch()
    (told,) = rejected(project, "sweep", "--name", "s", "fuzz.mutants=5")
    assert f"the file {project.root / 'sweeps'} cannot be used (Not a directory)" in told
