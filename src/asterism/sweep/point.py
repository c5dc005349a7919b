"""One point of a sweep, wherever a launcher has put it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from asterism.core.files.artifacts import read_json, write_json
from asterism.core.files.folders import remove_tree
from asterism.core.files.interrupts import INTERRUPTED, take_interrupt
from asterism.core.files.locks import hold_lock
from asterism.core.files.os_errors import report_os_errors
from asterism.core.files.records import read_record, write_record
from asterism.core.messages.errors import UserError
from asterism.core.settings.yaml_files import flatten_mapping
from asterism.report.lanes import SWEEPS
from asterism.sweep import workspace
from asterism.sweep.points import Point
from asterism.sweep.worker import SWEEP, PointResult, Sweep, read_result

#: The page that the pipeline makes, which has all of a point's results.
REPORT = Path("report/index.html")

#: The folder with the page about a vetted pair, its certificate and the repaired file.
VETTED = Path("report/vet")

#: Where a point's record has the files that its sweep was asked to keep.
KEPT = "kept"

#: Seconds that an interrupted stage has to save its state.
GRACE = 30.0


@dataclass(frozen=True, kw_only=True)
class PointRecord(PointResult):
    """What a point leaves behind, in ``record.json``: how it went, and what it has measured.

    Attributes:
        number: the point's.
        overrides: its parameters, as Hydra takes them.
        experiment: the DVC experiment that holds its results; empty where it did not finish.
        metrics: all its numbers, by ``file:path.of.keys``.
        host: the machine that ran it.
        total_seconds: from the making of its workspace to its end; None where it did not end.
        revision: the commit that it started from.
    """

    number: int
    overrides: Sequence[str]
    experiment: str = ""
    metrics: dict[str, int | float] = field(default_factory=dict)
    host: str = ""
    total_seconds: float | None = None
    revision: str = ""


@dataclass(frozen=True, kw_only=True)
class PointOutcome(PointRecord):
    """A point's record, and what the command and the page of its sweep show of its folder.

    Attributes:
        log: its log file.
        log_tail: the last lines of it.
        report: its page, relative to the sweep's folder; empty where there is none.
    """

    log: str = ""
    log_tail: str = ""
    report: str = ""


def write_points(sweep: Sweep, points: Sequence[Point]) -> None:
    """Leave composed points where the launcher's processes find them by their numbers."""
    remove_tree(sweep.point_file(0).parent)
    for point in points:
        write_json(sweep.point_file(point.number), asdict(point))


def read_point(sweep: Sweep, number: int) -> Point:
    """Read a point that :func:`write_points` has left."""
    return read_record(Point, sweep.point_file(number))


def run_point(sweep: Sweep, point: Point) -> float | None:
    """Run a point to its end and leave its record.

    Returns:
        The sweep's objective; None where there is none, or the point failed. A failure is no
        exception, so that the other points go on.

    Raises:
        KeyboardInterrupt: the sweep was told to stop.
    """
    folder = sweep.point_folder(point.number)
    folder.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    metrics: dict[str, float] = {}
    with hold_lock(folder / "lock") as lock:
        try:
            with report_os_errors():
                result, metrics = _in_workspace(sweep, point, folder, lock)
        except (UserError, OSError) as error:  # git rejects, the disk is full
            result = PointResult("failed", 1, " ".join(str(error).split()))
        record = PointRecord(
            number=point.number,
            overrides=point.overrides,
            experiment=sweep.experiment(point) if result.status == "finished" else "",
            metrics=metrics,
            host=socket.gethostname(),
            total_seconds=round(time.perf_counter() - started, 3),
            revision=sweep.revision,
            **asdict(result),
        )
        write_json(folder / "record.json", asdict(record))
    if sweep.is_lost():  # nobody else is left to end the launcher's process, which is this one
        os._exit(INTERRUPTED)
    if result.status == "interrupted":
        raise KeyboardInterrupt
    return metrics.get(sweep.request.objective)


def _in_workspace(
    sweep: Sweep, point: Point, folder: Path, lock: int
) -> tuple[PointResult, dict[str, float]]:
    """Run a point in a workspace of its own; how it went and, where it finished, its metrics."""
    here = sweep.workspace(point)
    with hold_lock(here.with_name(f"{here.name}.lock")):
        try:
            result = _work(sweep, point, here, folder / "log.txt", lock)
            _keep(here, folder, sweep.request.kept)
            return result, read_metrics(here / "metrics") if result.status == "finished" else {}
        finally:
            remove_tree(here)


def _work(sweep: Sweep, point: Point, here: Path, log: Path, lock: int) -> PointResult:
    """Make the point's workspace and bring it up to date, unless the sweep is over."""
    if sweep.is_over():
        return PointResult("interrupted", INTERRUPTED, "the sweep was stopped before it began")
    workspace.create_workspace(sweep.project, here, sweep.revision, sweep.cache)
    (here / "params.yaml").write_text(point.composition, encoding="utf-8")
    write_record(here / SWEEP, sweep)
    return _supervise(sweep, here, log, lock)


def _supervise(sweep: Sweep, here: Path, log: Path, lock: int) -> PointResult:
    """Run the point's process, its output into a log; stop it when the sweep is over.

    It holds the point's lock along: where a launcher kills this process, the sweep waits for it.
    """
    command = [sys.executable, "-P", "-m", "asterism.sweep.worker", str(here)]
    source = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command,
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(lock,),
        )
        try:
            while process.poll() is None:
                if sweep.is_over():
                    raise KeyboardInterrupt
                time.sleep(0.1)
        except KeyboardInterrupt:
            take_interrupt()
            _stop(process)
            return PointResult(
                "interrupted", INTERRUPTED, "interrupted; the same command resumes it"
            )
    result = read_result(here)
    if result is None and process.returncode < 0:
        return PointResult(
            "lost", 128 - process.returncode, "it was killed; the same command resumes it"
        )
    if result is None:
        return PointResult("failed", process.returncode or 1, f"its process ended: see {log.name}")
    if result.status == "interrupted":
        return PointResult("failed", result.exit_code, "its stage was interrupted by someone else")
    return result


def _stop(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _keep(here: Path, folder: Path, kept: Sequence[str]) -> None:
    """Copy what is kept of a point's workspace: logs, report, vetted pair, and files as asked."""
    remove_tree(folder / KEPT)
    found = (path for pattern in kept for path in sorted(here.glob(pattern)))
    for path in filter(Path.is_file, found):
        target = folder / KEPT / path.relative_to(here)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    if (here / "logs").is_dir():
        shutil.copytree(here / "logs", folder / "logs", dirs_exist_ok=True)
    if (here / VETTED / "index.html").exists():
        shutil.copytree(here / VETTED, folder / VETTED.name, dirs_exist_ok=True)
    if (here / REPORT).exists():
        shutil.copyfile(here / REPORT, folder / REPORT.name)
        name_own_sweep(folder / REPORT.name)


def name_own_sweep(page: Path) -> None:
    """Let the report of a point lead to the page of its sweep, in the place of that of all sweeps.

    Args:
        page: in the point's folder, :attr:`Sweep.folder`'s ``points/NUMBER``.
    """
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace(f'"{SWEEPS}"', '"../../index.html"'), encoding="utf-8")


def read_metrics(folder: Path) -> dict[str, float]:
    """All numbers in a workspace's metrics, by ``file:path.of.keys``."""
    return {
        f"{file.stem}:{name}": value
        for file in sorted(folder.glob("*.json"))
        for name, value in flatten_mapping(read_json(file))
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }
