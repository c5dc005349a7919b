"""Reading Keras models, and Algorithm 1 on them."""

import json
from dataclasses import replace

import keras
import numpy as np
import pytest
from keras import layers

from asterism.core.messages.errors import UserError
from asterism.differential.reducing.reduce import (
    articulation_points,
    bypass,
    count_multiplications,
    keeps_coverage,
    reduce_model,
    renumber_nodes,
)
from asterism.differential.reducing.reduction import read_user_model
from asterism.differential.reducing.seed_models import SEED_MODELS, make_seed_model
from asterism.memo.graphs.coverage import covered_elements
from asterism.memo.graphs.graph import Graph, Node, input_node
from asterism.memo.graphs.keras_build import build_model
from asterism.memo.graphs.keras_read import read_json_graph, read_keras_graph
from asterism.memo.graphs.weights import fit_to_shape
from asterism.memo.universe.tensors import InvalidLayerError
from asterism.models.keras_models.reading import load_keras
from memo.coverage_twins import slow_pairs, slow_parameters, slow_types


def residual():
    """Three stages of residual blocks, as ResNets have them."""
    keras.utils.set_random_seed(1)
    x = inputs = keras.Input((16, 16, 3))
    for stage in range(3):
        x = layers.Conv2D(4, 3, strides=1 + (stage > 0), padding="same")(x)
        for _ in range(3):
            y = layers.Conv2D(4, 3, padding="same")(x)
            y = layers.BatchNormalization()(y)
            y = layers.ReLU()(y)
            y = layers.Conv2D(4, 1)(y)
            x = layers.Add()([x, y])
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(5, activation="softmax")(x))


def nested():
    inner = keras.Sequential([keras.Input((6,)), layers.Dense(4), layers.ReLU()])
    inputs = keras.Input((6,))
    return keras.Model(inputs, layers.Dense(2)(inner(inputs)))


def test_what_keras_2_called_otherwise_is_read():
    first = {"name": "r", "alpha": 0.7, "batch_input_shape": [None, 4]}
    document = {
        "class_name": "Sequential",
        "config": [{"class_name": "LeakyReLU", "config": first}],
    }
    graph = read_json_graph(document, open_size=9)
    assert graph.nodes[1].config["negative_slope"] == 0.7
    document["config"][0] = {"class_name": "LSTM", "config": {**first, "units": 2, "alpha": 1}}
    with pytest.raises(UserError, match="alpha"):
        read_json_graph(document, open_size=9)


@pytest.mark.parametrize(
    ("name", "layers_at_least"), [("lenet1.h5", 7), ("mnist-lstm.h5", 2), ("resnet.h5", 60)]
)
def test_published_files_of_keras_2_are_seed_models(shared_models, name, layers_at_least):
    model = load_keras(shared_models / name)
    graph, arrays = read_keras_graph(model, open_size=8)
    assert len(graph.layers) >= layers_at_least
    batch = np.random.default_rng(0).normal(size=(2, *model.inputs[0].shape[1:]))
    batch = batch.astype("float32")
    ours = np.asarray(build_model(graph, arrays)(batch, training=False))
    np.testing.assert_allclose(ours, np.asarray(model(batch, training=False)), atol=1e-6)
    reduced = renumber_nodes(reduce_model(graph))
    assert keeps_coverage(reduced, covered_elements(graph)) and len(reduced.layers) <= len(
        graph.layers
    )


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("activation", "lambda x: x"),
        ("units", "3) or print(1"),
        ("use_bias", {"class_name": "Lambda"}),
        ("units", 10**12),
    ],
)
def test_a_layer_of_values_that_no_graph_can_have_is_rejected(argument, value):
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="odd")])
    document = json.loads(model.to_json())
    document["config"]["layers"][1]["config"][argument] = value
    with pytest.raises(UserError, match="odd"):
        read_json_graph(document, 4)


def sequential(shape, *stack, dtype="float32"):
    return keras.Sequential([keras.Input(shape, dtype=dtype), *stack])


