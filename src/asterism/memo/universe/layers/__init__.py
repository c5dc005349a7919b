"""The universe: what a layer's declaration says, and all of them; a module for each family."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ParamSpec

import numpy as np

from asterism.core.parameters.registry import Registry
from asterism.memo.universe.parameters import Choice, Parameter
from asterism.memo.universe.tensors import FLOATS, Config, InvalidLayerError, Tensor, require_valid

#: Shape of a layer's output for one configuration and its inputs; raises InvalidLayerError.
ShapeRule = Callable[[Config, Sequence[Tensor]], tuple[int, ...]]

#: Every layer computes in one of the floating dtypes; Keras casts its inputs to it.
DTYPE = Choice("dtype", "float32", FLOATS)

#: Of a ConvLSTM3D, which no layer outranks.
MAX_RANK = 6

#: Of layers that take their input element by element, or along one axis of it.
ANY_RANK = frozenset({2, 3, 4, 5})


@dataclass(frozen=True)
class LayerSpec:
    """The declaration of one layer type.

    Args:
        name: Keras' class name.
        ranks: ranks of input that it accepts, batch axis included.
        rule: shape of the output.
        parameters: what can be configured.
        out_ranks: ranks of output for a rank of input.
        dtypes: dtypes of input that it accepts.
        arity: smallest and largest number of inputs.
        steps: how often it computes one thing after another, for a configuration and its inputs;
            exporters write every step out.
        cost: about how long it takes in the libraries, in units of one plain layer such as
            ``Reshape``.
        keras_config: the arguments of Keras' constructor for a configuration and its inputs; a
            wrapper builds the layer that it wraps there.
        from_keras: a configuration for what Keras' ``get_config`` gives, where the two differ.
        uncounted: parameters that only models that are read have: no shape rule and no coverage
            asks for them, and Keras gets them.
        in_paper: whether the layer belongs to the families that the paper covers.
    """

    name: str
    ranks: frozenset[int]
    rule: ShapeRule
    parameters: tuple[Parameter, ...] = ()
    out_ranks: Callable[[int], frozenset[int]] = lambda rank: frozenset({rank})
    dtypes: tuple[str, ...] = FLOATS
    arity: tuple[int, int] = (1, 1)
    steps: Callable[[Config, Sequence[Tensor]], int] = lambda config, inputs: 1
    cost: Callable[[Config, Sequence[Tensor]], int] = lambda config, inputs: 1
    keras_config: Callable[[Config, Sequence[Tensor]], Config] = lambda config, inputs: config
    from_keras: Callable[[Config], Config] = dict
    uncounted: tuple[Parameter, ...] = ()
    in_paper: bool = True

    def output(self, config: Config, inputs: Sequence[Tensor]) -> Tensor:
        """The output for ``inputs``.

        Raises:
            InvalidLayerError: the layer cannot take them, or has no parameter of some name.
        """
        if not config.keys() <= self.names:
            unknown = min(map(str, config.keys() - self.names))
            raise InvalidLayerError(f"{self.name} has no parameter {reprlib.repr(unknown)}")
        low, high = self.arity
        require_valid(low <= len(inputs) <= high, f"{self.name} takes {low} to {high} inputs")
        for tensor in inputs:
            require_valid(tensor.rank in self.ranks, f"{self.name} takes no rank {tensor.rank}")
            require_valid(tensor.dtype in self.dtypes, f"{self.name} takes no {tensor.dtype}")
        shape = self.rule(config, inputs)
        require_valid(all(size > 0 for size in shape), f"{self.name} leaves nothing of its input")
        require_valid(len(shape) < MAX_RANK, "no tensor has more than six axes")
        return Tensor(tuple(shape), config.get("dtype", "float32"))

    @property
    def merges(self) -> bool:
        """Whether the layer takes several inputs."""
        return self.arity[1] > 1

    @cached_property
    def all_parameters(self) -> tuple[Parameter, ...]:
        """Its own parameters and the dtype, which all layers have."""
        return (*self.parameters, DTYPE)

    @cached_property
    def known(self) -> dict[str, Parameter]:
        """Every parameter that a configuration may have, by name."""
        return {p.name: p for p in (*self.all_parameters, *self.uncounted)}

    @property
    def wraps(self) -> bool:
        """Whether it wraps another layer, whose parameters are then its own too."""
        return "layer" in self.known

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of all parameters that a configuration may have.

        A wrapper keeps those of a layer that it wrapped before its own was changed.
        """
        others = [spec.known for spec in universe().values() if not spec.wraps]
        return frozenset(self.known).union(*(others if self.wraps else ()))

    def check(self, config: Config) -> None:
        """Reject a configuration that no model can have, whatever its inputs.

        Raises:
            InvalidLayerError: the layer has no parameter of some name, or a parameter has a value
                that it cannot take.
        """
        wraps_one = self.wraps and isinstance(config.get("layer"), str)
        inside = universe().get(config["layer"]) if wraps_one else None
        for name, value in config.items():
            parameters = [s.known[name] for s in (self, inside) if s and name in s.known][:1]
            if not parameters and self.wraps:
                specs = (spec for spec in universe().values() if not spec.wraps)
                parameters = [spec.known[name] for spec in specs if name in spec.known]
            require_valid(bool(parameters), f"{self.name} has no parameter {reprlib.repr(name)}")
            require_valid(
                any(parameter.accepts(value) for parameter in parameters),
                f"its {name} is {reprlib.repr(value)}, which the universe does not declare",
            )

    def defaults(self) -> Config:
        """Every parameter that has a default at it."""
        return {p.name: p.default for p in self.all_parameters if p.default is not None}

    def draw(
        self,
        rng: np.random.Generator,
        inputs: Sequence[Tensor],
        wanted: Callable[[str, str], str | None] = lambda layer, parameter: None,
        variation: float = 0.5,
    ) -> Config:
        """A configuration for these inputs; ``output`` says whether it is valid.

        Args:
            rng: where draws come from.
            inputs: what the layer will be given.
            wanted: names the option to aim at for ``(layer, parameter)``, or None.
            variation: probability with which a parameter leaves its default.
        """
        config: Config = {}
        for parameter in self.parameters:
            value: Any = parameter.default
            if value is None or rng.random() < variation:
                value = parameter.draw(rng, inputs, wanted(self.name, parameter.name))
            if value is not None:
                config[parameter.name] = value
        config["dtype"] = DTYPE.default
        return config


LAYERS: Registry[LayerSpec] = Registry("layer", "asterism.memo.universe.layers")


P = ParamSpec("P")


def _registering(make: Callable[P, LayerSpec]) -> Callable[P, None]:
    """What takes the arguments of a declaration, and adds it to the universe."""

    def register(*args: P.args, **kwargs: P.kwargs) -> None:
        spec = make(*args, **kwargs)
        LAYERS.register(spec.name)(spec)

    return register


#: Adds a layer to the universe; it takes the arguments of :class:`LayerSpec`.
declare = _registering(LayerSpec)


@cache
def universe() -> dict[str, LayerSpec]:
    """Every declared layer by name, sorted."""
    return {name: LAYERS[name] for name in LAYERS.names()}
