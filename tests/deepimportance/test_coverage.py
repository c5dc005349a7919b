"""Importance-driven coverage against enumeration, and the whole measurement with controls."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from asterism.attacks.augmentation import AugmentationSet, InputSplit
from asterism.attacks.methods import as_pixels
from asterism.config import compose
from asterism.core.files.artifacts import read_arrays, read_json
from asterism.core.messages.errors import UserError
from asterism.criteria.families import Activations, CriteriaParams
from asterism.deepimportance.clusters import NeuronClusters
from asterism.deepimportance.controls import draw_controls
from asterism.deepimportance.coverage import ImportanceDrivenCoverage
from asterism.deepimportance.fitting import fit_criteria
from asterism.deepimportance.judged_keras import JudgedKeras
from asterism.deepimportance.keras_layers import build_network
from asterism.deepimportance.measurement import measure_adequacy, save_combinations, save_fitted
from asterism.deepimportance.neurons import Tracer, sum_neuron_relevance
from asterism.deepimportance.params import ClusterParams, ImportanceParams, RelevanceParams
from asterism.models.images_and_scores import FROM_PROBABILITIES, PreprocessingParams
from places import ROOT

L = keras.layers
UNIT = PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])
RULES = RelevanceParams(composite="epsilon_plus", epsilon=1e-6, alpha=3.0, gamma=0.25)
CLUSTERS = ClusterParams(k_min=2, k_max=4, min_values=10, leave_out_zeros=False, decimals=None)
NAMES = ["neuron_coverage", "k_multisection", "likelihood_surprise", "distance_surprise"]
CRITERIA = CriteriaParams(
    names=NAMES,
    layers=None,
    options={
        "neuron_coverage": {"threshold": 0.5, "scaled": True},
        "k_multisection": {"sections": 10},
        "top_k_neuron_coverage": {"k": 2},
        "top_k_neuron_patterns": {"k": 2},
        "likelihood_surprise": {"buckets": 50, "upper": None, "min_variance": 1e-5},
        "distance_surprise": {"buckets": 50, "upper": 2.0},
    },
)


def importance(**changes):
    defaults = {
        "layer": None,
        "neurons": [2, 4],
        "target_class": None,
        "relevance": RULES,
        "clusters": CLUSTERS,
        "draws": 3,
        "noise_std": 0.3,
    }
    return ImportanceParams(**defaults | changes)


def coverage_of(*centroids):
    """The coverage of as many neurons as there are lists of centroids."""
    coverage = ImportanceDrivenCoverage(np.arange(len(centroids)), CLUSTERS, dense=True)
    coverage.clusters = [NeuronClusters(np.array(c, float), None) for c in centroids]
    return coverage


def alone(fitted, images):
    """Every criterion's value for images as the test set."""
    return measure_adequacy(fitted, images, images[:0], {}).metrics["test_set"]


def acts(values):
    return Activations({}, values, None)


THREE = [0, 1], [0, 1, 2], [0.5]


def judged(model):
    return JudgedKeras(model, UNIT)


@given(
    st.lists(st.tuples(*[st.floats(-1, 3, width=32)] * 3), min_size=1, max_size=12),
    st.integers(0, 12),
)
def test_coverage_is_the_share_of_enumerated_combinations(points, cut):
    values = np.array(points, np.float32)
    cells = list(itertools.product(*THREE))

    def nearest(row):
        return tuple(
            min(centroids, key=lambda m: (abs(m - v), m))
            for centroids, v in zip(THREE, row, strict=True)
        )

    reached = [nearest(row) for row in values.astype(float)]
    hit = [cell for cell in cells if cell in reached]
    coverage = coverage_of(*THREE)
    coverage.update(acts(values[:cut]))
    part = coverage.value()
    coverage.update(acts(values[cut:]))
    assert coverage.combinations == len(cells) == 6
    assert coverage.value() == pytest.approx(len(hit) / 6)
    assert part <= coverage.value()
    subset = coverage.smallest_subset()
    assert subset.tolist() == sorted(reached.index(cell) for cell in hit)
    again = coverage_of(*THREE)
    again.update(acts(values[subset]))
    assert again.value() == coverage.value()
    new = coverage.exercised(since=cut)
    found = [tuple(THREE[i][c] for i, c in enumerate(row)) for row in new.clusters]
    assert found == [reached[i] for i in new.inputs]
    assert set(found) == set(reached[cut:]) - set(reached[:cut])


