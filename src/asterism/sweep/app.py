"""A sweep as one command: check, launch the points through Hydra, collect what they leave."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from asterism.core.files.folders import remove_tree
from asterism.core.files.interrupts import INTERRUPTED, take_interrupt
from asterism.core.files.locks import hold_lock_now
from asterism.core.files.plain_files import require_no_link, require_no_links_out_of
from asterism.core.files.records import read_record
from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError, name_file_in_errors
from asterism.core.messages.escaping import pluralise
from asterism.dvc_hydra.repository import open_checked_repository
from asterism.sweep import resources, workspace
from asterism.sweep.launch import (
    group_points,
    hydra_settings,
    is_adaptive,
    job_name,
    launch_points,
    launcher_name,
    make_shards,
    plan_points,
)
from asterism.sweep.live_lines import terminal_device
from asterism.sweep.plan import check_targets
from asterism.sweep.point import GRACE, REPORT, PointOutcome, PointRecord, write_points
from asterism.sweep.points import (
    Point,
    check_name,
    check_space,
    default_sweep_name,
    enumerate_points,
    hydra_choice_path,
)
from asterism.sweep.worker import Sweep, SweepRequest

log = get_logger(__name__)

#: Lines of a failing point's log that are shown.
TAIL = 15
#: Bytes of a log that these lines are looked for in.
_TAIL_BYTES = 100_000


def prepare_sweep(
    project: Path, request: SweepRequest
) -> tuple[Sweep, list[Point], dict[str, Any]]:
    """Check everything that can be checked before anything runs.

    Returns:
        The sweep, its points (none where an adaptive sweeper chooses them) and its launcher's
        settings.

    Raises:
        UserError: see :func:`check_name`, :func:`hydra_settings`, :func:`make_shards`,
            :func:`enumerate_points`, :func:`~asterism.sweep.workspace.require_clean`,
            :func:`~asterism.config.check_params` and
            :func:`~asterism.sweep.plan.check_targets`,
            or there is no objective for an adaptive sweeper.
    """
    from asterism.config import check_params  # points load this module without all parameters

    conf, overrides, targets = project / "conf", request.overrides, request.targets
    name = request.name if request.name is not None else default_sweep_name(overrides, targets)
    check_name(name)
    settings = hydra_settings(conf, overrides)
    launcher = settings["launcher"]
    shards = make_shards(conf, request.shards, request.shard_launcher, launcher_name(launcher))
    adaptive = is_adaptive(settings["sweeper"])
    objective = request.objective
    if objective and not adaptive:
        raise UserError(
            "--objective is for sweepers that choose points by a metric (hydra/sweeper=optuna); "
            "this one runs all of them"
        )
    points = []
    if not adaptive:
        points = enumerate_points(conf, overrides)
        compositions = [point.composition for point in points]
    elif objective:
        compositions = check_space(conf, overrides)
    else:
        raise UserError(
            "this sweeper chooses points by a metric: name it with --objective, as the table does "
            "(fuzz-state:crashes)"
        )
    revision = workspace.require_clean(project)
    check_params(project)  # DVC reads it below
    _check_committed(project, revision)
    cache = open_checked_repository(project).cache
    check_targets(project, targets, compositions)
    on_slurm = launcher_name(launcher) == "slurm"
    terminal = terminal_device() if len(points) == 1 and not on_slurm else ""
    sweep = Sweep(name, project, revision, cache, request, shards, not on_slurm, terminal)
    return sweep, points, launcher


def _check_committed(project: Path, revision: str) -> None:
    """Check the commit's parameters: DVC reads them in every workspace before the point's own."""
    from asterism.config import check_params

    committed = workspace.run_git(project, "show", f"{revision}:{workspace.PARAMETERS}") + "\n"
    if committed != (project / workspace.PARAMETERS).read_text(encoding="utf-8"):
        with (
            tempfile.TemporaryDirectory() as folder,
            name_file_in_errors(Path("the commit's params.yaml")),
        ):
            Path(folder, workspace.PARAMETERS).write_text(committed, encoding="utf-8")
            check_params(Path(folder))


def run_sweep(sweep: Sweep, points: Sequence[Point], launcher: Mapping[str, Any]) -> int:
    """Run a sweep and write its outcome.

    Args:
        sweep: the sweep.
        points: its points.
        launcher: its launcher's settings.

    Returns:
        0 when every point finished, 1 when one failed, 130 when the sweep was interrupted.

    Raises:
        UserError: a sweep of this name is running, a link leads out of its folder, no point
            began, or see :func:`~asterism.sweep.launch.group_points`.
    """
    require_no_link(sweep.project, sweep.folder)
    require_no_links_out_of(sweep.folder)
    try:
        with hold_lock_now(sweep.lock):
            return _run(sweep, points, launcher)
    except BlockingIOError:
        raise UserError(
            f"the sweep {sweep.name} is running already: wait for it, or give this one another "
            "name with --name"
        ) from None


def _run(sweep: Sweep, points: Sequence[Point], launcher: Mapping[str, Any]) -> int:
    # Points load this module without the libraries of these.
    from asterism.sweep.table import write_outcome, write_overview

    for number in sweep.running():
        ending = (
            "it ends in a moment" if sweep.tied else f"`scancel --name={job_name(sweep)}` ends it"
        )
        raise UserError(
            f"point {number} of {sweep.name} still runs, though its sweep was killed: "
            f"{ending}, then try again"
        )
    sweep.stop.unlink(missing_ok=True)
    remove_tree(sweep.folder / "points")
    write_points(sweep, points)
    on_slurm = launcher_name(launcher) == "slurm"
    interrupted = False
    try:
        lost = launch_points(sweep, group_points(sweep, points, launcher))
        while sweep.running() or (on_slurm and resources.is_queued(job_name(sweep))):
            time.sleep(1)  # points that the launcher has left alone because another was lost
    except KeyboardInterrupt:
        take_interrupt()
        interrupted = True
        sweep.stop.touch()
        if on_slurm:
            resources.cancel_pending(job_name(sweep))
        deadline = time.monotonic() + GRACE
        while sweep.running() and time.monotonic() < deadline:
            time.sleep(0.2)
    if not interrupted and lost:
        if not sweep.begun():
            name = launcher_name(launcher)
            raise UserError(f"no point began, the launcher {name} failed: {lost}")
        log.warning("a point was lost", sweep=sweep.name, reason=lost)
    records = read_records(sweep, points)
    write_outcome(sweep.folder, records, sweep.name)
    write_overview(sweep.folder.parent)
    if interrupted:
        return INTERRUPTED
    return 0 if all(record.status == "finished" for record in records) else 1


def read_records(sweep: Sweep, points: Sequence[Point]) -> list[PointOutcome]:
    """The records of all points, those of an adaptive sweeper as far as they have begun."""
    known = {number: Point(number, (), "") for number in sweep.begun()}
    known |= {point.number: point for point in points}
    return [_record(sweep, known[number]) for number in sorted(known)]


def _record(sweep: Sweep, point: Point) -> PointOutcome:
    folder = sweep.point_folder(point.number)
    path, log_file, page = folder / "record.json", folder / "log.txt", folder / REPORT.name
    if path.exists():
        record = read_record(PointRecord, path)
    else:
        status, reason = _without_a_record(sweep, folder)
        told = f"{reason}; the same command resumes it"
        record = PointRecord(status, None, told, number=point.number, overrides=point.overrides)
    lines = _end_of(log_file).splitlines() if log_file.is_file() else []
    return PointOutcome(
        **vars(record),
        log=str(log_file),
        log_tail="\n".join(lines[-TAIL:]),
        report=str(page.relative_to(sweep.folder)) if page.exists() else "",
    )


def _end_of(log_file: Path) -> str:
    with log_file.open("rb") as file:
        file.seek(max(0, log_file.stat().st_size - _TAIL_BYTES))
        return file.read(_TAIL_BYTES).decode(errors="replace")


def _without_a_record(sweep: Sweep, folder: Path) -> tuple[str, str]:
    """Status and reason of a point that did not come to its end."""
    if not folder.exists():
        return "not started", "the launcher ended before it began"
    if sweep.stop.exists():
        return "interrupted", "the sweep was interrupted"
    return "lost", "it was killed"


def sweep_command(request: SweepRequest, dry: bool, say: Callable[[str], None]) -> int:
    """``asterism sweep``; the process's exit status.

    Raises:
        UserError: see :func:`prepare_sweep` and :func:`run_sweep`.
    """
    project = Path.cwd()
    spelled = hydra_choice_path(project / "conf", request.overrides)
    request = replace(request, overrides=spelled)
    sweep, points, launcher = prepare_sweep(project, request)
    if dry and request.objective:
        raise UserError("--dry-run cannot list points that this sweeper chooses by results")
    if dry:
        _say_plan(sweep, points, say)
        return 0
    count = (
        f"points by {request.objective}" if request.objective else pluralise(len(points), "point")
    )
    say(f"sweep {sweep.name}: {count}, launcher {launcher_name(launcher)}")
    status = run_sweep(sweep, points, launcher)
    records = read_records(sweep, points)
    common = _common(records)
    for record in records:
        say(f"{_spoken(record, common)}: {_how_it_ended(record)}")
        if record.status in ("failed", "lost"):
            code = "" if record.exit_code is None else f"exit code {record.exit_code}: "
            say(f"  {code}{record.message}; log: {record.log}")
            for line in record.log_tail.splitlines():
                say(line)
    say(f"the table is {sweep.folder.relative_to(project)}/table.csv, and its page is index.html")
    return status


def _how_it_ended(record: PointRecord) -> str:
    if record.total_seconds is None:
        return record.status
    return f"{record.status}, {len(record.ran)} stages run, {record.total_seconds} s"


def _common(points: Sequence[Point | PointRecord]) -> set[str]:
    """The overrides that all points share."""
    return set.intersection(*(set(point.overrides) for point in points)) if points else set()


def _spoken(point: Point | PointRecord, common: set[str]) -> str:
    """A point by its number and by what it does not share with all the others."""
    own = " ".join(override for override in point.overrides if override not in common)
    return f"point {point.number} ({own})" if own else f"point {point.number}"


def _say_plan(sweep: Sweep, points: Sequence[Point], say: Callable[[str], None]) -> None:
    plans, seen = plan_points(sweep, points), set[str]()
    common = _common(points)
    for point, plan in zip(points, plans, strict=True):
        runs = [
            name if key not in seen else f"{name} (shared)" for name, key in plan["runs"].items()
        ]
        seen.update(plan["runs"].values())
        say(_spoken(point, common))
        say(f"  would run {', '.join(runs) or 'nothing'}; {plan['cached']} stages are cached")
    say(f"{len(points)} points, {len(seen)} stages to run in all")
