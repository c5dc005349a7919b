"""MXNet through Keras-MXNet, a fork of Keras 2 whose backend it is."""

from __future__ import annotations

from typing import Any

from asterism.differential.adapters.code import BackendCode, source_of
from asterism.differential.adapters.library import LIBRARIES, FileLibrary


def find_keras2() -> None:
    """Let Keras 2 find what Python has elsewhere since, and name its backend."""
    import collections
    import inspect
    import os
    import warnings
    from collections.abc import Iterable

    warnings.simplefilter("ignore", DeprecationWarning)
    argspec = collections.namedtuple("argspec", "args varargs keywords defaults")
    moved: Any = {
        collections: {"Iterable": Iterable},
        inspect: {"getargspec": lambda f: argspec(*inspect.getfullargspec(f)[:4])},
    }
    for module, names in moved.items():
        vars(module).update(names)
    os.environ["KERAS_BACKEND"] = "mxnet"


def load_keras2(path: str) -> Any:
    """The model of an archive of Keras 2's configuration and weights."""
    import json

    import keras
    import numpy as np

    keras.backend.set_floatx("float32")
    keras.backend.set_image_data_format("channels_last")
    with np.load(path) as archive:
        config = json.loads(str(archive["config"]))
        arrays = {name: archive[name] for name in archive.files if name != "config"}
    model = keras.models.Model.from_config(config)
    for number, described in enumerate(config["layers"]):
        layer = model.get_layer(described["name"])
        layer.set_weights([arrays[f"{number}_{i}"] for i in range(len(layer.weights))])
    model.compile("sgd", "mse")
    return model


@LIBRARIES.register("keras_mxnet")
class KerasMxNet(FileLibrary):
    """Keras-MXNet 2.2.4 on the CPU; it needs an environment of its own, ``keras_mxnet@2.2.4``."""

    name = "keras_mxnet"
    packages = ("keras-mxnet", "mxnet")
    suffix = ".keras2"
    unsupported = (
        r"Unknown layer",
        r"Keyword argument not understood",
        r"unexpected keyword argument",
        r"MXNet Backend: ",
    )

    def start(self) -> None:
        """Let Keras 2 find what it imports, on its MXNet backend."""
        find_keras2()

    def code(self, option: str) -> BackendCode:
        """See :class:`Library`; of an archive of Keras 2's configuration and weights."""
        return BackendCode(
            (),
            f"{source_of(find_keras2, load_keras2)}\nfind_keras2()\nmodel = load_keras2(path)",
            """outputs = model.predict_on_batch(inputs)
outputs = outputs if isinstance(outputs, list) else [outputs]""",
        )
