"""Translating a Keras 2 model config into one of Keras 3."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from asterism.models.foreign.keras import holds_code

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
        raise holds_code(path)
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