def attended(**changes):
    """Self-attention over a query, its value and, where asked for, its key."""
    query, value = keras.Input((4, 6)), keras.Input((5, 6))
    given = {"key": value} if changes.pop("with_key", False) else {}
    called = {k: changes.pop(k) for k in ("use_causal_mask",) if k in changes}
    made = layers.MultiHeadAttention(2, 3, name="odd", **changes)
    return keras.Model([query, value], made(query=query, value=value, **given, **called))


def two_outputs():
    """One output is read by the layer that makes the other."""
    inputs = keras.Input((6,))
    first = layers.Dense(4)(inputs)
    return keras.Model(inputs, [layers.Dense(2)(first), first])


def with_unread_output():
    inner_inputs = keras.Input((6,))
    shared = layers.Dense(4)(inner_inputs)
    inner = keras.Model(inner_inputs, [layers.ReLU()(shared), layers.Dense(3)(shared)])
    inputs = keras.Input((6,))
    return keras.Model(inputs, inner(inputs)[1])


def with_operations():
    """Sums and products of tensors that no layer makes; a layer of the same name has weights."""
    first = layers.Dense(4, name="add")(inputs := keras.Input((6,)))
    second = layers.Dense(4)(inputs)
    return keras.Model(inputs, layers.Dense(2)((first + second) * first - second))


def called_twice():
    """Only the second call's output is read."""
    shared = layers.Dense(6, activation="tanh")
    inputs = keras.Input((6,))
    return keras.Model(inputs, layers.Dense(2)(shared(shared(inputs))))


def scaled_sum():
    """As in keras.applications' InceptionResNetV2."""
    first, second = (layers.Dense(4)(inputs) for inputs in [keras.Input((6,))] * 2)
    scaled = keras.src.applications.inception_resnet_v2.CustomScaleLayer(0.3)([first, second])
    return keras.Model(first._keras_history.operation.input, scaled)


READ = {
    "residual": residual,
    "nested": nested,
    **{n: (lambda n=n: make_seed_model(n, 3)) for n in ("lenet5", "lstm1", "lstm2")},
    "operations": with_operations,
    "a layer called twice": called_twice,
    "a scaled sum": scaled_sum,
    "time-distributed": lambda: sequential(
        (5, 6), layers.TimeDistributed(layers.Dense(8, activation="relu"))
    ),
    "time-distributed pooling": lambda: sequential(
        (2, 8, 8, 1), layers.TimeDistributed(layers.MaxPooling2D(3, strides=2))
    ),
    "spectral": lambda: sequential(
        (6,), layers.SpectralNormalization(layers.Dense(16, activation="tanh"))
    ),
    "bidirectional": lambda: sequential(
        (5, 3), layers.Bidirectional(layers.LSTM(4, recurrent_activation="relu"), "sum")
    ),
    "einsum": lambda: sequential(
        (5, 3), layers.EinsumDense("abc,cd->abd", output_shape=(None, 7), bias_axes="d")
    ),
    "attention": attended,
    "two outputs": two_outputs,
    "an output that nobody reads": with_unread_output,
}


@pytest.mark.parametrize("name", READ)
def test_nothing_of_a_model_is_lost_by_reading_it(name):
    model = READ[name]()
    keras.utils.set_random_seed(2)
    graph, arrays = read_keras_graph(model, open_size=8)
    batch = [np.random.default_rng(0).normal(size=(3, *i.shape[1:])) for i in model.inputs]
    batch = [b.astype("float32") for b in batch]
    given = batch if len(batch) > 1 else batch[0]
    theirs, ours = model(given, training=False), build_model(graph, arrays)(given, training=False)
    theirs, ours = (o if isinstance(o, list) else [o] for o in (theirs, ours))
    assert len(ours) == len(theirs) == len(graph.outputs)
    for output in theirs:  # a graph has its outputs in the order of its nodes
        assert any(np.array_equal(np.asarray(o), np.asarray(output)) for o in ours)


def stateful():
    states = layers.LSTM(4, return_state=True, name="odd")(inputs := keras.Input((5, 3)))
    return keras.Model(inputs, states)


def in_training():
    inputs = keras.Input((5,))
    return keras.Model(inputs, layers.Dropout(0.5, name="odd")(inputs, training=True))


