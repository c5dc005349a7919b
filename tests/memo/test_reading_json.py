"""Models' JSON, as it was written by hand: which calls and outputs of layers are read."""

import json

import pytest

from asterism.core.messages.errors import UserError
from asterism.memo.graphs.keras_build import build_model
from asterism.memo.graphs.keras_read import read_json_graph


def layer(kind, name, *calls, **config):
    """A layer as Keras 2 writes it.

    Args:
        kind: its class.
        name: its own.
        calls: for each call the tensors that it is given: layer, number of its call, of its output.
        config: its parameters.
    """
    nodes = [[[*tensor, {}] for tensor in call] for call in calls]
    return {"class_name": kind, "name": name, "config": {"name": name} | config,
            "inbound_nodes": nodes}  # fmt: skip


def entry(name, *shape, dtype="float32"):
    return layer("InputLayer", name, batch_input_shape=[None, *shape], dtype=dtype)


def dense(name, units, *calls):
    return layer("Dense", name, *calls, units=units, activation="linear")


def functional(layers, inputs, outputs):
    """A model of layers, with the names of its inputs and its outputs' tensors."""
    config = {
        "layers": layers,
        "input_layers": [[name, 0, 0] for name in inputs],
        "output_layers": outputs,
    }
    return {"class_name": "Functional", "config": config}


def read(document, open_size=5, seed=0):
    """The graph's nodes, each with its type, what it reads and its units; and the graph."""
    graph = read_json_graph(document, open_size, seed)
    return [(n.type, n.inputs, n.config.get("units")) for n in graph.nodes.values()], graph


def test_a_model_of_keras_2_is_read_and_can_be_built():
    initializer = {"class_name": "GlorotUniform", "config": {}}
    former = {"kernel_initializer": initializer, "implementation": 2, "time_major": False}
    layers = [
        entry("i", None, 4),
        layer("LSTM", "l", [["i", 0, 0]], units=3, activation="tanh", **former),
        layer("Add", "a", [["l", 0, 0], ["l", 0, 0]]),
    ]
    _, graph = read(json.dumps(functional(layers, ["i"], [["a", 0, 0]])), open_size=9)
    assert [n.type for n in graph.nodes.values()] == ["InputLayer", "LSTM", "Add"]
    assert graph.tensors[0].shape == (9, 4)
    assert graph.nodes[1].config["kernel_initializer"] == "glorot_uniform"
    assert tuple(build_model(graph).output.shape) == (None, 3)


def test_the_call_that_made_a_model_inside_is_not_listed():
    inner = functional([entry("i", 4), dense("one", 4, [["i", 0, 0]])], ["i"], [["one", 0, 0]])
    model = inner | {"name": "inner", "inbound_nodes": [[["a", 0, 0, {}]]]}
    layers = [entry("a", 4), model, layer("ReLU", "end", [["inner", 1, 0]])]
    nodes, _ = read(functional(layers, ["a"], [["end", 0, 0]]))
    assert [kind for kind, _, _ in nodes] == ["InputLayer", "Dense", "ReLU"]


def test_open_sizes_are_filled_in_and_seeds_count_up():
    layers = [layer("Dense", name, units=2) for name in ("one", "two")]
    layers[0]["config"]["batch_input_shape"] = [None, None, 4]
    nodes, graph = read({"class_name": "Sequential", "config": {"layers": layers}}, 9, 100)
    assert graph.tensors[0].shape == (9, 4) and len(nodes) == 3
    seeds = [node.seed for node in graph.nodes.values()][1:]
    assert seeds == [101, 102]


def test_layers_may_be_listed_before_what_they_read_but_not_in_a_circle():
    layers = [dense("end", 2, [["one", 0, 0]]), dense("one", 3, [["a", 0, 0]]), entry("a", 4)]
    nodes, _ = read(functional(layers, ["a"], [["end", 0, 0]]))
    assert [units for _, _, units in nodes] == [None, 3, 2]
    layers = [entry("a", 4), dense("b", 2, [["c", 0, 0]]), dense("c", 2, [["b", 0, 0]])]
    with pytest.raises(UserError, match="read each other in a circle"):
        read(functional(layers, ["a"], [["c", 0, 0]]))


@pytest.mark.parametrize(
    ("outputs", "types"),
    [
        ([["two", 0, 0]], ["InputLayer", "Dense", "ReLU"]),
        ([["one", 0, 0], ["two", 0, 0]], ["InputLayer", "Dense", "ReLU", "Identity"]),
        ([["two", 0, 0], ["two", 0, 0]], ["InputLayer", "Dense", "ReLU", "Identity", "Identity"]),
        ([["two", 0, 0], ["a", 0, 0]], ["InputLayer", "Dense", "ReLU", "Identity"]),
    ],
)
def test_an_output_that_something_else_reads_is_passed_on(outputs, types):
    layers = [entry("a", 4), dense("one", 3, [["a", 0, 0]]), layer("ReLU", "two", [["one", 0, 0]])]
    nodes, graph = read(functional(layers, ["a"], outputs))
    assert [kind for kind, _, _ in nodes] == types
    read_by_others = {source for node in graph.nodes.values() for source in node.inputs}
    assert len(set(graph.nodes) - read_by_others) == len(outputs)


