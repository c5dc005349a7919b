"""Originals of Keras and their LiteRT files, whole in 8 bits or with 8-bit weights."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import numpy as np

from vetted_truth.compressing import OF_WEIGHTS, damaged_weight
from vetted_truth.heads import DENSE, Output, fit_label_map
from vetted_truth.items import FEATURES, PICTURE, SOUND, Items
from vetted_truth.networks import Array, preprocessed, sound_filters
from vetted_truth.originals import FITTED, Asked, Original, drawn, preprocessing_of

#: Kinds of output, kinds of inputs and damage that these files are made with.
KINDS = (*DENSE, "label map")
INPUTS = ("images", "sound", "tensors")
DAMAGE = ("none", *OF_WEIGHTS, "scale", "zero point")
FORMS = ("lite int8", "lite weights")


def lite_original(asked: Asked, rng: np.random.Generator) -> Original:
    """An original of Keras."""
    import keras

    labelled = bool(rng.random() < 0.5)
    preprocessing = preprocessing_of(asked, labelled, rng)
    items = drawn(asked, FITTED, rng)
    given, features = _body(asked.inputs, asked.kind, items, preprocessing, rng)
    values = keras.Model(given, features).predict(lite_feed(items, preprocessing), verbose=0)
    heads = _heads(asked.kind, features, values, items, rng)
    model = keras.Model(given, [tensor for tensor, _ in heads])
    outputs = [output for _, output in heads]
    return Original(model, outputs, items, given.name, preprocessing, labelled)


def lite_feed(items: Items, preprocessing: str) -> Array:
    """Items as these models take them: the channels of pictures are last."""
    if items.kind == "images":
        return preprocessed(items.values, preprocessing)
    return items.values


def _body(
    inputs: str, kind: str, items: Items, preprocessing: str, rng: np.random.Generator
) -> tuple[Any, Any]:
    from keras import Input, layers

    def drawn_layer(layer: Any, x: Any, shape: tuple[int, ...], spread: float) -> Any:
        """A layer whose weights keep the size of values."""
        weight = rng.normal(0, np.sqrt(2 / np.prod(shape[:-1])), shape)
        return _layer(layer, x, weight, rng.normal(0, spread, shape[-1]))

    if inputs == "images":
        given = Input((PICTURE, PICTURE, 3), name="images")
        few = lite_feed(items[:200], preprocessing)
        mean, spread = few.mean((0, 1, 2)), few.std((0, 1, 2))
        weight = rng.normal(0, 1, (3, 3, 3, 16)) * 2 / np.sqrt(27) / spread.reshape(1, 1, 3, 1)
        bias = rng.normal(0, 0.3, 16) - (weight * mean.reshape(1, 1, 3, 1)).sum((0, 1, 2))
        first = layers.Conv2D(16, 3, padding="same", activation="relu", name="first")
        stride = 1 if kind == "label map" else 2
        second = layers.Conv2D(24, 3, stride, padding="same", activation="relu", name="second")
        x = drawn_layer(second, _layer(first, given, weight, bias), (3, 3, 16, 24), 0.2)
        return given, x if kind == "label map" else layers.GlobalAveragePooling2D()(x)
    if inputs == "sound":
        given = Input((SOUND,), name="waveform")
        first = layers.Conv1D(48, 64, 25, activation="relu", name="first")
        weight = sound_filters().T[:, np.newaxis]
        x = layers.Reshape((SOUND, 1))(given)
        x = _layer(first, x, weight, rng.normal(-0.1, 0.02, 48))
        second = layers.Conv1D(32, 1, activation="relu", name="second")
        x = drawn_layer(second, x, (1, 48, 32), 0.2)
        return given, layers.GlobalAveragePooling1D()(x)
    given = Input((FEATURES,), name="features")
    x = given
    for name, wide in (("first", FEATURES), ("second", 32)):
        layer = layers.Dense(32, activation="relu", name=name)
        x = drawn_layer(layer, x, (wide, 32), 0.3)
    return given, x


def _layer(layer: Any, x: Any, weight: Array, bias: Array) -> Any:
    y = layer(x)
    layer.set_weights([weight.astype(np.float32), bias.astype(np.float32)])
    return y


def _heads(
    kind: str, features: Any, values: Array, items: Items, rng: np.random.Generator
) -> list[tuple[Any, Output]]:
    from keras import layers

    plain, x = bool(rng.random() < 0.5), values.astype(np.float64)
    if kind == "label map":
        weight, bias = fit_label_map(x.reshape(-1, x.shape[-1]), items, rng)
        layer = layers.Conv2D(3, 1, activation="softmax", name="output" if plain else "mask")
        y = _layer(layer, features, weight[np.newaxis, np.newaxis], bias)
        return [(y, Output(layer.name, "map", [PICTURE, PICTURE, 3]))]
    made = []
    for number, head in enumerate(DENSE[kind]):
        weight, bias = head.fit(x, head.targets(items))
        name = head.name if not plain else f"output_{number}" if number else "output"
        activation = head.activation.lower() or None
        layer = layers.Dense(len(bias), activation=activation, name=name)
        y = _layer(layer, features, weight, bias)
        made.append((y, Output(name, head.role, [len(bias)])))
    return made


def converted(model: Any, form: str, rows: Array, whole: bool) -> bytes:
    """A LiteRT file: ``float``, ``lite int8`` or ``lite weights``.

    Args:
        model: of Keras.
        form: see above.
        rows: what ranges are measured on.
        whole: inputs and outputs of 8 bits too.
    """
    import tensorflow as tf

    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if form != "float":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if form == "lite int8":
        converter.representative_dataset = lambda: ([rows[i : i + 1]] for i in range(100))
        if whole:
            converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
            converter.inference_input_type = converter.inference_output_type = tf.int8
    with contextlib.redirect_stdout(io.StringIO()):  # it lists what it saved on its way
        return bytes(converter.convert())


def damaged_layer(model: Any, kind: str, rng: np.random.Generator) -> tuple[Any, str]:
    """A copy of a model of Keras with one layer's weights cut, shifted or 0; its name."""
    import keras

    copy = keras.models.clone_model(model)
    copy.set_weights(model.get_weights())
    layers = [layer for layer in copy.layers if layer.get_weights()]
    layer = layers[-1] if kind == "constant" else layers[int(rng.integers(len(layers)))]
    weight, *rest = layer.get_weights()
    axis = -2 if layer is layers[-1] else -1
    layer.set_weights([damaged_weight(weight, np.abs(weight), 0, kind, axis, rng), *rest])
    return copy, layer.name


