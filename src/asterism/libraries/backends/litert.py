"""LiteRT on the file of its converter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.library import LIBRARIES, Arrays, Library
from asterism.libraries.subject import Subject


@LIBRARIES.register("litert")
class LiteRt(Library):
    """LiteRT's interpreter on the CPU, without Flex operations."""

    name = "litert"
    packages = ("ai-edge-litert",)
    options = ("tflite",)
    unsupported = (r"Encountered unresolved custom op", r"Select TensorFlow op", r"Regular Tensor")

    def source(self, option: str) -> str:
        """The option is the converter's name."""
        return option

    def compile(self, subject: Subject, option: str) -> Any:
        """An interpreter of one thread."""
        from ai_edge_litert.interpreter import Interpreter

        return Interpreter(str(subject.file(option, ".tflite")), num_threads=1)

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays, in the order of the file's signature."""
        details = _by_signature(compiled.get_input_details())
        for detail, array in zip(details, inputs, strict=True):
            compiled.resize_tensor_input(detail["index"], array.shape)
        compiled.allocate_tensors()
        for detail, array in zip(details, inputs, strict=True):
            compiled.set_tensor(detail["index"], array)
        compiled.invoke()
        outputs = _by_signature(compiled.get_output_details())
        return [compiled.get_tensor(o["index"]).copy() for o in outputs]


def _by_signature(details: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The converter sorts tensors its own way; the number at the end of their names tells ours."""
    return sorted(details, key=lambda d: _number(d["name"]))


def _number(name: str) -> tuple[int, str]:
    digits = name.rsplit(":", 1)[-1]
    return (int(digits) if digits.isdigit() else 0, name)
