"""Small ONNX networks: random features of an input, on which a last layer is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper, parser

from vetted_truth.answers import one_by_one
from vetted_truth.items import BYTES, FEATURES, FRAMES, PICTURE, SOUND, TOKENS, VOCABULARY, Items

Array = NDArray[Any]
OPSET = 17
#: Factor and shift of a picture's greys, by the names of ``conf/preprocessing``.
PREPROCESSING: dict[str, tuple[Any, Any]] = {
    "unit": (1 / 255, 0.0),
    "raw": (1.0, 0.0),
    "symmetric": (1 / 127.5, -1.0),
    "imagenet": (
        1 / 255 / np.array((0.229, 0.224, 0.225)),
        -np.array((0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225),
    ),
}
#: Names, type and sizes of a model's input, by the kind of inputs.
_INPUTS: dict[str, tuple[list[str], int, list[int]]] = {
    "images": (["images", "input", "pixel_values"], TensorProto.FLOAT, [3, PICTURE, PICTURE]),
    "sound": (["waveform", "audio", "input"], TensorProto.FLOAT, [SOUND]),
    "tokens": (["input_ids", "tokens"], TensorProto.INT64, [TOKENS]),
    "bytes": (["bytes"], TensorProto.INT32, [BYTES]),
    "tensors": (["features", "input", "x"], TensorProto.FLOAT, [FEATURES]),
}


def preprocessed(greys: Array, name: str) -> Array:
    """A picture's values in float32, of which dynamic quantisation sees the last bit."""
    factor, shift = (np.float32(value) for value in PREPROCESSING[name])
    return np.asarray(greys.astype(np.float32) * factor + shift)


class Net:
    """A graph that grows at its end.

    Attributes:
        inputs: name, type and sizes of each.
        batch: the first size of inputs and outputs: a name where it is free.
    """

    def __init__(self, batch: str | int) -> None:
        self.batch = batch
        self.inputs: list[tuple[str, int, list[Any]]] = []
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}

    def constant(self, name: str, values: Any) -> str:
        """The name of a new initialiser."""
        self.constants[name] = np.asarray(values)
        return name

    def add(self, operator: str, given: Sequence[str], name: str, **attributes: Any) -> str:
        """The output of a new node; it is called as the node."""
        output = attributes.pop("output", f"{name}_output")
        self.nodes.append(helper.make_node(operator, given, [output], name, **attributes))
        return str(output)

    def write(self, name: str) -> None:
        """Add the nodes and constants of a graph in ONNX's textual form, ``graphs/NAME.onnxtxt``.

        Nodes are called by their first output and their operator: ``mlp = MatMul (x, w)`` is
        ``/mlp/MatMul``.
        """
        path = Path(__file__).parent / "graphs" / f"{name}.onnxtxt"
        graph = parser.parse_graph(path.read_text(encoding="utf-8"))
        for node in graph.node:
            node.name = f"/{node.output[0]}/{node.op_type}"
        self.nodes.extend(graph.node)
        self.constants |= {t.name: numpy_helper.to_array(t) for t in graph.initializer}

    def weighted(
        self, operator: str, x: str, weight: Array, bias: Array, name: str, **a: Any
    ) -> str:
        """The output of a new Conv or Gemm."""
        given = [x, self.constant(f"{name}.weight", weight.astype(np.float32))]
        given.append(self.constant(f"{name}.bias", bias.astype(np.float32)))
        return self.add(operator, given, name, **a)

    def named(self, tensor: str, name: str) -> None:
        """Give a tensor the name of an output of the model."""
        for node in self.nodes:
            node.output[:] = [name if one == tensor else one for one in node.output]
            node.input[:] = [name if one == tensor else one for one in node.input]

    def model(self, outputs: Mapping[str, tuple[int, Sequence[Any]]]) -> Any:
        """The model with these outputs: type and sizes by name."""
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes,
            "model",
            [value(*given) for given in self.inputs],
            [value(name, kind, list(sizes)) for name, (kind, sizes) in outputs.items()],
            [numpy_helper.from_array(v, name) for name, v in self.constants.items()],
        )
        opset = [helper.make_opsetid("", OPSET)]
        return onnx.shape_inference.infer_shapes(
            helper.make_model(graph, opset_imports=opset, ir_version=8)
        )

    def values(self, tensor: str, feed: Mapping[str, Array]) -> Array:
        """A tensor's values, by running what there is so far."""
        model = self.model({})
        model.graph.output.add(name=tensor)
        session = onnxruntime.InferenceSession(model.SerializeToString())
        if isinstance(self.batch, str):
            return np.asarray(session.run([tensor], dict(feed))[0])
        return np.concatenate([session.run([tensor], row)[0] for row in one_by_one(feed)])


def random(rng: np.random.Generator, *shape: int) -> Array:
    """Weights that keep the size of values."""
    fan = int(np.prod(shape[1:])) if len(shape) > 2 else shape[0]
    return rng.normal(0, np.sqrt(2 / fan), shape)


def fed(items: Items, preprocessing: str) -> Array:
    """Items as the model takes them."""
    if items.kind == "images":
        values = preprocessed(items.values, preprocessing)
        return np.ascontiguousarray(values.transpose(0, 3, 1, 2))
    return items.values.astype(np.int32) if items.kind == "bytes" else items.values


