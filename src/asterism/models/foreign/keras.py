"""Configurations of Keras models, checked as a whole before Keras reads them.

Keras looks the classes and functions that a configuration names up in its own modules, and
TensorFlow takes the names of layers into graphs, where only some signs may stand.
"""

from __future__ import annotations

import re
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


def holds_code(path: Path, what: str = "holds a Lambda layer") -> UserError:
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
        raise holds_code(path)
    named = [config] if kind == "function" and isinstance(config, str) else []
    for name in (kind, *named):
        if not isinstance(name, str) or not (_IDENTIFIER.fullmatch(name) or name in _VALUES):
            raise UserError(f"{path} holds {name!a}, which is no name of a part of Keras")
    if module is not None and not (isinstance(module, str) and _MODULES.fullmatch(module)):
        raise holds_code(path, f"needs {named[0] if named else kind}, which Keras does not have")
    if isinstance(config, dict):
        name, dtype = config.get("name"), config.get("dtype")
        if isinstance(name, str) and not _NAME.fullmatch(name):
            raise UserError(
                f"{path} calls a layer {name[:60]!a}: TensorFlow takes letters without accents, "
                "numbers and _.>- only, and no first _ or -. Give it another name"
            )
        if kind in _VALUES and dtype is not None and not _NUMBERS.fullmatch(str(dtype)):
            raise UserError(f"{path} holds values of the type {dtype!a}: only numbers are read")
