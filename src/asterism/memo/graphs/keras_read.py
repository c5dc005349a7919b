"""Reading Keras models as graphs: Functional and Sequential, of Keras 3 and of Keras 2."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from asterism.core.files.limits import parse_json
from asterism.core.messages.errors import UserError
from asterism.memo.graphs.graph import INPUT, Graph, Node, input_node, output_of
from asterism.memo.graphs.keras_config import declared_config
from asterism.memo.graphs.weights import Arrays, named_arrays_of
from asterism.memo.universe.layers import universe
from asterism.memo.universe.tensors import FLOATS, INTEGER, Config, InvalidLayerError, Tensor

if TYPE_CHECKING:
    import keras

_ALIASES = {"CuDNNLSTM": "LSTM", "CuDNNGRU": "GRU"}
#: Kinds of models, which may be layers of others.
_MODELS = ("Functional", "Model", "Sequential")
#: Arguments by which a layer may be called with tensors, in the order that a graph has them.
_TENSORS = ("inputs", "query", "value", "key")
#: A layer's name, which of its calls, and which of that call's outputs.
_Reference = tuple[str, int, int]

#: A shape for every input, or shapes by the inputs' names; without the batch.
Shapes = Sequence[int] | Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class InputSizes:
    """Sizes that replace the axes that a model leaves open.

    Args:
        open_size: of an axis of an input that no shape is given for.
        shapes: the shapes of inputs; they must agree with what the model says.
    """

    open_size: int
    shapes: Shapes = field(default_factory=dict)

    def of(self, name: str, stated: Sequence[int | None]) -> list[int]:
        """The sizes of an input.

        Args:
            name: of the input.
            stated: by the model, without the batch; None where an axis is open.

        Raises:
            UserError: the shape that is given for it does not fit what the model states.
        """
        given = self.shapes.get(name) if isinstance(self.shapes, Mapping) else self.shapes
        if given is None:
            return [self.open_size if size is None else int(size) for size in stated]
        alike = len(given) == len(stated)
        if not alike or any(s not in (None, g) for s, g in zip(stated, given, strict=True)):
            wanted = ", ".join("free" if size is None else str(size) for size in stated)
            raise UserError(
                f"the input {name!r} has the shape [{wanted}] without the batch, and "
                f"{list(given)} is given for it"
            )
        return [int(size) for size in given]

    def require_known(self, names: Sequence[str]) -> None:
        """Reject a shape for an input that the model does not have.

        Raises:
            UserError: there is one.
        """
        if isinstance(self.shapes, Mapping) and (others := self.shapes.keys() - set(names)):
            raise UserError(
                f"there is no input {min(others)!r}, for which a shape is given (there are: "
                f"{', '.join(names)})"
            )


def read_keras_graph(
    model: keras.Model, open_size: int, seed: int = 0, shapes: Shapes | None = None
) -> tuple[Graph, Arrays]:
    """A Keras model as a graph, with its weights.

    Args:
        model: Functional or Sequential; models inside it are flattened.
        open_size: stands for the axes that the model leaves open.
        seed: the seed of layers without stored weights.
        shapes: the shapes of inputs, in place of the open size.

    Returns:
        The graph, and the arrays that its nodes name.

    Raises:
        UserError: it has a layer that the universe does not declare, or one that does something
            that no graph can say.
    """
    reader = _Reader(InputSizes(open_size, shapes or {}), seed)
    outputs = reader.read(model.get_config(), model, type(model).__name__, [])
    _compare(model, [reader.tensors[i] for i in outputs])
    return reader.graph(outputs), reader.arrays


def read_json_graph(
    text: str | dict[str, Any], open_size: int, seed: int = 0, shapes: Shapes | None = None
) -> Graph:
    """A graph of a model's JSON, from ``to_json`` of Keras 2 or 3; without weights.

    Raises:
        UserError: as for :func:`read_keras_graph`.
    """
    document = parse_json(text, "the model's JSON") if isinstance(text, str) else text
    if not isinstance(document, dict) or not {"class_name", "config"} <= document.keys():
        raise UserError("this JSON is no Keras model: it has no class_name and config")
    reader = _Reader(InputSizes(open_size, shapes or {}), seed)
    try:
        return reader.graph(reader.read(document["config"], None, document["class_name"], []))
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise UserError(f"this JSON is no Keras model that can be read: {error!r}") from None


def _compare(model: keras.Model, outputs: Sequence[Tensor]) -> None:
    """Reject a model whose outputs are not of the inferred shapes."""
    for ours, theirs in zip(outputs, model.outputs, strict=True):
        sizes = theirs.shape[1:]
        alike = len(ours.shape) == len(sizes) and all(
            size in (None, inferred) for size, inferred in zip(sizes, ours.shape, strict=True)
        )
        if not alike:
            raise UserError(
                f"the model's output {theirs.name} has the shape {tuple(sizes)}, and the universe "
                f"says {ours.shape}: it has a layer that works differently from its declaration"
            )


class _Reader:
    def __init__(self, sizes: InputSizes, seed: int) -> None:
        self.nodes: dict[int, Node] = {}
        self.tensors: dict[int, Tensor] = {}
        self.arrays: Arrays = {}
        self._sizes = sizes
        self._seed = seed
        self._names: list[str] = []  # of inputs

    def graph(self, outputs: Sequence[int]) -> Graph:
        """What was read, with these outputs and no others.

        A graph's outputs are what nobody reads. An output that is read too, or put out twice,
        or an input, goes through a layer that passes it on.
        """
        if len(outputs) == 0:
            raise UserError("the model has no output")
        self._sizes.require_known(self._names)
        reads = Counter(source for node in self.nodes.values() for source in node.inputs)
        times = Counter(outputs)
        ends = list(outputs)
        for at, end in enumerate(outputs):
            if reads[end] or times[end] > 1 or self.nodes[end].type == INPUT:
                config = {"dtype": self.tensors[end].dtype}
                ends[at] = self._add(Node("Identity", config, (end,), repair=True), f"output {at}")
        inputs = [i for i, node in self.nodes.items() if node.type == INPUT]
        return Graph(self.nodes, self.tensors).keep([*inputs, *ends])

    def read(
        self, config: Any, model: Any, kind: str, given: Sequence[int], prefix: str = ""
    ) -> list[int]:
        """Add a model's layers; the identities of its outputs."""
        if kind == "Sequential" or "input_layers" not in config:
            return self._sequential(config, model, given, prefix)
        return self._functional(config, model, given, prefix)

    def _sequential(self, config: Any, model: Any, given: Sequence[int], prefix: str) -> list[int]:
        layers = config["layers"] if isinstance(config, dict) else config
        last = list(given)
        for layer in layers:
            last = last or [self._input(layer)]
            if layer["class_name"] != INPUT:
                last = self._layer(layer, model, last, prefix)
        return last

    def _functional(self, config: Any, model: Any, given: Sequence[int], prefix: str) -> list[int]:
        made: dict[tuple[str, int], list[int]] = {}
        names = [_reference(r)[0] for r in _references(config["input_layers"])]
        for name, identity in zip(names, given, strict=False):
            made[name, 0] = [identity]
        waiting = [
            (layer, at, _sources(layer, call))
            for layer in config["layers"]
            for at, call in enumerate(layer["inbound_nodes"] or [None])
        ]
        outputs = [_reference(r) for r in _references(config["output_layers"])]
        read = [*outputs, *(s for _, _, sources in waiting for s in sources)]
        waiting = [(layer, at + _unlisted(layer, read), s) for layer, at, s in waiting]
        while waiting:
            later = []
            for layer, at, sources in waiting:
                name = _name(layer)
                if (name, at) in made:
                    continue
                if layer["class_name"] == INPUT:
                    made[name, at] = [self._input(layer)]
                elif all(s[:2] in made for s in sources):
                    inputs = [_made(made, s) for s in sources]
                    made[name, at] = self._layer(layer, model, inputs, prefix)
                else:
                    later.append((layer, at, sources))
            if len(later) == len(waiting):
                raise UserError("the model's layers read each other in a circle")
            waiting = later
        return [_made(made, reference) for reference in outputs]

    def _input(self, layer: Any) -> int:
        config, name = layer["config"], _name(layer)
        shape = config.get("batch_shape") or config.get("batch_input_shape")
        if shape is None:
            raise UserError("a Sequential model must say its input shape (build it first)")
        self._names.append(name)
        sizes = self._sizes.of(name, shape[1:])
        given = config.get("dtype") or "float32"
        dtype = INTEGER if given.startswith(("int", "uint")) else given
        if dtype not in (*FLOATS, INTEGER):
            raise UserError(f"the input {name!r} is of {dtype}, which no layer takes")
        return self._add(input_node(sizes, dtype), name)

    def _layer(self, layer: Any, model: Any, inputs: list[int], prefix: str) -> list[int]:
        kind, name = layer["class_name"], _name(layer)
        inner = _layer_called(name, model)
        if kind in _MODELS:
            return self.read(layer["config"], inner, kind, inputs, f"{prefix}{name}/")
        if kind == "CustomScaleLayer":  # of keras.applications' InceptionResNetV2
            scaled = Node(
                "Rescaling",
                {"scale": layer["config"]["scale"], "offset": 0.0, "dtype": "float32"},
                (inputs[1],),
            )
            sources = (inputs[0], self._add(scaled, name))
            return [self._add(Node("Add", {"dtype": "float32"}, sources), name)]
        kind = _ALIASES.get(kind, kind)
        spec = universe().get(kind)
        if spec is None:
            raise UserError(
                f"the layer {name!r} is a {kind}, which the universe does not declare: give a "
                "model without it"
            )
        try:
            config = declared_config(spec, layer["config"])
        except InvalidLayerError as error:
            raise UserError(f"the layer {name!r} is a {kind}, and {error}") from None
        arrays = named_arrays_of(inner) if inner is not None else []
        key = f"{prefix}{name}" if arrays else None
        if key is not None:
            self.arrays[key] = arrays
        node = Node(kind, config, tuple(inputs), self._seed + len(self.nodes), key)
        return [self._add(node, name)]

    def _add(self, node: Node, name: str) -> int:
        identity = len(self.nodes)
        try:
            if node.type != INPUT:
                universe()[node.type].check(node.config)
            self.tensors[identity] = output_of(node, [self.tensors[i] for i in node.inputs])
        except InvalidLayerError as error:
            raise UserError(f"{name!r}, a {node.type}, cannot be in a graph: {error}") from None
        except KeyError as argument:  # an operation is called as a layer is, and takes others
            raise UserError(f"{name!r}, a {node.type}, is given no {argument}") from None
        self.nodes[identity] = node
        return identity


