"""The universe against the installed Keras: options, shapes, dtypes."""

import inspect
import subprocess
import sys

import keras
import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from asterism.core.random_streams import stream
from asterism.memo.graphs.graph import Graph, Node, input_node
from asterism.memo.graphs.keras_build import build_model, constructor_arguments, needed_arguments
from asterism.memo.graphs.keras_read import read_keras_graph
from asterism.memo.universe.keras_options import (
    activations,
    constraints,
    kernel_initializers,
    regularizers,
)
from asterism.memo.universe.layers import universe
from asterism.memo.universe.parameters import Choice, Number, Sizes
from asterism.memo.universe.tensors import FLOATS, INTEGER, InvalidLayerError

LAYERS = sorted(universe())


def drawn(name, number):
    """A graph of one layer with drawn inputs and configuration, or None where they clash."""
    spec = universe()[name]
    rng = stream(1, name, number)
    rank = int(rng.choice(sorted(spec.ranks)))
    shape = [int(v) for v in rng.integers(2, 7, rank - 1)]
    count = int(rng.integers(spec.arity[0], min(spec.arity[1], 3) + 1))
    dtype = INTEGER if spec.dtypes == (INTEGER,) else "float32"
    graph = Graph({i: input_node(shape, dtype) for i in range(count)})
    config = spec.draw(rng, [graph.tensors[i] for i in range(count)], variation=0.7)
    try:
        return graph.add(Node(name, config, tuple(range(count)), seed=number))
    except InvalidLayerError:
        return None


def test_options_follow_keras_own_registries():
    assert set(activations()) <= set(keras.src.activations.ALL_OBJECTS_DICT)
    assert len(activations()) >= len(keras.src.activations.ALL_OBJECTS_DICT) - 2
    for names, registry in (
        (activations(), keras.activations),
        (kernel_initializers(), keras.initializers),
        (regularizers(), keras.regularizers),
        (constraints(), keras.constraints),
    ):
        for name in names:
            assert name == "none" or registry.get(name) is not None


#: Defaults that are ours on purpose: by Keras' own, the layer does nothing or rarely fits.
OURS = {("GroupNormalization", "groups"), ("Cropping2D", "cropping")}


def plain(value, name):
    """A default in one form, where Keras has several for the same."""
    if name == "data_format":
        return value or "channels_last"
    if name.endswith("activation"):
        return value or "linear"
    if isinstance(value, list | tuple):
        inner = {plain(v, name) for v in value}
        return inner.pop() if len(inner) == 1 else tuple(value)
    return value.lower() if isinstance(value, str) else value


@pytest.mark.parametrize("name", LAYERS)
def test_defaults_are_keras_own(name):
    """A parameter that is shrunk goes back to its default."""
    spec = universe()[name]
    arguments = dict(inspect.signature(getattr(keras.layers, name)).parameters)
    if spec.wraps:  # a wrapper has the parameters of what is inside too
        inside = getattr(keras.layers, spec.known["layer"].default)
        arguments = {**inspect.signature(inside).parameters, **arguments}
    for parameter in spec.parameters:
        theirs = arguments.get(parameter.name)
        if theirs is None or theirs.default is inspect.Parameter.empty:
            continue
        if (name, parameter.name) in OURS:
            continue
        if parameter.name == "strides" and theirs.default is None:
            assert parameter.default == spec.known["pool_size"].default
        else:
            ours = None if parameter.default == "none" else parameter.default
            assert plain(ours, parameter.name) == plain(theirs.default, parameter.name)


def configured(kind, config):
    keras.utils.clear_session(free_memory=False)  # layers inside of wrappers are numbered
    return getattr(keras.layers, kind).from_config({**config, "name": "x"}).get_config()


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_told_what_is_not_keras_default_and_nothing_else(name):
    graph, identity = next(d for n in range(12) if (d := drawn(name, n)) is not None)
    whole = constructor_arguments(graph, graph.nodes[identity])
    needed = needed_arguments(name, whole)
    assert configured(name, needed) == configured(name, whole)
    for argument in needed:
        fewer = {k: v for k, v in needed.items() if k != argument}
        try:
            assert configured(name, fewer) != configured(name, whole)
        except (TypeError, KeyError, ValueError) as error:  # Keras makes no layer without it
            assert argument in str(error)


