"""Processes that a sweep and its points start, here shell scripts in the place of the real ones."""

import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import yaml
from dvc.repo import Repo
from hypothesis import given
from hypothesis import strategies as st
from imports import ROOT
from small_pipeline import planned
from structlog.testing import capture_logs

from asterism.core.files.artifacts import write_json
from asterism.core.files.locks import hold_lock, is_lock_held
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.repository import Repository, StageFailedError
from asterism.sweep import executors, pipeline, point
from asterism.sweep.executors import Shards, compute_units, run_part
from asterism.sweep.pipeline import (
    find_outdated_stages,
    forkserver,
    order_by_chain,
    run_stage,
    run_stages,
)
from asterism.sweep.plan import read_plan
from asterism.sweep.point import REPORT, VETTED
from asterism.sweep.points import Point
from asterism.sweep.worker import RESULT, PointResult, Sweep, SweepRequest
from marked import wait_until


@pytest.fixture
def sweep(tmp_path):
    request = SweepRequest(targets=("a",), jobs=2, objective="m:x")
    return Sweep("s", tmp_path / "p", "HEAD", tmp_path / "cache", request, Shards(3))


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


class TestPoint:
    """A point's process, and what stays of its workspace."""

    @pytest.fixture
    def supervise(self, sweep, tmp_path, monkeypatch):
        """Run a script as the point's process; how it went. The script's fourth word is where."""
        here, log = tmp_path / "here", tmp_path / "log.txt"
        (here / RESULT).parent.mkdir(parents=True)
        sweep.folder.mkdir(parents=True)

        def run(text):
            monkeypatch.setattr(point.sys, "executable", script(tmp_path / "python", text))
            with hold_lock(tmp_path / "lock") as lock:
                return point._supervise(sweep, here, log, lock)

        return run

    @pytest.mark.parametrize(
        ("text", "answer"),
        [
            (
                "kill -9 $$",
                PointResult("lost", 137, "it was killed; the same command resumes it"),
            ),
            ("exit 3", PointResult("failed", 3, "its process ended: see log.txt")),
            ("exit 0", PointResult("failed", 1, "its process ended: see log.txt")),
        ],
    )
    def test_without_an_answer_its_exit_status_tells(self, supervise, text, answer):
        assert supervise(text) == answer

    @pytest.mark.parametrize(
        ("answered", "answer"),
        [
            (PointResult("finished", ran=["a"], seconds=2.5), None),
            (PointResult("failed", 3, "stage a failed", ["b"]), None),
            (
                PointResult("interrupted", 130, "interrupted"),
                PointResult("failed", 130, "its stage was interrupted by someone else"),
            ),
        ],
    )
    def test_its_answer_stands_unless_someone_else_has_interrupted_it(
        self, supervise, tmp_path, answered, answer
    ):
        write_json(tmp_path / "answer", vars(answered))
        assert supervise(f'cp {tmp_path}/answer "$4/{RESULT}"') == (answer or answered)

    def test_it_is_started_apart_with_its_log_its_lock_and_this_source(
        self, supervise, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("PYTHONPATH", "/mine")
        supervise('echo "$@"; echo "$PYTHONPATH" >&2; cat; ps -o sid= -p $$; echo $$')
        words, path, session, process = (tmp_path / "log.txt").read_text().splitlines()
        assert words == f"-P -m asterism.sweep.worker {tmp_path / 'here'}"
        assert path == f"{ROOT / 'src'}:/mine"
        assert int(session) == int(process)

    def test_it_holds_the_points_lock_along(self, supervise, tmp_path):
        supervise(f"sleep 30 >{tmp_path}/out 2>&1 & echo $! > {tmp_path}/pid")
        child = psutil.Process(int((tmp_path / "pid").read_text()))
        assert is_lock_held(tmp_path / "lock")
        child.kill()
        wait_until(lambda: not is_lock_held(tmp_path / "lock"))

    @pytest.mark.parametrize("deaf", [False, True])
    def test_it_is_interrupted_when_the_sweep_is_over_and_killed_when_it_goes_on(
        self, supervise, sweep, tmp_path, monkeypatch, deaf
    ):
        monkeypatch.setattr(point, "GRACE", 0.2 if deaf else 30)
        heard = "true" if deaf else "exit 0"
        on_signal = f"trap 'echo heard >> {tmp_path}/heard; {heard}' INT"
        stop = f"echo $$ > {tmp_path}/pid; touch {sweep.stop}"
        assert supervise(f"{on_signal}; {stop}; while true; do sleep 0.02; done") == PointResult(
            "interrupted", 130, "interrupted; the same command resumes it"
        )
        assert (tmp_path / "heard").read_text() == "heard\n"
        assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))

    def test_after_the_end_of_the_sweep_none_begins(self, sweep, tmp_path):
        sweep.folder.mkdir(parents=True)
        sweep.stop.touch()
        answer = point._work(sweep, Point(0, (), ""), tmp_path / "here", tmp_path / "log", 7)
        assert (answer.status, answer.exit_code) == ("interrupted", 130)
        assert not (tmp_path / "here").exists()

    def test_its_logs_pages_and_vetted_pair_stay(self, tmp_path):
        here, folder = tmp_path / "here", tmp_path / "point"
        folder.mkdir()
        point._keep(here, folder, ["metrics/*.json"])
        assert list(folder.iterdir()) == []
        texts = {
            "logs/a.jsonl": "{}",
            str(VETTED / "index.html"): "vetted",
            str(VETTED / "certificate.json"): "{}",
            str(REPORT): 'é <a href="../sweeps/index.html">',
            "metrics/a.json": "1",
            "metrics/b.txt": "2",
        }
        for name, text in texts.items():
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).write_text(text, encoding="utf-8")
        for _ in range(2):  # the same point again
            point._keep(here, folder, ["metrics/*.json"])
        kept = {
            str(path.relative_to(folder)): path.read_text("utf-8")
            for path in folder.rglob("*")
            if path.is_file()
        }
        assert kept == {
            "logs/a.jsonl": "{}",
            "vet/index.html": "vetted",
            "vet/certificate.json": "{}",
            "index.html": 'é <a href="../../index.html">',
            f"{point.KEPT}/metrics/a.json": "1",
        }


