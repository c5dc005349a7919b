"""Models of one layer each: every declared layer at its defaults, then with one option off them.

A finding in such a model is small from the start, and names its layer and parameter.
"""

from __future__ import annotations

import numpy as np

from asterism.core.random_streams import stream
from asterism.memo.graphs.graph import Graph, Node, input_node
from asterism.memo.universe.keras_options import OF_WEIGHTS
from asterism.memo.universe.layers import LayerSpec, universe
from asterism.memo.universe.parameters import Number, Parameter, Sizes
from asterism.memo.universe.tensors import INTEGER, Config, InvalidLayerError, Tensor

#: Words that many layers share: all of them in one layer of each of these types, one in others.
_SHARED = {"activation": ("Activation", "Conv2D", "Dense"), "recurrent_activation": ("GRU",)}

#: Parameters that compute nothing at inference; one value may still choose another kernel.
_IDLE = ("dropout", "recurrent_dropout", "rate", "momentum", "stddev", "l1", "l2")

#: Largest size of an axis, and draws of sizes for one option.
_SIZE, _TRIES = 6, 40


def single_layer_models(seed: int) -> dict[str, Graph]:
    """Models by name: each layer at its defaults, then its options, then its other ranks.

    Args:
        seed: of sizes, weights and drawn values.
    """
    models: dict[str, Graph] = {}
    for name, spec in universe().items():
        models |= _model(seed, f"{name} rank {_usual(spec)}", spec, _usual(spec), None, "")
    for name, option, parameter in _options(seed):
        spec = universe()[name]
        title = f"{name} {parameter}={option}"
        models |= _model(seed, title, spec, _usual(spec), parameter, option)
    for name, spec in universe().items():
        for rank in sorted(spec.ranks - {_usual(spec)}):
            models |= _model(seed, f"{name} rank {rank}", spec, rank, None, "")
    return models


def _usual(spec: LayerSpec) -> int:
    """The middle one of the ranks that a layer takes."""
    ranks = sorted(spec.ranks)
    return ranks[len(ranks) // 2]


def _options(seed: int) -> list[tuple[str, str, str]]:
    """Layer, option and parameter, in a drawn order: any first part of it is a sample of all."""
    found = []
    for name, spec in universe().items():
        for parameter in spec.all_parameters:
            if parameter.name.endswith(OF_WEIGHTS):
                continue
            options = _worth_trying(parameter)
            if name not in _SHARED.get(parameter.name, (name,)) and options:
                rng = stream(seed, "single layers", name, parameter.name)
                options = [options[int(rng.integers(len(options)))]]
            found += [(name, option, parameter.name) for option in options]
    order = stream(seed, "single layers").permutation(len(found))
    return [found[int(i)] for i in order]


def _worth_trying(parameter: Parameter) -> list[str]:
    """Options off the default: of a range the ends, and one of what computes nothing."""
    options = [o for o in parameter.options if o != str(parameter.default)]
    if parameter.name in _IDLE:
        return options[:1]
    ranges = isinstance(parameter, Number | Sizes)
    return list(dict.fromkeys((options[0], options[-1]))) if ranges and options else options


def _model(
    seed: int, title: str, spec: LayerSpec, rank: int, parameter: str | None, option: str
) -> dict[str, Graph]:
    """The model under its name; nothing where no draw of sizes is valid."""
    rng = stream(seed, "single layers", title)
    for _ in range(_TRIES):
        inputs = _inputs(rng, spec, rank)
        try:
            config = _config(rng, spec, inputs, parameter, option)
            spec.output(config, inputs)
        except (InvalidLayerError, ValueError, IndexError):
            continue
        nodes = {i: input_node(t.shape, t.dtype) for i, t in enumerate(inputs)}
        drawn = int(rng.integers(2**31))
        node = Node(spec.name, config, tuple(nodes), seed=drawn)
        return {title: Graph({**nodes, len(nodes): node})}
    return {}


def _inputs(rng: np.random.Generator, spec: LayerSpec, rank: int) -> list[Tensor]:
    dtype = INTEGER if spec.dtypes == (INTEGER,) else "float32"
    low, high = spec.arity
    shape = tuple(int(n) for n in rng.integers(2, _SIZE, rank - 1, endpoint=True))
    return [Tensor(shape, dtype)] * min(max(low, 2), high)


def _config(
    rng: np.random.Generator,
    spec: LayerSpec,
    inputs: list[Tensor],
    parameter: str | None,
    option: str,
) -> Config:
    """Everything at its default but the parameter in question."""
    config = spec.draw(rng, inputs, variation=0.0)
    chosen = None if parameter is None else spec.known.get(parameter)
    if chosen is not None:
        config[chosen.name] = chosen.draw(rng, inputs, option)
    return config
