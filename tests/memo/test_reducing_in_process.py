"""The stage of reduction on small models, and the narrowing of their wide layers."""

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keras import layers

from asterism.core.messages.errors import UserError
from asterism.differential.reducing import reduction
from asterism.differential.reducing.params import ReduceParams
from asterism.differential.reducing.reduce import (
    WIDTHS,
    count_multiplications,
    keeps_coverage,
    narrow_layers,
    reduce_model,
)
from asterism.differential.reducing.reduction import find_user_models, reduce_models
from asterism.differential.reducing.seed_models import make_seed_model
from asterism.memo.graphs.coverage import covered_elements
from asterism.memo.graphs.graph import Node, sequential
from asterism.memo.graphs.keras_build import build_model
from asterism.memo.graphs.keras_read import read_keras_graph
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import branching, convolutional, layer, recurrent


def params(**changes):
    values = {"models": ["one"], "user_model": "conf/no_file", "open_size": 4, "timing_runs": 0}
    values |= {"user_input_shape": None, "max_width": None, "reduced": True}
    return ReduceParams.model_validate(values | changes)


def small():
    """Two convolutions that do the same; one of them can go."""
    return keras.Sequential(
        [
            keras.Input((6, 6, 2)),
            layers.Conv2D(2, 3, padding="same", name="first"),
            layers.Conv2D(2, 3, padding="same", name="second"),
            layers.Conv2D(2, 3, padding="same", name="third"),
            layers.Flatten(),
            layers.Dense(3, name="end"),
        ]
    )


@pytest.fixture
def backends(monkeypatch):
    """The small model is every seed model, and no session is cleared; the backends asked for."""
    asked = []

    def import_it(backend):
        asked.append(backend)
        return keras

    monkeypatch.setattr(reduction, "import_keras", import_it)
    monkeypatch.setattr(reduction, "make_seed_model", lambda name, seed: small())
    monkeypatch.setattr(keras.backend, "clear_session", lambda: None)
    return asked


def test_models_are_reduced_with_their_weights(backends, tmp_path):
    path = tmp_path / "mine.keras"
    model = small()
    model.save(path)
    found = reduce_models(params(user_model=str(path)), 0)
    assert backends == ["numpy"] and found.seconds == []
    assert list(found.models) == ["one", "mine"]
    for name, row in zip(("one", "mine"), found.rows, strict=True):
        graph = found.models[name]
        named = {node.weights for node in graph.nodes.values() if node.weights}
        assert named <= set(found.weights) and all(key.startswith(f"{name}/") for key in named)
        assert row["model"] == name
        assert (row["layers"], row["layers_reduced"]) == (5, len(graph.layers))
        assert row["layers_reduced"] < 5
        assert (
            row["multiplications_reduced"] == count_multiplications(graph) < row["multiplications"]
        )
        assert row["weights"] == model.count_params() > row["weights_reduced"]
        kinds = covered_elements(graph)
        for kind in ("types", "pairs", "parameters"):
            assert row[kind] == row[f"{kind}_kept"]
        assert row["types"] == len(kinds.types) and row["pairs"] == len(kinds.pairs)
        assert row["parameters"] == len(kinds.parameters)
    stored = {key: arrays for key, arrays in found.weights.items() if key.startswith("mine/")}
    assert set(stored) == {n.weights for n in found.models["mine"].nodes.values() if n.weights}
    kernel = dict(stored["mine/end"])["kernel"]
    assert np.array_equal(kernel, model.layers[-1].kernel)


def test_listed_models_are_narrowed_and_the_users_are_not(backends, tmp_path, monkeypatch):
    def wide():
        return keras.Sequential(
            [keras.Input((6,)), layers.Dense(50), layers.Dense(3, activation="tanh")]
        )

    monkeypatch.setattr(reduction, "make_seed_model", lambda name, seed: wide())
    wide().save(tmp_path / "mine.keras")
    asked = params(user_model=str(tmp_path / "mine.keras"), max_width=32)
    made = {
        name: [n.config["units"] for n in graph.nodes.values() if n.type == "Dense"]
        for name, graph in reduce_models(asked, 0).models.items()
    }
    assert made == {"one": [32, 3], "mine": [50, 3]}