class TestRecords:
    """What a point that has been run leaves."""

    def record(self, sweep, monkeypatch, outcome):
        monkeypatch.setattr(point, "_in_workspace", lambda *_: outcome)
        value = point.run_point(sweep, Point(3, ("seed=1",), "seed: 1"))
        return value, point.read_record(point.PointRecord, sweep.point_folder(3) / "record.json")

    def test_one_that_failed(self, sweep, monkeypatch):
        outcome = (PointResult("failed", 3, "why"), {})
        value, record = self.record(sweep, monkeypatch, outcome)
        assert (value, record.experiment, record.status) == (None, "", "failed")
        assert (record.exit_code, record.message) == (3, "why")

    def test_one_that_was_interrupted_tells_the_launcher(self, sweep, monkeypatch):
        with pytest.raises(KeyboardInterrupt):
            self.record(sweep, monkeypatch, (PointResult("interrupted", 130, "stopped"), {}))
        assert (sweep.point_folder(3) / "record.json").exists()

    def test_its_workspace_goes_and_nobody_else_uses_it_meanwhile(self, sweep, monkeypatch):
        sweep = replace(sweep, name="v1.0")  # locks keep what follows the dot
        one = Point(3, (), "seed: 1")
        here = sweep.workspace(one)

        def work(*_):
            write_json(here / "metrics/m.json", {"x": 2})
            assert is_lock_held(here.with_name(f"{here.name}.lock"))
            assert is_lock_held(sweep.point_folder(3) / "lock")
            return PointResult("finished")

        monkeypatch.setattr(point, "_work", work)
        assert point.run_point(sweep, one) == 2
        assert not here.exists()
        assert not is_lock_held(here.with_name(f"{here.name}.lock"))


