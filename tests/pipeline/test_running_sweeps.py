"""A sweep from its plan to its page; at the border stands who would run its points."""

import re
import shutil
from dataclasses import replace
from multiprocessing.pool import ThreadPool
from types import SimpleNamespace

import pytest
from imports import ROOT
from structlog.testing import capture_logs
from typer.testing import CliRunner
from workspace import commit, run

from asterism.cli import commands
from asterism.core.files.artifacts import write_json
from asterism.core.files.locks import hold_lock, is_lock_held
from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.composition import HydraJob
from asterism.sweep import app, launch
from asterism.sweep.executors import Shards
from asterism.sweep.launch import make_shards
from asterism.sweep.point import read_metrics, write_points
from asterism.sweep.points import Point, default_sweep_name, enumerate_points, split_overrides
from asterism.sweep.worker import Sweep, SweepRequest

CONF = ROOT / "conf"
BASIC, SLURM = {"_target_": "x.BasicLauncher"}, {"_target_": "x.SlurmLauncher"}

DVC_YAML = """\
stages:
  base:
    cmd: "true"
    params: [seed]
    outs: [artifacts/base]
  left:
    cmd: "true"
    deps: [artifacts/base]
    params: [abstraction.k]
    metrics: [metrics/left.json]
  end:
    cmd: "true"
    deps: [metrics/left.json]
    params: [fuzz.mutants]
    outs: [report/index.html]
"""


@pytest.fixture
def composed(monkeypatch):
    """Composing costs Hydra a part of a second: here the default parameters are changed as text."""

    def compose(_conf, overrides):
        text = (ROOT / "params.yaml").read_text()
        for key, value in (override.split("=") for override in overrides):
            if value == "0":
                raise UserError(f"conf: {key} is 0")
            text = re.sub(rf"^( *{key.rpartition('.')[2]}:) \d+$", rf"\1 {value}", text, flags=re.M)
        return text

    monkeypatch.setattr("asterism.config.compose", compose)


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf").symlink_to(CONF)
    return Sweep("s", tmp_path, "HEAD", tmp_path / "cache", SweepRequest(), Shards())


def asking(sweep, *overrides, objective=""):
    """The sweep of another request."""
    return replace(sweep, request=SweepRequest(overrides=overrides, objective=objective))


def points_of(*seeds):
    return [Point(n, (f"seed={seed}", "k=1"), f"seed: {seed}\n") for n, seed in enumerate(seeds)]