def test_models_stay_whole_where_reduction_is_not_asked_for(backends):
    row = reduce_models(params(reduced=False), 0).rows[0]
    assert row["layers_reduced"] == row["layers"] and row["weights_reduced"] == row["weights"]


def test_times_are_measured_where_asked_for(backends):
    found = reduce_models(params(timing_runs=2), 0)
    assert backends == ["tensorflow"]
    (times,) = found.seconds
    assert times["model"] == "one"
    assert times["before"] > 0 and times["after"] > 0


def free_length(crop):
    """A convolution over a length that the model leaves open, of which both ends are cut off."""
    given = keras.Input((None, 4), name="letters")
    end = layers.Cropping1D(crop)(layers.Conv1D(3, 5, padding="same", name="first")(given))
    return keras.Model(given, layers.Dense(2, name="second")(end))


def test_models_of_a_folder_are_given_the_sizes_that_they_leave_open(backends, tmp_path):
    for name, crop in (("b", 20), ("a", 40)):
        free_length(crop).save(tmp_path / f"{name}.keras")
    (tmp_path / "README.md").touch()

    def lengths(shape):
        found = reduce_models(params(user_model=str(tmp_path), user_input_shape=shape), 0)
        assert list(found.models) == ["one", "a", "b"]
        graphs = [found.models[name] for name in ("a", "b")]
        assert all(key.split("/")[0] in found.models for key in found.weights)
        return [graph.tensors[i].shape for graph in graphs for i in graph.inputs]

    assert lengths([101, 4]) == [(101, 4), (101, 4)]
    assert lengths({"a": [90, 4], "b": {"letters": [50, 4]}}) == [(90, 4), (50, 4)]
    with pytest.raises(UserError, match=r"a\.keras: 'crop.*', a Cropping1D, .* leaves nothing"):
        lengths(None)  # the open size is too short


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ([90], r"a\.keras: the input 'letters' has the shape \[free, 4\] without the batch, and"),
        ([90, 5], r"\[90, 5\] is given for it"),
        ({"c": [90, 4]}, r"a shape for 'c', which is no model of yours \(a\)"),
        ({"a": {"word": [90, 4]}}, r"no input 'word', for which .* \(there are: letters\)"),
    ],
)
def test_shapes_that_fit_no_input_are_rejected(backends, tmp_path, shape, said):
    free_length(1).save(tmp_path / "a.keras")
    given = params(user_model=str(tmp_path / "a.keras"), user_input_shape=shape)
    with pytest.raises(UserError, match=said) as rejected:
        reduce_models(given, 0)
    assert "\n" not in str(rejected.value)


def test_a_file_called_like_a_listed_model_is_rejected(tmp_path):
    with pytest.raises(UserError, match="lenet5"):
        reduce_models(params(models=["lenet5"], user_model=str(tmp_path / "lenet5.keras")), 0)


def test_a_folder_without_models_or_with_two_of_one_name_is_rejected(tmp_path):
    given = params(user_model=str(tmp_path))
    with pytest.raises(UserError, match=r"holds no model \(\.keras, \.h5"):
        find_user_models(given)
    for name in ("m.h5", "m.keras"):
        (tmp_path / name).touch()
    with pytest.raises(UserError, match=r"two files of .* are called m: rename one"):
        find_user_models(given)


