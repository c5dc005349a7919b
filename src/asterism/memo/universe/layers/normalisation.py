"""Normalisation layers."""

from __future__ import annotations

from collections.abc import Sequence

from asterism.memo.universe.keras_options import activation, vector, vector_initializers
from asterism.memo.universe.layers import ANY_RANK, declare, universe
from asterism.memo.universe.layers.recurrent import (
    WrappedLayer,
    inner_config,
    unwrap_config,
    wrapper_arguments,
)
from asterism.memo.universe.parameters import Choice, Number
from asterism.memo.universe.shapes import flag
from asterism.memo.universe.tensors import Config, Tensor, require_valid

_AXIS = Choice("axis", -1, (-1, 1, 2))
_EPSILON = Number("epsilon", 0.001, 1e-4, 0.05, integer=False)
_GAMMA_BETA = (
    flag("center", True),
    flag("scale", True),
    *vector("beta"),
    *vector("gamma", "ones"),
)


def axis_exists(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    """The shape of the input, where it has the axis that is normalised."""
    axis = config.get("axis", -1)
    for one in axis if isinstance(axis, list | tuple) else [axis]:
        require_valid(-inputs[0].rank < one < inputs[0].rank and one != 0, "there is no such axis")
    return inputs[0].shape


def _grouped(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    shape = axis_exists(config, inputs)
    axis = config.get("axis", -1)
    size = shape[axis] if axis < 0 else shape[axis - 1]
    groups = config.get("groups", 32)
    require_valid(groups != 0 and groups <= size, "there are as many groups as channels at most")
    require_valid(groups == -1 or size % groups == 0, "groups must divide the axis")
    return shape


declare(
    "BatchNormalization",
    ANY_RANK,
    axis_exists,
    (
        _AXIS,
        Number("momentum", 0.99, 0.5, 1.0, integer=False),
        _EPSILON,
        *_GAMMA_BETA,
        Choice("moving_mean_initializer", "zeros", vector_initializers),
        Choice("moving_variance_initializer", "ones", vector_initializers),
    ),
)
declare("LayerNormalization", ANY_RANK, axis_exists, (_AXIS, _EPSILON, *_GAMMA_BETA))
declare(
    "GroupNormalization",
    frozenset({3, 4, 5}),
    _grouped,
    (Number("groups", 1, -1, 8), _AXIS, _EPSILON, *_GAMMA_BETA),
)
declare("UnitNormalization", ANY_RANK, axis_exists, (_AXIS,))
declare(
    "RMSNormalization",
    ANY_RANK,
    axis_exists,
    (Choice("axis", -1, (-1,)), Number("epsilon", 1e-6, 0.0, 0.05, integer=False)),
)

_SPECTRAL: dict[str, Config] = {
    "Dense": {"units": 4},
    "Conv1D": {"filters": 4, "kernel_size": [2]},
    "Conv2D": {"filters": 4, "kernel_size": [2, 2]},
    "Conv3D": {"filters": 4, "kernel_size": [2, 2, 2]},
}


def _completed(config: Config) -> Config:
    return {**_SPECTRAL[config["layer"]], **config}


def _spectral(config: Config, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    require_valid(
        config["layer"] in _SPECTRAL, "spectral normalisation wraps a layer with a kernel"
    )
    completed = inner_config(_completed(config))
    return universe()[config["layer"]].output(completed, inputs).shape


declare(
    "SpectralNormalization",
    ANY_RANK,
    _spectral,
    (
        WrappedLayer("layer", "Dense", tuple(_SPECTRAL)),
        Number("power_iterations", 1, 1, 5),
        activation(),
        flag("use_bias", True),
    ),
    keras_config=lambda config, inputs: wrapper_arguments(
        _completed(config), inputs, power_iterations=config.get("power_iterations", 1)
    ),
    from_keras=unwrap_config,
)