def damaged_file(content: bytes, kind: str, rng: np.random.Generator) -> tuple[bytes, str]:
    """A copy of a file with another scale or zero point of one weight, and its layer's name."""
    import flatbuffers
    from tensorflow.lite.python import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(bytearray(content), 0)
    graph = model.subgraphs[0]
    weights = [
        tensor
        for tensor in graph.tensors
        if tensor.type == schema.TensorType.INT8
        and tensor.quantization is not None
        and tensor.quantization.scale is not None
        and model.buffers[tensor.buffer].data is not None
        and len(tensor.shape) > 1
        and tensor.name.count(b"/") > 1
    ]
    if not weights:
        return content, ""
    tensor = weights[int(rng.integers(len(weights)))]
    scale = np.asarray(tensor.quantization.scale, np.float32)
    if kind == "scale":
        tensor.quantization.scale = scale * np.float32(4)
    else:
        data = np.asarray(model.buffers[tensor.buffer].data).view(np.int8).astype(int)
        shifted = np.clip(data + 48, -127, 127).astype(np.int8)
        model.buffers[tensor.buffer].data = shifted.view(np.uint8)
    builder = flatbuffers.Builder(len(content))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output()), layer_of(tensor.name.decode())


def layer_of(tensor: str) -> str:
    """The layer that a tensor belongs to: ``functional_1/first_1/convolution`` is of ``first``."""
    return re.sub(r"(_\d+)+$", "", tensor.split("/")[-2])


def write_original(model: Any, path: Path, rows: Array) -> None:
    """A ``.keras`` file, or a float ``.tflite`` file."""
    if path.suffix == ".keras":
        model.save(path)
    else:
        path.write_bytes(converted(model, "float", rows, whole=False))
