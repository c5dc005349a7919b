"""Commands about model files: check, vet, pack."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from asterism.cli.program import (
    MODELS,
    AsJson,
    Overrides,
    ShowPage,
    app,
    enter_project,
    keep_packed_model,
    packed_models,
    require_project_root,
    show_page,
)
from asterism.core.files.user_files import absolute_path
from asterism.core.messages.errors import UserError
from asterism.core.messages.terminal import say, say_json
from asterism.dvc_hydra.overrides import hydra_text

if TYPE_CHECKING:
    from asterism.vetting.verdict import Word


@app.command(rich_help_panel=MODELS)
def check(
    models: Annotated[
        list[Path] | None, typer.Argument(help="Model files; default: check the project.")
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option(help="Inputs of the models: a file or a folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe model files and inputs, or check this project.

    For a model, the command lists inputs, outputs and carried state, the kind of inputs, and what
    each lane can do with the model; the exit status is 1 if the file cannot be opened. For any
    other file, it says what the file is and how to make a model of it. Without arguments, it checks
    params.yaml and the cache before DVC's own commands read what others wrote.
    """
    if models or inputs:
        from asterism.asking.model_description import (
            UnreadableFile,
            describe_inputs,
            describe_model,
            examine_models,
            inputs_as_json,
            model_as_json,
        )

        looked = examine_models(models or [])
        if as_json:
            given = None if inputs is None else inputs_as_json(inputs)
            say_json({"models": [model_as_json(one) for one in looked], "inputs": given})
        else:
            for one in looked:
                say(*describe_model(one), error=isinstance(one, UnreadableFile))
            if inputs is not None:
                say(describe_inputs(inputs))
        sys.exit(1 if any(one.fault for one in looked) else 0)
    if as_json:
        raise UserError("--json describes models and inputs: name at least one")
    from asterism.config import check_params
    from asterism.dvc_hydra.commands import report_dvc_errors
    from asterism.dvc_hydra.repository import open_checked_repository

    require_project_root("dvc.yaml")
    check_params(Path.cwd())
    with report_dvc_errors():
        open_checked_repository(Path.cwd()).clean_cache()
    say("params.yaml is valid, and the cache holds nothing that the checks reject")


