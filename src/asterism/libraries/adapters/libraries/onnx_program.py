"""Programs of ``torch.export``, exported to ONNX by PyTorch and run by ONNX Runtime."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from asterism.libraries.adapters.library import LIBRARIES, Arrays, FileLibrary
from asterism.libraries.adapters.model_under_test import ModelUnderTest
from asterism.libraries.adapters.programs import module_of

#: ONNX Runtime's level of optimisation by the ending of an option.
_LEVELS = {"": "ORT_DISABLE_ALL", "_optimised": "ORT_ENABLE_ALL"}


@LIBRARIES.register("onnx_program")
class OnnxProgram(FileLibrary):
    """PyTorch's ONNX exporter on an exported program (``.pt2``), its file in ONNX Runtime.

    The exporter is the one that traces, which needs no other package. It takes the shapes that the
    model is first run with, so a model is exported when it runs.
    """

    name = "onnx_program"
    packages = ("torch", "onnx", "onnxruntime")
    suffix = ".pt2"
    endings: ClassVar[tuple[str, ...]] = tuple(_LEVELS)
    unsupported = (r"UnsupportedOperatorError", r"Could not find an implementation")

    def start(self) -> None:
        """One thread."""
        import torch

        torch.set_num_threads(1)

    def script(self, option: str) -> str:
        """Source of a function that exports and runs a program."""
        return f"""
def run(path, inputs):
    import io

    import onnxruntime as ort
    import torch

    module = torch.export.load(path).module(check_guards=False)
    module = torch.fx.GraphModule(module, module.graph)
    file, given = io.BytesIO(), tuple(torch.from_numpy(i) for i in inputs)
    torch.onnx.export(module, given, file, dynamo=False, opset_version=18)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.{_level(option)}
    session = ort.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs)))
"""

    def compile(self, model_under_test: ModelUnderTest, option: str) -> tuple[Path, str]:
        """The file and the level; see :meth:`run`."""
        return self.path(model_under_test, option), _level(option)

    def run(self, compiled: tuple[Path, str], inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        import onnxruntime as ort
        import torch

        path, level = compiled
        module = module_of(path)
        module = torch.fx.GraphModule(module, module.graph)  # which can be set to inference
        given = tuple(torch.from_numpy(i.copy()) for i in inputs)
        file: Any = io.BytesIO()  # which this exporter takes, and the other one does not
        torch.onnx.export(module, given, file, dynamo=False, opset_version=18)
        settings = ort.SessionOptions()
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        settings.log_severity_level = 3
        settings.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
        providers = ["CPUExecutionProvider"]
        session = ort.InferenceSession(file.getvalue(), settings, providers=providers)
        names = [i.name for i in session.get_inputs()]
        return list(session.run(None, dict(zip(names, inputs, strict=False))))


def _level(option: str) -> str:
    """ONNX Runtime's name of the level that an option asks for."""
    return _LEVELS[max((ending for ending in _LEVELS if option.endswith(ending)), key=len)]
