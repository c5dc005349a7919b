"""Configurations of Keras models, checked as a whole before Keras reads them; and those of Keras 2.

Keras looks the classes and functions that a configuration names up in its own modules, and
TensorFlow takes the names of layers into graphs, where only some signs may stand. A configuration
of Keras 2 is translated into one of Keras 3.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError, reading
from asterism.models.foreign.names import require_plain_text

#: Objects of a model; the largest published ones have about a thousand layers.
_MOST_OBJECTS = 10_000
#: Keras' modules of which models consist; a copy of each is in ``keras.src``.
_MODULES = re.compile(
    r"builtins|keras(\.src)?|keras\.(src\.)?(activations|constraints|dtype_policies|initializers|"
    r"layers|losses|metrics|models|ops|optimizers|quantizers|regularizers)(\.[a-z0-9_]+)*"
)
#: Names of classes and functions, of registered ones after their package's, and what Keras writes
#: of values that are no JSON.
_IDENTIFIER = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*>)?[A-Za-z][A-Za-z0-9_]*")
_VALUES = {"__keras_tensor__", "__tensor__", "__numpy__", "__ellipsis__", "__slice__", "__tuple__"}
#: Types of the numbers in such values.
_NUMBERS = re.compile(r"((u?int|b?float|complex)[0-9]{1,3}|bool)")
#: What TensorFlow takes as the name of a graph's part; Keras fills an empty one in.
_NAME = re.compile(r"([A-Za-z0-9.][A-Za-z0-9_.>-]{0,500})?")


def find_code(path: Path, what: str = "holds a Lambda layer") -> UserError:
    """What is wrong with a file that works only with Python code of its author's."""
    return UserError(
        f"{path} {what}, and a model's own code is never run here: build it of Keras' own parts, "
        "or, where the code is, write the model as ONNX by "
        f"`model.export({path.stem + '.onnx'!r}, format='onnx')`"
    )


def require_plain_config(config: Any, path: Path) -> None:
    """Reject a configuration of anything but Keras' own parts, or of too many of them.

    Args:
        config: a model's, as JSON gives it.
        path: its file, for messages.

    Raises:
        UserError: it holds code; names a class or function of another module than those that
            models consist of; names a part by what TensorFlow does not take; holds a text that is
            no plain one of a line; or consists of more than 10,000 objects.
    """
    objects, waiting = 0, [config]
    with reading(str(path)):
        while waiting:
            value = waiting.pop()
            if isinstance(value, str):
                require_plain_text(value)
            elif isinstance(value, list):
                waiting.extend(value)
            elif isinstance(value, dict):
                waiting.extend([*value, *value.values()])
                if "class_name" in value:
                    objects += "config" in value
                    _require_of_keras(value, path)
        if objects > _MOST_OBJECTS:
            raise UserError(f"{path} has more than {_MOST_OBJECTS:,} layers: not opened")


def _require_of_keras(part: dict[str, Any], path: Path) -> None:
    """Reject an object of a configuration by what it says that it is."""
    kind, module, config = part["class_name"], part.get("module"), part.get("config")
    if kind in ("Lambda", "__lambda__"):
        raise find_code(path)
    named = [config] if kind == "function" and isinstance(config, str) else []
    for name in (kind, *named):
        if not isinstance(name, str) or not (_IDENTIFIER.fullmatch(name) or name in _VALUES):
            raise UserError(f"{path} holds {name!a}, which is no name of a part of Keras")
    if module is not None and not (isinstance(module, str) and _MODULES.fullmatch(module)):
        raise find_code(path, f"needs {named[0] if named else kind}, which Keras does not have")
    if isinstance(config, dict):
        name, dtype = config.get("name"), config.get("dtype")
        if isinstance(name, str) and not _NAME.fullmatch(name):
            raise UserError(
                f"{path} calls a layer {name[:60]!a}: TensorFlow takes letters without accents, "
                "numbers and _.>- only, and no first _ or -. Give it another name"
            )
        if kind in _VALUES and dtype is not None and not _NUMBERS.fullmatch(str(dtype)):
            raise UserError(f"{path} holds values of the type {dtype!a}: only numbers are read")


