"""A Keras layer's configuration in terms of the universe of layers.

An option that the universe does not have is left out if it has Keras' default or changes nothing
at inference. Otherwise the layer is rejected: reading a model must not change it.
"""

from __future__ import annotations

import inspect
from typing import Any

from asterism.memo.universe.keras_options import OF_WEIGHTS
from asterism.memo.universe.layers import LayerSpec, universe
from asterism.memo.universe.parameters import Choice, Parameter
from asterism.memo.universe.tensors import FLOATS, Config, require_valid

#: Keras 2's hard sigmoid, which no library has today, becomes today's.
_FUNCTIONS = {"asterism>keras_2_hard_sigmoid": "hard_sigmoid"}

#: Arguments that change nothing of what is computed once the weights are there.
_WITHOUT_EFFECT = frozenset(
    {"name", "trainable", "seed", "dtype", "batch_shape", "batch_input_shape", "input_length"}
    | {"implementation", "fused"}
)

_NO_DEFAULT = inspect.Parameter.empty

#: What arguments were in Keras 2 that today's layers do not know, where they had no effect.
_FORMER: Config = {"groups": 1}


def declared_config(spec: LayerSpec, config: Config) -> Config:
    """Keras' configuration of a layer, in the universe's words.

    Args:
        spec: the layer's declaration.
        config: as the layer's ``get_config`` gives it, of Keras 2 or 3.

    Raises:
        InvalidLayerError: the universe cannot say what the layer does.
    """
    flat = spec.from_keras(dict(config))
    specs = [spec, *_wrapped(flat)]
    defaults = _keras_defaults(specs)
    taken: Config = {}
    for argument, value in flat.items():
        declarations = [s.known[argument] for s in specs if argument in s.known]
        parameter = next(iter(declarations), None)
        if argument in _WITHOUT_EFFECT:
            continue
        if argument.endswith(OF_WEIGHTS):
            word = "none" if value is None else _word(value)
            if parameter is not None and word in parameter.options:
                taken[argument] = word
        elif parameter is not None:
            word = _declared_word(parameter, value, defaults.get(argument))
            taken |= {} if word is None else {argument: word}
        else:
            require_valid(
                not _off_default(argument, value, defaults),
                f"its {argument} is {value!r}, which the universe does not declare",
            )
    inner = config["layer"]["config"] if isinstance(config.get("layer"), dict) else config
    dtype = dtype_of(config.get("dtype"))
    require_valid(
        dtype_of(inner.get("dtype")) == dtype, "the layer that it wraps has another dtype"
    )
    return {**taken, "dtype": dtype}


def dtype_of(value: Any) -> str:
    """A layer's dtype; float32 if its configuration has none.

    Raises:
        InvalidLayerError: it computes in none that the universe has, or in a mixture.
    """
    if isinstance(value, dict):
        value = value["config"].get("name", value["class_name"])
    name = "float32" if value is None else str(value)
    require_valid(name in FLOATS, f"its dtype is {name}, which the universe does not declare")
    return name


def _wrapped(flat: Config) -> list[LayerSpec]:
    """The declaration of the layer that a wrapper wraps, where it is one."""
    if "layer" not in flat:
        return []
    inner = universe().get(flat["layer"])
    require_valid(
        inner is not None, f"it wraps a {flat['layer']}, which the universe does not declare"
    )
    assert inner is not None
    return [inner]


def _keras_defaults(specs: list[LayerSpec]) -> Config:
    """Keras' own default of every argument that has one."""
    import keras

    found: Config = {}
    for spec in reversed(specs):
        arguments = inspect.signature(getattr(keras.layers, spec.name)).parameters
        found |= {name: argument.default for name, argument in arguments.items()}
    return {name: default for name, default in found.items() if default is not _NO_DEFAULT}


def _declared_word(parameter: Parameter, value: Any, default: Any) -> Any:
    """A declared parameter's value, None where Keras' default is meant.

    Raises:
        InvalidLayerError: it is a function that the universe does not declare, or None is no
            way of asking for the default.
    """
    name, word = parameter.name, _word(value)
    if isinstance(parameter, Choice) and isinstance(word, list) and word not in parameter.values:
        word = word[0] if len(word) == 1 else word  # some layers list their only axis
    if isinstance(parameter, Choice) and name.endswith("activation"):
        word = "linear" if word is None else word
        require_valid(word in parameter.options, f"its {name} {word} is not declared")
    elif word is None:
        word = "none" if "none" in parameter.options else None
        require_valid(
            word is not None or default is None, f"its {name} is None, which is not declared"
        )
    return word


def _off_default(argument: str, value: Any, defaults: Config) -> bool:
    """Whether an argument that is not declared asks for something else than Keras' default."""
    if argument not in defaults:
        return bool(value) and value != _FORMER.get(argument)
    default = defaults[argument]
    if argument == "data_format" and default is None:
        default = "channels_last"
    values = value if isinstance(value, list | tuple) else [value]
    return value is not None and any(v != default for v in values)


def _word(value: Any) -> Any:
    """A serialised object by its name; anything else as it is."""
    from keras.src.utils.naming import to_snake_case

    if isinstance(value, dict) and "class_name" in value:
        if value["class_name"] == "function":
            return _FUNCTIONS.get(value["config"], value["config"])
        return to_snake_case(value["class_name"])
    if isinstance(value, tuple):
        return [_word(v) for v in value]
    if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], list):
        return value if isinstance(value[0], int) else value[0]
    return value