REJECTED = {
    "return_state": stateful,
    "mask_zero": lambda: sequential(
        (5,), layers.Embedding(9, 4, mask_zero=True, name="odd"), dtype="int32"
    ),
    "output_shape": lambda: attended(output_shape=7),
    "3 inputs|2 inputs": lambda: attended(with_key=True),
    "use_causal_mask": lambda: attended(use_causal_mask=True),
    "merge_mode": lambda: sequential(
        (5, 3), layers.Bidirectional(layers.LSTM(4), merge_mode=None, name="odd")
    ),
    "two directions": lambda: sequential(
        (5, 3),
        layers.Bidirectional(
            layers.LSTM(4),
            backward_layer=layers.LSTM(4, activation="relu", go_backwards=True),
            name="odd",
        ),
    ),
    "another wrapper": lambda: sequential(
        (2, 5, 3),
        layers.TimeDistributed(layers.TimeDistributed(layers.Dense(2)), name="odd"),
    ),
    "several sizes": lambda: sequential(
        (5,), layers.EinsumDense("ab,bcd->acd", output_shape=(2, 3), name="odd")
    ),
    "training=True": in_training,
    "activation": lambda: sequential((5,), layers.Dense(2, activation=keras.ops.abs, name="odd")),
}


@pytest.mark.parametrize("what", REJECTED)
def test_what_no_graph_can_say_is_rejected_by_name(what):
    with pytest.raises(UserError, match=what) as rejected:
        read_keras_graph(REJECTED[what](), 4)
    assert "odd" in str(rejected.value)


@pytest.mark.parametrize(
    ("operate", "said"),
    [
        (lambda n: n * 2.0 + 1, "a Multiply, .* takes 2"),
        (lambda n: keras.ops.maximum(n, 0.0), "a Maximum, .* takes 2"),
        (lambda n: keras.ops.dot(n, n), "a Dot, is given no 'axes'"),
        (lambda n: n**2, "is a Power"),
    ],
)
def test_an_operation_that_is_no_layer_is_rejected_by_name(operate, said):
    inputs = keras.Input((5,))
    model = keras.Model(inputs, operate(inputs))
    with pytest.raises(UserError, match=said):
        read_keras_graph(model, 4)
    with pytest.raises(UserError, match=said):
        read_json_graph(model.to_json(), 4)


def test_the_whole_model_computes_in_the_dtype_that_it_is_built_in():
    """The float64 reference is float64 inside of wrappers too."""
    for name in ("time-distributed", "spectral", "bidirectional"):
        graph, arrays = read_keras_graph(READ[name](), 4)
        built = build_model(graph, arrays, dtype="float64")
        assert {w.dtype for w in built.weights} == {"float64"}
        inside = [layer for layer in built._flatten_layers(include_self=False) if layer.weights]
        assert {layer.compute_dtype for layer in inside} == {"float64"}


def test_stored_weights_go_to_the_variables_of_their_name():
    model = sequential((5,), layers.BatchNormalization(name="norm"), layers.Dense(3, name="dense"))
    rng = np.random.default_rng(0)
    for layer in model.layers:
        layer.set_weights([rng.uniform(1, 2, w.shape).astype("float32") for w in layer.weights])
    graph, arrays = read_keras_graph(model, 4)
    config = {**graph.nodes[1].config, "scale": False}
    built = build_model(graph.change(1, config=config), arrays)
    kept = {w.name: np.asarray(w) for w in built.layers[1].weights}
    assert kept.keys() == {"beta", "moving_mean", "moving_variance"}
    for weight in model.layers[0].weights:
        if weight.name != "gamma":
            np.testing.assert_array_equal(kept[weight.name], np.asarray(weight))


def test_taking_the_last_layer_of_a_head_away_leaves_the_other_heads():
    graph = Graph(
        {
            0: input_node((6,)),
            1: Node("Dense", {"units": 4}, (0,)),
            2: Node("ReLU", {}, (1,)),
            3: Node("Dense", {"units": 2}, (0,)),
        }
    )
    assert bypass(graph, 1, 2).outputs == (1, 3)


