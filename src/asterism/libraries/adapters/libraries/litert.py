"""LiteRT on the files of its converters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.adapters.library import LIBRARIES, Arrays, FileLibrary
from asterism.libraries.adapters.model_under_test import ModelUnderTest

#: LiteRT's names of the sets of kernels, by the ending of an option: XNNPACK's where it has some,
#: LiteRT's own optimised ones, and its plain ones that the others are checked with.
KERNELS = {
    "": "AUTO",
    "_without_xnnpack": "BUILTIN_WITHOUT_DEFAULT_DELEGATES",
    "_plain": "BUILTIN_REF",
}


@LIBRARIES.register("litert")
class LiteRt(FileLibrary):
    """LiteRT's interpreter on the CPU, without Flex operations."""

    name = "litert"
    packages = ("ai-edge-litert",)
    suffix = ".tflite"
    endings = tuple(KERNELS)
    resizes = False  # files are converted for batches of one size
    unsupported = (
        r"Encountered unresolved custom op",
        r"Select TensorFlow op",
        r"Regular Tensor",
        r"Didn't find op for builtin opcode",  # the plain kernels are not those of all operators
    )

    def script(self, option: str) -> str:
        """Source of a function that runs a Keras model or a converted file."""
        return f"""
def run(path, inputs):
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    def number(name):
        return int("".join(c for c in name if c.isdigit()) or 0)

    kernels = OpResolverType.{_kernels(option)}
    runner = Interpreter(path, experimental_op_resolver_type=kernels).get_signature_runner()
    names = sorted(runner.get_input_details(), key=number)
    outputs = runner(**dict(zip(names, inputs)))
    return [outputs[name] for name in sorted(outputs, key=number)]
"""

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """An interpreter of one thread."""
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        return Interpreter(
            str(self.path(model_under_test, option)),
            num_threads=1,
            experimental_op_resolver_type=OpResolverType[_kernels(option)],
        )

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays, by the names in the file's signature.

        Its tensors are sorted as text, ``output_10`` before ``output_2``.
        """
        runner = compiled.get_signature_runner()
        names = sorted(runner.get_input_details(), key=_number)
        outputs = runner(**dict(zip(names, inputs, strict=True)))
        return [outputs[name] for name in sorted(outputs, key=_number)]


def _kernels(option: str) -> str:
    """LiteRT's name of the kernels that an option asks for."""
    return KERNELS[max((ending for ending in KERNELS if option.endswith(ending)), key=len)]


def _number(name: str) -> int:
    """The number in ``n12_input`` or ``output_12``."""
    return int("".join(c for c in name if c.isdigit()) or 0)