def parts(root, stage, command):
    """A long stage of a workspace, for what computes its parts."""
    repository = SimpleNamespace(root=root)
    return repository, planned(stage, command=command)


def never():
    """In the place of what raises an interrupt."""


class TestParts:
    """Processes that compute parts of a long stage."""

    def test_each_runs_the_stages_command_once_in_the_workspace(self, tmp_path):
        (tmp_path / "root").mkdir()
        note = script(tmp_path / "note", 'echo "$(pwd) $2 $3" >> "$1"')
        command = f"{note} '{tmp_path}/got of'"
        compute_units(Shards(2), *parts(tmp_path / "root", "fuzz", command), never)
        told = sorted((tmp_path / "got of").read_text().splitlines())
        assert told == [f"{tmp_path}/root --part {number}/8" for number in range(8)]

    def test_one_that_is_killed_is_given_out_again_and_one_that_fails_is_not(self, tmp_path):
        command = script(
            tmp_path / "command",
            f'echo "$2" >> {tmp_path}/begun; case "$2" in 0/4) kill -9 $$;; 1/4) exit 3;; esac',
        )
        with capture_logs() as told:
            compute_units(Shards(1), *parts(tmp_path, "fuzz", command), never)
        begun = (tmp_path / "begun").read_text().split()
        assert sorted(begun) == ["0/4", "0/4", "0/4", "1/4", "2/4", "3/4"]
        assert [(line["log_level"], line["parts"]) for line in told] == [("warning", 1)]

    def interrupted(self, tmp_path, waits, before="true"):
        """The id of a shell's process that an interrupt met while it waited."""
        pid = tmp_path / "pid"
        command = script(tmp_path / "command", f"{before}; echo $$ > {pid}; {waits}")

        def interrupt():
            if pid.exists() and pid.read_text().strip():
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            compute_units(Shards(1), *parts(tmp_path, "fuzz", command), interrupt)
        return int(pid.read_text())

    def test_an_interrupt_ends_them(self, tmp_path):
        assert not psutil.pid_exists(self.interrupted(tmp_path, "exec sleep 30"))

    def test_one_that_hears_nothing_is_killed(self, tmp_path, monkeypatch):
        monkeypatch.setattr(executors, "_GRACE", 0.1)
        waits = "while true; do sleep 0.1; done"
        deaf = self.interrupted(tmp_path, waits, before="trap '' TERM")
        wait_until(lambda: not psutil.pid_exists(deaf))

    def test_a_part_has_the_interpreter_and_the_settings_of_its_run(self, tmp_path):
        words = ["sh", "-c", "command -v python > which; echo $ASTERISM_STATE_ROOT > root; exit 3"]
        assert run_part(str(tmp_path), words, {"ASTERISM_STATE_ROOT": "/mine"}) == 3
        assert (tmp_path / "which").read_text() == f"{Path(sys.executable).parent}/python\n"
        assert (tmp_path / "root").read_text() == "/mine\n"


SLURM = {
    "timeout_min": 0,
    "cpus_per_task": 3,
    "mem_gb": None,
    "gpus_per_node": None,
    "partition": None,
    "max_num_timeout": 5,
    "tasks_per_node": 1,
    "nodes": 1,
    "name": "asterism-shard",
    "account": "mine",
}


