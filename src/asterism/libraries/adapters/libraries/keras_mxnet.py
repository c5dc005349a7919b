"""MXNet through Keras-MXNet, a fork of Keras 2 whose backend it is."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from asterism.libraries.adapters.library import LIBRARIES, Arrays, FileLibrary, numpy_list
from asterism.libraries.adapters.model_under_test import ModelUnderTest


def find_keras2() -> None:
    """Let Keras 2 find what Python has elsewhere since, and name its backend."""
    import collections
    import inspect
    import os
    import warnings
    from collections.abc import Iterable

    warnings.simplefilter("ignore", DeprecationWarning)
    argspec = collections.namedtuple("argspec", "args varargs keywords defaults")
    moved: dict[Any, dict[str, Any]] = {
        collections: {"Iterable": Iterable},
        inspect: {"getargspec": lambda f: argspec(*inspect.getfullargspec(f)[:4])},
    }
    for module, names in moved.items():
        vars(module).update(names)
    os.environ["KERAS_BACKEND"] = "mxnet"


def load_keras2(path: str | Path) -> Any:
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

    def script(self, option: str) -> str:
        """Source of a function that runs an archive of Keras 2's configuration and weights."""
        parts = "\n\n".join(inspect.getsource(part) for part in (find_keras2, load_keras2))
        return f"""
from pathlib import Path
from typing import Any


{parts}

def run(path, inputs):
    find_keras2()
    outputs = load_keras2(path).predict_on_batch(inputs)
    return outputs if isinstance(outputs, list) else [outputs]
"""

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """The model of Keras 2."""
        return load_keras2(self.path(model_under_test, option))

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as arrays."""
        return numpy_list(compiled.predict_on_batch(list(inputs)))
