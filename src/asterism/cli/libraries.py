"""The command about the library lane: the findings of a run that is still going on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from asterism.cli.program import LIBRARIES, app, require_root
from asterism.core.messages.errors import UserError


@app.command(rich_help_panel=LIBRARIES)
def findings(
    triage: Annotated[
        Path | None,
        typer.Option(help="Shrink them too, and write scripts and reports into this new folder."),
    ] = None,
) -> None:
    """Judge the models that a running or stopped execute_models has run so far.

    It reads what the stage has saved in state.root, and changes nothing there. The parameters are
    those of params.yaml: they and the models must be those that the stage was started with.
    """
    from asterism.core.parameters.params import read_params
    from asterism.core.resuming.stage_units import work_units
    from asterism.core.running.stage import load_script
    from asterism.libraries.judging.finding import signature
    from asterism.libraries.judging.judged import judge_all
    from asterism.libraries.reporting.writing import triage_and_write
    from asterism.libraries.running.execution import backends_of, parts_of
    from asterism.libraries.running.record import Record
    from asterism.memo.graphs.store import read_models

    require_root("dvc.yaml")
    if triage is not None and triage.exists():
        raise UserError(f"{triage} is there already: name a new folder")
    execution = load_script(Path("stages"), "execute_models")
    later = load_script(Path("stages"), "triage_findings")
    params = read_params(later.Params)
    graphs = list(read_models(execution.MODELS).values())
    units = work_units("execute_models", read_params(execution.Params), execution.INPUTS)
    given = params.execute
    parts = parts_of(graphs, backends_of(given), given.distributions, given.special_share)
    record = Record.merged(units.so_far(parts, Record.copied))
    judged = judge_all(graphs, record, params.judge, params.seed)
    print(f"{len(record)} of {len(graphs)} models have run; {len(judged.findings)} findings")
    counts = Counter(signature(finding) for finding in judged.findings)
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        print(f"{count:6}  {name}")
    if triage is not None:
        settings = params.execute, params.judge, params.triage, params.seed
        metrics = triage_and_write(judged.findings, graphs, later.WEIGHTS, *settings, triage)
        print(f"{metrics['unique']} unique findings are written to {triage}/")
