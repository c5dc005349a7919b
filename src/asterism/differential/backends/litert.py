"""LiteRT on the files of its converters."""

from __future__ import annotations

from asterism.differential.adapters.code import BackendCode
from asterism.differential.adapters.library import LIBRARIES, FileLibrary

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
    endings = KERNELS
    resizes = False  # files are converted for batches of one size
    unsupported = (
        r"Encountered unresolved custom op",
        r"Select TensorFlow op",
        r"Regular Tensor",
        r"Didn't find op for builtin opcode",  # the plain kernels are not those of all operators
    )

    def code(self, option: str) -> BackendCode:
        """See :class:`Library`.

        Inputs and outputs are those of the file's signature, in the order of the numbers in their
        names: as text, ``output_10`` comes before ``output_2``.
        """
        return BackendCode(
            ("from ai_edge_litert.interpreter import Interpreter, OpResolverType",),
            f"""kernels = OpResolverType.{self.setting_of(option)}
interpreter = Interpreter(path, num_threads=1, experimental_op_resolver_type=kernels)
number = lambda name: int("".join(c for c in name if c.isdigit()) or 0)""",
            """runner = interpreter.get_signature_runner()
given = dict(zip(sorted(runner.get_input_details(), key=number), inputs))
found = runner(**given)
outputs = [found[name] for name in sorted(found, key=number)]""",
        )
