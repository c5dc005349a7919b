"""The command about findings of a run of the library lane that is going on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from asterism.cli.program import LIBRARIES, app, require_project_root
from asterism.core.messages.errors import UserError
from asterism.core.messages.terminal import say


@app.command(rich_help_panel=LIBRARIES)
def findings(
    triage: Annotated[
        Path | None,
        typer.Option(help="Shrink them, too; write scripts and reports to this new folder."),
    ] = None,
) -> None:
    """Judge the models that a running or stopped execute_models has run so far.

    The command reads what the stage has saved in state.root, and does not change it. Parameters
    come from params.yaml; they and the models must be those with which the stage was started.
    Shrunk findings are saved in state.root for the stage triage_findings.
    """
    from asterism.core.parameters.params import read_params
    from asterism.core.resuming.work_units import work_units
    from asterism.core.running.stage import load_script
    from asterism.differential.engine.execution import backends_of, parts_of
    from asterism.differential.engine.record import ExecutionRecord
    from asterism.differential.oracle.finding import defect_signature
    from asterism.differential.oracle.oracle import judge_all
    from asterism.differential.params import TriageSettings
    from asterism.differential.triage.shrink_cache import open_shrunk_findings, triage_run
    from asterism.differential.triage.triage import FindingsToTriage, triage_and_write
    from asterism.memo.graphs.store import read_models

    require_project_root("dvc.yaml")
    if triage is not None and triage.exists():
        raise UserError(f"{triage} is there already: name a new folder")
    execution = load_script(Path("stages"), "execute_models")
    later = load_script(Path("stages"), "triage_findings")
    params = read_params(TriageSettings)
    graphs = list(read_models(execution.MODELS).values())
    units = work_units("execute_models", read_params(execution.Params), execution.INPUTS)
    given = params.execute
    parts = parts_of(graphs, backends_of(given), given.distributions, given.more_share)
    record = ExecutionRecord.merged(units.so_far(parts, ExecutionRecord.copied))
    judged = judge_all(graphs, record, params.judge, params.seed)
    say(f"{len(record)} of {len(graphs)} models have run; {len(judged.findings)} findings")
    counts = Counter(defect_signature(finding) for finding in judged.findings)
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        say(f"{count:6}  {name}")
    if triage is not None:
        found = FindingsToTriage(judged.findings, graphs, later.WEIGHTS, judged.excluded)
        with open_shrunk_findings(triage_run(later.WEIGHTS, params)) as memory:
            metrics = triage_and_write(found, params, triage, memory)
        say(f"{metrics['unique']} unique findings are written to {triage}/")