class Squash(layers.Layer):
    """A layer that only its author has."""

    def call(self, inputs):
        return inputs / (1 + keras.ops.abs(inputs))


@pytest.mark.parametrize(
    ("layer", "kind"),
    [
        (Squash(), "Squash"),
        (layers.Lambda(lambda x: x * 2), "Lambda"),
        (layers.RandomZoom(0.1), "RandomZoom"),
    ],
)
@pytest.mark.parametrize("suffix", ["keras", "json"])
def test_a_file_with_a_layer_that_is_not_declared_is_rejected_by_its_type(
    layer, kind, suffix, tmp_path
):
    model, path = sequential((8, 8, 3), layer), tmp_path / f"mine.{suffix}"
    if suffix == "json":
        path.write_text(model.to_json())
    else:
        model.save(path)
    with pytest.raises(UserError, match=rf"{kind}\b.*: (build|give)") as rejected:
        read_user_model(path, {}, 4, 0)
    assert "\n" not in str(rejected.value)


def test_reduction_keeps_the_weights_of_what_is_left():
    model = residual()
    graph, arrays = read_keras_graph(model, 8)
    reduced = renumber_nodes(reduce_model(graph))
    assert len(reduced.layers) <= 0.35 * len(graph.layers)
    assert count_multiplications(reduced) <= count_multiplications(graph)
    built = build_model(reduced, arrays)
    originals = [a for many in arrays.values() for _, a in many]
    for weight in built.get_weights():
        # Where a neighbour has fewer channels, the weights of the channels that are left.
        alike = [a for a in originals if a.ndim == weight.ndim]
        assert any(np.array_equal(fit_to_shape(a, weight.shape), weight) for a in alike)


def multiplications(graph):
    """What one inference costs, from the kernels that Keras makes and the places they are used at.

    A layer without a kernel costs one operation an output, or one for each value in its window.
    """
    total = 0
    model = build_model(graph)
    for layer in model.layers:
        if isinstance(layer, keras.layers.InputLayer):
            continue
        output = layer.output.shape[1:]
        kernels = [w.shape for w in layer.weights if w.name.endswith("kernel")]
        if isinstance(layer, layers.DepthwiseConv2D) or not kernels:
            window = getattr(layer, "kernel_size", (1, 1))
            total += int(np.prod(window)) * int(np.prod(output))
        for kernel in kernels if not isinstance(layer, layers.DepthwiseConv2D) else ():
            total += int(np.prod(kernel)) * int(np.prod(output[:-1]))
    return total


def covers(smaller, original):
    """Whether one model covers all types, pairs and parameters that another does."""
    twins = (slow_types, slow_pairs, slow_parameters)
    return all(twin([original]) <= twin([smaller]) for twin in twins)


def removals(graph):
    """Every model that is left when one layer goes, and its readers read one of its sources."""
    for gone, node in graph.nodes.items():
        for source in dict.fromkeys(node.inputs):
            nodes = {
                i: replace(n, inputs=tuple(source if s == gone else s for s in n.inputs))
                for i, n in graph.nodes.items()
                if i != gone
            }
            outputs = [
                i for i in graph.nodes if not any(i in n.inputs for n in graph.nodes.values())
            ]
            needed, waiting = set(), [source if o == gone else o for o in outputs]
            while waiting:
                needed.add(at := waiting.pop())
                waiting.extend(nodes[at].inputs)
            left = {i: n for i, n in nodes.items() if i in needed}
            try:
                if any(n.type != "InputLayer" for n in left.values()):
                    yield Graph(left)
            except InvalidLayerError:
                continue


def many_filters_behind_pooling():
    """Without either pooling the last convolution would run on larger images."""
    inputs = x = keras.Input((16, 16, 1))
    for _ in range(2):
        x = layers.MaxPooling2D(2)(layers.Conv2D(8, 3, padding="same")(x))
    return keras.Model(inputs, layers.Conv2D(48, 3, padding="same")(x))


def one_layer_of_another_kind():
    """Only the first layer's activation tells it from the others."""
    stack = [layers.Dense(4, activation=a) for a in ("tanh", "relu", "relu", "relu")]
    return keras.Sequential([keras.Input((4,)), *stack])


