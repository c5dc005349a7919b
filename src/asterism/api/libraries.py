"""Comparing libraries from Python: a model of the caller's, run by every library that reads it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from asterism.api.given import as_input_data, is_file, is_program, is_torch_module
from asterism.comparing.commands import compare_libraries as compare_files
from asterism.comparing.comparison import ComparisonRequest
from asterism.core.files.artifacts import write_arrays
from asterism.core.messages.console import get_logger, log_to_stderr
from asterism.core.messages.errors import UserError, extract_reason
from asterism.data.given import ArrayInputs
from asterism.models.signatures.reading import read_signature
from asterism.project import packaged_conf

if TYPE_CHECKING:
    import polars as pl

log = get_logger(__name__)

#: Stands for a free size where inputs are drawn.
_SIZE = 4


@dataclass(frozen=True, eq=False, repr=False)
class LibraryComparison:
    """What libraries did with one model.

    Attributes:
        verdict: ``agree``, ``differ`` where a library is at fault, ``undecided`` where nothing says
            which of them is right.
        libraries: that ran it, with their versions.
        facts: all that was found, as the command's ``findings.json`` has it.
    """

    verdict: Literal["agree", "differ", "undecided"]
    libraries: tuple[str, ...]
    facts: dict[str, Any]
    _folder: tempfile.TemporaryDirectory[str] = field(repr=False)

    def page(self, path: str | Path) -> Path:
        """Write the page, with a script for each fault.

        Args:
            path: a folder that is not there yet.

        Raises:
            UserError: it is there.
        """
        folder = Path(path)
        if folder.exists():
            raise UserError(f"{folder} is there already: give a new folder")
        shutil.copytree(Path(self._folder.name) / "page", folder)
        return folder / "index.html"

    def to_frame(self) -> pl.DataFrame:
        """A table of Polars with a row for each configuration of a library: what it did."""
        import polars as pl

        (model,) = self.facts["models"]
        statuses = model["statuses"]
        return pl.DataFrame({"backend": list(statuses), "status": list(statuses.values())})

    def __repr__(self) -> str:
        lines = [f"verdict: {self.verdict}", *(f"  ran: {name}" for name in self.libraries)]
        lines += [f"  {f['library']}: {f['kind']}, {f['said']}" for f in self.facts["findings"]]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The verdict and all faults, for a notebook."""
        from markupsafe import Markup

        return str(Markup("<pre>{}</pre>").format(repr(self)))


def compare_libraries(
    model: Any,
    inputs: Any = None,
    *,
    libraries: Sequence[str] = (),
    distributions: Sequence[str] = ("normal",),
    explained: int = 0,
    overrides: Sequence[str] = (),
) -> LibraryComparison:
    """Run a model in every installed library that reads it, and say whose results differ.

    Each library runs in a process of its own, on the processor.

    Args:
        model: an ``.onnx`` or ``.pt2`` file; or a module of PyTorch, which is exported with the
            inputs, or a program that was exported.
        inputs: an array or tensor ``(N, ...)``, one batch; None to draw inputs for a file.
        libraries: their names; none for all that are installed.
        distributions: of inputs that are drawn.
        explained: faults whose nodes are looked for.
        overrides: of parameters, ``"judge.…"``.

    Raises:
        UserError: the model cannot be read or exported, or no library is there.

    Examples:
        >>> import torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Softmax(dim=1))
        >>> found = compare_libraries(net, torch.rand(8, 4), libraries=["pytorch_program"])
        >>> found.verdict
        'agree'
    """
    log_to_stderr()
    folder = tempfile.TemporaryDirectory(prefix="asterism-libraries-")
    here = Path(folder.name)
    file = _as_file(model, inputs, here)
    batch = None
    if inputs is not None:
        given = as_input_data(inputs)
        if isinstance(given, ArrayInputs):
            batch = here / "inputs.npz"
            write_arrays(batch, **_named(given.items, file))
        else:
            batch = given
    request = ComparisonRequest(
        models=[file],
        shapes={},
        size=_SIZE,
        inputs=batch,
        distributions=distributions,
        explained=explained,
        steps=100,
        target=here / "page",
        changes=overrides,
        root=packaged_conf().parent,
    )
    facts = compare_files(request, libraries, (), lambda line: log.info(line)).to_json()
    undecided = facts["unresolved"] or facts["no_reference"] or facts["invalid"]
    verdict: Literal["agree", "differ", "undecided"] = (
        "differ" if facts["findings"] else "undecided" if undecided else "agree"
    )
    names: Any = facts["libraries"]
    return LibraryComparison(verdict, tuple(names), facts, folder)


def _named(items: NDArray[Any], file: Path) -> dict[str, NDArray[Any]]:
    """Inputs by the name that a file has for them, real numbers in the type that it takes.

    Raises:
        UserError: NumPy does not have this type.
    """
    spec = read_signature(file).inputs[0]
    if spec.dtype == "bfloat16":
        raise UserError(
            f"{spec.name} is bfloat16, which NumPy does not have: compare the model in float32 "
            "(in PyTorch model.float())"
        )
    real = items.dtype.kind == "f" and spec.dtype.startswith("float")
    return {spec.name: items.astype(spec.dtype) if real else items}


def _as_file(model: Any, inputs: Any, folder: Path) -> Path:
    """The file that libraries read."""
    if is_file(model):
        return Path(model)
    if not is_program(model) and not is_torch_module(model):
        raise UserError(
            f"{type(model).__name__} is no model that is run as it is: give an .onnx or .pt2 file, "
            "a module of PyTorch with inputs, or an exported program"
        )
    import torch
    from torch.export.passes import move_to_device_pass

    from asterism.models.torch_modules import as_tensor, evaluation_mode, place_of, plain_module

    target = folder / "model.pt2"
    if is_program(model):
        torch.export.save(model, target)
        return target
    given = None if inputs is None else as_input_data(inputs)
    if not isinstance(given, ArrayInputs):
        raise UserError("a module is exported with its inputs: give an array or a tensor")
    with evaluation_mode(model):
        try:
            example = as_tensor(given.items, *place_of(model))
            program = torch.export.export(plain_module(model), (example,))
            if example.device.type != "cpu":
                program = move_to_device_pass(program, "cpu")
        except Exception as error:
            reason = extract_reason(str(error))
            raise UserError(f"PyTorch cannot export the module: {reason}") from error
        torch.export.save(program, target)
    return target
