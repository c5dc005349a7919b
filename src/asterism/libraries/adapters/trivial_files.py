"""A file that every library of its format can run: whether one works is tried with it."""

from __future__ import annotations

import io
from collections.abc import Callable


def trivial_onnx() -> bytes:
    """An ONNX model that adds its input of three numbers to itself, for a batch of any size."""
    from onnx import TensorProto, helper

    shape = ("batch", 3)
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"])],
        "trivial",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    # Old enough for every version that has an environment.
    opset = [helper.make_opsetid("", 11)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=6)
    return bytes(model.SerializeToString())


def trivial_program() -> bytes:
    """The same as a program of ``torch.export``, for the batch of one that it is tried with."""
    import torch

    class Twice(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + x

    file = io.BytesIO()
    torch.export.save(torch.export.export(Twice(), (torch.zeros(1, 3),)), file)
    return file.getvalue()


#: The file that each format is tried with, by its suffix.
TRIVIAL_FILES: dict[str, Callable[[], bytes]] = {".onnx": trivial_onnx, ".pt2": trivial_program}
