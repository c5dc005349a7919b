"""Comparing models: running them, looking for the nodes to blame, and writing the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from asterism.comparing.blaming import FaultLocaliser
from asterism.comparing.cases import ComparisonCase
from asterism.comparing.comparison import (
    BackendComparison,
    ComparisonRequest,
    ComparisonRow,
    LibraryComparisonParams,
)
from asterism.comparing.judging import run_subject, why_no_reference
from asterism.comparing.libraries import title_of
from asterism.core.files.artifacts import replacing, write_json
from asterism.core.messages.console import progress
from asterism.differential.adapters.backend_names import library_of, product_of, suffix_of
from asterism.differential.adapters.environments import interpreter_of
from asterism.differential.engine.tasks import Result
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.params import JudgeParams
from asterism.differential.report.confirming import exit_statuses
from asterism.differential.subjects import Arrays, ModelFile
from asterism.differential.subjects.reading import note_failure, require_any_compared
from asterism.report.base.document import render_body, renderer, write_document
from asterism.report.base.section import KeyFigure, ReportSection

#: Characters of a folder's name.
_LONGEST = 60

_render = renderer("asterism.comparing")

#: Says what became of a model that ran, or raises a UserError where nothing can be said.
CaseJudge = Callable[[ModelFile, Mapping[str, Arrays], Result], Sequence[ComparisonCase]]


def run_comparison(
    found: BackendComparison,
    request: ComparisonRequest,
    params: LibraryComparisonParams,
    pool: WorkerPool,
    subjects: Sequence[ModelFile],
    backends: Sequence[str],
    judge: CaseJudge,
) -> None:
    """Run all models, explain the worst of what is found, and write the page.

    Args:
        found: what is known before, to which everything else is added.
        request: what a user asks.
        params: tolerances, and the seed of what is drawn.
        pool: started workers of the backends and the references.
        subjects: the models.
        backends: each of which runs the models in its files' format.
        judge: says what became of a model.

    Raises:
        UserError: nothing could be compared.
    """
    for subject in progress(subjects, label="compare", unit="model"):
        with note_failure(subject.name, found.rejected):
            inputs = request.inputs_of(subject, params.seed)
            readers = [b for b in backends if suffix_of(b) == subject.suffix]
            result = run_subject(pool, subject, inputs, readers)
            found.subjects.append((subject, [*judge(subject, inputs, result)]))
            if why := why_no_reference(subject, result):
                found.no_reference[subject.name] = why
    require_any_compared(found.subjects, found.rejected)
    with replacing(request.target) as folder:
        folder.mkdir()
        rows = [row for row in found.rows if row.worst.other][: request.explained]
        for number, row in enumerate(progress(rows, label="blame", unit="change"), 1):
            (subject,) = (one for one, _ in found.subjects if one.name == row.worst.subject)
            about = f"the nodes of {subject.name} to blame, {row.worst.culprit}"
            with note_failure(about, found.rejected):
                inputs = request.inputs_of(subject, params.seed)
                blame = FaultLocaliser(
                    pool, params.judge, row.worst, subject, inputs[row.worst.distribution]
                )
                row.part = blame.smallest(request.steps)
                _write_script(row, number, folder, params.judge)
        write_comparison_page(found, folder / "index.html", params.judge)
        write_json(folder / found.page.facts, found.to_json())


def _write_script(row: ComparisonRow, number: int, folder: Path, params: JudgeParams) -> None:
    """Write a row's script, and run it in each of the compared versions of its library."""
    case, part = row.worst, row.part
    assert part is not None
    words = re.sub(r"\W+|_", "-", f"{number:02d} {case.kind} {case.subject}")
    row.folder = words[:_LONGEST].strip("-")
    (folder / row.folder).mkdir()
    script = part.write_script(folder / row.folder, part.title, params)
    row.statuses = {
        title_of(name): exit_statuses(script, 1, interpreter_of(name))[0]
        for name in dict.fromkeys(map(library_of, case.backends))
        if product_of(name) == product_of(case.at_fault.library)
    }


def write_comparison_page(found: BackendComparison, target: Path, params: JudgeParams) -> None:
    """Write the page of a comparison, by the command's own template.

    Args:
        found: what is told.
        target: an HTML file.
        params: the oracle's tolerances.
    """
    tolerances = {"ulps": f"{params.ulps:g}", "conditioning": f"{params.conditioning:g}"}
    anchor, facts = found.page.anchor, found.page.facts
    body, contents = render_body(_render, found.page.template, anchor, found=found, **tolerances)
    headline = tuple(
        KeyFigure(name, str(value), sources=(f"{facts}: {keys}",))
        for name, value, keys in found.figures()
    )
    title = " beside ".join(found.compared)
    section = ReportSection(
        anchor, title, found.page.question, headline, body, order=0, contents=contents
    )
    write_document(target, [section], "")