def test_an_architecture_without_weights_is_a_seed_model_and_one_beside_weights_is_not(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(small().to_json())
    model, graph, arrays = reduction.read_user_model(path, {}, 4, 3)
    assert arrays == {} and model.count_params() == small().count_params()
    assert [graph.nodes[at].type for at in graph.layers] == ["Conv2D"] * 3 + ["Flatten", "Dense"]
    path.with_suffix(".h5").touch()
    with pytest.raises(UserError, match=r"no stage would know of changes of .*mine\.h5"):
        reduction.read_user_model(path, {}, 4, 3)


def test_a_seed_model_of_keras_applications_has_drawn_weights(monkeypatch):
    made = []

    def network(weights):
        made.append(weights)
        return small()

    monkeypatch.setattr(keras.applications, "ResNet50", network)
    one, two, other = (make_seed_model("resnet50", seed) for seed in (1, 1, 2))
    assert made == [None] * 3
    same, different = (
        all(np.array_equal(a, b) for a, b in zip(one.get_weights(), m.get_weights(), strict=True))
        for m in (two, other)
    )
    assert same and not different


def test_alexnet_is_as_published():
    model = make_seed_model("alexnet", 0)
    convolutions = [layer for layer in model.layers if isinstance(layer, layers.Conv2D)]
    sizes = [(layer.filters, layer.kernel_size[0]) for layer in convolutions]
    assert sizes == [(96, 5), (256, 5), (384, 3), (384, 3), (256, 3)]
    assert sum(isinstance(layer, layers.MaxPooling2D) for layer in model.layers) == 3
    assert model.output_shape == (None, 10)


def widths(graph):
    return [n.config[w] for n in graph.nodes.values() for w in WIDTHS if w in n.config]


def added(units, behind):
    """Two branches that have to meet."""
    last = Node("Dense", {"units": behind, "dtype": "float32"}, (4,), seed=3)
    return branching(units).add(last)[0]


@pytest.mark.parametrize("make", [convolutional, recurrent, added])
@given(st.integers(21, 50), st.integers(21, 50), st.integers(11, 50))
def test_no_layer_stays_wider_and_nothing_else_changes(make, first, last, width):
    graph = make(first, last)
    smaller = narrow_layers(graph, width)
    assert widths(smaller) == [min(w, width) for w in widths(graph)]
    assert [n.type for n in smaller.nodes.values()] == [n.type for n in graph.nodes.values()]
    assert [n.inputs for n in smaller.nodes.values()] == [n.inputs for n in graph.nodes.values()]


def test_what_coverage_counts_stays():
    """A dense layer of ten units is an option of its own, which eight would lose."""
    assert widths(narrow_layers(recurrent(40, 10), 8)) == [8, 10]


def test_layers_that_cannot_be_narrowed_stay_wide_and_others_do_not():
    """A reshape to a fixed size behind the first layer needs all of its units."""
    graph = sequential(
        Tensor((3,)),
        [
            layer("Dense", units=24),
            layer("Reshape", target_shape=[8, 3]),
            layer("Flatten"),
            layer("Dense", units=40),
        ],
    )
    assert widths(narrow_layers(graph, 12)) == [24, 12]


def test_channels_that_are_left_keep_their_weights():
    """The first channels of a layer that was read, and of what reads it."""
    model = keras.Sequential([keras.Input((5,)), layers.Dense(29), layers.Dense(2, name="end")])
    graph, stored = read_keras_graph(model, 4)
    first, _, second, _ = model.get_weights()
    weights = build_model(narrow_layers(graph, 12), stored).get_weights()
    np.testing.assert_array_equal(weights[0], first[:, :12])
    np.testing.assert_array_equal(weights[2], second[:12])


@pytest.mark.parametrize("name", ["lenet5", "alexnet"])
def test_seed_models_lose_weights_and_no_coverage(name):
    graph = reduce_model(read_keras_graph(make_seed_model(name, 0), 16)[0])
    smaller = narrow_layers(graph, 20)
    assert max(widths(smaller)) <= 20
    assert keeps_coverage(smaller, covered_elements(graph))
    assert build_model(smaller).count_params() < build_model(graph).count_params()
