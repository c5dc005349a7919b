"""``asterism reproduce`` and ``asterism compare``: run experiments, record them, write the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from asterism.core.files.artifacts import replacing
from asterism.core.files.interrupts import INTERRUPTED
from asterism.core.messages.errors import UserError
from asterism.core.svg import svg_text, write_svg
from asterism.reproduction.claims import CLAIMS, TABLES, read_claims, read_tables
from asterism.reproduction.collecting import collect_run
from asterism.reproduction.experiments import Experiment, read_experiments, select_experiments
from asterism.reproduction.figures import (
    FIGURES,
    FOLDER,
    Plot,
    draw_figures,
    draw_relations,
    draw_tables,
    read_figures,
)
from asterism.reproduction.page import PAGE, comparison_page
from asterism.reproduction.records import (
    RECORDED,
    largest_runs,
    mark_inadmissible,
    path_of,
    read_all_runs,
    write_run,
)
from asterism.reproduction.tables import PAPERS, fill_table
from asterism.sweep.app import sweep_command
from asterism.sweep.points import count_points
from asterism.sweep.worker import SweepRequest

Say = Callable[[str], None]


def reproduce_experiments(
    names: Sequence[str],
    scale: str,
    models: Path | None,
    *,
    jobs: int,
    beside_other_work: bool,
    dry: bool,
    say: Say,
) -> int:
    """Run experiments, one after the other, and record what they gave.

    An experiment that was not named is left out, and this is said, where its published files are
    not given.

    Args:
        names: experiments; none for all that have the scale.
        scale: one of ``SCALES``.
        models: folder of the published files; None where none are given.
        jobs: points at the same time; of an experiment that is one point, stages.
        beside_other_work: whether the machine has other work.
        dry: only say what would run.
        say: takes each line for the user.

    Returns:
        The process's exit status: 1 where a point failed, 130 when interrupted, else 0.

    Raises:
        UserError: no such experiment or scale, or see
            :func:`~asterism.sweep.app.sweep_command`.
    """
    chosen = select_experiments(read_experiments(), names, scale)
    ready: list[tuple[Experiment, list[str]]] = []
    for experiment in chosen:
        try:
            ready.append((experiment, experiment.overrides(scale, models)))
        except UserError as error:
            if names:
                raise
            say(f"left out: {error}")
    failed = []
    for place, (experiment, overrides) in enumerate(ready, start=1):
        say(f"experiment {place} of {len(ready)}: {experiment.name} at scale {scale}")
        beside = []
        if jobs > 1 and count_points(overrides) > 1:  # so many points at the same time
            beside = ["hydra/launcher=joblib", f"hydra.launcher.n_jobs={jobs}"]
        request = SweepRequest(
            overrides=[*overrides, *beside],
            targets=experiment.settings.targets,
            name=experiment.sweep_name(scale),
            jobs=1 if beside else jobs,
            kept=sorted({series.file for series in experiment.settings.series.values()}),
        )
        status = sweep_command(request, dry, say)
        if status == INTERRUPTED:
            return status
        if status:
            failed.append(experiment.name)
        if not dry:
            run = collect_run(Path.cwd(), experiment, scale, beside_other_work, RECORDED)
            write_run(run)
            say(f"recorded in {path_of(experiment.name, scale)}")
    if failed:
        say(f"failed: {', '.join(failed)}; the same command resumes it")
    return 1 if failed else 0


def write_comparison(check: bool, say: Say) -> None:
    """Write the page and its pictures from ``results/``.

    Args:
        check: write nothing.
        say: takes each line for the user.

    Raises:
        UserError: a file of ``results/`` is not as it should be; or, with ``check``, the page or a
            picture is not current.
    """
    text, plots = render_page(Path())
    pictures = {FOLDER / f"{plot.name}.svg": plot for plot in plots}
    known = set(FOLDER.glob("*.svg"))
    if check:
        stale = [] if _holds(PAGE, text) else [PAGE]
        stale += [
            path for path, plot in pictures.items() if not _holds(path, svg_text(plot.figure))
        ]
        stale += sorted(known - set(pictures))
        if stale:
            named = ", ".join(str(path) for path in stale)
            raise UserError(f"not current with results/: {named}; run `asterism compare`")
        say(f"{PAGE} is current")
        return
    with replacing(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")
    for path, plot in pictures.items():
        write_svg(path, plot.figure)
    for path in known - set(pictures):
        path.unlink()
    say(f"{PAGE} is written, with {len(pictures)} pictures in {FOLDER}")


def render_page(root: Path) -> tuple[str, list[Plot]]:
    """The page's text and its pictures.

    Args:
        root: of the project, whose ``results/`` and entry conditions in ``conf/`` are read.

    Raises:
        UserError: a file of ``results/`` is missing or not as it should be.
    """
    claims, recorded = read_claims(root / CLAIMS), read_all_runs(root / RECORDED)
    runs = largest_runs(mark_inadmissible(recorded, read_experiments(root / "conf")))
    tables = [
        (table, fill_table(table, runs, root / PAPERS)) for table in read_tables(root / TABLES)
    ]
    plots = [
        *draw_tables(tables),
        *draw_relations(claims, runs),
        *draw_figures(read_figures(root / FIGURES), runs),
    ]
    return comparison_page(claims, tables, runs, recorded, plots), plots


def _holds(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text
