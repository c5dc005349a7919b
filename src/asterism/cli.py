"""The ``asterism`` command: what DVC's own commands do not do."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from asterism.core.files.artifacts import replacing
from asterism.core.files.os_errors import rejections_told
from asterism.core.messages.errors import UserError
from asterism.core.running.supervision import INTERRUPTED
from asterism.pairs.command import pairs


def _require_root(needed: str) -> None:
    """Stop in a folder without this file of a project's root."""
    if not Path(needed).exists():
        raise UserError(f"there is no {needed} here: run the command in the project's root")


ShardCount = Annotated[
    int, typer.Option("--shards", min=1, help="Processes that share the work of a long stage.")
]
ShardLauncher = Annotated[
    str | None,
    typer.Option(help="A choice of hydra/launcher for Slurm, to run shards as its jobs."),
]

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Test deep-learning systems, reproducibly. The pipeline itself runs with `dvc repro`.",
)

app.command()(pairs)


@app.command()
def params(
    override: Annotated[
        list[str] | None, typer.Argument(help="Hydra overrides, as `data=mnist` or `seed=1`.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if params.yaml is not current.")
    ] = False,
) -> None:
    """Compose conf/ into params.yaml, validated."""
    from asterism.config import compose

    _require_root("conf")
    target = Path("params.yaml")
    text = compose(Path("conf"), override or [])
    if not check:
        with replacing(target) as temporary:
            temporary.write_text(text, encoding="utf-8")
        print(f"{target} is written")
    elif not target.exists() or target.read_text(encoding="utf-8") != text:
        command = shlex.join(["asterism", "params", *(override or [])])
        raise UserError(f"{target} is not this composition of conf/: run `{command}`")


@app.command()
def sweep(
    overrides: Annotated[
        list[str] | None,
        typer.Argument(help="Hydra overrides; `a=1,2` and `a=range(1,4)` span the sweep."),
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option("--target", "-t", help="Run this stage and what it needs.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The sweep's name, and its folder's.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Stages of a point at the same time.")] = 1,
    shards: ShardCount = 1,
    shard_launcher: ShardLauncher = None,
    objective: Annotated[
        str, typer.Option(help="The metric that hydra/sweeper=optuna goes by (fuzz-state:crashes).")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List points and what they would run.")
    ] = False,
) -> None:
    """Run the pipeline at each point of a sweep; hydra/launcher=joblib runs them in parallel."""
    from asterism.sweep.app import Request, sweep_command

    _require_root("dvc.yaml")

    def say(line: str) -> None:
        print(line, flush=True)

    request = Request(overrides or [], target or [], name, jobs, shards, shard_launcher, objective)
    sys.exit(sweep_command(request, dry_run, say))


@app.command()
def repro(
    targets: Annotated[list[str] | None, typer.Argument(help="Stages; all if none.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Stages at the same time.")] = 1,
    shards: ShardCount = 1,
    shard_launcher: ShardLauncher = None,
) -> None:
    """Bring the workspace up to date as `dvc repro` does, independent stages side by side."""
    from asterism.budget import RUN_LABEL
    from asterism.config import check_params
    from asterism.core.resuming.tidying import tidy
    from asterism.core.running.footprint import Footprint
    from asterism.core.running.stage import record_run
    from asterism.dvc_hydra.errors import errors_of_dvc
    from asterism.dvc_hydra.hashes import Hashes
    from asterism.dvc_hydra.repository import open_checked_repository
    from asterism.sweep.interrupt import terminated_as_by_ctrl_c
    from asterism.sweep.pipeline import (
        StageFailedError,
        lock_folder,
        open_ends,
        run_stages,
        use_this_python,
    )
    from asterism.sweep.plan import read_plan
    from asterism.sweep.settings import make_shards

    _require_root("dvc.yaml")
    root = Path.cwd()
    check_params(root)
    spread = make_shards(root / "conf", shards, shard_launcher, "basic")
    use_this_python()
    started, footprint = time.perf_counter(), Footprint()
    try:
        with errors_of_dvc(), terminated_as_by_ctrl_c():
            with open_checked_repository(root) as repository:
                plan = read_plan(repository, targets or [], Hashes())
            stale = open_ends(root, plan)
            ran = run_stages(root, plan, stale, jobs, lock_folder(root), spread)
        tidy()  # also what a run left that was killed when its stages were committed
    except StageFailedError as error:
        raise UserError(str(error)) from None
    except KeyboardInterrupt:
        print("error: interrupted; the same command goes on", file=sys.stderr)
        sys.exit(INTERRUPTED)
    _make_overview(root / "sweeps")
    if ran:
        seconds = time.perf_counter() - started
        record_run(RUN_LABEL, seconds, footprint.peak_mb(), stages=len(ran), jobs=jobs)
    print(f"{len(ran)} stages ran" if ran else "Data and pipelines are up to date.")