def test_a_huge_space_of_combinations_is_never_enumerated():
    coverage = coverage_of(*[[0, 1, 2, 3]] * 60)
    values = np.random.default_rng(0).uniform(0, 3, (500, 60)).astype(np.float32)
    coverage.update(acts(values))
    assert coverage.combinations == 4**60
    assert coverage.value() == pytest.approx(500 / 4**60)


def classifier():
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            L.Conv2D(4, 3, activation="relu", name="conv"),
            L.Flatten(name="flatten"),
            L.Dense(12, activation="relu", name="hidden"),
            L.Dense(3, activation="softmax", name="output"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


def pictures(count, seed):
    """Three kinds of stripes, under noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    images = rng.integers(0, 60, (count, 8, 8, 1))
    images[labels == 0, :, ::2] += 120
    images[labels == 1, ::2, :] += 120
    images[labels == 2, ::4, ::4] += 190
    return images.astype(np.uint8), labels


@pytest.fixture(scope="module")
def trained():
    model = classifier()
    images, labels = pictures(400, 0)
    model.fit(UNIT.apply(images), labels, epochs=12, verbose=0)
    accuracy = (model.predict(UNIT.apply(images), verbose=0).argmax(1) == labels).mean()
    assert accuracy > 0.9
    return model, images, labels


@pytest.mark.parametrize(
    ("wanted", "found"), [(None, "hidden"), ("conv", "conv"), (0, "conv"), (-2, "hidden")]
)
def test_a_subject_layer_is_found_by_name_and_index(wanted, found):
    assert judged(classifier()).find_layer(wanted) == found


def test_the_models_input_is_no_subject(trained):
    flat, images, labels = trained
    inputs = keras.Input((8, 8, 1), name="pixels")
    x = inputs
    for layer in flat.layers:
        x = layer(x)
    model = keras.Model(inputs, x)
    for wanted in (0, "pixels"):
        with pytest.raises(UserError, match=r"'pixels' .* input .*0 pixels, 1 conv"):
            fit_criteria(judged(model), images, labels, importance(layer=wanted), CRITERIA)


@pytest.mark.parametrize("wanted", [-1, "output"])
def test_the_scores_are_no_subject(trained, wanted):
    model, images, labels = trained
    with pytest.raises(UserError, match=r"'output'.* scores .*conv.*hidden"):
        fit_criteria(judged(model), images, labels, importance(layer=wanted), CRITERIA)


def test_a_class_may_be_the_one_that_neurons_matter_to(trained, tmp_path):
    model, images, labels = trained
    fitted = fit_criteria(
        judged(model), images, labels, importance(target_class=1, neurons=[5]), CRITERIA
    )
    save_fitted(fitted, tmp_path)
    facts = read_json(tmp_path / "neurons.json")
    assert facts["target_class"] == 1
    found = [neuron["relevance"] for neuron in facts["neurons"]]
    assert found == sorted(found, reverse=True)
    np.testing.assert_allclose(
        found, fitted.relevance.per_class[1, [n["neuron"] for n in facts["neurons"]]]
    )
    with pytest.raises(UserError, match="class 2 correctly"):
        one = labels != 2
        fit_criteria(judged(model), images[one], labels[one], importance(target_class=2), CRITERIA)


@pytest.mark.parametrize("wanted", ["nope", 9])
def test_a_missing_layer_is_answered_with_the_list(wanted):
    with pytest.raises(UserError, match=r"0 conv, 1 flatten, 2 hidden, 3 output"):
        judged(classifier()).find_layer(wanted)


def test_a_layer_of_a_model_inside_can_be_the_subject(trained):
    flat, images, labels = trained
    body = keras.Sequential([keras.Input((8, 8, 1)), *flat.layers[:3]], name="body")
    model = keras.Sequential([keras.Input((8, 8, 1)), body, flat.layers[3]])
    with pytest.raises(UserError, match=r"body\.conv, .*body\.hidden"):
        fit_criteria(judged(model), images, labels, importance(layer="hidden"), CRITERIA)
    inside, plain = (
        fit_criteria(judged(m), images, labels, importance(layer=layer), CRITERIA)
        for m, layer in ((model, "body.hidden"), (flat, "hidden"))
    )
    np.testing.assert_allclose(
        inside.relevance.per_class, plain.relevance.per_class, rtol=1e-4, atol=1e-4
    )
    found, expected = (alone(f, images[:60]) for f in (inside, plain))
    assert found == pytest.approx(expected)


def test_activations_are_those_of_the_layers(trained):
    model, images, _ = trained
    batch = Tracer(judged(model), "hidden", judged(model).hidden_layers())(images[:9])
    graph = keras.Model(model.inputs, [model.get_layer(n).output for n in ("conv", "hidden")])
    conv, hidden = graph(UNIT.apply(images[:9]))
    np.testing.assert_allclose(batch.layers["conv"], np.mean(conv, axis=(1, 2)), rtol=1e-5)
    np.testing.assert_allclose(batch.layers["hidden"], hidden, rtol=1e-5)
    from_pixels = Tracer(judged(model), "hidden", [])(as_pixels(images[:9]))
    np.testing.assert_allclose(from_pixels.subject, hidden, rtol=1e-4, atol=1e-5)


def test_activations_come_in_the_order_of_the_layers_whatever_their_names():
    layers = [L.Flatten(), L.Dense(3, name="z"), L.Dense(2, name="m"), L.Dense(4, name="a")]
    model = judged(keras.Sequential([keras.Input((8, 8, 1)), *layers]))
    batch = Tracer(model, "m", ["a", "z"])(np.ones((6, 8, 8, 1), np.uint8))
    assert [(name, values.shape) for name, values in batch.layers.items()] == [
        ("z", (6, 3)),
        ("a", (6, 4)),
    ]
    assert batch.subject.shape == (6, 2)


def test_a_layer_used_twice_is_the_same_to_relevance_and_to_activations(trained):
    _, images, _ = trained
    shared = L.Dense(6, "relu", name="shared")
    inputs = keras.Input((8, 8, 1))
    hidden = shared(shared(L.Dense(6, "relu")(L.Flatten()(inputs))))
    model = keras.Model(inputs, L.Dense(3, "softmax")(hidden))
    pixels = UNIT.apply(images[:5])
    network = build_network(model)
    looked_at = network.values(pixels)[network.outputs_of["shared"]]
    recorded = Tracer(judged(model), "shared", [])(images[:5]).subject
    np.testing.assert_allclose(looked_at, recorded, rtol=1e-5)


@pytest.mark.parametrize("end", [lambda: L.Softmax(), lambda: L.Activation("softmax")])
def test_scores_before_a_softmax_of_its_own_are_no_hidden_layer(end):
    layers = [L.Flatten(), L.Dense(5, "relu", name="hidden"), L.Dense(3, "sigmoid"), end()]
    model = keras.Sequential([keras.Input((8, 8, 1)), *layers])
    assert judged(model).hidden_layers() == ["hidden"]
    assert judged(model).find_layer(None) == "hidden"


def test_a_start_from_probabilities_is_noted():
    keras.utils.set_random_seed(0)
    images = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 1), np.uint8)
    body = [
        keras.Input((8, 8, 1)),
        L.Conv2D(4, 3, activation="relu", name="hidden"),
        L.Conv2D(3, 3),
    ]
    for end, notes in (
        ((L.GlobalAveragePooling2D(), L.Softmax()), []),
        ((L.Softmax(), L.GlobalAveragePooling2D()), [FROM_PROBABILITIES]),
    ):
        model = keras.Sequential([*body, *end])
        labels = np.asarray(model(UNIT.apply(images))).argmax(axis=1)
        found = sum_neuron_relevance(judged(model), RULES, "hidden", images, labels)
        assert found.notes == notes


def test_relevance_counts_correct_inputs_of_each_class(trained):
    model, images, labels = trained
    wrong = labels.copy()
    wrong[:100] = (wrong[:100] + 1) % 3
    found = sum_neuron_relevance(judged(model), RULES, "hidden", images, wrong)
    only = sum_neuron_relevance(judged(model), RULES, "hidden", images[100:], labels[100:])
    np.testing.assert_allclose(found.per_class, only.per_class, rtol=1e-4, atol=1e-3)
    assert found.inputs.sum() == only.inputs.sum() > 250
    total = found.per_class.sum(axis=0)
    assert list(found.ranking()) == sorted(range(12), key=lambda i: (-total[i], i))
    assert list(found.ranking(1)) == sorted(range(12), key=lambda i: (-found.per_class[1, i], i))
    with pytest.raises(UserError, match="target_class"):
        found.ranking(3)


def test_a_measurement_holds_every_augmentation_against_controls(trained):
    model, images, labels = trained
    test, _ = pictures(120, 1)
    split = InputSplit.draw(120, 0.5, 0)
    assert set(split.base) | set(split.pool) == set(range(120))
    assert len(split.base) == 60
    extreme = np.random.default_rng(0).random((20, 8, 8, 1), np.float32)
    with capture_logs() as told:
        fitted = fit_criteria(
            judged(model), images, labels, importance(neurons=[2, 4, 99]), CRITERIA
        )
    (warning,) = (line for line in told if line["log_level"] == "warning")
    assert (warning["wanted"], warning["possible"]) == (99, 12)
    sets = {
        "extreme": draw_controls(
            AugmentationSet.natural(extreme), "extreme", test, split, 3, 0.3, 0
        )
    }
    measured = measure_adequacy(fitted, test[split.base], test[split.pool], sets)
    before, found = measured.metrics["test_set"], measured.metrics["augmentations"]["extreme"]
    assert set(before) == {"inputs", *NAMES, "idc_2", "idc_4", "idc_12"}
    assert found["draws"] == 3
    for name in set(before) - {"inputs"}:
        assert found[name]["value"] >= before[name]
        assert found[name]["clean_mean"] >= before[name]
        assert found[name]["noise_mean"] >= before[name]
    assert measured.metrics["all_tests"] == pytest.approx(alone(fitted, test))
    for m in (2, 4, 12):
        gained = found["new_combinations"][f"idc_{m}"]["value"]
        combinations = measured.metrics["combinations"][f"idc_{m}"]
        rise = found[f"idc_{m}"]["value"] - before[f"idc_{m}"]
        assert gained == pytest.approx(rise * combinations)
    assert len(measured.rows) == 3 * (len(NAMES) + 3)
    # A smallest subset of the test set, of the augmentation and of both has what the whole has.
    base, added = as_pixels(test[split.base]), extreme
    for idc, inputs in measured.exercised.items():
        new = inputs.new["extreme"]
        assert len(new.inputs) == found["new_combinations"][idc]["value"]
        of_base, of_added = base[inputs.subset], added[inputs.subsets["extreme"]]
        of_both = np.concatenate([of_base, added[new.inputs]])
        for part, whole, size in (
            (of_base, base, measured.metrics["smallest_subset"]),
            (of_added, added, found["smallest_subset"]),
            (of_both, np.concatenate([base, added]), found["smallest_subset_of_union"]),
        ):
            assert len(part) == size[idc] <= len(whole)
            covered = alone(fitted, whole)[idc]
            assert alone(fitted, part)[idc] == covered
            assert size[idc] == pytest.approx(covered * measured.metrics["combinations"][idc])


def test_controls_are_disjoint_and_of_the_augmentations_size_and_strength():
    test, _ = pictures(100, 2)
    split = InputSplit.draw(100, 0.5, 1)
    lengths = np.linspace(0.05, 0.5, 12)
    changed = replace(
        AugmentationSet.natural(as_pixels(test[split.base[:12]])),
        sources=split.base[:12],
        l2=lengths,
    )
    found = draw_controls(changed, "x", test, split, 9, 0.3, 0)
    noise = list(found.noise())
    assert len(list(found.clean())) == len(noise) == 4  # 50 // 12
    drawn = np.concatenate(list(found.clean()))
    assert len(np.unique(drawn.reshape(len(drawn), -1), axis=0)) == 48
    pixels = as_pixels(test)
    for draw in noise:
        flat = np.abs(draw[:, None] - pixels[None, split.base]).reshape(12, 50, -1)
        nearest = np.sqrt((flat.astype(float) ** 2).sum(-1)).min(axis=1)
        np.testing.assert_allclose(nearest, lengths, rtol=1e-3)
    with pytest.raises(UserError, match=r"lower attack\.inputs"):
        draw_controls(AugmentationSet.natural(as_pixels(test[:60])), "x", test, split, 2, 0.3, 0)


def test_attacks_that_all_failed_are_held_against_unchanged_inputs():
    test, _ = pictures(60, 2)
    split = InputSplit.draw(60, 0.5, 1)
    stuck = AugmentationSet.natural(as_pixels(test[split.base[:10]]))
    stuck = replace(stuck, sources=split.base[:10])
    draw = next(draw_controls(stuck, "x", test, split, 2, 0.3, 0).noise())
    apart = np.abs(draw[:, None] - as_pixels(test[split.base])[None]).max(axis=(2, 3, 4))
    assert apart.min(axis=1).max() < 1e-6
    natural = draw_controls(AugmentationSet.natural(stuck.images), "x", test, split, 2, 0.3, 0)
    np.testing.assert_allclose(natural.lengths, 0.3 * 8)


def test_the_clean_control_holds_none_of_the_augmentations_own_inputs():
    test, _ = pictures(60, 2)
    split = InputSplit.draw(60, 0.5, 1)
    own = split.pool[:10]
    found = draw_controls(
        AugmentationSet.natural(as_pixels(test[own]), own), "x", test, split, 9, 0.3, 0
    )
    assert len(found.clean_draws) == 2  # 20 // 10
    assert not np.isin(np.concatenate(found.clean_draws), own).any()
    assert np.isin(np.concatenate(found.clean_draws), split.pool).all()


@pytest.mark.parametrize(("changes", "tests"), [([], 360), (["attack=large"], 10_000)])
def test_the_defaults_leave_enough_inputs_for_every_draw(changes, tests):
    config = yaml.safe_load(compose(ROOT / "conf", changes))
    attack, draws = config["attack"], config["importance"]["draws"]
    split = InputSplit.draw(tests, attack["base_share"], 0)
    images = np.zeros((tests, 1, 1, 1), np.uint8)
    natural = split.pool[: attack["inputs"]]  # its own inputs are not drawn beside it
    augmentation = AugmentationSet.natural(as_pixels(images[natural]), natural)
    assert len(draw_controls(augmentation, "x", images, split, draws, 0.3, 0).clean_draws) == draws


def test_one_draw_has_no_spread(trained):
    model, images, labels = trained
    test, _ = pictures(60, 1)
    split = InputSplit.draw(60, 0.5, 0)
    fitted = fit_criteria(judged(model), images, labels, importance(), CRITERIA)
    some = AugmentationSet.natural(np.random.default_rng(0).random((20, 8, 8, 1), np.float32))
    sets = {"x": draw_controls(some, "x", test, split, 5, 0.3, 0)}
    measured = measure_adequacy(fitted, test[split.base], test[split.pool], sets)
    found = measured.metrics["augmentations"]["x"]
    assert found["draws"] == 1
    assert found["idc_2"]["clean_std"] is None
    assert found["idc_2"]["clean_mean"] >= measured.metrics["test_set"]["idc_2"]


def test_the_criteria_work_on_a_regressor():
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            L.Conv2D(3, 3, activation="relu"),
            L.Flatten(),
            L.Dense(8, activation="relu", name="hidden"),
            L.Dense(1),
        ]
    )
    images, labels = pictures(200, 3)
    model.compile("adadelta", "mse")
    model.fit(UNIT.apply(images), labels / 2.0, epochs=1, verbose=0)
    # A regressor has no classes to choose one from.
    fitted = fit_criteria(judged(model), images, None, importance(target_class=3), CRITERIA)
    metrics = alone(fitted, images[:50])
    assert "distance_surprise" not in metrics
    assert metrics["likelihood_surprise"] > 0
    assert 0 < metrics["idc_4"] <= 1
    assert fitted.relevance.inputs.tolist() == [200]


def test_combinations_are_kept_by_coverage_and_augmentation(tmp_path):
    def exercised(first):
        new = SimpleNamespace(combinations=np.array([[first, 1]], np.uint8), inputs=np.array([2]))
        return SimpleNamespace(
            subset=np.array([0, 2]), subsets={"fgsm": np.array([first])}, new={"fgsm": new}
        )

    measured = SimpleNamespace(exercised={"idc_4": exercised(4), "idc_6": exercised(6)})
    save_combinations(measured, np.array([10, 11, 12]), tmp_path)
    for name, first in (("idc_4", 4), ("idc_6", 6)):
        smallest = read_arrays(tmp_path / name / "smallest_subset.npz")
        assert {key: array.tolist() for key, array in smallest.items()} == {
            "positions": [10, 12],
            "fgsm": [first],
        }
        new = read_arrays(tmp_path / name / "new_combinations.npz")
        assert {key: array.tolist() for key, array in new.items()} == {
            "fgsm_combinations": [[first, 1]],
            "fgsm_inputs": [2],
        }
