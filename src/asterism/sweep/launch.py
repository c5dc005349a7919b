"""Handing a sweep's points to Hydra, whose launcher runs them: which launcher, and how."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.core.files.folders import remove_tree
from asterism.core.messages.errors import UserError
from asterism.core.settings import machine
from asterism.dvc_hydra.composition import (
    CompositionError,
    HydraJob,
    multirun,
    settings_of_hydra,
    store_empty_tree,
)
from asterism.dvc_hydra.overrides import hydra_text
from asterism.dvc_hydra.repository import Repository
from asterism.sweep import resources, workspace
from asterism.sweep.executors import Shards, require_dask
from asterism.sweep.pipeline import forkserver
from asterism.sweep.plan import find_cached, read_plan
from asterism.sweep.point import read_point, run_point
from asterism.sweep.points import Point, is_hydras
from asterism.sweep.worker import Sweep

#: An adaptive sweeper goes on after a failing point, and chooses the same points every time.
_ADAPTIVE = ("hydra.sweeper.max_failure_rate=1.0", "hydra.sweeper.sampler.seed=0")


@dataclass(frozen=True)
class PointGroup:
    """Points that are launched together.

    Attributes:
        numbers: theirs; none where an adaptive sweeper makes the points.
        request: what each asks of a cluster, as settings of its launcher.
    """

    numbers: tuple[int, ...]
    request: tuple[tuple[str, Any], ...] = ()


def job_name(sweep: Sweep) -> str:
    """What a sweep's jobs are called on a cluster: those of another checkout differently."""
    place = hashlib.sha256(str(sweep.project).encode()).hexdigest()[:8]
    return f"asterism-{sweep.name}-{place}"


def plan_points(sweep: Sweep, points: Sequence[Point]) -> list[dict[str, Any]]:
    """Which stages each point would run, by one workspace that gets each one's parameters.

    Returns:
        For each point ``runs``, the names of stages that are not in the cache, with their keys,
        and ``cached``, the number of those that are.
    """
    here = sweep.project / ".dvc/tmp/asterism/workspaces" / f"{sweep.name}-dry-{os.getpid()}"
    plans = []
    try:
        workspace.create_workspace(sweep.project, here, sweep.revision, sweep.cache)
        Repository(here).check_out_data()
        for point in points:
            (here / workspace.PARAMETERS).write_text(point.composition, encoding="utf-8")
            repository = Repository(here)
            plan = read_plan(repository, sweep.request.targets)
            runs = {stage.name: stage.key for stage in find_cached(repository, plan)[1]}
            plans.append({"runs": runs, "cached": len(plan) - len(runs)})
        return plans
    finally:
        remove_tree(here)


def group_points(
    sweep: Sweep, points: Sequence[Point], launcher: Mapping[str, Any]
) -> list[PointGroup]:
    """The points by what they ask of a cluster; all in one group elsewhere.

    Jobs of one array all ask for the same. Points that nobody knows yet ask for the most that any
    stage needs.

    Args:
        sweep: the sweep.
        points: its points.
        launcher: its launcher's settings.

    Raises:
        UserError: see :func:`~asterism.sweep.resources.read_table`, or a point's plan cannot
            be made.
    """
    numbers = tuple(point.number for point in points)
    if launcher_name(launcher) != "slurm":
        return [PointGroup(numbers)]
    table = resources.read_table(sweep.project)
    runs = [plan["runs"] for plan in plan_points(sweep, points)] if points else [table.stages]
    requests = [
        tuple(resources.open_resources(launcher, table.request(names)).items()) for names in runs
    ]
    return [
        PointGroup(
            tuple(n for n, own in zip(numbers, requests, strict=False) if own == request), request
        )
        for request in dict.fromkeys(requests)
    ]


def launch_points(sweep: Sweep, grouped: Sequence[PointGroup]) -> str:
    """Run all points; each group is one multirun of Hydra's, and the groups run side by side.

    Args:
        sweep: the sweep.
        grouped: its points.

    Returns:
        Why a point was lost, in a line; nothing where none was.
    """
    if len(grouped) == 1:
        return _multirun(sweep, grouped[0])
    context = forkserver()
    with context.Pool(len(grouped), _ignore_interrupts) as pool:
        reasons = pool.starmap(_multirun, [(sweep, group) for group in grouped], 1)
    return "; ".join(dict.fromkeys(filter(None, reasons)))