class TestJobs:
    """Shards that are jobs of Slurm, of which the commands are here."""

    @pytest.fixture(autouse=True)
    def slurm(self, tmp_path, monkeypatch):
        tools = tmp_path / "tools"
        tools.mkdir()
        script(tools / "sbatch", f'env > {tmp_path}/env; cp "$1" {tmp_path}/job; echo "job 12"')
        script(tools / "scancel", f'echo "$@" >> {tmp_path}/cancelled')
        script(tools / "srun", "")
        # Else threads that wait for the job outlive the tests.
        script(tools / "sacct", 'echo "JobID|State|NodeList"; echo "12|CANCELLED|"')
        monkeypatch.setenv("PATH", str(tools), prepend=":")
        monkeypatch.setenv("SLURM_CONF", "/etc/mine.conf")
        monkeypatch.setenv("SLURM_JOB_ID", "7")
        table = tmp_path / "conf/hydra/resources.yaml"
        table.parent.mkdir(parents=True)
        needs = "{timeout_min: 20, cpus_per_task: 9, mem_gb: 6, gpus_per_node: 1, partition: p}"
        table.write_text(f"kinds: {{heavy: {needs}}}\nstages: {{fuzz: heavy}}\n")

    def test_they_ask_for_what_is_set_and_for_what_the_stage_needs_where_nothing_is(self, tmp_path):
        with Shards(3, SLURM).executor(tmp_path, "fuzz@state") as executor:
            executor.submit(run_part, "root", ["a"], {})
        asked = (tmp_path / "job").read_text()
        for line in (
            *("--cpus-per-task=3", "--time=20", "--mem=6GB", "--partition=p"),
            *("--gpus-per-node=1", "--account=mine", "--job-name=asterism-shard", "--nodes=1"),
        ):
            assert f"#SBATCH {line}\n" in asked
        environment = (tmp_path / "env").read_text().splitlines()
        assert "SLURM_CONF=/etc/mine.conf" in environment
        assert "SLURM_JOB_ID=7" not in environment
        assert os.environ["SLURM_JOB_ID"] == "7"
        assert (tmp_path / "cancelled").read_text().split() == ["12"]

    def test_without_jobs_the_stage_goes_on_alone(self, tmp_path):
        script(tmp_path / "tools/sbatch", "echo no such partition >&2; exit 1")
        with capture_logs() as told:
            compute_units(Shards(2, SLURM), *parts(tmp_path, "fuzz@state", "false"), never)
        assert "computes" in told[-1]["event"]


