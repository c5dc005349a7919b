"""PyTorch on programs that ``torch.export.save`` wrote: eager, compiled, and through AOT alone."""

from __future__ import annotations

from typing import Any

from asterism.differential.adapters.code import BackendCode
from asterism.differential.adapters.library import LIBRARIES, FileLibrary
from asterism.differential.adapters.model_under_test import ModelUnderTest

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
            ("import torch",),
            f"""module = torch.export.load(path).module(check_guards=False)
function = {self.way(option)}""",
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
