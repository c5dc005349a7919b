"""Convolutional networks as Keras 2 stored them."""

import json

import h5py
import keras
import numpy as np

L = keras.layers

#: What Keras 2 wrote of each kind beyond what Keras 3 takes.
WRITTEN = {
    "Conv2D": {"groups": 1},
    "DepthwiseConv2D": {"groups": 1},
    "SeparableConv2D": {
        "groups": 1,
        "kernel_initializer": {
            "class_name": "GlorotUniform",
            "config": {"seed": None},
            "shared_object_id": 3,
        },
        "kernel_regularizer": None,
        "kernel_constraint": None,
    },
}
KEPT = {
    "Conv2D": ("filters", "kernel_size", "strides", "padding", "activation", "use_bias"),
    "DepthwiseConv2D": ("kernel_size", "strides", "padding", "depth_multiplier", "activation"),
    "SeparableConv2D": ("filters", "kernel_size", "strides", "padding", "activation"),
    "BatchNormalization": ("momentum", "epsilon", "center", "scale"),
    "Dense": ("units", "activation", "use_bias"),
    "Flatten": (),
}


def convolutional(shape=(8, 8, 1), classes=4):
    """Every kind of layer whose options changed, with weights drawn at random."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input(shape),
            L.Conv2D(4, 3, strides=2, activation="relu"),
            L.BatchNormalization(),
            L.DepthwiseConv2D(2, activation="relu"),
            L.SeparableConv2D(3, 2, activation="relu"),
            L.Flatten(),
            L.Dense(12, activation="relu"),
            L.Dense(classes, activation="softmax"),
        ]
    )
    rng = np.random.default_rng(0)
    for variable in model.layers[1].weights:
        variable.assign(rng.uniform(0.5, 1.5, variable.shape))
    return model


def keras_2_config(model):
    """A sequential model's config in the words of Keras 2."""
    layers = []
    for layer in model.layers:
        kind, options = type(layer).__name__, layer.get_config()
        config = {"name": layer.name, "trainable": True, "dtype": "float32"}
        config |= {key: options[key] for key in KEPT[kind]} | WRITTEN.get(kind, {})
        if kind == "BatchNormalization":
            config["axis"] = [3]
        layers.append({"class_name": kind, "config": config})
    layers[0]["config"]["batch_input_shape"] = [None, *model.input_shape[1:]]
    config = {"name": "sequential", "layers": layers}
    return {"class_name": "Sequential", "config": config, "keras_version": "2.11.0"}


def write_weights(model, path):
    """The weights alone, as ``save_weights`` of Keras 2 did."""
    whole = path.with_name("whole.h5")
    model.save(whole)
    with h5py.File(whole) as source, h5py.File(path, "w") as target:
        for key in source["model_weights"]:
            source["model_weights"].copy(key, target)
        for key, value in source["model_weights"].attrs.items():
            target.attrs[key] = value


def write_keras_2(model, path):
    """A model as ``.json`` with its weights beside it."""
    path.write_text(json.dumps(keras_2_config(model)))
    write_weights(model, path.with_suffix(".h5"))
    return path