@app.command()
def pull(
    experiments: Annotated[
        str | None,
        typer.Option(metavar="ORIGIN", help="Fetch all experiments of this git remote instead."),
    ] = None,
) -> None:
    """Fetch what others have computed, as `dvc pull --run-cache` does, and check it."""
    from asterism.config import check_params
    from asterism.dvc_hydra.errors import errors_of_dvc
    from asterism.sweep.pull import pull as pull_checked

    _require_root("dvc.yaml")
    check_params(Path.cwd())
    with errors_of_dvc():
        status = pull_checked(Path.cwd(), experiments)
    sys.exit(status)


@app.command()
def check(
    models: Annotated[
        list[Path] | None, typer.Argument(help="Model files; none: the project itself.")
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option(help="Inputs for them: a file or a folder.")
    ] = None,
) -> None:
    """Say what model files and inputs are, without running them; or check this project.

    Of a model it says the inputs, outputs and carried state, the kind of inputs, and what each
    lane can do with it. Without arguments it checks params.yaml and the cache, before DVC's own
    commands read what others wrote.
    """
    if models or inputs:
        from asterism.vetting.looking import describe_inputs, describe_model

        for path in models or []:
            print(describe_model(path))
        if inputs is not None:
            print(describe_inputs(inputs))
        return
    from asterism.config import check_params
    from asterism.dvc_hydra.errors import errors_of_dvc
    from asterism.sweep.pull import clean_cache

    _require_root("dvc.yaml")
    check_params(Path.cwd())
    with errors_of_dvc():
        clean_cache(Path.cwd())
    print("params.yaml is valid, and the cache holds nothing that the checks reject")


