"""Commands that run the pipeline or show what is left of runs: params, repro, sweep and others."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from asterism.cli.program import (
    KEEP,
    LOOK,
    RUN,
    AsJson,
    app,
    enter_own_project,
    require_project_root,
)
from asterism.cli.projects import list_stage_names
from asterism.core.files.artifacts import replacing
from asterism.core.files.user_files import absolute_path
from asterism.core.messages.errors import UserError
from asterism.core.messages.escaping import list_first
from asterism.core.messages.terminal import say, say_json
from asterism.core.settings.yaml_files import flatten_mapping, parse_yaml, read_yaml

ShardCount = Annotated[
    int,
    typer.Option("--shards", min=1, help="Number of processes that compute a long stage."),
]
ShardLauncher = Annotated[
    str | None,
    typer.Option(help="A hydra/launcher for Slurm, or the address of a Dask scheduler."),
]


@app.command(rich_help_panel=RUN)
def params(
    override: Annotated[
        list[str] | None,
        typer.Argument(help="Hydra overrides, such as `data=mnist` or `seed=1`."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if params.yaml is not current.")
    ] = False,
) -> None:
    """Compose conf/ into params.yaml, and validate it."""
    from asterism.config import compose

    require_project_root("conf")
    target = Path("params.yaml")
    text = compose(Path("conf"), override or [])
    if not check:
        with replacing(target) as temporary:
            temporary.write_text(text, encoding="utf-8")
        say(f"{target} is written")
    elif not target.exists() or target.read_text(encoding="utf-8") != text:
        command = shlex.join(["asterism", "params", *(override or [])])
        raise UserError(f"{target} is not what conf/ composes to: run `{command}`")


def _tell_of_changed_parameters(what: str) -> None:
    """Say it where params.yaml is not the commit's, as `dvc exp run` leaves it."""
    if changed := find_changed_parameters(Path.cwd()):
        say(f"params.yaml differs from the commit in {list_first(changed)}: {what}")


@app.command(rich_help_panel=RUN)
def sweep(
    overrides: Annotated[
        list[str] | None,
        typer.Argument(help="Hydra overrides; `a=1,2` and `a=range(1,4)` span the sweep."),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            help="Run this stage and what it needs.",
            autocompletion=list_stage_names,
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the sweep and its folder.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Stages of a point that run at once.")] = 1,
    shards: ShardCount = 1,
    shard_launcher: ShardLauncher = None,
    objective: Annotated[
        str, typer.Option(help="Metric that hydra/sweeper=optuna optimises: fuzz-state:crashes.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the points and what they would run.")
    ] = False,
) -> None:
    """Run the pipeline at each point of a sweep; hydra/launcher=joblib runs them in parallel."""
    from asterism.sweep.app import sweep_command
    from asterism.sweep.worker import SweepRequest

    require_project_root("dvc.yaml")
    _tell_of_changed_parameters("no point reads it, each composes its own of conf/")
    request = SweepRequest(
        overrides=overrides or [],
        targets=target or [],
        name=name,
        jobs=jobs,
        shards=shards,
        shard_launcher=shard_launcher,
        objective=objective,
    )
    sys.exit(sweep_command(request, dry_run, say))


@app.command(rich_help_panel=RUN)
def repro(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Stages to run; default: all.", autocompletion=list_stage_names),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Stages that run at once.")] = 1,
    shards: ShardCount = 1,
    shard_launcher: ShardLauncher = None,
) -> None:
    """Bring the workspace up to date, as `dvc repro` does, and run independent stages at once."""
    from asterism.budget import RUN_LABEL, run_table
    from asterism.config import check_params
    from asterism.core.running.footprint import Footprint
    from asterism.core.running.stage import record_run
    from asterism.dvc_hydra.commands import report_dvc_errors
    from asterism.dvc_hydra.repository import StageFailedError, open_checked_repository
    from asterism.dvc_hydra.saved_state import remove_unneeded_state
    from asterism.sweep.interrupt import treat_sigterm_as_sigint
    from asterism.sweep.launch import make_shards
    from asterism.sweep.pipeline import (
        find_outdated_stages,
        lock_folder,
        run_stages,
        use_this_python,
    )
    from asterism.sweep.plan import read_plan
    from asterism.sweep.workspace import BACK

    require_project_root("dvc.yaml")
    root = Path.cwd()
    check_params(root)
    _tell_of_changed_parameters(f"`{BACK}` brings it back")
    spread = make_shards(root / "conf", shards, shard_launcher, "basic")
    use_this_python()
    started, footprint = time.perf_counter(), Footprint()
    try:
        with report_dvc_errors(), treat_sigterm_as_sigint():
            repository = open_checked_repository(root)
            plan = read_plan(repository, targets or [])
            stale = find_outdated_stages(repository, plan)
            ran = run_stages(repository, plan, stale, jobs, lock_folder(root), spread)
        remove_unneeded_state()  # also that of a run that was killed when its stages were committed
    except StageFailedError as error:
        raise UserError(str(error)) from None
    _make_overview(root / "sweeps")
    if ran:
        seconds = time.perf_counter() - started
        record_run(RUN_LABEL, seconds, footprint.peak_mb(), stages=len(ran), jobs=jobs)
    if stale:
        say(*run_table(root, [stage.name for stage in stale], ran, len(plan) - len(stale)))
    say(f"{len(ran)} stages ran" if ran else "Data and pipelines are up to date.")


