"""Writing a Keras 3 model in the words of Keras 2: the configuration of its layers, and weights.

The functions hold all that they need, since reproducers contain their source.
"""

from __future__ import annotations

from typing import Any


def keras2_layer(kind: str, config: dict[str, Any]) -> dict[str, Any]:
    """What Keras 2's constructor of a layer has to be told; what is at its default is left out.

    Args:
        kind: type of the layer.
        config: its configuration in Keras 3.

    Raises:
        NotImplementedError: Keras 2 has another function of that name, or no such dtype.
    """
    import inspect

    import keras

    alike = [
        "elu",
        "exponential",
        "linear",
        "relu",
        "selu",
        "sigmoid",
        "softmax",
        "softplus",
        "softsign",
        "tanh",
    ]
    told: dict[str, Any] = {"name": config["name"]}
    defaults = inspect.signature(getattr(keras.layers, kind).__init__).parameters
    for name, value in config.items():
        if name == "dtype":
            policy = value["config"]["name"] if isinstance(value, dict) else value
            if policy not in ("float32", "int32"):
                raise NotImplementedError(f"{kind}: dtype {policy!r} is not supported in Keras 2")
        elif name == "activation" or name == "recurrent_activation":
            if value not in alike:
                raise NotImplementedError(f"{kind}: {name} {value!r} is not supported in Keras 2")
            told[name] = value
        elif name == "reset_after":  # Keras 2 has another default
            told[name] = value
        elif name == "unroll" and kind in (
            "SimpleRNN",
            "LSTM",
            "GRU",
        ):  # Keras-MXNet's loops give zeros under MXNet 1.9.1
            told[name] = True
        elif name == "layer":  # of a wrapper
            inner = keras2_layer(value["class_name"], value["config"])
            told[name] = {"class_name": value["class_name"], "config": inner}
        elif name == "backward_layer":  # Keras 2 makes it from the other one
            pair = ({**value["config"]}, {**config["layer"]["config"]})
            for one in pair:
                one.pop("name"), one.pop("go_backwards", None)
            if pair[0] != pair[1]:
                raise NotImplementedError(f"{kind}: {name} is not supported in Keras 2")
        elif name.endswith(("_initializer", "_regularizer", "_constraint")):
            continue  # weights are given, and nothing is trained
        elif name in ("name", "trainable") or name not in defaults:
            continue
        elif value != defaults[name].default:
            listed = list(value) if isinstance(value, tuple) else value
            told["alpha" if (kind, name) == ("LeakyReLU", "negative_slope") else name] = listed
    return told


def write_keras2(model: Any, path: Any) -> None:
    """Write a functional model as NumPy's archive: Keras 2's configuration as JSON, and weights.

    Args:
        model: of Keras 3.
        path: of the file.

    Raises:
        NotImplementedError: a layer is told something that Keras 2 has otherwise.
    """
    import json
    from pathlib import Path

    import numpy as np

    def sources(value: Any) -> list[Any]:
        if isinstance(value, dict) and "keras_history" in value.get("config", {}):
            return [[*value["config"]["keras_history"], {}]]
        parts = value.values() if isinstance(value, dict) else value
        return (
            [s for part in parts for s in sources(part)] if isinstance(value, list | dict) else []
        )

    config = json.loads(json.dumps(model.get_config()))
    layers, arrays = [], {}
    for number, described in enumerate(config["layers"]):
        kind, name, own = described["class_name"], described["name"], described["config"]
        if kind == "InputLayer":
            told = {"batch_input_shape": own["batch_shape"], "dtype": own["dtype"], "name": name}
        else:
            told = keras2_layer(kind, own)
            for index, array in enumerate(model.get_layer(name).get_weights()):
                arrays[f"{number}_{index}"] = array
        inbound = [sources(node["args"]) for node in described["inbound_nodes"]]
        layers.append({"class_name": kind, "name": name, "config": told, "inbound_nodes": inbound})

    def ends(value: Any) -> list[Any]:
        return [value] if isinstance(value[0], str) else value

    whole = {
        "name": "model",
        "layers": layers,
        "input_layers": ends(config["input_layers"]),
        "output_layers": ends(config["output_layers"]),
    }
    with Path(path).open("wb") as file:
        np.savez(file, config=np.array(json.dumps(whole)), **arrays)