@app.command()
def vet(
    original: Annotated[
        Path | None, typer.Argument(help="The original: .onnx, .tflite, .keras, .h5.")
    ] = None,
    compressed: Annotated[Path | None, typer.Argument(help="Its compressed version.")] = None,
    inputs: Annotated[
        Path | None, typer.Option(help="Inputs like yours: a folder of files, a file, or an .npz.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="images, sound, tokens, bytes or tensors; else guessed.")
    ] = None,
    comparison: Annotated[
        str | None, typer.Option(help="How outputs are compared, such as top_label.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="JSON: label by file name, or a list; else by folder.")
    ] = None,
    preprocessing: Annotated[
        str | None, typer.Option(help="Of images: a choice of conf/preprocessing.")
    ] = None,
    constant: Annotated[
        list[str] | None, typer.Option(help="NAME=NUMBER: the value of a further input.")
    ] = None,
    override: Annotated[
        list[str] | None, typer.Option("--set", "-S", help="A further override of Hydra.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the experiment.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what is guessed and what would run.")
    ] = False,
    check: Annotated[
        Path | None, typer.Option(help="Repeat a certificate, and say whether it still holds.")
    ] = None,
) -> None:
    """Vet a compressed model: how often it differs, where, what is to blame, and a repaired file.

    It runs as a DVC experiment in a workspace of its own, so the same question is answered from the
    cache the next time. Kind, preprocessing and layout are guessed and said; flags change them.
    """
    if check is not None:
        _check_certificate(check)
        return
    if original is None or compressed is None or inputs is None:
        raise UserError("give the original, the compressed model and --inputs, or --check FILE")
    from asterism.sweep.app import Request, sweep_command
    from asterism.sweep.point import VETTED
    from asterism.vetting.command import VetRequest, vet_overrides

    _require_root("dvc.yaml")
    request = VetRequest(
        original,
        compressed,
        inputs,
        kind,
        comparison,
        labels,
        preprocessing,
        constant or (),
        override or (),
    )
    overrides, said = vet_overrides(request, Path("conf"))
    for line in said:
        print(line, flush=True)
    called = name or f"vet-{compressed.stem}"
    code = sweep_command(
        Request(overrides, ["vet_page"], called, 2, 1, None, ""),
        dry_run,
        lambda line: print(line, flush=True),
    )
    folder = Path("sweeps") / called / "points/0000" / VETTED.name
    if code == 0 and not dry_run:
        from asterism.core.files.artifacts import read_json

        verdict = read_json(folder / "certificate.json")["verdict"]
        print(f"verdict: {verdict['word']}")
        for reason in verdict["reasons"]:
            print(f"  {reason}")
        print(f"page: {folder / 'index.html'}")
    sys.exit(code)


def _check_certificate(path: Path) -> None:
    """Print what no longer holds, and end with status 1 if anything does not."""
    from asterism.vetting.certificate import check_certificate

    differences = check_certificate(path)
    for line in differences:
        print(line)
    print("the certificate does not hold" if differences else "the certificate holds")
    if differences:
        sys.exit(1)


@app.command()
def state(
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove what is not needed; nothing that is in use.")
    ] = False,
    older_than: Annotated[
        float | None,
        typer.Option(min=0, help="With --clean: days without use; 0 removes unfinished work too."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="With --clean: remove nothing, only say it."),
    ] = False,
) -> None:
    """List what stages keep under state.root, and remove what is no longer needed."""
    from asterism.core.resuming import tidying
    from asterism.core.settings import machine

    if not clean and (older_than is not None or dry_run):
        raise UserError("--older-than and --dry-run belong to --clean: give that too")
    days = machine.state_days() if older_than is None else older_than
    print(f"state.root is {machine.state_root()}")
    found = tidying.entries()
    for entry in found:
        facts = f"{entry.units} units, {entry.size / 1e6:.1f} MB, {entry.days:.1f} days"
        damaged = f", {entry.damaged} damaged" if entry.damaged else ""
        done = f"; {tidying.clean(entry, days, dry_run)}" if clean else ""
        print(f"{entry.run.stage} {entry.run.key}: {facts}, {entry.status}{damaged}{done}")
    for name, size in tidying.others().items():
        print(f"{name}/: {size / 1e6:.1f} MB, kept for all runs; delete it to free the space")
    print(f"{len(found)} runs, {sum(entry.size for entry in found) / 1e6:.1f} MB")


@app.command()
def budget() -> None:
    """Print each stage's budget of time and memory beside what its last run here took."""
    from asterism.budget import stages, table, whole_run

    _require_root("dvc.yaml")
    here = Path.cwd()
    print(table(stages(here), whole_run(here)))


@app.command()
def pack(
    model: Annotated[Path, typer.Argument(help="An ONNX model that keeps data in other files.")],
    target: Annotated[Path, typer.Argument(help="The one file to write.")],
) -> None:
    """Make one file of an ONNX model and the files of its data."""
    from asterism.models.classifiers.onnx_files import pack as pack_model

    pack_model(model, target)
    print(f"{target} is written")


def _make_overview(folder: Path) -> None:
    """The page of all sweeps, where there is none yet: the report links to it."""
    if not (folder / "index.html").exists():
        from asterism.sweep.overview import write_overview

        write_overview(folder)


def main() -> None:
    """Entry point: what a user can mend in one line, exit status 1."""
    try:
        with rejections_told():
            app(prog_name="asterism")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
