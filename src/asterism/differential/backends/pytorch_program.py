"""PyTorch on programs that ``torch.export.save`` wrote, and its eager run of them in float64."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from asterism.differential.adapters.code import Arrays, BackendCode, Prepared
from asterism.differential.adapters.library import LIBRARIES, FileLibrary, FileReference
from asterism.differential.adapters.model_under_test import ModelUnderTest
from asterism.differential.reference.quantised_operators import QUANTISER, moved_by_a_step
from asterism.differential.reference.runs import (
    PERTURBATIONS,
    STEPPED,
    ReferenceRuns,
    perturb,
)

#: Lines that import what reads a program. Newer versions may lack quantised programs' operators.
IMPORTS = (
    "import contextlib",
    "import torch",
    "with contextlib.suppress(ImportError):  # operators of quantised programs\n"
    "    import torch.ao.quantization.fx._decomposed",
)

#: What makes a function of the module, by the ending of an option.
_COMPILED = {
    "": "module",
    "_compile": "torch.compile(module)",
    "_compile_dynamic": "torch.compile(module, dynamic=True)",
    "_aot": 'torch.compile(module, backend="aot_eager_decomp_partition")',
}


@LIBRARIES.register("pytorch_program")
class PyTorchProgram(FileLibrary):
    """PyTorch's own run of an exported program (``.pt2``)."""

    name = "pytorch_program"
    packages = ("torch",)
    suffix = ".pt2"
    endings = _COMPILED

    def code(self, option: str) -> BackendCode:
        """See :class:`Library`."""
        return BackendCode(
            IMPORTS,
            f"""module = torch.export.load(path).module(check_guards=False)
function = {self.setting_of(option)}""",
            """with torch.no_grad():
    outputs = function(*(torch.from_numpy(x.copy()) for x in inputs))
leaves = torch.utils._pytree.tree_leaves(outputs)
outputs = [y.detach().numpy() for y in leaves if isinstance(y, torch.Tensor)]""",
        )

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """See :class:`Library`; what Dynamo has compiled of other models is forgotten."""
        import torch

        torch._dynamo.reset()
        return super().compile(model_under_test, option)


@LIBRARIES.register("program_reference")
class ProgramReference(FileReference):
    """PyTorch's eager kernels in float64 on an exported program; no compiler enters."""

    name = "program_reference"
    packages = ("torch",)
    suffix = ".pt2"
    references = ReferenceRuns("program_reference", kin="pytorch_program", steps=True)

    @classmethod
    def trivial(cls) -> bytes:
        """See :class:`FileReference`; it is for the batch of one that it is tried with."""
        import torch

        class Twice(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x + x

        file = io.BytesIO()
        torch.export.save(torch.export.export(Twice(), (torch.zeros(1, 3),)), file)
        return file.getvalue()

    def start(self) -> None:
        """See :class:`Library`; float64 is for steps that name no type."""
        import torch

        super().start()
        torch.set_default_dtype(torch.float64)

    def open(self, path: Path, option: str) -> Callable[[Sequence[NDArray[Any]]], Arrays]:
        """The program as PyTorch itself runs it, its module in float64."""
        import torch

        opened = Prepared(PyTorchProgram().code(""), {"path": str(path)})
        module = in_float64(opened.space([])["module"], off_by_a_step=option == STEPPED)
        if option in PERTURBATIONS:
            for tensor in constants_of(module):
                if tensor.is_floating_point():
                    tensor.data = torch.from_numpy(perturb(tensor.detach().numpy(), option))
        return opened.run


#: Steps that only check what the types of values are.
_CHECKS = ("_assert_tensor_metadata",)


def in_float64(module: Any, *, off_by_a_step: bool = False) -> Any:
    """A program's module that computes in float64 what it computed in a smaller float.

    It is changed in place: its weights, and every type that a step names.

    Args:
        module: of the program.
        off_by_a_step: whether what is quantised is off by up to a step.
    """
    import torch

    narrow = (torch.float32, torch.float16, torch.bfloat16)

    def wide(value: Any) -> Any:
        return torch.float64 if isinstance(value, torch.dtype) and value in narrow else value

    for node in list(module.graph.nodes):
        if node.op != "call_function":
            continue
        if any(check in str(node.target) for check in _CHECKS):
            module.graph.erase_node(node)
            continue
        node.args = torch.utils._pytree.tree_map(wide, node.args)
        node.kwargs = torch.utils._pytree.tree_map(wide, node.kwargs)
        if str(node.target).startswith("quantized_decomposed."):
            moved = off_by_a_step and QUANTISER in str(node.target)
            node.target = _amid_float64(node.target, moved=moved)
    module.recompile()
    for tensor in constants_of(module):
        if tensor.dtype in narrow:
            tensor.data = tensor.data.double()
    return module


def _amid_float64(operator: Any, *, moved: bool) -> Callable[..., Any]:
    """An operator of quantised programs, which take float32 alone, between steps in float64.

    Args:
        operator: between integers and the real numbers that they stand for.
        moved: whether the integers that it gives are off by up to a step.
    """
    import torch

    def change(values: Any, real: Callable[[Any], Any], whole: Callable[[Any], Any]) -> Any:
        def tensor(value: Any) -> Any:
            return real(value) if value.is_floating_point() else whole(value)

        return torch.utils._pytree.tree_map_only(torch.Tensor, tensor, values)

    def off(integers: Any) -> Any:
        (found,) = moved_by_a_step((integers.numpy(),)) if moved else (integers,)
        return torch.as_tensor(found)

    def step(*given: Any, **named: Any) -> Any:
        given, named = change((given, named), lambda t: t.float(), lambda t: t)
        return change(operator(*given, **named), lambda t: t.double(), off)

    return step


def constants_of(module: Any) -> list[Any]:
    """The tensors that a program's module holds: weights, buffers and other constants."""
    import torch

    found = {}
    for node in module.graph.nodes:
        if node.op == "get_attr":
            value = attrgetter(node.target)(module)
            if isinstance(value, torch.Tensor):
                found[id(value)] = value
    return list(found.values())