@app.command(rich_help_panel=MODELS)
def vet(
    original: Annotated[
        Path | None, typer.Argument(help="The original model: .onnx, .tflite, .keras, .h5 or .pt2.")
    ] = None,
    compressed: Annotated[Path | None, typer.Argument(help="The compressed model.")] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(help="Inputs like yours: a folder, or a file such as an .npz."),
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="images, sound, tokens, bytes or tensors; default: guessed.")
    ] = None,
    comparison: Annotated[
        str | None, typer.Option(help="How outputs are compared, for example top_label.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help=".json or .csv by file name; .json, .npy or .txt in order; default: by folder."
        ),
    ] = None,
    preprocessing: Annotated[
        str | None, typer.Option(help="Preprocessing of images: a choice of conf/preprocessing.")
    ] = None,
    constant: Annotated[
        list[str] | None,
        typer.Option(
            help="The value of a further input, NAME=NUMBER, or how it belongs to the tokens: "
            "NAME=mask, segment, position or length; repeatable."
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(min=0.5, help="Time that this run may take; default: 5."),
    ] = None,
    override: Overrides = None,
    name: Annotated[str | None, typer.Option(help="A name for the experiment.")] = None,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Make a small pair and pictures in demo/, and vet them."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what is guessed and what would run.")
    ] = False,
    check: Annotated[
        Path | None, typer.Option(help="Repeat a certificate, and say whether it still holds.")
    ] = None,
    exit_code: Annotated[
        bool,
        typer.Option(
            "--exit-code",
            help="Return the verdict as the exit status: 0 ship, 3 ship with the repair, 4 do not "
            "ship, 5 not enough inputs to say; without this option, 0 for each.",
        ),
    ] = False,
    show: ShowPage = None,
    as_json: AsJson = False,
) -> None:
    """Vet a compressed model: how often it deviates, where, which nodes cause it, and a repair.

    The command runs a DVC experiment in a workspace of its own, so that the cache answers the same
    question the next time. If the minutes did not suffice for everything, the same command resumes.
    Kind, preprocessing and comparison are derived from the files and from the original's answers.
    The command prints each of them with the reason, and a flag overrides it. If nothing determines
    one of them, the command asks for the flag.

    The exit status is 1 if vetting failed, 2 if the command line is wrong, and 0 otherwise. With
    --check, the status is 1 if the certificate does not hold; files that the certificate names
    outside of its project are only read if you name them as well. --exit-code returns the verdict.
    --json prints the certificate; with --check, the differences from it.
    """
    from asterism.vetting.verdict import EXIT_CODES

    if check is not None:
        asked = (
            *(kind, comparison, preprocessing, constant, minutes, override, name),
            *(demo, dry_run),
        )
        if any(asked):
            raise UserError("--check repeats the certificate: besides it, give only files")
        files = {
            "original": original, "compressed": compressed, "inputs": inputs, "labels": labels
        }  # fmt: skip
        word = _repeat(check, {k: path for k, path in files.items() if path is not None}, as_json)
        sys.exit(EXIT_CODES[word] if exit_code else 0)
    from asterism.asking.question import resolve_question
    from asterism.asking.request import VetRequest
    from asterism.core.files.records import record_as_json
    from asterism.project import find_conf_tree, find_project_folder
    from asterism.sweep.app import sweep_command
    from asterism.sweep.point import VETTED
    from asterism.sweep.points import derive_sweep_name
    from asterism.sweep.worker import SweepRequest
    from asterism.vetting.certificate import explain_repair, read_certificate
    from asterism.vetting.demo import FOLDER, make_demo
    from asterism.vetting.params import CERTIFICATE

    if as_json and dry_run:
        raise UserError("--json prints the certificate, and --dry-run makes none: give one of them")
    tell = partial(say, error=as_json)
    if demo:
        if any((original, compressed, inputs, kind, labels)):
            raise UserError("--demo makes its own models and pictures: give it without yours")
        enter_project(tell)
        original, compressed, inputs = make_demo(FOLDER)
    if original is None or compressed is None or inputs is None:
        raise UserError(
            "give the original, the compressed model and --inputs, or --demo, or --check FILE"
        )
    called = name or derive_sweep_name(f"vet-{compressed.stem}")
    place = find_project_folder(Path.cwd())
    folder = Path("sweeps") / called / "points/0000" / VETTED.name
    with packed_models(original, compressed) as models:
        request = VetRequest(
            original=models[0],
            compressed=models[1],
            inputs=absolute_path(inputs),
            kind=kind,
            comparison=comparison,
            labels=labels and absolute_path(labels),
            preprocessing=preprocessing,
            constants=constant or (),
            minutes=minutes,
            overrides=override or (),
            earlier=place / folder / CERTIFICATE,
        )
        settled = resolve_question(request, find_conf_tree(place))
        overrides, said = settled.overrides, settled.said
        enter_project(tell, overrides)
        for model in models:
            named = hydra_text(str(keep_packed_model(model)))
            overrides = [text.replace(hydra_text(str(model)), named) for text in overrides]
    for line in said:
        tell(line)
    run = SweepRequest(
        overrides=overrides, targets=["vet_page"], name=called, jobs=1 if settled.large else 2
    )
    code = sweep_command(run, dry_run, tell)
    if code == 0 and not dry_run:
        certificate, _, verdict = read_certificate(folder / CERTIFICATE)
        if as_json:
            say_json(record_as_json(certificate))
        else:
            say(f"verdict: {verdict.word}")
            for reason in verdict.reasons:
                say(f"  {reason}")
            for line in explain_repair(certificate, verdict):
                say(f"  {line}")
            show_page(folder / "index.html", show)
        code = EXIT_CODES[verdict.word] if exit_code else 0
    sys.exit(code)


@app.command(rich_help_panel=MODELS)
def pack(
    model: Annotated[Path, typer.Argument(help="An ONNX model that keeps data in other files.")],
    target: Annotated[Path, typer.Argument(help="The file to write.")],
) -> None:
    """Write an ONNX model and its data files as one file."""
    from asterism.models.foreign.onnx_files import pack_onnx

    pack_onnx(model, target)
    say(f"{target} is written")


def _repeat(certificate: Path, files: dict[str, Path], as_json: bool) -> Word:
    """Print what no longer holds, and end with status 1 if anything does not; the verdict now."""
    from asterism.vetting.repeating import repeat_certificate

    given = [name for name in files if name in ("original", "compressed")]
    with packed_models(*(files[name] for name in given)) as models:
        repeated = repeat_certificate(certificate, files | dict(zip(given, models, strict=True)))
    if as_json:
        say_json({"holds": repeated.holds, "differences": repeated.differences})
    else:
        say(*repeated.differences)
        say(f"the certificate {'holds' if repeated.holds else 'does not hold'}")
    if repeated.verdict is None or not repeated.holds:
        sys.exit(1)
    return repeated.verdict.word