class TestStages:
    """Stages of a workspace, run by real processes where several run at a time."""

    @pytest.fixture
    def workspace(self, tmp_path, monkeypatch):
        """Makes a workspace of stages: what each reads, and what it does beside noting its name."""
        root, notes = tmp_path / "root", tmp_path / "notes"
        root.mkdir()
        notes.mkdir()
        monkeypatch.chdir(root)
        Repo.init(str(root), no_scm=True).close()
        (root / "params.yaml").write_text("seed: 1\nk: 1\n")

        def make(**stages):
            written = {}
            for name, (reads, does) in stages.items():
                result = f"artifacts/{name}"
                written[name] = {
                    "cmd": f"cd {notes} && touch {name} && {does} && cd {root} && "
                    f"mkdir -p artifacts && grep {'k' if reads else 'seed'} params.yaml > {result}",
                    "deps": [f"artifacts/{read}" for read in reads],
                    "params": ["k" if reads else "seed"],
                    "outs": [result],
                }
            (root / "dvc.yaml").write_text(yaml.safe_dump({"stages": written}, sort_keys=False))
            return root, notes

        return make

    def run(self, root, jobs):
        repository = Repository(root)
        plan = read_plan(repository, [])
        return run_stages(repository, plan, plan, jobs, root / "locks", Shards())

    def test_those_that_are_behind_are_those_that_have_changed_and_those_that_follow(
        self, workspace
    ):
        root, _ = workspace(first=([], "true"), second=(["first"], "true"))

        def behind():
            repository = Repository(root)
            return [s.name for s in find_outdated_stages(repository, read_plan(repository, []))]

        assert behind() == self.run(root, 1) == ["first", "second"]
        assert behind() == []
        assert run_stages(None, [], [], 2, root, Shards()) == []
        (root / "params.yaml").write_text("seed: 1\nk: 2\n")
        assert behind() == ["second"]
        (root / "params.yaml").write_text("seed: 2\nk: 1\n")
        assert behind() == ["first", "second"]
        first, _ = read_plan(Repository(root), [])
        assert run_stage(root, first, root / "locks", Shards())
        (root / "params.yaml").write_text("seed: 1\nk: 1\n")
        first, _ = read_plan(Repository(root), [])
        assert not run_stage(root, first, root / "locks", Shards()), "the cache has it"
        assert (root / "artifacts/first").read_text() == "seed: 1\n"

    #: Waits until another stage has begun, too.
    WAITS = "until test -e {}; do sleep 0.02; done"

    def test_independent_ones_run_at_the_same_time_and_dvc_lock_has_their_order(self, workspace):
        root, _ = workspace(
            first=([], "true"),
            left=(["first"], self.WAITS.format("right")),
            right=(["first"], self.WAITS.format("left")),
            end=(["left", "right"], "true"),
        )
        assert sorted(self.run(root, 2)) == ["end", "first", "left", "right"]
        assert Repository(root).order() == ["first", "left", "right", "end"]

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_after_a_failure_only_what_does_not_follow_it_runs(self, workspace, jobs):
        waits = self.WAITS.format("right") if jobs == 2 else "true"
        root, notes = workspace(
            first=([], "true"),
            left=(["first"], f"{waits} && exit 3"),
            right=(["first"], "sleep 0.3"),
            after=(["right"], "exit 4" if jobs == 1 else "true"),
            end=(["left"], "true"),
        )
        with pytest.raises(StageFailedError, match="stage left failed with exit status 3") as told:
            self.run(root, jobs)
        assert (told.value.stage, told.value.exit_code) == ("left", 3)
        assert sorted(path.name for path in notes.iterdir()) == ["after", "first", "left", "right"]

    def test_after_an_interrupt_nothing_begins(self, workspace):
        root, notes = workspace(
            left=([], f"{self.WAITS.format('right')} && exit 130"),
            right=([], "sleep 1"),
            after=(["right"], "true"),
        )
        with pytest.raises(KeyboardInterrupt):
            self.run(root, 2)
        assert sorted(path.name for path in notes.iterdir()) == ["left", "right"]


class TestOneStage:
    """How a stage is brought up to date, whatever DVC does."""

    def reproduce(self, tmp_path, stage, outcome, monkeypatch):
        """The command's outcome; what was done meanwhile, in its order."""
        done = []

        class Opened:
            root = tmp_path

            def is_up_to_date(self, _):
                assert is_lock_held(tmp_path / f"locks/{stage.key}.lock")
                return False

            def find(self, _):
                return None if outcome else {"outs": []}

            def take(self, entries):
                done.append(list(entries))

            def run(self, _, before):
                before()
                if isinstance(outcome, BaseException):
                    raise outcome

        def compute(given, repository, planned, _raise_noted):
            done.append((given.count, repository.root, planned.name))

        monkeypatch.setattr(pipeline, "compute_units", compute)
        monkeypatch.setattr(pipeline, "remove_unneeded_state", lambda: done.append("tidied"))
        given = (Opened(), stage, tmp_path / "locks", Shards(3))
        try:
            return done, pipeline.reproduce_stage(*given)
        except BaseException as error:
            return done, error

    def test_a_long_one_is_computed_in_parts_and_leaves_nothing(self, tmp_path, monkeypatch):
        stage = planned("fuzz", is_long=True)
        done, result = self.reproduce(tmp_path, stage, True, monkeypatch)
        assert result is True
        assert done == [(3, tmp_path, "fuzz"), "tidied"]

    def test_one_that_the_cache_has_does_not_run(self, tmp_path, monkeypatch):
        stage = planned("fuzz", is_long=True)
        done, result = self.reproduce(tmp_path, stage, False, monkeypatch)
        assert (done, result) == ([["fuzz"]], False)

    def test_a_short_one_has_no_parts(self, tmp_path, monkeypatch):
        assert self.reproduce(tmp_path, planned("a"), True, monkeypatch) == ([], True)

    @pytest.mark.parametrize(
        ("exit_code", "kind"),
        [(130, KeyboardInterrupt), (-signal.SIGINT, KeyboardInterrupt), (3, StageFailedError)],
    )
    def test_one_that_fails_is_told(self, tmp_path, monkeypatch, exit_code, kind):
        error = StageFailedError("fuzz", exit_code)
        _, result = self.reproduce(tmp_path, planned("fuzz"), error, monkeypatch)
        assert type(result) is kind
        if kind is StageFailedError:
            assert (result.stage, result.exit_code) == ("fuzz", 3)


