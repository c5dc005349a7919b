"""MXNet on the files of all ONNX converters, read by its own importer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.adapters.library import LIBRARIES, Arrays, FileLibrary
from asterism.libraries.adapters.model_under_test import ModelUnderTest
from asterism.libraries.adapters.old_onnx import for_old_readers


@LIBRARIES.register("mxnet")
class MxNet(FileLibrary):
    """MXNet 1.9.1 on the CPU; it needs an environment of its own, ``mxnet@1.9.1``."""

    name = "mxnet"
    packages = ("mxnet",)
    suffix = ".onnx"

    def script(self, option: str) -> str:
        """Source of a function that runs a file whose operators' version is at most 8."""
        return """
def run(path, inputs):
    import mxnet as mx
    from mxnet.contrib.onnx.onnx2mx import import_model

    symbol, arguments, states = import_model.import_model(path)
    names = [name for name, *_ in import_model.get_model_metadata(path)["input_tensor_data"]]
    block = mx.gluon.SymbolBlock(symbol, [mx.sym.var(name) for name in names])
    for name, parameter in block.collect_params().items():
        value = arguments.get(name, states.get(name))
        parameter.shape = value.shape
        parameter._load_init(value, ctx=mx.cpu())
    outputs = block(*(mx.nd.array(i, dtype=i.dtype) for i in inputs))
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [o.asnumpy() for o in outputs]
"""

    def readable(self, content: bytes, batch: int | None) -> bytes:
        """The same in the words of operators' version 8.

        Raises:
            NotImplementedError: an operator is told something that it could not be told then.
        """
        import onnx

        model = for_old_readers(onnx.load_model_from_string(content), batch)
        return bytes(model.SerializeToString())

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """A block of the imported symbol.

        Raises:
            NotImplementedError: the importer does not take the model; the message begins with the
                operator at which it stopped.
        """
        import mxnet
        import onnx
        from mxnet.contrib.onnx.onnx2mx.import_onnx import GraphProto

        class Importer(GraphProto):  # type: ignore[misc]
            """The importer, which knows at which operator it is."""

            latest = ""

            def _convert_operator(self, node_name: Any, op_name: str, *rest: Any) -> Any:
                self.latest = op_name
                return super()._convert_operator(node_name, op_name, *rest)

        content = self.path(model_under_test, option).read_bytes()
        model = onnx.load_model_from_string(self.readable(content, model_under_test.batch))
        constants = {tensor.name for tensor in model.graph.initializer}
        names = [value.name for value in model.graph.input if value.name not in constants]
        importer = Importer()
        try:
            symbol, arguments, states = importer.from_onnx(model.graph, opset_version=8)
        except Exception as error:
            raise NotImplementedError(f"{importer.latest}: {error!r}: not supported") from error
        block = mxnet.gluon.SymbolBlock(symbol, [mxnet.sym.var(name) for name in names])
        for name, parameter in block.collect_params().items():
            value = arguments[name] if name in arguments else states[name]
            parameter.shape = value.shape
            parameter._load_init(value, ctx=mxnet.cpu())
        return block

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        import mxnet

        outputs = compiled(*(mxnet.nd.array(i, dtype=i.dtype) for i in inputs))
        many = outputs if isinstance(outputs, list | tuple) else [outputs]
        return [o.asnumpy() for o in many]