def leave(sweep, point, status="finished", message="", **changes):
    """What a point leaves."""
    record = {
        **{"number": point.number, "overrides": point.overrides, "experiment": "", "host": "here"},
        **{"metrics": {"m:x": point.number}, "total_seconds": 2.5, "status": status},
        **{"exit_code": int(status != "finished"), "message": message, "ran": ["a", "b"]},
        **{"seconds": 2.0, "revision": "HEAD"},
    }
    write_json(sweep.point_folder(point.number) / "record.json", record | changes)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with the parameters of this one, of which no stage has run."""
    root = tmp_path_factory.mktemp("planned") / "project"
    shutil.copytree(CONF, root / "conf")
    shutil.copy2(ROOT / "params.yaml", root)
    shutil.copytree(ROOT / ".dvc", root / ".dvc", ignore=shutil.ignore_patterns("cache", "tmp"))
    (root / "dvc.yaml").write_text(DVC_YAML)
    (root / ".gitignore").write_text("artifacts\nmetrics\nreport\nsweeps\n")
    run(root, "git", "init", "-q", "-b", "main")
    commit(root, "start")
    return root


@pytest.mark.usefixtures("composed")
class TestCheckingAndPlanning:
    """What is said before anything runs."""

    def test_a_dry_run_tells_what_each_point_would_run_and_runs_nothing(self, project, monkeypatch):
        monkeypatch.chdir(project)
        values = ["seed=1", "abstraction.k=1,2", "fuzz.mutants=5,6"]
        result = CliRunner().invoke(commands.app, ["sweep", "--name", "s", *values, "--dry-run"])
        assert result.exit_code == 0, result.output
        told = result.output.splitlines()
        assert told[-9:] == [
            "point 0 (abstraction.k=1 fuzz.mutants=5)",
            "  would run base, left, end; 0 stages are cached",
            "point 1 (abstraction.k=1 fuzz.mutants=6)",
            "  would run base (shared), left (shared), end; 0 stages are cached",
            "point 2 (abstraction.k=2 fuzz.mutants=5)",
            "  would run base (shared), left, end; 0 stages are cached",
            "point 3 (abstraction.k=2 fuzz.mutants=6)",
            "  would run base (shared), left (shared), end; 0 stages are cached",
            "4 points, 7 stages to run in all",
        ]
        assert not (project / "sweeps").exists()
        assert not list((project / ".dvc/tmp/asterism/workspaces").glob("*/"))

    def test_a_sweep_is_what_the_request_says_at_the_commit_that_is_there(self, project):
        overrides = ("abstraction.k=3,4", "hydra/launcher=joblib")
        request = SweepRequest(overrides=overrides, targets=("left",), jobs=2, shards=3)
        sweep, points, launcher = app.prepare_sweep(project, request)
        assert sweep == Sweep(
            name=default_sweep_name(overrides, ["left"]),
            project=project,
            revision=run(project, "git", "rev-parse", "HEAD").strip(),
            cache=project / ".dvc/cache",
            request=request,
            shards=Shards(3),
            tied=True,
        )
        assert [point.overrides for point in points] == [("abstraction.k=3",), ("abstraction.k=4",)]
        assert launcher["_target_"].endswith("JoblibLauncher")
        with pytest.raises(UserError, match="'nope'"):
            app.prepare_sweep(project, SweepRequest(overrides=overrides, targets=("nope",)))
        with pytest.raises(UserError, match="--name"):
            app.prepare_sweep(project, SweepRequest(overrides=overrides, name="a b"))


def test_points_are_all_combinations_in_the_order_of_hydra(composed):
    points = enumerate_points(CONF, ["abstraction.k=3,4", "fuzz.mutants=5,6", "hydra/x=y"])
    assert [point.number for point in points] == [0, 1, 2, 3]
    values = [split_overrides(point.overrides) for point in points]
    assert values == [
        {"abstraction.k": k, "fuzz.mutants": mutants} for k in "34" for mutants in "56"
    ]
    for own, point in zip(values, points, strict=True):
        assert f"\n  k: {own['abstraction.k']}\n" in point.composition


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("abstraction.k=0", r"^conf: abstraction\.k is 0"),
        ("abstraction.k=1,0", r"^point 1 \(abstraction\.k=0\): conf: abstraction\.k is 0"),
    ],
)
def test_a_wrong_value_names_the_point_where_there_are_several(composed, override, told):
    with pytest.raises(UserError, match=told):
        enumerate_points(CONF, [override])


def test_the_name_of_a_sweep_follows_from_what_it_computes():
    name = default_sweep_name(["a=1,2", "b=3"], ["x", "y"])
    assert name == default_sweep_name(["b=3", "a=1,2", "hydra/launcher=joblib"], ["x", "y"])
    others = [(["a=1", "b=3"], ["x", "y"]), (["a=1,2", "b=3"], ["y"]), (["a=1,2", "b=3"], [])]
    assert len({name, *(default_sweep_name(*given) for given in others)}) == 4
    assert name.startswith("sweep-") and len(name) == len("sweep-") + 8


class TestShards:
    """How long stages are spread, by the words of the command line."""

    @pytest.fixture(autouse=True)
    def slurm(self, monkeypatch):
        monkeypatch.setattr(shutil, "which", lambda _name: "there")

    @pytest.mark.parametrize("given", [(1, None, "slurm"), (3, None, "joblib"), (1, None, "basic")])
    def test_they_are_processes_here(self, given):
        assert make_shards(CONF, *given) == Shards(given[0])

    @pytest.mark.parametrize("given", [(3, None, "slurm"), (1, "slurm_shard", "basic")])
    def test_they_are_jobs_beside_points_that_are_jobs_or_where_that_is_asked_for(self, given):
        shards = make_shards(CONF, *given)
        assert shards.count == given[0]
        assert {"timeout_min", "cpus_per_task", "max_num_timeout"} <= shards.slurm.keys()
        assert shards.slurm.keys().isdisjoint({"_target_", "submitit_folder"})

    def test_they_are_no_jobs_of_another_launcher(self):
        with pytest.raises(UserError, match="hydra/launcher=joblib"):
            make_shards(CONF, 2, "joblib", "slurm")


class TestLaunching:
    """Points on their way through Hydra."""

    def asked(self, monkeypatch, sweep, groups, lost=lambda _: ""):
        """What Hydra is asked by each multirun, and why points were lost."""
        asked = []

        def multirun(conf, tree, arguments, task):
            asked.append((conf, tree, arguments, task))
            return lost(arguments)

        monkeypatch.setattr(launch, "multirun", multirun)
        return asked, launch.launch_points(sweep, groups)

    def test_points_are_run_by_their_numbers(self, sweep, monkeypatch):
        points, ran, sweep = points_of(5, 6, 7), [], asking(sweep, "seed=5,6,7")
        write_points(sweep, points)
        monkeypatch.setattr(launch, "run_point", lambda *given: ran.append(given) or 0.5)
        asked, lost = self.asked(monkeypatch, sweep, [launch.PointGroup((0, 2))])
        ((_, _, arguments, task),) = asked
        assert (arguments[-1], lost) == ("+point=0,2", "")
        assert [task(HydraJob(n, ("+point=2",), "", n)) for n in (0, 2)] == [0.5, 0.5]
        assert ran == [(sweep, points[0]), (sweep, points[2])]

    def test_a_group_asks_for_what_it_needs_under_the_sweeps_name(self, sweep, monkeypatch):
        group = launch.PointGroup((1, 3), (("mem_gb", 4), ("timeout_min", 20)))
        sweep = asking(sweep, "k=1,2", "hydra/launcher=slurm")
        asked, _ = self.asked(monkeypatch, sweep, [group])
        ((conf, tree, arguments, _),) = asked
        assert (conf, tree != "config") == (sweep.project / "conf", True)
        assert f"hydra.job.name={launch.job_name(sweep)}" in arguments
        assert f"hydra.sweep.dir='{sweep.folder / 'hydra'}'" in arguments
        assert arguments[-4:] == [
            "hydra/launcher=slurm",
            "+point=1,3",
            "hydra.launcher.mem_gb=4",
            "hydra.launcher.timeout_min=20",
        ]
        assert "k=1,2" not in arguments

    def test_an_adaptive_sweeper_makes_its_points_itself(self, sweep, monkeypatch):
        adaptive = asking(sweep, "k=range(1,9)", objective="m:x")
        asked, _ = self.asked(monkeypatch, adaptive, [launch.PointGroup(())])
        ((_, tree, arguments, task),) = asked
        assert tree == "config" and arguments[-1] == "k=range(1,9)"
        assert {"hydra.sweeper.max_failure_rate=1.0", "hydra.sweeper.sampler.seed=0"} <= {
            *arguments
        }
        assert not [argument for argument in arguments if argument.startswith("+point")]
        ran = []
        monkeypatch.setattr(launch, "run_point", lambda *given: ran.append(given) or 0.5)
        assert task(HydraJob(3, ("k=7",), "k: 7\n", None)) == 0.5
        assert ran == [(adaptive, Point(3, ("k=7",), "k: 7\n"))]

    def test_groups_run_side_by_side_and_each_reason_is_told_once(self, sweep, monkeypatch):
        pools = []

        def pool(count, initializer):
            pools.append((count, initializer))
            return ThreadPool(count)

        monkeypatch.setattr(launch, "forkserver", lambda: SimpleNamespace(Pool=pool))
        reasons = {"+point=0": "", "+point=1": "no node", "+point=2": "no disk", "+point=3": ""}
        reasons |= {"+point=4": "no node"}
        asked, lost = self.asked(
            monkeypatch,
            asking(sweep, "hydra/launcher=slurm"),
            [launch.PointGroup((number,)) for number in range(5)],
            lambda arguments: reasons[arguments[-1]],
        )
        assert sorted(arguments[-1] for _, _, arguments, _ in asked) == sorted(reasons)
        assert lost == "no node; no disk"
        assert pools == [(5, launch._ignore_interrupts)]


class TestRunning:
    """From the launch to the outcome."""

    def run(self, monkeypatch, sweep, points, launched, launcher=BASIC):
        monkeypatch.setattr(app, "launch_points", lambda *given: launched(*given) or "")
        monkeypatch.setattr(app, "group_points", lambda *_: [launch.PointGroup((0,))])
        return app.run_sweep(sweep, points, launcher)

    @pytest.mark.parametrize(("status", "code"), [("finished", 0), ("failed", 1)])
    def test_its_status_says_whether_every_point_finished(self, sweep, monkeypatch, status, code):
        points, seen = points_of(1, 1), []
        (sweep.folder / "points/0007").mkdir(parents=True)
        sweep.stop.touch()

        def launched(*given):
            seen.append(given)
            assert is_lock_held(sweep.lock)
            assert not sweep.stop.exists() and sweep.begun() == []
            assert sweep.point_file(1).exists()
            leave(sweep, points[0])
            leave(sweep, points[1], status)

        assert self.run(monkeypatch, sweep, points, launched) == code
        assert seen == [(sweep, [launch.PointGroup((0,))])]
        assert not is_lock_held(sweep.lock)
        lines = (sweep.folder / "table.csv").read_text().splitlines()
        assert [line.split(",")[3] for line in lines] == ["status", "finished", status]
        assert "Sweep s" in (sweep.folder / "index.html").read_text()
        assert "./s/index.html" in (sweep.folder.parent / "index.html").read_text()

    @pytest.mark.parametrize(
        "link", ["sweeps", "sweeps/s", "sweeps/s/points", "sweeps/s/hydra/multirun.yaml"]
    )
    def test_nothing_is_written_through_a_link(self, sweep, monkeypatch, link):
        elsewhere = sweep.project / "elsewhere"
        for name in ("table.csv", "index.html", "s/table.csv", "points/0000/log.txt"):
            (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
            (elsewhere / name).write_text("of the user")
        (sweep.project / link).parent.mkdir(parents=True, exist_ok=True)
        (sweep.project / link).symlink_to(elsewhere)
        monkeypatch.setattr(app, "launch_points", lambda *_: "")
        before = sorted(elsewhere.rglob("*"))
        with pytest.raises(UserError, match=f"{link} is a symbolic link"):
            app.run_sweep(sweep, points_of(1), BASIC)
        assert sorted(elsewhere.rglob("*")) == before
        assert {p.read_text() for p in before if p.is_file()} == {"of the user"}

    def test_one_that_runs_already_is_left_alone(self, sweep, monkeypatch):
        with hold_lock(sweep.lock), pytest.raises(UserError, match="s is running already"):
            self.run(monkeypatch, sweep, points_of(1), lambda *_: pytest.fail("launched"))

    @pytest.mark.parametrize("tied", [True, False])
    def test_points_of_a_killed_sweep_end_first(self, sweep, monkeypatch, tied):
        sweep = replace(sweep, tied=tied)
        sweep.point_folder(4).mkdir(parents=True)
        sweep.stop.touch()
        how = "it ends in a moment" if tied else f"`scancel --name={launch.job_name(sweep)}`"
        with hold_lock(sweep.point_folder(4) / "lock"), pytest.raises(UserError) as error:
            self.run(monkeypatch, sweep, points_of(1), lambda *_: pytest.fail("launched"))
        assert "point 4 of s" in str(error.value) and how in str(error.value)
        assert sweep.stop.exists()  # point 4 is not told to go on

    def test_a_launcher_that_begins_no_point_is_an_error(self, sweep, monkeypatch):
        with pytest.raises(UserError, match=r"launcher basic .*no node"):
            self.run(monkeypatch, sweep, points_of(1), lambda *_: "no node")

    def test_a_lost_point_is_told_and_the_others_count(self, sweep, monkeypatch):
        points = points_of(1, 2)

        def launched(*_):
            leave(sweep, points[0])
            sweep.point_folder(1).mkdir(parents=True)
            return "killed by someone"

        with capture_logs() as told:
            assert self.run(monkeypatch, sweep, points, launched) == 1
        assert [(line["sweep"], line["reason"]) for line in told] == [("s", "killed by someone")]
        assert [r.status for r in app.read_records(sweep, points)] == ["finished", "lost"]

    @pytest.mark.parametrize("launcher", [BASIC, SLURM])
    def test_an_interrupt_stops_all_points(self, sweep, monkeypatch, launcher):
        points, cancelled = points_of(1, 2), []
        monkeypatch.setattr(app.resources, "cancel_pending", cancelled.append)

        def launched(*_):
            leave(sweep, points[0])
            raise KeyboardInterrupt

        assert self.run(monkeypatch, sweep, points, launched, launcher) == 130
        assert sweep.stop.exists()
        assert (sweep.folder / "table.csv").exists()
        assert cancelled == ([launch.job_name(sweep)] if launcher is SLURM else [])

    def test_jobs_that_hydra_has_left_alone_are_waited_for(self, sweep, monkeypatch):
        points, left = points_of(1, 1), ["queued", "queued"]
        monkeypatch.setattr(app.resources, "is_queued", lambda name: bool(left) or name != job)
        job = launch.job_name(sweep)

        def sleep(_seconds):
            left.pop()
            leave(sweep, points[1])

        monkeypatch.setattr(app, "time", SimpleNamespace(sleep=sleep))
        assert self.run(monkeypatch, sweep, points, lambda *_: leave(sweep, points[0]), SLURM) == 0
        assert left == []

    def test_an_interrupted_sweep_waits_so_long_for_its_points(self, sweep, monkeypatch):
        """As long as they have to save their state, and no longer."""
        now = [0.0]
        clock = SimpleNamespace(
            monotonic=lambda: now[0], sleep=lambda seconds: now.append(now.pop() + seconds)
        )
        monkeypatch.setattr(app, "time", clock)
        running = iter([[], *[[0]] * 1000])
        monkeypatch.setattr(Sweep, "running", lambda _: next(running))

        def launched(*_):
            sweep.point_folder(0).mkdir(parents=True)
            raise KeyboardInterrupt

        assert self.run(monkeypatch, sweep, points_of(1), launched) == 130
        assert app.GRACE <= now[0] < app.GRACE + 1


class TestTelling:
    """What the command says in the end."""

    def said(self, monkeypatch, sweep, points, status=0, dry=False):
        said, asked = [], []
        monkeypatch.setattr(app, "prepare_sweep", lambda *given: asked.append(given) or made)
        monkeypatch.setattr(app, "run_sweep", lambda *given: asked.append(given) or status)
        made = (sweep, points, BASIC)
        request = replace(sweep.request, overrides=["fuzz.selection=random", "seed=1,2"], name="s")
        assert app.sweep_command(request, dry, said.append) == status
        spelled = ["fuzz/selection=random", "seed=1,2"]  # as Hydra spells a choice
        assert asked[0][0] == sweep.project and asked[0][1].overrides == spelled
        if not dry:
            assert asked[1] == (sweep, points, BASIC)
        return said

    def test_every_point_and_where_the_table_is(self, sweep, monkeypatch):
        points = points_of(1, 2, 3)
        leave(sweep, points[0])
        leave(sweep, points[1], "failed", "stage x failed", exit_code=3)
        sweep.point_folder(2).mkdir()
        log = sweep.point_folder(1) / "log.txt"
        log.write_text("".join(f"line {n}\n" for n in range(40)))
        tail = [f"line {n}" for n in range(25, 40)]
        lost = sweep.point_folder(2) / "log.txt"
        assert self.said(monkeypatch, sweep, points, 1) == [
            "sweep s: 3 points, launcher basic",
            "point 0 (seed=1): finished, 2 stages run, 2.5 s",
            "point 1 (seed=2): failed, 2 stages run, 2.5 s",
            f"  exit code 3: stage x failed; log: {log}",
            *tail,
            "point 2 (seed=3): lost",
            f"  it was killed; the same command resumes it; log: {lost}",
            "the table is sweeps/s/table.csv, and its page is index.html",
        ]

    @pytest.mark.parametrize(
        ("begun", "stopped", "status"),
        [(True, False, "lost"), (True, True, "interrupted"), (False, True, "not started")],
    )
    def test_a_point_without_a_record_says_why(self, sweep, monkeypatch, begun, stopped, status):
        sweep.folder.mkdir(parents=True)
        if begun:
            sweep.point_folder(0).mkdir(parents=True)
        if stopped:
            sweep.stop.touch()
        said = self.said(monkeypatch, sweep, points_of(1), 130)
        assert said[1] == f"point 0: {status}"
        assert "None" not in " ".join(said)

    def test_a_sweep_by_a_metric_has_no_number_of_points(self, sweep, monkeypatch):
        adaptive = asking(sweep, objective="m:x")
        leave(adaptive, points_of(1)[0])
        said = self.said(monkeypatch, adaptive, [])
        assert said[:2] == [
            "sweep s: points by m:x, launcher basic",
            "point 0: finished, 2 stages run, 2.5 s",
        ]
        with pytest.raises(UserError, match="--dry-run cannot list points"):
            self.said(monkeypatch, adaptive, [], dry=True)


def test_a_record_shows_the_end_of_the_log_and_the_points_page(sweep):
    (point,) = points_of(1)
    leave(sweep, point)
    folder = sweep.point_folder(0)
    (record,) = app.read_records(sweep, [point])
    assert (record.log_tail, record.report) == ("", "")
    (folder / "index.html").touch()
    (folder / "log.txt").write_bytes(b"a \xff b")
    (record,) = app.read_records(sweep, [point])
    assert record.log_tail == "a � b"
    assert record.report == "points/0000/index.html"
    assert record.metrics == {"m:x": 0}
    (folder / "log.txt").write_bytes(b"x" * 100_000 + b"\n" + b"y" * 99_000)
    (record,) = app.read_records(sweep, [point])
    assert record.log_tail == "x" * 999 + "\n" + "y" * 99_000


def test_metrics_are_all_numbers_of_all_files_by_their_keys(tmp_path):
    write_json(tmp_path / "a.json", {"x": 1, "y": {"z": 2.5, "on": True}, "name": "n", "l": [1]})
    write_json(tmp_path / "b.json", 7)
    assert read_metrics(tmp_path) == {"a:x": 1, "a:y.z": 2.5, "b:": 7}