@pytest.mark.parametrize(
    ("kind", "config", "needed"),
    [
        (
            "Conv1D",
            {"filters": 2, "kernel_size": [3], "strides": [1], "padding": "valid", "groups": 1}
            | {"activation": "linear", "kernel_regularizer": None, "dtype": "float32"},
            {"filters": 2, "kernel_size": [3]},
        ),
        (
            "LSTM",
            {"units": 1, "activation": "tanh", "recurrent_activation": "relu"},
            {"units": 1, "recurrent_activation": "relu"},
        ),
        ("MaxPooling2D", {"pool_size": [3, 3], "strides": [3, 3]}, {"pool_size": [3, 3]}),
        ("GroupNormalization", {"groups": 1, "axis": -1}, {"groups": 1}),
        ("LSTM", {"units": 1, "activation": None}, {"units": 1, "activation": None}),
    ],
)
def test_defaults_are_seen_in_all_their_spellings(kind, config, needed):
    assert needed_arguments(kind, config) == needed


def test_shape_inference_does_not_need_keras():
    """A process that only infers shapes, as the oracle's does, is spared Keras' import."""
    script = (
        "import sys; from asterism.memo.graphs.graph import Graph, Node, input_node\n"
        "g = Graph({0: input_node((4,)), 1: Node('Dense', {'units': 2}, (0,))})\n"
        "assert g.tensors[1].shape == (2,)\n"
        "sys.exit('keras' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


BROADCASTING = ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")


@st.composite
def layer_on_inputs(draw):
    """A layer of any type in any dtype, on inputs of any dtypes; merges on axes of size 1 too."""
    name = draw(st.sampled_from(LAYERS))
    spec = universe()[name]
    axes = draw(st.sampled_from(sorted(spec.ranks))) - 1
    shape = draw(st.lists(st.integers(1, 6), min_size=axes, max_size=axes))
    count = draw(st.integers(spec.arity[0], min(spec.arity[1], 3)))
    graph = Graph(
        {
            i: input_node(
                [draw(st.sampled_from([1, size])) for size in shape]
                if name in BROADCASTING
                else shape,
                draw(st.sampled_from(spec.dtypes)),
            )
            for i in range(count)
        }
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    config = spec.draw(rng, list(graph.tensors.values()), variation=0.4)
    config["dtype"] = draw(st.sampled_from(FLOATS))
    return graph, Node(name, config, tuple(range(count)))


@pytest.mark.slow
@given(layer_on_inputs())
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_shapes_and_dtypes_are_inferred_as_keras_does(made):
    graph, node = made
    try:
        graph, identity = graph.add(node)
    except InvalidLayerError:
        reject()
    model = build_model(graph)
    assert tuple(model.output.shape[1:]) == graph.tensors[identity].shape
    assert model.output.dtype == graph.tensors[identity].dtype


#: Activations that Keras writes by another name.
SYNONYMS = {"swish": "silu", "hard_swish": "hard_silu"}


@pytest.mark.parametrize("name", LAYERS)
def test_keras_builds_a_layer_of_the_inferred_shape_that_is_read_as_it_was(name):
    found = [d for n in range(12) if (d := drawn(name, n)) is not None][:3]
    assert found, "twelve draws gave no valid configuration"
    for graph, identity in found:
        model = build_model(graph)
        assert tuple(model.output.shape[1:]) == graph.tensors[identity].shape
        assert model.output.dtype == graph.tensors[identity].dtype
        read, arrays = read_keras_graph(model, open_size=8)
        assert list(read.tensors.values()) == list(graph.tensors.values())
        ours, back = graph.nodes[identity], read.nodes[read.outputs[0]]
        assert back.type == name
        for parameter in universe()[name].all_parameters:
            value = ours.config.get(parameter.name, parameter.default)
            told = back.config.get(parameter.name, parameter.default)
            value = SYNONYMS.get(value, value) if isinstance(value, str) else value
            assert parameter.labels(told) == parameter.labels(value)
    for one, other in zip(
        model.get_weights(), build_model(read, arrays).get_weights(), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", LAYERS)
def test_every_option_can_be_drawn(name):
    spec = universe()[name]
    inputs = [Graph({0: input_node([4] * (min(spec.ranks) - 1))}).tensors[0]] * 2
    for parameter in spec.parameters:
        for option in parameter.options:
            if isinstance(parameter, Choice | Number | Sizes):
                value = parameter.draw(stream(0, option), inputs, option)
                assert option in parameter.labels(value)