def body(net: Net, items: Items, preprocessing: str, rng: np.random.Generator) -> tuple[str, str]:
    """Random features of items, ``(N, F, ...)``, by the kind of inputs.

    Returns:
        The input's name, and the features'.
    """
    kind = items.kind
    names, number, sizes = _INPUTS[kind]
    name = str(rng.choice(names))
    net.inputs.append((name, number, [net.batch, *sizes]))
    if kind == "images":
        return name, _convolutions(net, name, items, preprocessing, rng)
    if kind == "sound":
        return name, _filters(net, name, rng)
    if kind in ("tokens", "bytes"):
        rows = VOCABULARY if kind == "tokens" else 257
        table = net.constant("embeddings.weight", rng.normal(0, 1, (rows, 24)).astype(np.float32))
        looked_up = net.add("Gather", [table, name], "/embeddings/Gather")
        turned = net.add("Transpose", [looked_up], "/Transpose", perm=[0, 2, 1])
        return name, _rows(net, turned, 24, rng)
    if items.values.ndim == 3:
        net.inputs[-1][2].insert(1, FRAMES)
        turned = net.add("Transpose", [name], "/Transpose", perm=[0, 2, 1])
        return name, _rows(net, turned, FEATURES, rng)
    x = name
    for number, wide in enumerate((FEATURES, 32)):
        layer, bias = f"/layers.{number}", rng.normal(0, 0.3, 32)
        x = net.weighted("Gemm", x, random(rng, wide, 32), bias, f"{layer}/Gemm")
        x = net.add("Relu", [x], f"{layer}/Relu")
    return name, x


def _convolutions(
    net: Net, x: str, items: Items, preprocessing: str, rng: np.random.Generator
) -> str:
    """Two layers (three for boxes); the first tells directions and colours apart, in any range."""
    few = fed(items[:200], preprocessing)
    mean, spread = few.mean((0, 2, 3)), few.std((0, 2, 3))
    weight = rng.normal(0, 1, (16, 3, 3, 3))
    lines = np.array([[1, 1, 1], [-2, -2, -2], [1, 1, 1]])
    for i, line in enumerate((lines, lines.T, np.outer([1, -1, 1], [1, -1, 1]), -lines, -lines.T)):
        weight[i] = line * np.array([1, 1, 1]).reshape(3, 1, 1) * 0.7
    weight = weight / np.sqrt(27) / spread.reshape(1, 3, 1, 1) * 2
    bias = rng.normal(0, 0.3, 16) - (weight * mean.reshape(1, 3, 1, 1)).sum((1, 2, 3))
    wide = {"map": [(24, 1)], "boxes": [(24, 2), (32, 2)]}
    layers = next((v for k, v in wide.items() if k in items.facts), [(24, 2)])
    x = net.weighted("Conv", x, weight, bias, "/features.0/Conv", pads=[1] * 4)
    x = net.add("Relu", [x], "/features.0/Relu")
    size = 16
    for number, (channels, stride) in enumerate(layers, 1):
        name, b = f"/features.{number}", rng.normal(0, 0.2, channels)
        w = random(rng, channels, size, 3, 3)
        x = net.weighted("Conv", x, w, b, f"{name}/Conv", pads=[1] * 4, strides=[stride] * 2)
        x, size = net.add("Relu", [x], f"{name}/Relu"), channels
    return x


def _filters(net: Net, x: str, rng: np.random.Generator) -> str:
    """Energies of bands of pitches, in ``FRAMES`` frames."""
    axis = net.constant("axis", np.array([1], np.int64))
    x = net.add("Unsqueeze", [x, axis], "/Unsqueeze")
    weight = sound_filters()[:, np.newaxis]
    bias = rng.normal(-0.1, 0.02, len(weight))
    x = net.weighted("Conv", x, weight, bias, "/filters/Conv", strides=[25], pads=[20, 19])
    x = net.add("Relu", [x], "/filters/Relu")
    size = SOUND // 25 // FRAMES
    x = net.add("AveragePool", [x], "/pool", kernel_shape=[size], strides=[size])
    return _rows(net, x, len(weight), rng)


def sound_filters() -> Array:
    """Sines and cosines of twelve pitches, and their negatives, ``(48, 64)``."""
    at = np.arange(64) / 16000
    pitches = np.geomspace(300, 3000, 12)[:, np.newaxis]
    waves = [np.sin(2 * np.pi * pitches * at), np.cos(2 * np.pi * pitches * at)]
    return np.concatenate([*waves, *(-w for w in waves)]) / 16


def _rows(net: Net, x: str, size: int, rng: np.random.Generator) -> str:
    weight, bias = random(rng, 32, size, 1), rng.normal(0, 0.2, 32)
    x = net.weighted("Conv", x, weight, bias, "/encoder/Conv")
    return net.add("Relu", [x], "/encoder/Relu")


def pooled(net: Net, x: str, axes: int, power: float = 0) -> str:
    """One row for each item: the mean over places, or the root of the mean of squares.

    Args:
        net: the net.
        x: features.
        axes: of the features.
        power: what squares are multiplied by before they are summed; 0 for the mean.
    """
    if axes == 2:
        return x
    places = list(range(2, axes))
    if not power:
        return net.add("ReduceMean", [x], "/pool/ReduceMean", axes=places, keepdims=0)
    scale = net.constant("pool.scale", np.float32(power))
    scaled = net.add("Mul", [x, scale], "/pool/Mul")
    squares = net.add("Mul", [scaled, x], "/pool/Mul_1")
    where = net.constant("pool.axes", np.array(places, np.int64))
    total = net.add("ReduceSum", [squares, where], "/pool/ReduceSum", keepdims=0)
    least = net.constant("pool.least", np.float32(power * 1e-2))
    ratio = net.add("Div", [net.add("Add", [total, least], "/pool/Add"), scale], "/pool/Div")
    return net.add("Sqrt", [ratio], "/pool/Sqrt")
