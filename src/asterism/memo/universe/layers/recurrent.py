"""Recurrent layers and the wrappers around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from asterism.memo.universe.keras_options import activation, kernel, vector
from asterism.memo.universe.layers import declare, universe
from asterism.memo.universe.layers.windows import convolved_sizes
from asterism.memo.universe.parameters import Choice, Number, Parameter, Sizes
from asterism.memo.universe.shapes import DATA_FORMAT, PADDING, flag, join_shape, per_axis
from asterism.memo.universe.tensors import Config, Tensor, require_valid

_UNITS = Number("units", 4, 1, 10)
_SEQUENCES = (flag("return_sequences", False), flag("go_backwards", False))
_COMMON = (
    flag("use_bias", True),
    *vector(),
    *kernel(),
    *kernel("recurrent", "orthogonal"),
    Number("dropout", 0.0, 0.0, 0.5, integer=False),
    Number("recurrent_dropout", 0.0, 0.0, 0.5, integer=False),
    *_SEQUENCES,
)
_ACTIVATION = activation(default="tanh")
_RECURRENT_ACTIVATION = activation("recurrent_activation", "sigmoid")
_UNROLL = flag("unroll", False)
_OF_LSTM = flag("unit_forget_bias", True)
_OF_GRU = flag("reset_after", True)


def _recurrent(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    steps = (inputs[0].shape[0],) if config.get("return_sequences") else ()
    return (*steps, config["units"])


def _each_step(config: Config, inputs: Sequence[Tensor]) -> int:
    return inputs[0].shape[0]


def _cost(
    once: int, each_step: int, channels_first: int = 0
) -> Callable[[Config, Sequence[Tensor]], int]:
    """The cost of a recurrent layer, measured (``docs/measurements/libraries.md``).

    Args:
        once: the cost of the layer without its steps, in plain layers.
        each_step: that of a step, which exporters write out.
        channels_first: what a step costs in addition with channels first.
    """

    def cost(config: Config, inputs: Sequence[Tensor]) -> int:
        first = config.get("data_format") == "channels_first"
        return once + (each_step + channels_first * first) * _each_step(config, inputs)

    return cost


def _sequence_or_last(rank: int) -> frozenset[int]:
    return frozenset({rank, rank - 1})


for name, own in {
    "LSTM": (_RECURRENT_ACTIVATION, _OF_LSTM, _UNROLL),
    "GRU": (_RECURRENT_ACTIVATION, _OF_GRU, _UNROLL),
    "SimpleRNN": (_UNROLL,),
}.items():
    declare(
        name,
        frozenset({3}),
        _recurrent,
        (_UNITS, _ACTIVATION, *own, *_COMMON),
        out_ranks=_sequence_or_last,
        steps=_each_step,
        cost=_cost(14, 3),
    )


def _conv_recurrent(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    steps, *frame = inputs[0].shape
    first = config.get("data_format", "channels_last") == "channels_first"
    sizes = convolved_sizes(config, frame[1:] if first else frame[:-1])
    # The state slides through a convolution of its own, of stride 1 and the same dilation.
    require_valid(
        max(per_axis(config.get("dilation_rate", 1), len(sizes))) == 1, "states keep their size"
    )
    shape = join_shape(config, sizes, config["filters"])
    return (steps, *shape) if config.get("return_sequences") else shape


for axes in (1, 2, 3):
    declare(
        f"ConvLSTM{axes}D",
        # Of rank 6 for three axes, which no other layer takes: only ranks 4 and 5 meet others.
        frozenset({axes + 3}),
        _conv_recurrent,
        (
            Number("filters", 2, 1, 6),
            Sizes("kernel_size", [2] * axes, axes, 1, 3),
            Sizes("strides", [1] * axes, axes, 1, 2),
            PADDING,
            DATA_FORMAT,
            _ACTIVATION,
            _RECURRENT_ACTIVATION,
            _OF_LSTM,
            *_COMMON,
        ),
        out_ranks=_sequence_or_last,
        steps=_each_step,
        # TensorFlow compiles each convolution over three axes with channels first by XLA.
        cost=_cost(35, 13, channels_first=100 if axes == 3 else 0),
    )


class WrappedLayer(Choice):
    """The layer that a wrapper wraps: coverage counts some, and models that are read have others.

    None of them is a wrapper.
    """

    def accepts(self, value: Any) -> bool:
        """The name of a declared layer that wraps none."""
        spec = universe().get(value) if isinstance(value, str) else None
        return spec is not None and not spec.wraps


def inner_config(config: Config) -> Config:
    """What of a wrapper's configuration the layer that it wraps declares itself."""
    inner = universe()[config["layer"]]
    return {name: value for name, value in config.items() if name in inner.known}


