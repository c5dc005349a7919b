"""ONNX versions of Keras and LiteRT files, so that their nodes can be exchanged.

ONNX models are copied so that the axes of their inputs and outputs are in another order.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from asterism.core.messages.errors import UserError, extract_reason
from asterism.core.settings import machine
from asterism.core.workers.processes import run_alone
from asterism.localisation.graph import rename_tensors
from asterism.localisation.lite_graphs import make_convertible
from asterism.models.foreign.litert import read_litert
from asterism.models.foreign.onnx_files import read_onnx
from asterism.models.keras_models.reading import KERAS_SUFFIXES, load_keras

if TYPE_CHECKING:
    import onnx


@dataclass(frozen=True)
class TransposedTensor:
    """An input or output of a copied model, with its axes in another order.

    Attributes:
        name: in the copy.
        order: for each axis of the copy's tensor, the axis of the model's.
    """

    name: str
    order: Sequence[int]

    @property
    def backwards(self) -> list[int]:
        """For each axis of the model's tensor, the axis of the copy's."""
        return [self.order.index(axis) for axis in range(len(self.order))]


def transpose_tensors(
    path: Path,
    inputs: Mapping[str, TransposedTensor],
    outputs: Mapping[str, TransposedTensor],
    target: Path,
) -> Path:
    """Write a copy of an ONNX model in which some inputs and outputs have turned axes.

    Args:
        path: the model.
        inputs: by their names in the model.
        outputs: by their names in the model.
        target: where the copy goes.

    Returns:
        ``target``.
    """
    model = read_onnx(path)
    graph = model.graph
    turned = {**inputs, **outputs}
    taken = {name for node in graph.node for name in (*node.input, *node.output)}
    # What the copy takes and gives has names that no tensor within it has.
    inner = {one.name: _unused(one.name, taken) for one in turned.values() if one.name in taken}
    nodes = [rename_tensors(node, inner) for node in graph.node]
    for node in nodes:
        node.output[:] = [inner.get(name, name) for name in node.output]
    del graph.node[:]
    for name, one in inputs.items():
        _turn(graph, one.name, inner.get(name, name), one.backwards)
    graph.node.extend(nodes)
    for name, one in outputs.items():
        _turn(graph, inner.get(name, name), one.name, one.order)
    for value in (*graph.input, *graph.output):
        if value.name in turned:
            one = turned[value.name]
            value.name = one.name
            _reorder(value.type.tensor_type.shape.dim, one.order)
    target.write_bytes(model.SerializeToString(deterministic=True))
    return target


def _turn(graph: Any, given: str, made: str, order: Sequence[int]) -> None:
    """Add a node that turns one tensor into another."""
    node = graph.node.add(
        op_type="Transpose", name=f"layout of {made}", input=[given], output=[made]
    )
    node.attribute.add(name="perm", type="INTS", ints=order)


def _unused(name: str, taken: set[str]) -> str:
    """A name that no tensor has yet."""
    while name in taken:
        name += "_"
    return name


def _reorder(sizes: Any, order: Sequence[int]) -> None:
    turned = [sizes[axis].SerializeToString() for axis in order]
    for size, content in zip(sizes, turned, strict=True):
        size.ParseFromString(content)


LITE_SUFFIXES = (".tflite", ".lite")

#: Operators of ONNX in the converted files: the last set without types that few tools know.
_OPSET = 17
#: Attributes of a ``Gemm`` that is a product and a sum.
_GEMM = (("alpha", 1.0), ("beta", 1.0), ("transA", 0))
#: Ends of names that the converter made up.
_COUNTED = re.compile(r"__\d+(:\d+)?$")
#: Seconds that a conversion may take.
_SECONDS = 600.0


def as_onnx(path: Path, folder: Path) -> Path:
    """A model file as ONNX: the file itself, or its conversion.

    A Keras file becomes a LiteRT file first, so that it has the operators and the folded layers
    of a LiteRT file that was made of it. The conversion runs in a process of its own.

    Args:
        path: ``.onnx``, ``.tflite``, ``.lite``, ``.keras``, ``.h5``.
        folder: where a conversion goes.

    Raises:
        UserError: it cannot be converted.
    """
    if path.suffix == ".onnx":
        return path
    target = folder / f"{path.name}.onnx"
    command = [sys.executable, "-P", "-m", __name__, str(path), str(target)]
    with tempfile.TemporaryFile("w+") as log:
        status = run_alone(command, _SECONDS, stdout=subprocess.DEVNULL, stderr=log)
        if status:
            log.seek(0)
            reason = extract_reason(log.read()) or f"it ended with status {status}"
        elif status is None:
            reason = f"that took more than {_SECONDS:g} s"
    if status != 0:
        raise UserError(f"{path.name} cannot be converted to ONNX: {reason}")
    return target


def convert(source: Path, target: Path) -> None:
    """Write the ONNX version of a Keras or LiteRT file, for batches of any size.

    It takes and gives real numbers, and the file's variables as states.

    Raises:
        UserError: the source cannot be read.
        Exception: whatever the converters meet in a foreign model.
    """
    import onnx
    import tf2onnx

    with tempfile.TemporaryDirectory() as folder:
        lite = source
        if source.suffix in KERAS_SUFFIXES:
            lite = Path(folder) / "model.tflite"
            lite.write_bytes(_lite(load_keras(source)))
        opened = Path(folder) / "opened.tflite"
        content = read_litert(lite)
        opened.write_bytes(make_convertible(content, source.name))
        model, _ = tf2onnx.convert.from_tflite(str(opened), opset=_OPSET)
    _read_bytes_with_sign(model.graph)
    _free_batch(model.graph)
    _split_dense_layers(model.graph)
    _shorten_names(model.graph)
    _mark_counted_tensors(model.graph, hashlib.sha256(content).hexdigest()[:8])
    onnx.checker.check_model(model)
    target.write_bytes(model.SerializeToString(deterministic=True))


def _lite(model: Any) -> bytes:
    """A Keras model as a LiteRT file for one item, in which all shapes are known."""
    import keras
    import tensorflow as tf

    given = [
        keras.Input(batch_shape=(1, *tensor.shape[1:]), dtype=tensor.dtype, name=f"input_{number}")
        for number, tensor in enumerate(model.inputs)
    ]
    fixed = keras.Model(given, model(given if len(given) > 1 else given[0]))
    content: bytes = tf.lite.TFLiteConverter.from_keras_model(fixed).convert()
    return content


def _read_bytes_with_sign(graph: onnx.GraphProto) -> None:
    """Give weights the sign that LiteRT's kernels read them with.

    Files of older converters declare weights as uint8 with zero point 0 beside float activations;
    the kernels take the same bytes for int8.
    """
    from onnx import numpy_helper

    constants = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        names = [node.input[place] for place in (0, 2) if place < len(node.input)]
        parts = [constants[name] for name in names if name in constants]
        if node.op_type != "DequantizeLinear" or len(parts) < 2:
            continue
        values = [numpy_helper.to_array(part) for part in parts]
        if values[0].dtype == np.uint8 and not values[1].any():
            for part, numbers in zip(parts, values, strict=True):
                part.CopyFrom(numpy_helper.from_array(numbers.view(np.int8), part.name))


def _free_batch(graph: onnx.GraphProto) -> None:
    """Take any number of items where the file takes one."""
    from onnx import numpy_helper

    constants = {tensor.name: tensor for tensor in graph.initializer}
    if any(_leading(value) not in (0, 1) for value in graph.input):
        return
    for value in (*graph.input, *graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    del graph.value_info[:]
    for node in graph.node:
        shape = constants.get(node.input[1]) if node.op_type == "Reshape" else None
        if shape is None:
            continue
        sizes = numpy_helper.to_array(shape).copy()
        if len(sizes) > 1 and sizes[0] == 1:
            sizes[0] = 0  # as many as come in
            shape.CopyFrom(numpy_helper.from_array(sizes, shape.name))


def _split_dense_layers(graph: onnx.GraphProto) -> None:
    """Write dense layers of constant floats as ``MatMul`` and ``Add``, as those of integers are."""
    from onnx import helper, numpy_helper

    constants = {tensor.name: tensor for tensor in graph.initializer}
    nodes = []
    for node in graph.node:
        given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        plain = [given.get(name, usual) for name, usual in _GEMM] == [usual for _, usual in _GEMM]
        parts = [constants.get(name) for name in node.input[1:]]
        if node.op_type != "Gemm" or not plain or not parts or parts[0] is None:
            nodes.append(node)
            continue
        weights = numpy_helper.to_array(parts[0])
        name = f"{node.name}:weights"
        turned = np.ascontiguousarray(weights.T if given.get("transB") else weights)
        graph.initializer.append(numpy_helper.from_array(turned, name))
        no_bias = len(parts) < 2 or (
            parts[1] is not None and not numpy_helper.to_array(parts[1]).any()
        )
        product = node.output[0] if no_bias else f"{node.name}:product"
        nodes.append(helper.make_node("MatMul", [node.input[0], name], [product], name=node.name))
        if not no_bias:
            bias = [product, node.input[2]]
            nodes.append(helper.make_node("Add", bias, [node.output[0]], name=f"{node.name}:bias"))
    del graph.node[:]
    graph.node.extend(nodes)


def _mark_counted_tensors(graph: onnx.GraphProto, mark: str) -> None:
    """Give tensors that the converter named by a counter names that no other file has.

    Else two files have tensors of one name by chance, which are taken for the same.
    """
    fixed = {value.name for value in (*graph.input, *graph.output)}
    made = [name for node in graph.node for name in node.output if name not in fixed]
    names = {name: f"{name}@{mark}" for name in made if _COUNTED.search(name)}
    nodes = [rename_tensors(node, names) for node in graph.node]
    for node in nodes:
        node.output[:] = [names.get(name, name) for name in node.output]
    del graph.node[:], graph.value_info[:]
    graph.node.extend(nodes)


def _leading(value: onnx.ValueInfoProto) -> int:
    """The size of a tensor's first axis, 0 where it is free; -1 for a tensor without axes."""
    axes = value.type.tensor_type.shape.dim
    return axes[0].dim_value if len(axes) else -1


def _shorten_names(graph: onnx.GraphProto) -> None:
    """Name nodes by the first of the layers that LiteRT's converter has merged into them."""
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    for node in graph.node:
        short = name = node.name.split(";")[0]
        while name in taken:
            numbers[short] = numbers.get(short, 1) + 1
            name = f"{short}_{numbers[short]}"
        taken.add(name)
        node.name = name


if __name__ == "__main__":
    machine.limit_memory()
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
