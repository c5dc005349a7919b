"""The command that judges a test set: judge-tests."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from asterism.cli.program import (
    JUDGE,
    AsJson,
    Overrides,
    ShowPage,
    app,
    enter_project,
    keep_packed_model,
    packed_models,
    show_page,
)
from asterism.core.files.user_files import absolute_path
from asterism.core.messages.errors import UserError
from asterism.core.messages.terminal import say, say_json

if TYPE_CHECKING:
    from asterism.report.base.section import FrontPageAnswer


@app.command("judge-tests", rich_help_panel=JUDGE)
def judge_tests(
    model: Annotated[
        Path, typer.Argument(help="A classifier (.keras, .h5) or a recurrent network (also .onnx).")
    ],
    data: Annotated[
        str,
        typer.Option(
            help="The training and test inputs: an .npz file, a folder with train/ and test/, or "
            "the name of a known data set such as mnist."
        ),
    ],
    preprocessing: Annotated[
        str | None, typer.Option(help="Preprocessing of images: a choice of conf/preprocessing.")
    ] = None,
    override: Overrides = None,
    name: Annotated[str | None, typer.Option(help="A name for the experiment.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would run.")] = False,
    show: ShowPage = None,
    as_json: AsJson = False,
) -> None:
    """Judge a test set: what it exercises in a model, and which inputs would exercise more.

    In a classifier of images, it exercises combinations of the most important neurons
    (DeepImportance); in a recurrent network, abstract states and transitions (DeepStellar). The
    command runs a DVC experiment in a workspace of its own, so that the cache answers the same
    question the next time.
    """
    from asterism.asking.lanes import JudgeRequest, resolve_judging
    from asterism.models.tensor_models.trial import require_runs
    from asterism.project import find_conf_tree, find_project_folder
    from asterism.sweep.app import sweep_command
    from asterism.sweep.point import KEPT
    from asterism.sweep.points import derive_sweep_name
    from asterism.sweep.worker import SweepRequest

    if as_json and dry_run:
        raise UserError("--json prints the answers, and --dry-run has none: give one of them")
    tell = partial(say, error=as_json)
    conf = find_conf_tree(find_project_folder(Path.cwd()))
    data = str(absolute_path(Path(data))) if Path(data).exists() else data
    with packed_models(model) as (file,):
        require_runs(file, model)
        asked = JudgeRequest(
            model=file, data=data, preprocessing=preprocessing, overrides=override or ()
        )
        settled = resolve_judging(asked, conf)
        enter_project(tell, settled.overrides)
        if (stays := keep_packed_model(file)) != file:
            asked = replace(asked, model=stays)
            settled = resolve_judging(asked, Path("conf"))
    for line in settled.said:
        tell(line)
    called = name or derive_sweep_name(f"judge-tests-{asked.model.stem}")
    folder, lane = Path("sweeps", called, "points/0000"), settled.lane
    run = SweepRequest(
        overrides=settled.overrides, targets=[lane.stage], name=called, jobs=2, kept=lane.kept
    )
    code = sweep_command(run, dry_run, tell)
    if code == 0 and not dry_run:
        page, answers = write_answers(folder, lane.section)
        if as_json:
            say_json([asdict(answer) for answer in answers])
        else:
            for answer in answers:
                _print_answer(answer)
            say(f"files: {folder / KEPT}")
            show_page(page, show)
    sys.exit(code)


def write_answers(folder: Path, lane: str) -> tuple[Path, tuple[FrontPageAnswer, ...]]:
    """Write the page of a point that has finished; the page, and the answers at its beginning.

    Args:
        folder: the point's.
        lane: whose section the page has.

    Raises:
        UserError: the results are not there.
    """
    from asterism.report.lanes import SECTIONS, write_page
    from asterism.sweep.point import KEPT, REPORT, name_own_sweep

    page, kept = folder / REPORT.name, folder / KEPT
    write_page(kept, page, [lane])
    name_own_sweep(page)
    section = SECTIONS[lane](kept)
    assert section is not None, "the page has it"
    return page, section.answers


def _print_answer(answer: FrontPageAnswer) -> None:
    say(answer.question)
    say(f"  {answer.sentence}")
    for figure in answer.figures:
        say(
            f"  {figure.label}: {figure.value}"
            + (f" ({figure.certainty})" * bool(figure.certainty))
        )
    for step in answer.steps:
        say(f"  next: {step.text} {step.command}".rstrip())
