"""Errors of tensors along a TFLite graph, beside its float original or a coarser version of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from asterism.core.messages.errors import UserError, reading
from asterism.localisation.matching import dequantised
from asterism.localisation.running import Array, Feed
from asterism.localisation.tensor_errors import Sums, TensorError
from asterism.models.classifiers.formats.litert import require_small_tensors


def tflite_tensor_errors(
    original: Path, compressed: Path, feeds: Iterable[Feed]
) -> list[TensorError]:
    """Cumulative errors of the tensors that two TFLite files have under the same names.

    Quantised tensors are compared by the numbers that they stand for. There are no own errors:
    LiteRT runs no single operators of a file.

    Args:
        original: a float model, ``.tflite``.
        compressed: a quantised version by the same converter, ``.tflite``.
        feeds: inputs of runs, in the order of the original's inputs; one batch size for all.

    Raises:
        UserError: a file cannot be read, does not take the inputs, or they share no tensor's name.
    """
    models = [_Preserved(path) for path in (original, compressed)]
    shared = [name for name in models[0].made if name in models[1].made]
    if not shared:
        raise UserError(
            f"{original} and {compressed} share no tensor's name, so that no error can be told "
            "along the graph: convert both from one model with the same converter"
        )
    sums = {name: Sums() for name in shared}
    for feed in feeds:
        wanted, given = (model.run(feed, shared) for model in models)
        for name in shared:
            sums[name].add(wanted[name], given[name])
    return [
        TensorError(name, name, models[0].made[name], None, sums[name].difference(), None)
        for name in shared
    ]


class _Preserved:
    """An interpreter that keeps all tensors of a run.

    Attributes:
        made: operators by the names of the float or quantised tensors that they make, in order.
    """

    def __init__(self, path: Path) -> None:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        require_small_tensors(path)
        self._path = path
        with reading(str(path)):
            self._interpreter: Any = Interpreter(
                str(path),
                num_threads=1,
                experimental_preserve_all_tensors=True,
                experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
            )
            self._inputs = self._interpreter.get_input_details()
            self._details = {d["index"]: d for d in self._interpreter.get_tensor_details()}
            self.made: dict[str, str] = {}
            self._places: dict[str, int] = {}
            for operator in self._interpreter._get_ops_details():
                for index in operator["outputs"]:
                    detail = self._details.get(int(index))
                    if detail is not None and _is_number(detail):
                        self.made[detail["name"]] = operator["op_name"]
                        self._places[detail["name"]] = int(index)

    def run(self, feed: Feed, wanted: list[str]) -> dict[str, Array]:
        """Float values of tensors in one run."""
        values = list(feed.values())
        if len(values) != len(self._inputs):
            raise UserError(f"{self._path} takes {len(self._inputs)} inputs, not {len(values)}")
        try:
            for detail, value in zip(self._inputs, values, strict=True):
                self._interpreter.resize_tensor_input(detail["index"], value.shape)
            self._interpreter.allocate_tensors()
            for detail, value in zip(self._inputs, values, strict=True):
                self._interpreter.set_tensor(detail["index"], _quantised(value, detail))
            self._interpreter.invoke()
        except (RuntimeError, ValueError) as error:
            raise UserError(f"LiteRT cannot run {self._path} on these inputs: {error}") from None
        return {name: self._real(self._places[name]) for name in wanted}

    def _real(self, index: int) -> Array:
        values = np.asarray(self._interpreter.get_tensor(index))
        parameters = self._details[index]["quantization_parameters"]
        if values.dtype.kind == "f" or not len(parameters["scales"]):
            return values
        axis = int(parameters["quantized_dimension"])
        return dequantised(values, parameters["scales"], parameters["zero_points"], axis)


def _is_number(detail: Any) -> bool:
    """Whether a tensor holds floats, or integers that stand for them."""
    is_float = np.dtype(detail["dtype"]).kind == "f"
    return is_float or len(detail["quantization_parameters"]["scales"]) > 0


def _quantised(value: Array, detail: Any) -> Array:
    """An input as the model takes it."""
    dtype = np.dtype(detail["dtype"])
    scale, zero = detail["quantization"]
    if dtype.kind not in "iu" or not scale or value.dtype == dtype:
        return value.astype(dtype)
    limits = np.iinfo(dtype)
    levels: Array = np.clip(np.rint(value / scale) + zero, limits.min, limits.max)
    return levels.astype(dtype)
