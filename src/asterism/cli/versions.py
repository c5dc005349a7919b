"""Commands about versions of libraries: their environments, and what an upgrade changes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from asterism.cli.program import (
    LIBRARIES,
    Overrides,
    ShowPage,
    app,
    enter_project,
    require_project_root,
    show_page,
    with_shared_options,
)
from asterism.core.files.artifacts import require_file
from asterism.core.files.user_files import absolute_path
from asterism.core.messages.errors import UserError
from asterism.core.messages.terminal import say
from asterism.core.parameters.registry import unknown

if TYPE_CHECKING:
    from asterism.comparing.comparison import BackendComparison, ComparisonRequest


@dataclass(frozen=True)
class FileRunOptions:
    """Options of the commands that run a user's models as files."""

    model: Annotated[
        list[Path] | None,
        typer.Option(help="One of your models, .onnx or .pt2, as it is; repeatable."),
    ] = None
    input_shape: Annotated[
        list[str] | None,
        typer.Option(
            help="An input's shape, batch first: NAME=2,16,4 or MODEL/NAME=2,16,4; repeatable."
        ),
    ] = None
    size: Annotated[int, typer.Option(min=1, help="The value of all other free sizes.")] = 16
    inputs: Annotated[
        Path | None, typer.Option(help="An .npz file with a batch of your inputs, by input name.")
    ] = None
    distribution: Annotated[
        list[str] | None,
        typer.Option(help="Inputs to draw: normal, wide, nan, infinity; repeatable."),
    ] = None
    explain: Annotated[
        int,
        typer.Option(min=0, help="Number of changes or faults to explain by nodes, worst first."),
    ] = 20
    steps: Annotated[int, typer.Option(min=1, help="Parts of a model to try per explanation.")] = 60
    override: Overrides = None
    target: Annotated[
        Path | None, typer.Option(help="Folder of the page; default: one named after the command.")
    ] = None
    show: ShowPage = None

    @contextmanager
    def request(self, folder: Path) -> Iterator[ComparisonRequest]:
        """What the user asks, in the project, which is made once the models can be read.

        Models that keep data in other files are packed for as long as the block runs.

        Args:
            folder: of the page, where the user names none.
        """
        from asterism.comparing.comparison import ComparisonRequest
        from asterism.differential.subjects import SUBJECTS
        from asterism.differential.subjects.reading import parse_shapes
        from asterism.models.foreign.other_files import require_model_bytes
        from asterism.models.signatures.reading import whole_file

        with ExitStack() as stack:
            files, faults = [], []
            for path in self.model or ():
                file = path
                try:
                    require_file(path, "model file")
                    if path.suffix == ".onnx" or path.suffix not in SUBJECTS:
                        require_model_bytes(path)
                    file = stack.enter_context(whole_file(path))
                except UserError as fault:
                    faults.append(fault)
                files.append(absolute_path(file))
            if faults and len(faults) == len(files):  # else a bad one is a row beside the others
                raise faults[0]
            batch, page = (path and absolute_path(path) for path in (self.inputs, self.target))
            enter_project(say)
            yield ComparisonRequest(
                models=files,
                shapes=parse_shapes(self.input_shape or []),
                size=self.size,
                inputs=batch,
                distributions=_drawn(self.distribution),
                explained=self.explain,
                steps=self.steps,
                changes=self.override or [],
                target=page or folder,
            )

    def end(self, found: BackendComparison, request: ComparisonRequest) -> None:
        """Say what was found, show the page, and end with 1 where there is a fault or a doubt."""
        for line in found.lines():
            say(line)
        show_page(request.target / "index.html", self.show)
        if found.is_bad:
            sys.exit(1)


@app.command(rich_help_panel=LIBRARIES)
def environments(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="An environment, for example onnxruntime@1.20; default: all."),
    ] = None,
    make: Annotated[
        bool, typer.Option("--make", help="Make them; this needs a package index.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove them from the disk.")] = False,
) -> None:
    """List, make or remove environments with other versions of libraries, and say their cost."""
    from asterism.comparing.environment_making import make_environment, remove_environment
    from asterism.differential.adapters import environments as known

    require_project_root("conf")
    if make and remove:
        raise UserError("give --make or --remove, not both")
    if make and not names:
        raise UserError(f"name the environments to make: {', '.join(known.environment_names())}")
    for name in names or known.environment_names():
        environment = known.read_environment(name)
        if make:
            make_environment(environment, say)
        elif remove:
            remove_environment(environment, say)
        else:
            state = "made" if environment.is_made else f"not made, {environment.cost}"
            say(f"{name}: {state}")


@app.command("compare-versions", rich_help_panel=LIBRARIES)
@with_shared_options
def compare_versions(
    library: Annotated[
        str, typer.Argument(help="A library that runs files: onnxruntime, openvino, pytorch.")
    ],
    old: Annotated[str, typer.Argument(help="The present version, for example 1.20.")],
    new: Annotated[
        str,
        typer.Argument(
            help="The version to change to, for example 1.31, or another library: openvino."
        ),
    ],
    options: FileRunOptions,
    generated: Annotated[int, typer.Option(min=0, help="Generated models to run as well.")] = 0,
    operators: Annotated[
        bool, typer.Option("--operators", help="Run a model of each ONNX operator as well.")
    ] = False,
) -> None:
    """Say which models an upgrade of a library changes, by how much, and which nodes are to blame.

    Both versions and a float64 reference run every model. A version that is not installed runs in
    an environment of its own, which the command makes if it is missing. The result is a page with a
    script for each change. The exit status is 1 if something changes for the worse, if one version
    computes a model wrongly without an error, or if a model could not be compared.
    """
    from asterism.comparing.commands import compare_versions

    folder = Path("compare-versions") / f"{library}-{old}-{new}"
    with options.request(folder) as request:
        found = compare_versions(
            request, library, (old, new), say, generated=generated, operators=operators
        )
    options.end(found, request)


@app.command("compare-libraries", rich_help_panel=LIBRARIES)
@with_shared_options
def compare_libraries(
    options: FileRunOptions,
    library: Annotated[
        list[str] | None,
        typer.Option(help="A library to run them in; repeatable; default: all that are installed."),
    ] = None,
    environment: Annotated[
        list[str] | None,
        typer.Option(help="A library in another version: onnxruntime@1.20; repeatable."),
    ] = None,
) -> None:
    """Say which libraries compute your models wrongly or fail on them, and at which nodes.

    Every library that reads the file runs it in each of its configurations, and so does a float64
    reference. The result is a page with a script for each fault. The exit status is 1 if there is a
    fault, a difference that cannot be decided, or a model that could not be compared.
    """
    from asterism.comparing.commands import compare_libraries

    with options.request(Path("compare-libraries")) as request:
        found = compare_libraries(request, library or [], environment or [], say)
    options.end(found, request)


def _drawn(distributions: list[str] | None) -> list[str]:
    """The inputs that are drawn.

    Raises:
        UserError: there are no such inputs.
    """
    from asterism.differential.subjects import DISTRIBUTIONS

    for name in distributions or ():
        if name not in DISTRIBUTIONS:
            raise unknown("distribution of inputs", name, list(DISTRIBUTIONS))
    return distributions or ["normal", "wide"]