def require_inner_parameters(config: Config, parameters: Sequence[Parameter]) -> None:
    """Reject a wrapper's parameter off its default where the layer inside has none like it."""
    inner = universe()[config["layer"]]
    for parameter in parameters:
        at_default = config.get(parameter.name, parameter.default) == parameter.default
        require_valid(
            at_default or parameter.name in inner.known,
            f"{inner.name} has no {parameter.name}",
        )


def wrapper_arguments(config: Config, inputs: Sequence[Tensor], **wrapper: Any) -> Config:
    """Constructor arguments of a wrapper around the layer that ``config`` names.

    That layer gets what of the configuration it declares itself.
    """
    inner = universe()[config["layer"]].keras_config(inner_config(config), inputs)
    return {
        "layer": {
            "module": "keras.layers",
            "class_name": config["layer"],
            "config": inner,
            "registered_name": None,
        },
        "dtype": config.get("dtype", "float32"),
        **wrapper,
    }


def unwrap_config(config: Config) -> Config:
    """The inverse of :func:`wrapper_arguments`, from a wrapper's ``get_config``."""
    inner = config["layer"]
    require_valid("layer" not in inner["config"], "it wraps another wrapper")
    own = {name: value for name, value in config.items() if name != "backward_layer"}
    backward = config.get("backward_layer") or inner
    require_valid(_alike(inner, backward), "the layers of its two directions differ")
    spec = universe().get(inner["class_name"])
    inside = dict(inner["config"]) if spec is None else spec.from_keras(dict(inner["config"]))
    inside.pop("zero_output_for_mask", None)  # which Bidirectional sets by itself
    return {**inside, **own, "layer": inner["class_name"]}


def _alike(one: Config, other: Config) -> bool:
    """Whether two serialised layers differ in nothing but direction and name."""
    (first, second) = (
        {k: v for k, v in layer["config"].items() if k not in ("name", "go_backwards")}
        for layer in (one, other)
    )
    return bool(one["class_name"] == other["class_name"] and first == second)


#: Of the layers inside that only some of them have.
_OF_SOME = (_RECURRENT_ACTIVATION, _OF_LSTM, _OF_GRU)


def _bidirectional(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    require_inner_parameters(config, _OF_SOME)
    *steps, units = _recurrent(config, inputs)
    return (*steps, 2 * units if config.get("merge_mode", "concat") == "concat" else units)


declare(
    "Bidirectional",
    frozenset({3}),
    _bidirectional,
    (
        WrappedLayer("layer", "LSTM", ("LSTM", "GRU", "SimpleRNN")),
        Choice("merge_mode", "concat", ("concat", "sum", "mul", "ave")),
        _UNITS,
        _ACTIVATION,
        *_OF_SOME,
        _UNROLL,
        # The wrapper turns one of its two layers around itself and takes none that is.
        *(p for p in _COMMON if p.name != "go_backwards"),
    ),
    out_ranks=_sequence_or_last,
    steps=lambda config, inputs: 2 * _each_step(config, inputs),
    cost=_cost(35, 6),
    keras_config=lambda config, inputs: wrapper_arguments(
        config, inputs, merge_mode=config.get("merge_mode", "concat")
    ),
    from_keras=unwrap_config,
)

_STEPWISE: dict[str, Config] = {
    "Dense": {"units": 3},
    "Conv1D": {"filters": 3, "kernel_size": [2]},
    "Conv2D": {"filters": 3, "kernel_size": [2, 2]},
    "LSTM": {"units": 3},
    "BatchNormalization": {},
    "Flatten": {},
    "ReLU": {},
}


_STEPWISE_OPTIONS = (activation(), flag("use_bias", True))


def _time_distributed(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    require_inner_parameters(config, _STEPWISE_OPTIONS)
    inner = universe()[config["layer"]]
    frame = inner.output(inner_config(_stepwise(config)), [_frame(inputs)])
    return (inputs[0].shape[0], *frame.shape)


def _each_frame(config: Config, inputs: Sequence[Tensor]) -> int:
    return inputs[0].shape[0] * universe()[config["layer"]].steps(config, [_frame(inputs)])


def _frame(inputs: Sequence[Tensor]) -> Tensor:
    """What the layer inside gets at each step."""
    return Tensor(inputs[0].shape[1:], inputs[0].dtype)


def _stepwise(config: Config) -> Config:
    return {**_STEPWISE.get(config["layer"], {}), **config}


declare(
    "TimeDistributed",
    frozenset({3, 4, 5}),
    _time_distributed,
    (WrappedLayer("layer", "Dense", tuple(_STEPWISE)), *_STEPWISE_OPTIONS),
    out_ranks=lambda rank: frozenset(range(3, rank + 1)),
    steps=_each_frame,
    cost=_cost(1, 3),
    keras_config=lambda config, inputs: wrapper_arguments(_stepwise(config), inputs),
    from_keras=unwrap_config,
)