@app.command(rich_help_panel=KEEP)
def remote(
    url: Annotated[
        str, typer.Argument(help="A folder or an address of DVC: s3://…, ssh://…, webdavs://…")
    ],
) -> None:
    """Make a folder or an address the shared remote of push and pull."""
    from asterism.project import share_project

    address = url if "://" in url else str(absolute_path(Path(url).expanduser()))
    enter_own_project()
    say(*share_project(Path.cwd(), address))


@app.command(rich_help_panel=KEEP)
def push(
    experiments: Annotated[
        str, typer.Option(metavar="ORIGIN", help="The git remote that experiments go to.")
    ] = "origin",
) -> None:
    """Send results and the run-cache to the remote, and experiments to git's remote, if any.

    This is what `dvc push --run-cache` and `dvc exp push --all-commits` do.
    """
    from asterism.dvc_hydra.commands import report_dvc_errors
    from asterism.sweep.sharing import push as push_results

    enter_own_project()
    with report_dvc_errors():
        status = push_results(Path.cwd(), experiments)
    sys.exit(status)


@app.command(rich_help_panel=KEEP)
def pull(
    experiments: Annotated[
        str | None,
        typer.Option(metavar="ORIGIN", help="Fetch all experiments of this git remote instead."),
    ] = None,
) -> None:
    """Fetch what others have computed, as `dvc pull --run-cache` does, and check it."""
    from asterism.config import check_params
    from asterism.dvc_hydra.commands import report_dvc_errors
    from asterism.sweep.sharing import pull as pull_checked

    enter_own_project()
    check_params(Path.cwd())
    with report_dvc_errors():
        status = pull_checked(Path.cwd(), experiments)
    sys.exit(status)


@app.command(rich_help_panel=KEEP)
def state(
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove what is no longer needed or in use.")
    ] = False,
    older_than: Annotated[
        float | None,
        typer.Option(min=0, help="With --clean: days unused; 0 removes unfinished work too."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="With --clean: only say what would be removed."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List what stages keep under state.root, and remove what is no longer needed."""
    from asterism.core.settings import machine
    from asterism.dvc_hydra import saved_state

    if not clean and (older_than is not None or dry_run):
        raise UserError("--older-than and --dry-run belong to --clean: give that too")
    if as_json:
        if clean:
            raise UserError("--json only lists: give --clean without --json")
        runs = [
            {"stage": one.run.stage, "key": one.run.key, "units": one.units, "bytes": one.size}
            | {"days": round(one.days, 3), "status": one.status, "damaged": one.damaged}
            for one in saved_state.saved_runs()
        ]
        told = {
            "root": str(machine.state_root()),
            "runs": runs,
            "others": saved_state.other_folder_sizes(),
        }
        say_json(told)
        return
    days = machine.state_days() if older_than is None else older_than
    say(f"state.root is {machine.state_root()}")
    found = saved_state.saved_runs()
    for entry in found:
        facts = f"{entry.units} units, {entry.size / 1e6:.1f} MB, {entry.days:.1f} days"
        damaged = f", {entry.damaged} damaged" if entry.damaged else ""
        done = f"; {saved_state.clean_run(entry, days, dry_run)}" if clean else ""
        say(f"{entry.run.stage} {entry.run.key}: {facts}, {entry.status}{damaged}{done}")
    for name, size in saved_state.other_folder_sizes().items():
        say(f"{name}/: {size / 1e6:.1f} MB, kept for all runs; delete it to free the space")
    say(f"{len(found)} runs, {sum(entry.size for entry in found) / 1e6:.1f} MB")


@app.command(rich_help_panel=LOOK)
def budget(
    as_json: AsJson = False,
) -> None:
    """Print each stage's budget of time and memory, and what its last run here took."""
    from asterism.budget import budget_table, stage_costs, whole_run_cost

    require_project_root("dvc.yaml")
    found, run = stage_costs(Path.cwd()), whole_run_cost(Path.cwd())
    if as_json:
        listed = [asdict(one) | {"kept": one.kept} for one in (*found, run)]
        say_json(listed)
    else:
        say(*budget_table(found, run))


def _make_overview(folder: Path) -> None:
    """The page of all sweeps, where there is none yet: the report links to it."""
    if not (folder / "index.html").exists():
        from asterism.sweep.table import write_overview

        write_overview(folder)


def find_changed_parameters(root: Path) -> list[str]:
    """Names of the parameters whose values differ from the commit's; none where there is none.

    Args:
        root: the project.
    """
    from asterism.sweep.workspace import run_git  # not needed by commands that run nothing

    try:
        if not run_git(root, "status", "--porcelain", "--", "params.yaml"):
            return []
        committed = run_git(root, "show", "HEAD:params.yaml")
        before = dict(flatten_mapping(parse_yaml(committed, "params.yaml of HEAD")))
        after = dict(flatten_mapping(read_yaml(root / "params.yaml")))
    except UserError:
        return []
    return [name for name in before | after if before.get(name) != after.get(name)]
