"""Reading Keras models as graphs: Functional and Sequential, of Keras 3 and of Keras 2."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from asterism.core.errors import UserError
from asterism.memo.graph import INPUT, Graph, Node, input_node
from asterism.memo.parameters import Choice
from asterism.memo.spec import LayerSpec, universe
from asterism.memo.tensors import Config
from asterism.memo.weights import Arrays

if TYPE_CHECKING:
    import keras

_ALIASES = {"CuDNNLSTM": "LSTM", "CuDNNGRU": "GRU"}
#: Keras 2's hard sigmoid, which no library has today, becomes today's.
_FUNCTIONS = {"asterism>keras_2_hard_sigmoid": "hard_sigmoid"}


def graph_of(model: keras.Model, open_size: int, seed: int = 0) -> tuple[Graph, Arrays]:
    """A Keras model as a graph, with its weights.

    Args:
        model: Functional or Sequential; models inside it are flattened.
        open_size: stands for the axes that the model leaves open.
        seed: of layers without stored weights.

    Returns:
        The graph, and the arrays that its nodes name.

    Raises:
        UserError: it has a layer that the universe does not declare.
    """
    reader = _Reader(open_size, seed)
    reader.read(model.get_config(), model, type(model).__name__, [])
    return Graph(reader.nodes), reader.arrays


def graph_of_json(text: str | dict[str, Any], open_size: int, seed: int = 0) -> Graph:
    """A model's JSON, as ``to_json`` of Keras 2 or Keras 3 writes it; without weights.

    Raises:
        UserError: as for :func:`graph_of`.
    """
    document = json.loads(text) if isinstance(text, str) else text
    if not isinstance(document, dict) or not {"class_name", "config"} <= document.keys():
        raise UserError("this JSON is no Keras model: it has no class_name and config")
    reader = _Reader(open_size, seed)
    reader.read(document["config"], None, document["class_name"], [])
    return Graph(reader.nodes)


class _Reader:
    def __init__(self, open_size: int, seed: int) -> None:
        self.nodes: dict[int, Node] = {}
        self.arrays: Arrays = {}
        self._open_size = open_size
        self._seed = seed

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
            if layer["class_name"] == INPUT:
                last = last or [self._input(layer["config"])]
                continue
            if not last:
                last = [self._input(layer["config"])]
            last = self._layer(layer, model, last, prefix)
        return last

    def _functional(self, config: Any, model: Any, given: Sequence[int], prefix: str) -> list[int]:
        made: dict[tuple[str, int], list[int]] = {}
        names = [_reference(r)[0] for r in _references(config["input_layers"])]
        for name, identity in zip(names, given, strict=False):
            made[name, 0] = [identity]
        waiting = [
            (layer, at, list(_sources(call)))
            for layer in config["layers"]
            for at, call in enumerate(layer["inbound_nodes"] or [None])
        ]
        while waiting:
            later = []
            for layer, at, sources in waiting:
                name = _name(layer)
                if (name, at) in made:
                    continue
                if layer["class_name"] == INPUT:
                    made[name, at] = [self._input(layer["config"])]
                elif all(s[:2] in made for s in sources):
                    inputs = [made[s[:2]][s[2]] for s in sources]
                    made[name, at] = self._layer(layer, model, inputs, prefix)
                else:
                    later.append((layer, at, sources))
            if len(later) == len(waiting):
                raise UserError("the model's layers read each other in a circle")
            waiting = later
        return [made[n, a][t] for n, a, t in map(_reference, _references(config["output_layers"]))]

    def _input(self, config: Config) -> int:
        shape = config.get("batch_shape") or config.get("batch_input_shape")
        if shape is None:
            raise UserError("a Sequential model must say its input shape (build it first)")
        sizes = [self._open_size if size is None else int(size) for size in shape[1:]]
        dtype = _dtype(config.get("dtype"))
        return self._add(input_node(sizes, "int32" if dtype.startswith(("int", "uint")) else dtype))

    def _layer(self, layer: Any, model: Any, inputs: list[int], prefix: str) -> list[int]:
        kind, name = layer["class_name"], _name(layer)
        inner = model.get_layer(name) if model is not None else None
        if kind in ("Functional", "Model", "Sequential"):
            return self.read(layer["config"], inner, kind, inputs, f"{prefix}{name}/")
        if kind == "CustomScaleLayer":  # of keras.applications' InceptionResNetV2
            scaled = Node(
                "Rescaling",
                {"scale": layer["config"]["scale"], "offset": 0.0, "dtype": "float32"},
                (inputs[1],),
            )
            sources = (inputs[0], self._add(scaled))
            return [self._add(Node("Add", {"dtype": "float32"}, sources))]
        kind = _ALIASES.get(kind, kind)
        spec = universe().get(kind)
        if spec is None:
            raise UserError(f"the layer {name!r} is a {kind}, which the universe does not declare")
        arrays = [np.asarray(a, np.float32) for a in inner.get_weights()] if inner else []
        key = f"{prefix}{name}" if arrays else None
        if key is not None:
            self.arrays[key] = arrays
        config = declared_config(spec, layer["config"])
        identity = self._add(Node(kind, config, tuple(inputs), self._seed + len(self.nodes), key))
        return [identity]

    def _add(self, node: Node) -> int:
        self.nodes[len(self.nodes)] = node
        return len(self.nodes) - 1


def declared_config(spec: LayerSpec, config: Config) -> Config:
    """What of Keras' configuration the universe declares, in its own words."""
    import keras

    flat = spec.from_keras(dict(config))
    known = set(inspect.signature(getattr(keras.layers, spec.name).__init__).parameters)
    taken: Config = {}
    for name, value in flat.items():
        parameter = spec.parameter(name)
        if name in ("dtype", "name", "trainable", "seed") or (
            parameter is None and name not in known
        ):
            continue
        word = _word(value)
        if word is None:
            none_is_an_option = isinstance(parameter, Choice) and "none" in parameter.values
            if none_is_an_option:
                taken[name] = "none"
            elif isinstance(parameter, Choice) and name.endswith("activation"):
                taken[name] = "linear"
        elif parameter is not None or name in ("value_dim", "attention_axes"):
            taken[name] = word
    return {**taken, "dtype": _dtype(config.get("dtype"))}


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


def _dtype(value: Any) -> str:
    if isinstance(value, dict):
        value = value["config"]["name"]
    return str(value) if value in ("float16", "float32", "float64", "int32", "int64") else "float32"


def _name(layer: Any) -> str:
    return str(layer.get("name") or layer["config"]["name"])


def _references(value: Any) -> list[Any]:
    """One ``[name, node, tensor]`` or a list of them, as a list."""
    return [value] if value and isinstance(value[0], str) else list(value)


def _reference(value: Any) -> tuple[str, int, int]:
    return str(value[0]), int(value[1]), int(value[2])


def _sources(call: Any) -> Iterator[tuple[str, int, int]]:
    """The tensors that a layer is called with: Keras 3's tagged ones, Keras 2's plain lists."""
    if isinstance(call, dict):
        if call.get("class_name") == "__keras_tensor__":
            yield _reference(call["config"]["keras_history"])
        else:
            for part in call.values():
                yield from _sources(part)
    elif isinstance(call, list | tuple):
        if len(call) >= 3 and isinstance(call[0], str) and isinstance(call[1], int):
            yield _reference(call)
        else:
            for part in call:
                yield from _sources(part)
