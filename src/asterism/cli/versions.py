"""Commands about versions of libraries: their environments, and what an upgrade changes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from asterism.cli.program import LIBRARIES, ShowPage, app, require_root, show_page
from asterism.core.messages.errors import UserError


@app.command(rich_help_panel=LIBRARIES)
def environments(
    names: Annotated[
        list[str] | None, typer.Argument(help="As onnxruntime@1.20; all if none.")
    ] = None,
    make: Annotated[bool, typer.Option("--make", help="Make them; needs a package index.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove them from the disk.")] = False,
) -> None:
    """List the environments of libraries in other versions, with what each costs; make, remove."""
    from asterism.libraries.adapters import environments as known
    from asterism.versions import making

    require_root("conf")
    if make and remove:
        raise UserError("give --make or --remove, not both")
    if make and not names:
        raise UserError(f"name the environments to make: {', '.join(known.names())}")
    for name in names or known.names():
        environment = known.environment(name)
        if make:
            making.make(environment, typer.echo)
        elif remove:
            making.remove(environment, typer.echo)
        else:
            state = "made" if environment.is_made else f"not made, {environment.cost}"
            print(f"{name}: {state}")


@app.command("compare-versions", rich_help_panel=LIBRARIES)
def compare_versions(
    library: Annotated[
        str, typer.Argument(help="A library that runs files: onnxruntime, openvino.")
    ],
    old: Annotated[str, typer.Argument(help="Its version now, as 1.20.")],
    new: Annotated[
        str, typer.Argument(help="The version to change to, as 1.31, or a library: openvino.")
    ],
    model: Annotated[
        list[Path] | None, typer.Option(help="An ONNX model of yours, as it is; repeatable.")
    ] = None,
    generated: Annotated[int, typer.Option(min=0, help="Generated models to run as well.")] = 0,
    operators: Annotated[
        bool, typer.Option("--operators", help="Run a model of each ONNX operator as well.")
    ] = False,
    input_shape: Annotated[
        list[str] | None,
        typer.Option(help="NAME=2,16,4: the shape of an input, the batch first; repeatable."),
    ] = None,
    size: Annotated[int, typer.Option(min=1, help="What stands for other free sizes.")] = 16,
    inputs: Annotated[
        Path | None, typer.Option(help="An .npz with your own batch, by the inputs' names.")
    ] = None,
    distribution: Annotated[
        list[str] | None,
        typer.Option(help="Inputs to draw: normal, wide, nan, infinity; repeatable."),
    ] = None,
    explain: Annotated[
        int, typer.Option(min=0, help="Changes whose nodes are looked for, the worst first.")
    ] = 20,
    steps: Annotated[int, typer.Option(min=1, help="Parts of a model tried for each.")] = 60,
    target: Annotated[
        Path | None, typer.Option(help="Folder of the page; default: compare-versions/NAME.")
    ] = None,
    show: ShowPage = None,
) -> None:
    """Say which models an upgrade of a library changes, by how much, and which nodes are to blame.

    Both versions run every model, beside a float64 run of ONNX's reference evaluator. A version
    that is not installed runs in an environment of its own, which is made where it is missing.
    The answer is a page, with a script for each change. Exit status 1: a change for the worse.
    """
    from asterism.versions.app import Request, compare_versions
    from asterism.versions.subjects import DISTRIBUTIONS, parse_shapes

    require_root("params.yaml")
    drawn = distribution or ["normal", "wide"]
    for name in drawn:
        if name not in DISTRIBUTIONS:
            known = ", ".join(DISTRIBUTIONS)
            raise UserError(f"no distribution of inputs is called {name!r} (known: {known})")
    request = Request(
        library=library,
        old=old,
        new=new,
        models=model or [],
        shapes=parse_shapes(input_shape or []),
        size=size,
        inputs=inputs,
        generated=generated,
        operators=operators,
        distributions=drawn,
        explained=explain,
        steps=steps,
        target=target or Path("compare-versions") / f"{library}-{old}-{new}",
    )
    found = compare_versions(request, typer.echo)
    changed = {change.subject for change in found.changes}
    print(f"{len(changed)} of {len(found.subjects)} models change from {found.old} to {found.new}")
    for change in found.changes:
        print(f"  {change.subject}, {change.pair.option}, {change.distribution}: {change.kind}")
    show_page(request.target / "index.html", show)
    worse = ("no longer runs", "now wrong", "differs")
    if any(change.kind in worse for change in found.changes):
        sys.exit(1)