def _ignore_interrupts() -> None:
    """The sweep's own process is interrupted too, and ends these."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _multirun(sweep: Sweep, group: PointGroup) -> str:
    """Hand points to Hydra; an adaptive sweeper makes them.

    Points that are known are given to Hydra by their numbers, over a tree of no parameters: it
    would compose all parameters of each point twice more.
    """
    if sweep.request.objective:
        tree, swept = "config", list(sweep.request.overrides)
    else:
        tree = store_empty_tree()
        numbers = f"+point={','.join(map(str, group.numbers))}"
        swept = [*filter(is_hydras, sweep.request.overrides), numbers]
    arguments = [
        f"hydra.sweep.dir={hydra_text(str(sweep.folder / 'hydra'))}",
        "hydra.output_subdir=null",
        f"hydra.job.name={job_name(sweep)}",
        "hydra/job_logging=disabled",
        "hydra/hydra_logging=disabled",
        *(_ADAPTIVE if sweep.request.objective else ()),
        *swept,
        *(f"hydra.launcher.{key}={value}" for key, value in group.request),
    ]
    return multirun(sweep.project / "conf", tree, arguments, _task(sweep))


def _task(sweep: Sweep) -> Callable[[HydraJob], float | None]:
    def task(job: HydraJob) -> float | None:
        if job.point is not None and not sweep.request.objective:
            return run_point(sweep, read_point(sweep, job.point))
        return run_point(sweep, Point(job.number, job.overrides, job.composition))

    return task


#: Choices of Hydra's that come with packages of their own, which are not among the pinned ones.
_EXTRAS = {"hydra/sweeper/optuna": "hydra-optuna-sweeper"}


def hydra_settings(conf: Path, overrides: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Settings of the ``launcher`` and of the ``sweeper`` that the overrides name.

    Raises:
        UserError: there is none of that name, or the launcher needs a program that is not here.
    """
    mine = [override for override in overrides if is_hydras(override)]
    try:
        settings = settings_of_hydra(conf, mine)
    except CompositionError as error:
        package = _EXTRAS.get(error.missing)
        needed = f"it needs a package that is not installed: pip install {package}"
        reason = needed if package is not None else str(error)
        raise UserError(f"{' '.join(mine)}: {reason}") from None
    if launcher_name(settings["launcher"]) == "slurm" and shutil.which("sbatch") is None:
        raise UserError(
            "hydra/launcher=slurm needs Slurm's sbatch, which is not on this machine's path: run "
            "the sweep on a login node of the cluster, or with hydra/launcher=joblib"
        )
    return settings


def launcher_name(settings: Mapping[str, Any]) -> str:
    """Its name in a word: ``"slurm"``, ``"joblib"`` or ``"basic"``."""
    target = str(settings["_target_"])
    return target.rpartition(".")[2].removesuffix("Launcher").lower()


def make_shards(conf: Path, count: int, launcher: str | None, points_on: str) -> Shards:
    """How long stages are spread.

    Args:
        conf: the Hydra tree.
        count: see :class:`~asterism.sweep.executors.Shards`.
        launcher: a choice of ``hydra/launcher`` for a Slurm cluster, or the address of a Dask
            cluster's scheduler (``tcp://host:8786``); None to follow the points.
        points_on: name of the points' launcher.

    Raises:
        UserError: see :func:`hydra_settings`, or the launcher is not for Slurm.
    """
    if launcher is not None and "://" in launcher:
        return Shards(count, dask=require_dask(launcher), store=machine.state_store())
    if launcher is None and (count == 1 or points_on != "slurm"):
        return Shards(count)
    chosen = f"hydra/launcher={launcher or 'slurm_shard'}"
    settings = hydra_settings(conf, [chosen])["launcher"]
    if launcher_name(settings) != "slurm":
        raise UserError(
            f"shards run as jobs of Slurm, or by a Dask cluster whose address is given, and "
            f"hydra/launcher={launcher} is another launcher: leave --shard-launcher out for "
            "processes on this machine"
        )
    leave_out = ("_target_", "submitit_folder")
    return Shards(count, {k: v for k, v in settings.items() if k not in leave_out})


def is_adaptive(sweeper: Mapping[str, Any]) -> bool:
    """Whether a sweeper chooses points by the results of earlier ones, as Optuna's does."""
    return "BasicSweeper" not in sweeper["_target_"]