#: Refers to :func:`register_activations`' function as Keras 3 serialises it.
_HARD_SIGMOID = {
    "module": "builtins",
    "class_name": "function",
    "config": "asterism>keras_2_hard_sigmoid",
    "registered_name": "function",
}
#: What Keras 2 wrote of convolutions without groups, and of kernels that are made of two.
_KERNEL = ("kernel_initializer", "kernel_regularizer", "kernel_constraint")
_IGNORED = {
    "DepthwiseConv1D": ("groups", "filters", *_KERNEL),
    "DepthwiseConv2D": ("groups", "filters", *_KERNEL),
    "SeparableConv1D": ("groups", *_KERNEL),
    "SeparableConv2D": ("groups", *_KERNEL),
    "Conv2DTranspose": ("groups",),
    "Conv1DTranspose": ("groups",),
    "Conv3DTranspose": ("groups",),
}


@cache
def register_activations() -> None:
    """Make Keras know the activations that Keras 3 defines otherwise than Keras 2.

    Keras 2's hard sigmoid, the default of its early LSTMs' gates, is ``0.2 x + 0.5`` clipped to
    [0, 1]; Keras 3's is ``x / 6 + 0.5``.
    """
    import keras

    @keras.saving.register_keras_serializable(  # type: ignore[untyped-decorator]
        package="asterism", name="keras_2_hard_sigmoid"
    )
    def keras_2_hard_sigmoid(x: Any) -> Any:
        return keras.ops.clip(0.2 * x + 0.5, 0.0, 1.0)


def to_keras_3(config: dict[str, Any], path: Path) -> dict[str, Any]:
    """A model's config, translated where it is one of Keras 2; others pass unchanged.

    Keras 2 lets the first layer of a Sequential model state the input's shape, its recurrent
    layers and its convolutions carry options that are gone, batch normalisation may name its axis
    in a list, and its hard sigmoid is another function.

    Args:
        config: as stored with the model.
        path: the model's file, for messages.

    Raises:
        UserError: a Lambda layer, whose Python code is never run.
    """
    return _translate(config, path, old=str(config.get("keras_version", "2")) < "3")


def _translate(config: dict[str, Any], path: Path, old: bool) -> dict[str, Any]:
    if config.get("class_name") == "Lambda":
        raise find_code(path)
    inner = config.get("config")
    if isinstance(inner, list):  # Sequential models before Keras 2.2.3
        config = {**config, "config": {"name": "sequential", "layers": inner}}
        inner = config["config"]
    if not isinstance(inner, dict):
        return config
    inner = {k: v for k, v in inner.items() if k not in ("implementation", "time_major")}
    for role in ("activation", "recurrent_activation"):
        if old and inner.get(role) == "hard_sigmoid":
            inner[role] = _HARD_SIGMOID
    if old:
        inner = _translate_options(str(config.get("class_name")), inner)
    if config.get("class_name") in ("TimeDistributed", "Bidirectional"):
        for name in {"layer", "backward_layer"} & inner.keys():
            inner[name] = _translate(inner[name], path, old)
    if "layers" in inner:
        layers = [_translate(layer, path, old) for layer in inner["layers"]]
        if config.get("class_name") == "Sequential" and layers:
            layers = _with_input_layer(layers)
        inner["layers"] = layers
    return {**config, "config": inner}


def _translate_options(kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """A layer's options without those that Keras 2 writes of it and Keras 3 does not take."""
    ignored = _IGNORED.get(kind, ())
    options = {k: v for k, v in options.items() if k not in ignored}
    axis = options.get("axis")
    if kind == "BatchNormalization" and isinstance(axis, list) and len(axis) == 1:
        options["axis"] = axis[0]
    return options


def _with_input_layer(layers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    first = layers[0]
    shape = first["config"].get("batch_input_shape")
    if first["class_name"] == "InputLayer" or shape is None:
        return layers
    rest = {k: v for k, v in first["config"].items() if k != "batch_input_shape"}
    dtype = rest.get("dtype") or "float32"
    declared = {
        "class_name": "InputLayer",
        "config": {"batch_shape": shape, "dtype": dtype, "name": f"{rest['name']}_input"},
    }
    return [declared, {**first, "config": rest}, *layers[1:]]