def _layer_called(name: str, model: Any) -> Any:
    """A model's layer; None for an operation, which has no weights, and where there is no model."""
    return next((layer for layer in getattr(model, "layers", ()) if layer.name == name), None)


def _unlisted(layer: Any, read: Sequence[_Reference]) -> int:
    """Calls of a layer that come before those listed: a model inside has one that made it."""
    if layer["class_name"] not in _MODELS:
        return 0
    latest = max((call for name, call, _ in read if name == _name(layer)), default=0)
    return max(0, latest + 1 - len(layer["inbound_nodes"]))


def _made(made: dict[tuple[str, int], list[int]], reference: _Reference) -> int:
    """The node that a reference stands for."""
    name, call, number = reference
    if number >= len(made[name, call]):
        raise UserError(f"a second output of the layer {name!r} is read: in a graph it has one")
    return made[name, call][number]


def _name(layer: Any) -> str:
    return str(layer.get("name") or layer["config"]["name"])


def _references(value: Any) -> list[Any]:
    """One ``[name, node, tensor]`` or a list of them, as a list."""
    return [value] if value and isinstance(value[0], str) else list(value)


def _reference(value: Any) -> _Reference:
    return str(value[0]), int(value[1]), int(value[2])


def _sources(layer: Any, call: Any) -> list[_Reference]:
    """The tensors that a layer is called with: Keras 3's tagged ones, Keras 2's plain lists.

    Raises:
        UserError: it is called with something else that says what to compute.
    """
    if isinstance(call, dict):
        given, named = call["args"], call["kwargs"]
    else:
        given = call or []
        named = {k: v for tensor in given for part in tensor[3:] for k, v in part.items()}
    defaults = _call_defaults(layer["class_name"])
    for argument in sorted(named.keys() - set(_TENSORS)):
        value = named[argument]
        if not _is_off(value) and value != defaults.get(argument):
            raise UserError(
                f"the layer {_name(layer)!r} is called with {argument}={value!r}, which no graph "
                "can say"
            )
    return [*_tensors(given), *(t for a in _TENSORS for t in _tensors(named.get(a)))]


def _call_defaults(kind: str) -> Config:
    """Arguments of a layer's call that Keras fills in; some layers are called as in training."""
    import keras

    if kind not in universe():
        return {}
    found = inspect.signature(getattr(keras.layers, kind).call).parameters
    return {name: argument.default for name, argument in found.items()}


def _is_off(value: Any) -> bool:
    """Whether an argument of a call asks for nothing."""
    if isinstance(value, list | tuple):
        return all(map(_is_off, value))
    return value is None or value is False


def _tensors(value: Any) -> Iterator[_Reference]:
    """All tensors in an argument, in order."""
    if isinstance(value, dict):
        if value.get("class_name") == "__keras_tensor__":
            yield _reference(value["config"]["keras_history"])
    elif isinstance(value, list | tuple):
        if len(value) >= 3 and isinstance(value[0], str) and isinstance(value[1], int):
            yield _reference(value)
        else:
            for part in value:
                yield from _tensors(part)
