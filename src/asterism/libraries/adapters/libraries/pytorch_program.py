"""PyTorch on programs that ``torch.export.save`` wrote: eager, compiled, and through AOT alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from numpy.typing import NDArray

from asterism.libraries.adapters.library import LIBRARIES, Arrays, FileLibrary
from asterism.libraries.adapters.model_under_test import ModelUnderTest
from asterism.libraries.adapters.programs import module_of, run_module

#: What makes a function of the module, by the ending of an option.
_COMPILERS: dict[str, dict[str, Any]] = {
    "": {},
    "_compile": {"backend": "inductor"},
    "_compile_dynamic": {"backend": "inductor", "dynamic": True},
    "_aot": {"backend": "aot_eager_decomp_partition"},
}


@LIBRARIES.register("pytorch_program")
class PyTorchProgram(FileLibrary):
    """PyTorch's own run of an exported program (``.pt2``)."""

    name = "pytorch_program"
    packages = ("torch",)
    suffix = ".pt2"
    endings: ClassVar[tuple[str, ...]] = tuple(_COMPILERS)

    def start(self) -> None:
        """One thread."""
        import torch

        torch.set_num_threads(1)

    def script(self, option: str) -> str:
        """Source of a function that runs a program."""
        given = _compiler(option)
        arguments = ", ".join(f"{name}={value!r}" for name, value in given.items())
        compiled = f"    module = torch.compile(module, {arguments})\n" if given else ""
        return f"""
def run(path, inputs):
    import torch

    module = torch.export.load(path).module(check_guards=False)
{compiled}    with torch.no_grad():
        outputs = module(*(torch.from_numpy(i) for i in inputs))
    return [o.numpy() for o in torch.utils._pytree.tree_leaves(outputs)]
"""

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """The program's module, compiled where the option says so."""
        import torch

        module, given = module_of(self.path(model_under_test, option)), _compiler(option)
        if not given:
            return module
        torch._dynamo.reset()
        return torch.compile(module, **given)

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        return run_module(compiled, list(inputs))


def _compiler(option: str) -> dict[str, Any]:
    """What ``torch.compile`` is told for an option; nothing where the module runs as it is."""
    ending = max((e for e in _COMPILERS if option.endswith(e)), key=len)
    return dict(_COMPILERS[ending])
