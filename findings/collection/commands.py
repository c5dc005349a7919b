"""The commands of ``python findings``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from asterism.cli.program import Overrides, require_project_root
from asterism.config import compose_changed_params
from asterism.core.messages.errors import UserError
from asterism.core.messages.terminal import say
from asterism.core.resuming import saved_folders
from asterism.differential.engine.execution import limits_of
from asterism.differential.params import TriageSettings
from asterism.memo.graphs.light_keras import import_keras
from collection.audit import audit_lines
from collection.calls.call import variants_of
from collection.calls.campaign import CALLS, run_calls
from collection.calls.running import CallWorkers
from collection.calls.table import calls_of
from collection.campaign import folder_of_pieces, run_pieces
from collection.checking import (
    check_all,
    counts_of,
    exit_status,
    note_elsewhere,
    note_run,
    sample_of,
    word_of,
)
from collection.collecting import add_by_hand, unique_of
from collection.entry import COLLECTED_SYMPTOMS, CollectedFinding, read_collection
from collection.gathering import facts_of, gather, write_pages_of
from collection.single_layers import single_layer_models

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",  # else lines of docstrings end where they end in the source
    pretty_exceptions_enable=False,
    help="Keep a collection of findings: campaigns that fill it, and checks of its scripts.",
)

#: Where most commands find the findings.
Folder = Annotated[Path, typer.Option(help="The folder of the collection.")]
#: What campaigns take their settings from, and the collection whose cases they leave out.
Experiment = Annotated[
    str, typer.Option(help="An experiment of conf/experiment: backends, tolerances and limits.")
]
Known = Annotated[
    Path, typer.Option(help="A collection: what was run or found for it is not run again.")
]


@app.command()
def check(
    folder: Folder = Path("findings"),
    sample: Annotated[
        int, typer.Option(min=0, help="Check only this many, drawn at random; 0: all.")
    ] = 0,
    seconds: Annotated[float, typer.Option(min=1, help="Time limit of each check.")] = 300,
    environment: Annotated[
        list[str] | None,
        typer.Option(
            help="Check a library's findings in another version: openvino@2025.4; repeatable."
        ),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Check findings with this in their names; repeatable.")
    ] = None,
    write: Annotated[
        bool, typer.Option(help="Note what scripts print and write reports and pages.")
    ] = False,
    audit: Annotated[
        bool, typer.Option(help="Run nothing: compare the index with the audit's classes.")
    ] = False,
) -> None:
    """Run each repro.py of a collection again, and say which bugs live.

    The exit status is 1 if a script failed in another way or took too long, so that it says nothing
    about its bug. With --environment, scripts run in that version of their library; the results are
    noted in the collection and on its pages, and the exit status is 0.
    """
    entries = read_collection(folder)
    if not entries:
        raise UserError(f"{folder} holds no findings")
    if audit:
        for line in audit_lines(entries):
            say(line)
        return
    if only:
        entries = [entry for entry in entries if any(part in entry.name for part in only)]
    chosen = sample_of(entries, sample, 0) if sample else entries
    if environment:
        for entry in note_elsewhere(folder, chosen, environment, seconds):
            for name in environment:
                if name in entry.elsewhere:  # it is not one of another library
                    say(f"{entry.elsewhere[name]:16} {name:20} {entry.name}")
        write_pages_of(folder)
        return
    words = []
    for entry, ran in check_all(folder, chosen, seconds):
        words.append(word_of(entry, ran))
        say(f"{words[-1]:16} {entry.name}")
        if write:
            note_run(folder, entry, ran)
    say(counts_of(words))
    if write:
        write_pages_of(folder)
    sys.exit(exit_status(words))


@app.command()
def collect(
    folder: Folder = Path("findings"),
    pieces: Annotated[
        Path | None,
        typer.Option(
            help="The pieces of `python findings campaign`; default: campaign/ below programs.root."
        ),
    ] = None,
    operators: Annotated[
        list[str] | None,
        typer.Option(
            help="Results of compare-versions --operators, as FOLDER:OLD:NEW; repeatable."
        ),
    ] = None,
    calls: Annotated[
        list[str] | None,
        typer.Option(help="A framework of `python findings call`: pytorch, …; repeatable."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Collect only calls with this text in their signature; repeatable."),
    ] = None,
    override: Overrides = None,
) -> None:
    """Give each distinct confirmed finding of a campaign a folder, and write the pages.

    A finding with the same cause as another is noted in that folder. What a person writes into a
    folder's finding.yaml appears in its report and on the pages.
    """
    require_project_root("conf")
    settings = compose_changed_params(TriageSettings, override or [])
    outcome = gather(settings, folder, pieces, operators or [], calls or [], only or [])
    for name in outcome.new:
        say(name)
    say(
        f"{len(outcome.new)} new; {outcome.merged} have the cause of another, {outcome.limits} are "
        f"known limits, {outcome.unconfirmed} are not confirmed, {outcome.large} are too large"
    )


@app.command()
def add(
    script: Annotated[Path, typer.Argument(help="A script that exits with 1 while the bug lives.")],
    library: Annotated[str, typer.Option(help="The library to blame, for example openvino.")],
    symptom: Annotated[str, typer.Option(help="What goes wrong: `values differ`, error, crash, …")],
    layer: Annotated[str, typer.Option(help="The function, layer or operator that shows it.")],
    backend: Annotated[
        str, typer.Option(help="A backend that shows it, for example tensorflow:eager.")
    ],
    package: Annotated[
        list[str], typer.Option(help="A package whose version is noted; repeatable.")
    ],
    parameter: Annotated[
        list[str] | None, typer.Option(help="A parameter that it needs, as NAME=VALUE; repeatable.")
    ] = None,
    inputs: Annotated[
        str, typer.Option(help="The kind of inputs that it needs: normal, empty, nan, …")
    ] = "normal",
    title: Annotated[str, typer.Option(help="A title that names the fault.")] = "",
    folder: Folder = Path("findings"),
) -> None:
    """Give a finding that was made by hand a folder, if three fresh processes show it.

    Afterwards, `python findings collect` puts the finding on the pages.
    """
    pairs = [pair.partition("=") for pair in parameter or []]
    parameters = {name: value for name, _, value in pairs}
    seen = CollectedFinding.seen("hand", library, symptom, layer, parameters, inputs, backend)
    say(add_by_hand(script, seen, package, title, folder).name)


@app.command()
def campaign(
    pieces: Annotated[int, typer.Option(min=1, help="Number of pieces to run now, at most.")] = 1,
    size: Annotated[int, typer.Option(min=1, help="Number of models in a piece.")] = 40,
    experiment: Experiment = "library_campaign",
    folder: Annotated[
        Path | None,
        typer.Option(help="The folder of the pieces; default: campaign/ below programs.root."),
    ] = None,
    collection: Known = Path("findings"),
    override: Overrides = None,
) -> None:
    """Test libraries with models of one layer each, one piece of the campaign at a time.

    Every declared layer runs with its defaults, then with each of its options. A piece that is
    finished is not run again, so an interrupted campaign resumes, also on another machine.
    Several processes of this command share the models among themselves.
    Afterwards, `python findings collect` collects the findings.
    """
    require_project_root("conf")
    settings = compose_changed_params(
        TriageSettings, [f"+experiment={experiment}", *(override or [])]
    )
    import_keras("numpy")  # its lists of options are read, and nothing is built
    models = single_layer_models(settings.seed)
    target = folder_of_pieces(folder)
    elsewhere = facts_of(collection)["pieces"]
    known = unique_of(collection, read_collection(collection))
    shown = run_pieces(models, size, settings, target, elsewhere, known)
    for number, path in enumerate(shown, 1):
        say(str(path))
        if number == pieces:
            break


@app.command()
def call(
    framework: Annotated[str, typer.Argument(help="The framework: pytorch, tensorflow or jax.")],
    variant: Annotated[
        list[str] | None,
        typer.Option(help="A variant to run: pytorch:inductor, …; repeatable; default: all."),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(help="A table of functions: pytorch:casts, …; repeatable; default: all."),
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Number of calls to run now, at most.")] = 1000,
    experiment: Experiment = "library_campaign",
    collection: Known = Path("findings"),
    override: Overrides = None,
) -> None:
    """Call single functions of a framework directly, and by compiled and converted variants.

    Each variant must give the result of the direct call. Calls that have run are not run again, so
    that an interrupted command resumes. Afterwards, `python findings collect --calls pytorch`
    collects the findings.
    """
    require_project_root("conf")
    settings = compose_changed_params(
        TriageSettings, [f"+experiment={experiment}", *(override or [])]
    )
    names = variant or variants_of(framework)
    elsewhere = facts_of(collection).get("calls", {})
    with CallWorkers(framework, limits_of(settings.execute), settings.judge) as workers:
        calls = calls_of(framework, table or [])
        shown = run_calls(calls, names, workers, saved_folders.place(CALLS), elsewhere)
        for number, (name, one) in enumerate(shown, 1):
            if one.status in COLLECTED_SYMPTOMS:
                say(f"{name:20} {one.status:22} {one.call}  {one.details[:160]}")
            if number == most:
                break