@pytest.mark.parametrize(
    ("layers", "outputs", "message"),
    [
        ([entry("a", 4)], [], "the model has no output"),
        ([entry("a", 4, dtype="complex64")], [["a", 0, 0]], "the input 'a' is of complex64"),
        ([entry("a", 4), layer("Odd", "b", [["a", 0, 0]])], [["b", 0, 0]],
         "the layer 'b' is a Odd, which the universe does not declare"),
        ([entry("a", 4), layer("Dense", "b", [["a", 0, 0]], units=2, odd=1)], [["b", 0, 0]],
         "the layer 'b' is a Dense, and .*odd"),
        ([entry("a", 4), entry("b", 3), layer("Add", "c", [["a", 0, 0], ["b", 0, 0]])],
         [["c", 0, 0]], "'c', a Add, cannot be in a graph"),
    ],
)  # fmt: skip
def test_what_is_no_graph_is_one_line(layers, outputs, message):
    with pytest.raises(UserError, match=message):
        read(functional(layers, ["a"], outputs))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_inputs_of_integers_are_integers(dtype):
    layers = [
        entry("a", 6, dtype=dtype),
        layer("Embedding", "b", [["a", 0, 0]], input_dim=9, output_dim=3),
    ]
    _, graph = read(functional(layers, ["a"], [["b", 0, 0]]))
    assert graph.tensors[0].dtype == "int32"
    assert graph.tensors[1].shape == (6, 3)


@pytest.mark.parametrize(
    ("kind", "config", "expected"),
    [
        ("BatchNormalization", {"axis": [3]}, {"axis": 3}),
        ("BatchNormalization", {"axis": -1}, {"axis": -1}),
        ("LayerNormalization", {"axis": [1]}, {"axis": 1}),
        ("Dense", {"activation": None}, {"activation": "linear"}),
        ("Dense", {"activation": {"class_name": "function", "config": "tanh"}},
         {"activation": "tanh"}),
        ("Dense", {"activation": {"class_name": "function",
                                  "config": "asterism>keras_2_hard_sigmoid"}},
         {"activation": "hard_sigmoid"}),
        ("Dense", {"kernel_initializer": {"class_name": "HeNormal", "config": {"seed": 1}}},
         {"kernel_initializer": "he_normal"}),
        ("Dense", {"kernel_initializer": {"class_name": "Odd", "config": {}}}, {}),
        ("Dense", {"kernel_regularizer": None, "bias_constraint": None},
         {"kernel_regularizer": "none", "bias_constraint": "none"}),
        ("Dense", {"lora_rank": None, "groups": 1, "trainable": False, "fused": True}, {}),
        ("Dense", {"dtype": "float16"}, {"dtype": "float16"}),
        ("Dense", {"dtype": {"class_name": "DTypePolicy", "config": {"name": "float64"}}},
         {"dtype": "float64"}),
        ("MaxPooling2D", {"pool_size": [2, 2], "strides": None, "padding": "valid",
                          "data_format": "channels_last"},
         {"pool_size": [2, 2], "padding": "valid", "data_format": "channels_last"}),
    ],
)  # fmt: skip
def test_what_a_layer_is_configured_with_is_said_in_declared_words(kind, config, expected):
    config = ({"units": 2} if kind == "Dense" else {}) | config
    layers = [entry("a", 6, 6, 2), layer(kind, "b", [["a", 0, 0]], **config)]
    _, graph = read(functional(layers, ["a"], [["b", 0, 0]]))
    always = {"dtype": "float32"} | ({"units": 2} if kind == "Dense" else {})
    assert graph.nodes[1].config == always | expected


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"activation": {"class_name": "ReLU", "config": {}}}, "activation re_lu is not declared"),
        ({"activation": "odd"}, "its activation odd is not declared"),
        ({"use_bias": None}, "its use_bias is None, which is not declared"),
        ({"dtype": {"class_name": "DTypePolicy", "config": {"name": "mixed_float16"}}},
         "its dtype is mixed_float16, which the universe does not declare"),
        ({"dtype": "int32"}, "its dtype is int32, which the universe does not declare"),
        ({"lora_rank": 4}, "its lora_rank is 4, which the universe does not declare"),
        ({"groups": 2}, "its groups is 2, which the universe does not declare"),
    ],
)  # fmt: skip
def test_what_no_declared_word_says_is_rejected_by_name(config, message):
    layers = [entry("a", 4), layer("Dense", "b", [["a", 0, 0]], units=2, **config)]
    with pytest.raises(UserError, match=f"the layer 'b' is a Dense, and .*{message}"):
        read(functional(layers, ["a"], [["b", 0, 0]]))