REDUCED = {
    "residual": residual,
    "many filters behind pooling": many_filters_behind_pooling,
    "one layer of another kind": one_layer_of_another_kind,
}


@pytest.mark.parametrize("name", REDUCED)
def test_what_is_reduced_covers_as_much_and_costs_no_more_and_nothing_else_can_go(name):
    """The slow twin: every removal of one layer, with coverage and cost from the definitions."""
    graph, _ = read_keras_graph(REDUCED[name](), 8)
    reduced = reduce_model(graph)
    assert covers(reduced, graph)
    cost = multiplications(reduced)
    assert cost <= multiplications(graph)
    for smaller in removals(reduced):
        assert not covers(smaller, graph) or multiplications(smaller) > cost


def every_kernel():
    """Layers whose kernels are used in different ways."""
    stack = [
        layers.Conv2D(6, 3, padding="same"),
        layers.SeparableConv2D(8, (3, 2)),
        layers.DepthwiseConv2D(2),
        layers.AveragePooling2D(2),
        layers.Conv2D(4, 3, groups=2),
        layers.Flatten(),
        layers.Dense(3),
    ]
    return keras.Sequential([keras.Input((12, 11, 2)), *stack])


@pytest.mark.parametrize("make", [every_kernel, residual, many_filters_behind_pooling])
def test_the_cost_is_that_of_the_kernels(make):
    graph, _ = read_keras_graph(make(), 8)
    assert count_multiplications(graph) == multiplications(graph)


def two_branches():
    """Branches of different length, and a second output in the middle of one."""
    x = layers.Dense(4)(inputs := keras.Input((4,)))
    y = layers.ReLU()(layers.Dense(4)(x))
    z = layers.Dense(4)(layers.Add()([x, y]))
    return keras.Model(inputs, [layers.Dense(2)(z), layers.ReLU()(z)])


@pytest.mark.parametrize("make", [residual, many_filters_behind_pooling, two_branches])
def test_articulation_points_are_where_one_tensor_carries_everything(make):
    """Without such a node, no output is reached from the input by any path."""
    graph, _ = read_keras_graph(make(), 8)

    def reached(without):
        found = set(graph.inputs) - {without}
        for i, node in graph.nodes.items():
            if i != without and any(source in found for source in node.inputs):
                found.add(i)
        return found & set(graph.outputs)

    expected = [i for i in graph.nodes if not reached(i)]
    assert articulation_points(graph) == expected
    assert len(expected) < len(graph.nodes) or make is many_filters_behind_pooling


@pytest.mark.slow
def test_the_published_models_shrink_to_a_tenth():
    names = [n for n in SEED_MODELS if n not in ("alexnet", "lenet5", "lstm1", "lstm2")]
    shares = []
    for name in names:
        graph, _ = read_keras_graph(make_seed_model(name, 0), 8)
        reduced = reduce_model(graph)
        assert keeps_coverage(reduced, covered_elements(graph))
        shares.append(len(reduced.layers) / len(graph.layers))
    assert len(shares) == 6
    assert sum(shares) / len(shares) <= 0.11


@pytest.mark.parametrize(
    ("name", "weights", "shapes", "facts"),
    [
        (
            "lenet5",
            61_706,
            [(28, 28, 6), (14, 14, 6), (10, 10, 16), (5, 5, 16), (400,), (120,), (84,), (10,)],
            {"activation": ["relu", "relu", "relu", "relu", "softmax"]},
        ),
        ("lstm1", 3_473, [(6, 16), (16,), (1,)], {"activation": ["tanh", "tanh", "linear"]}),
        (
            "lstm2",
            4_385,
            [(32,), (32,), (1,)],
            {"activation": ["tanh", "linear"], "rate": [0.2]},
        ),
    ],
)
def test_a_small_seed_model_is_the_published_one(name, weights, shapes, facts):
    model = SEED_MODELS[name]()
    assert model.count_params() == weights
    assert [tuple(layer_.output.shape[1:]) for layer_ in model.layers] == shapes
    configs = [layer_.get_config() for layer_ in model.layers]
    for key, values in facts.items():
        assert [config[key] for config in configs if key in config] == values