SERVED = """
import os, signal, subprocess, time
from multiprocessing import Pipe
from asterism.sweep.interrupt import interruptible, serve_run
reader, writer = Pipe(duplex=False)
serve_run(reader)
os.kill(os.getpid(), signal.SIGINT)
print("between stages it goes on", flush=True)
stage = subprocess.Popen(["sleep", "30"])
try:
    with interruptible():
        writer.close()
        time.sleep(30)
except KeyboardInterrupt:
    print("in a stage it is interrupted", stage.wait(), flush=True)
time.sleep(30)
print("it goes on after its run", flush=True)
"""


def test_a_process_that_runs_stages_ends_with_its_run():
    done = subprocess.run(
        [sys.executable, "-c", SERVED],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=300,
        start_new_session=True,
    )
    assert done.stdout.splitlines() == [
        "between stages it goes on",
        f"in a stage it is interrupted {-signal.SIGINT}",
    ]
    assert done.returncode == 130


def test_the_longest_chain_begins_first():
    classifier = [planned("train"), planned("compress", "train"), planned("repair", "compress")]
    libraries = [planned("a"), planned("b", "a"), planned("c", "b"), planned("d", "c")]
    report = planned("report", "repair", "d")
    names = [stage.name for stage in order_by_chain([*classifier, *libraries, report])]
    assert names == ["a", "train", "b", "compress", "c", "repair", "d", "report"]


def test_a_long_stage_makes_a_long_chain():
    chain = [planned("a"), planned("b", "a"), planned("c", "b")]
    dear = [planned("make"), planned("triage", "make", seconds=90)]
    names = [stage.name for stage in order_by_chain([*chain, *dear])]
    assert names == ["make", "triage", "a", "b", "c"]


@given(st.lists(st.sets(st.integers(0, 19)), max_size=20))
def test_every_stage_comes_after_what_it_reads(reads):
    stages = [
        planned(str(n), *(str(k) for k in sorted(read) if k < n)) for n, read in enumerate(reads)
    ]
    ordered = order_by_chain(stages)
    assert sorted(s.name for s in ordered) == sorted(s.name for s in stages)
    for number, stage in enumerate(ordered):
        assert set(stage.upstream) <= {earlier.name for earlier in ordered[:number]}


FORKED = """
import os
from asterism.sweep.pipeline import forkserver
if __name__ == "__main__":
    with forkserver().Pool(1) as pool:
        print(pool.apply(os.getpid) != os.getpid())
"""


def folder_of_length(start, length):
    path = start + "/" + "x" * (length - len(start) - 1)
    Path(path).mkdir()
    return path


def test_a_long_folder_for_temporary_files_works_up_to_the_limit(tmp_path):
    with tempfile.TemporaryDirectory(dir="/tmp") as start:
        folder = folder_of_length(start, pipeline._LONGEST)
        done = subprocess.run(
            [sys.executable, "-c", FORKED],
            env=os.environ | {"TMPDIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout == "True\n", done.stderr


def test_a_longer_one_is_named(monkeypatch):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/" + "x" * pipeline._LONGEST)
    with pytest.raises(UserError, match="TMPDIR"):
        forkserver()
