"""MXNet on the files of all ONNX converters, read by its own importer."""

from __future__ import annotations

from typing import Any

from asterism.differential.adapters.code import BackendCode, Prepared
from asterism.differential.adapters.library import LIBRARIES, FileLibrary
from asterism.differential.adapters.model_under_test import ModelUnderTest
from asterism_mxnet.old_onnx import for_old_readers


@LIBRARIES.register("mxnet")
class MxNet(FileLibrary):
    """MXNet 1.9.1 on the CPU; it needs an environment of its own, ``mxnet@1.9.1``."""

    name = "mxnet"
    packages = ("mxnet",)
    suffix = ".onnx"

    def code(self, option: str) -> BackendCode:
        """See :class:`Library`; of a file whose operators' version is at most 8."""
        return BackendCode(
            ("import mxnet as mx", "from mxnet.contrib.onnx.onnx2mx import import_model"),
            """symbol, arguments, states = import_model.import_model(path)
names = [name for name, *_ in import_model.get_model_metadata(path)["input_tensor_data"]]
block = mx.gluon.SymbolBlock(symbol, [mx.sym.var(name) for name in names])
for name, parameter in block.collect_params().items():
    value = arguments.get(name, states.get(name))
    parameter.shape = value.shape
    parameter._load_init(value, ctx=mx.cpu())""",
            """outputs = block(*(mx.nd.array(x, dtype=x.dtype) for x in inputs))
outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
outputs = [y.asnumpy() for y in outputs]""",
        )

    def readable(self, content: bytes, batch: int | None) -> bytes:
        """The same in the words of operators' version 8.

        Raises:
            NotImplementedError: an operator is told something that it could not be told then.
        """
        import onnx

        model = for_old_readers(onnx.load_model_from_string(content), batch)
        return bytes(model.SerializeToString())

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Prepared:
        """See :class:`Library`.

        Raises:
            NotImplementedError: the importer does not take the model; the message begins with the
                operator at which it stopped.
        """
        path = self.path(model_under_test, option)
        old = path.with_suffix(".old.onnx")
        old.write_bytes(self.readable(path.read_bytes(), model_under_test.batch))
        try:
            return Prepared(self.code(option), {"path": str(old)}, option)
        except Exception as error:
            said = f"{_latest_operator(error)}: {error!r}: not supported"
            raise NotImplementedError(said) from error


def _latest_operator(error: Exception) -> Any:
    """The operator at which MXNet's importer was: a variable of one of its frames has the name."""
    found, trace = "", error.__traceback__
    while trace is not None:
        found = trace.tb_frame.f_locals.get("op_name", found)
        trace = trace.tb_next
    return found
