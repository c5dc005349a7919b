"""Repairers, Drepair's counts, and the repaired model as a file."""

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.core.messages.errors import UserError
from asterism.dflare.deploy import RepairedModel, write_fused, write_head
from asterism.dflare.outcome import SearchResult, Trigger
from asterism.dflare.pair import PairedOutputs
from asterism.dflare.params import RepairParams
from asterism.dflare.repair import (
    REPAIRED,
    RepairExamples,
    choose_repairer,
    compare_repairers,
    count_repairs,
    cross_validate,
    gather_examples,
    repair_status,
    why_not_repairable,
)
from asterism.dflare.repairers import REPAIRERS
from onnx_texts import write_onnx
from set_options import section
from thinning import every

OPTIONS = section("repair")["repairers"] | {
    "perceptron": {"hidden_units": 16, "learning_rate": 0.003, "epochs": 100},
    "logistic": {"top_k": 3, "strengths": [0.1, 1.0]},
    "gradient_boosting": {"rounds": 6, "learning_rate": 0.3, "leaves": 5},
    "anchored": {"strength": 0.01, "deviating_share": 0.2},
}


def examples(count=240, classes=5, seed=0):
    """A compressed model that mistakes class 1 for class 0 when it is undecided."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, count)
    logits = rng.normal(0, 1, (count, classes))
    logits[np.arange(count), labels] += 3
    ones = labels == 1
    logits[ones, 0] = logits[ones, 1] + rng.uniform(-0.2, 0.6, ones.sum())
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return examples_of(probabilities.astype(np.float32), labels.astype(np.int64), count // 2)


def examples_of(probabilities, original, seeds):
    """Examples of which each that is no seed was found from the seed of its number."""
    return RepairExamples(probabilities, original, np.arange(len(original)) % max(1, seeds), seeds)


def trained(name, data, seed=0):
    kind = REPAIRERS[name]
    repairer = kind(kind.Options(**OPTIONS[name]), data.probabilities.shape[1], seed)
    repairer.fit(data.probabilities, data.original)
    return repairer


def params(**changed):
    values = {"search": "dflare", "repairers": OPTIONS, "folds": 5, "repeats": 2}
    return RepairParams(**(values | changed))


def test_the_table_covers_every_repairer():
    assert set(OPTIONS) == set(REPAIRERS)


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=40))
def test_counts_are_the_papers_in_a_plain_loop(rows):
    original, compressed, repaired = (np.array(c) for c in zip(*rows, strict=True))
    counts = count_repairs(original, compressed, repaired)
    deviating = fixed = broken = 0
    for f, g, r in rows:
        deviating += g != f
        fixed += g != f and r == f
        broken += g == f and r != f
    assert (counts.deviating, counts.repaired, counts.induced) == (deviating, fixed, broken)
    assert counts.improvement == fixed - broken
    assert counts.repair_ratio == (fixed / deviating if deviating else 0)
    agreeing = len(rows) - deviating
    assert counts.inducing_ratio == (broken / agreeing if agreeing else 0)
    agreement_before = (compressed == original).sum()
    assert (repaired == original).sum() == agreement_before + counts.improvement


def test_every_input_is_held_out_once_and_never_learnt_from():
    data = examples(60)
    places = {row.tobytes(): place for place, row in enumerate(data.probabilities)}
    seen = []

    class Spy:
        def fit(self, probabilities, labels):
            self.learnt = {row.tobytes() for row in probabilities}

        def labels(self, probabilities):
            rows = [row.tobytes() for row in probabilities]
            assert not self.learnt & set(rows)
            assert len(self.learnt) + len(rows) == 60
            held_out = {places[row] for row in rows}
            assert held_out == {(place + 30) % 60 for place in held_out}, "each with its seed"
            seen.extend(rows)
            return probabilities.argmax(axis=1)

    labels = cross_validate(lambda _: Spy(), data, folds=5, repeats=3, seed=0)
    assert len(seen) == 3 * 60
    assert sorted(seen[:60]) == sorted(row.tobytes() for row in data.probabilities)
    assert seen[:60] != seen[60:120]
    assert all(np.array_equal(own, data.probabilities.argmax(axis=1)) for own in labels)


@pytest.mark.parametrize("name", sorted(REPAIRERS))
def test_a_repairer_repairs_and_is_deterministic(name):
    data, unseen = examples(), examples(seed=1)
    repairer = trained(name, data)
    labels = repairer.labels(unseen.probabilities)
    before = (unseen.probabilities.argmax(1) == unseen.original).mean()
    assert (labels == unseen.original).mean() > before
    again = trained(name, data).labels(unseen.probabilities)
    assert np.array_equal(labels, again)


@pytest.mark.parametrize("name", sorted(REPAIRERS))
@pytest.mark.parametrize("present", [[0, 1, 2, 3, 4], [1, 3, 4], [0, 3]])
def test_the_file_says_what_the_repairer_says(name, present, tmp_path):
    data = examples(400)
    rows = np.isin(data.original, present)
    known = examples_of(data.probabilities[rows], data.original[rows], 0)
    repairer = trained(name, known)
    write_head(repairer, tmp_path / "head.onnx")
    write_head(repairer, tmp_path / "again.onnx")
    assert (tmp_path / "head.onnx").read_bytes() == (tmp_path / "again.onnx").read_bytes()
    unseen = examples(300, seed=2).probabilities
    session = onnxruntime.InferenceSession(tmp_path / "head.onnx")
    repaired, label = session.run(["repaired", "label"], {"probabilities": unseen})
    assert repaired.sum(axis=1) == pytest.approx(np.ones(300), abs=1e-4)
    assert np.array_equal(repaired.argmax(1), label)
    assert (label == repairer.labels(unseen)).mean() > 0.99
    absent = [c for c in range(5) if c not in repairer.known_classes]
    assert not repaired[:, absent].any()
    assert {*repairer.known_classes.tolist()} >= set(present)


FLOATS = {"float": np.float32, "float16": np.float16, "double": np.float64}


def write_linear(path, weights, *, logits, opset, element, output="outputs"):
    """A linear classifier of 2×6 images in ONNX."""
    last = "Identity" if logits else "Softmax <axis = 1>"
    text = f"""({element}[N,2,6,1] images) => ({element}[N,5] {output}) {{
        flat = Flatten (images)
        scores = MatMul (flat, weights)
        {output} = {last} (scores)
    }}"""
    return write_onnx(path, text, opset=opset, weights=weights.astype(FLOATS[element]))


@pytest.mark.parametrize("logits", every(2, [True, False]))
@pytest.mark.parametrize("name", ["logistic", "gradient_boosting"])
@pytest.mark.parametrize(
    ("opset", "element"),
    [
        *every(2, [(opset, "float") for opset in (7, 9, 10, 11, 13, 17)]),
        *((13, "float16"), (13, "double"), (9, "double")),
    ],
)
def test_an_onnx_model_and_its_repairer_make_one_file(logits, name, opset, element, tmp_path):
    weights = np.random.default_rng(0).normal(0, 1, (12, 5)).astype(np.float32)
    compressed = tmp_path / "compressed.onnx"
    write_linear(compressed, weights, logits=logits, opset=opset, element=element)
    repairer = trained(name, examples())
    assert write_fused(compressed, repairer, tmp_path / "repaired.onnx", logits) == ""

    given_ = np.random.default_rng(1).random((50, 2, 6, 1)).astype(FLOATS[element])
    scores = given_.reshape(50, 12) @ weights
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    session = onnxruntime.InferenceSession(tmp_path / "repaired.onnx")
    label = session.run(["label"], {"images": given_})[0]
    assert (label == repairer.labels(probabilities.astype(np.float32))).mean() >= 0.96


def test_what_makes_no_one_file_says_why(tmp_path):
    compressed, weights = tmp_path / "compressed.onnx", np.ones((12, 5), np.float32)
    linear = {"logits": False, "opset": 13, "element": "float"}
    write_linear(compressed, weights, output="label", **linear)
    reason = write_fused(compressed, trained("logistic", examples()), tmp_path / "r.onnx", False)
    assert "compressed.onnx" in reason
    assert "\n" not in reason
    assert [path.name for path in tmp_path.glob("*.onnx")] == ["compressed.onnx"]


def test_the_head_of_a_model_that_gives_logits_takes_logits(tmp_path):
    data = examples()
    repairer = trained("logistic", data)
    write_head(repairer, tmp_path / "head.onnx", logits=True)
    session = onnxruntime.InferenceSession(tmp_path / "head.onnx")
    logits = np.log(data.probabilities) + 7
    label = session.run(["label"], {"logits": logits})[0]
    assert (label == repairer.labels(data.probabilities)).mean() > 0.99


class Fixed:
    """A model whose items are the numbers of known outputs."""

    name = "fixed"

    def __init__(self, outputs):
        self._outputs = outputs
        self.classes = outputs.shape[1]

    def predict(self, items):
        return self._outputs[items]


@pytest.mark.parametrize("name", sorted(REPAIRERS))
@pytest.mark.parametrize("classes", [2, 5, 10])
def test_a_repaired_model_gives_a_row_the_same_bytes_in_every_batch(name, classes):
    data = examples(200, classes)
    repairer = trained(name, data)
    model = RepairedModel(Fixed(data.probabilities), repairer)
    everything = model.predict(np.arange(200))
    assert everything.shape == (200, classes)
    for size in (1, 3, 7):
        starts = range(0, 200, size)
        pieces = [model.predict(np.arange(200)[start : start + size]) for start in starts]
        assert np.array_equal(np.concatenate(pieces), everything)
    assert model.predict(np.arange(0)).shape == (0, classes)
    assert (everything.argmax(1) == repairer.labels(data.probabilities)).mean() > 0.99


@pytest.mark.parametrize("name", sorted(REPAIRERS))
def test_where_the_compressed_model_gives_nan_there_is_nothing_to_repair(name):
    data = examples()
    outputs = data.probabilities.copy()
    outputs[3, 1] = outputs[5] = np.nan
    repaired = RepairedModel(Fixed(outputs), trained(name, data)).predict(np.arange(9))
    assert np.isnan(repaired[[3, 5]]).all()
    assert np.isfinite(np.delete(repaired, [3, 5], axis=0)).all()


def test_a_repairer_that_lowers_agreement_elsewhere_is_flagged():
    data = examples(120)
    perfect = examples_of(
        np.eye(5, dtype=np.float32)[[0, 0, 2, 3]] * 0.4 + 0.12, np.array([0, 0, 2, 3]), 4
    )
    quick = params(repairers={"logistic": OPTIONS["logistic"]}, folds=2)
    results = compare_repairers(quick, data, perfect, 0)
    for result in results.values():
        worse = result["test_agreement_after"] < result["test_agreement_before"]
        assert result["lowers_test_agreement"] == worse
    assert results == compare_repairers(quick, data, perfect, 0)


def test_without_other_images_their_agreement_is_not_known():
    none = examples_of(np.empty((0, 5), np.float32), np.empty(0, np.int64), 0)
    quick = params(repairers={"logistic": OPTIONS["logistic"]}, folds=2)
    result = compare_repairers(quick, examples(60), none, 0)["logistic"]
    assert result["test_images"] == 0
    unknown = ("test_agreement_before", "test_agreement_after", "lowers_test_agreement")
    assert all(result[name] is None for name in unknown)


def test_without_any_answer_there_is_nothing_to_learn_from():
    nothing = PairedOutputs(np.full((2, 1), np.nan), np.full((2, 1), np.nan), {0: "x", 1: "x"})
    assert "every seed" in why_not_repairable(
        gather_examples(nothing, [4, 9], SearchResult([], []))
    )


@pytest.mark.parametrize(
    ("results", "chosen"),
    [
        ({"a": (0.2, 0.0), "b": (0.5, 0.1), "c": (0.5, 0.0)}, "b"),  # ties: the first
        ({"a": (0.2, 0.0), "b": (0.5, -0.01)}, "a"),  # b loses seeds
        ({"a": (0.5, -0.02), "b": (0.2, -0.01)}, "b"),  # both do, b fewer
    ],
)
def test_the_best_by_cross_validation_is_chosen(results, chosen):
    named = {
        name: {"improvement_ratio": improvement, "seed_agreement_gain": gain}
        for name, (improvement, gain) in results.items()
    }
    assert choose_repairer(named) == chosen


@pytest.mark.parametrize(("improvement", "helps"), [(0.2, True), (0.0, False), (-17.0, False)])
def test_a_repairer_that_mends_no_more_than_it_breaks_is_no_repair(improvement, helps):
    assert (repair_status({"improvement_count": improvement}) == REPAIRED) == helps


def test_results_are_means_over_the_repetitions_and_the_gain_is_that_of_the_seeds(monkeypatch):
    data, calls = examples(60), []

    class Turning(REPAIRERS["perceptron"]):
        """Says the next class in the first repetition, and what the model says afterwards."""

        def fit(self, probabilities, labels):
            calls.append(1)

        def labels(self, probabilities):
            return (probabilities.argmax(axis=1) + (len(calls) <= 5)) % 5

    monkeypatch.setattr("asterism.dflare.repair.make_repairer", lambda *_: Turning(None, 5, 0))
    one = params(repairers={"perceptron": OPTIONS["perceptron"]}, folds=5, repeats=2)
    result = compare_repairers(one, data, data, 0)["perceptron"]
    own, right = data.probabilities.argmax(axis=1), data.original
    turned = (own + 1) % 5
    deviating, repaired = (own != right).sum(), ((own != right) & (turned == right)).sum() / 2
    induced = ((own == right) & (turned != right)).sum() / 2
    gain = ((turned == right)[:30].mean() - (own == right)[:30].mean()) / 2
    expected = {
        "inputs": 60,
        "deviating": deviating,
        "repair_count": repaired,
        "inducing_count": induced,
        "improvement_count": repaired - induced,
        "repair_ratio": repaired / deviating,
        "inducing_ratio": induced / (60 - deviating),
        "improvement_ratio": repaired / deviating - induced / (60 - deviating),
        "seed_agreement_gain": gain,
    }
    assert {name: result[name] for name in expected} == pytest.approx(expected)


def test_an_anchored_repairer_that_learns_nothing_says_what_the_model_says():
    data = examples()
    kind = REPAIRERS["anchored"]
    repairer = kind(kind.Options(strength=1e6, deviating_share=0.2), 5, 0)
    repairer.fit(data.probabilities, data.original)
    assert np.array_equal(repairer.labels(data.probabilities), data.probabilities.argmax(axis=1))


def test_too_few_inputs_is_one_line():
    with pytest.raises(UserError, match="folds"):
        compare_repairers(params(folds=10), examples(6), examples(6), 0)


def test_an_unknown_option_names_the_repairer():
    wrong = params(repairers={"perceptron": OPTIONS["perceptron"] | {"hidden": 3}})
    with pytest.raises(UserError, match="perceptron: unknown parameter hidden"):
        compare_repairers(wrong, examples(), examples(), 0)


@pytest.mark.parametrize("name", sorted(REPAIRERS))
def test_a_label_that_occurs_once_or_in_no_other_part_is_learnt_all_the_same(name):
    probabilities = np.random.default_rng(0).dirichlet(np.ones(3), 12).astype(np.float32)
    labels = np.array([2] + 11 * [0], np.int64)
    repairer = trained(name, examples_of(probabilities, labels, 12))
    assert set(repairer.labels(probabilities)) <= {*repairer.known_classes}


def test_seeds_without_an_answer_are_left_out():
    f = np.array([[0.9, 0.1], [np.nan, np.nan], [0.2, 0.8]], np.float32)
    g = np.array([[0.7, 0.3], [0.5, 0.5], [0.6, 0.4]], np.float32)
    trigger = Trigger(0, 3, ("x",), np.zeros(1), f[2], g[0])
    examples = gather_examples(
        PairedOutputs(f, g, {1: "it crashed"}), [0, 7, 8], SearchResult([], [trigger])
    )
    assert examples.origins.tolist() == [0, 2, 0], "an example stays with its seed"
    assert examples.original.tolist() == [0, 1, 1]
    assert np.array_equal(examples.probabilities, g[[0, 2, 0]])


def test_the_file_and_boosted_trees_part_neighbouring_numbers_alike(tmp_path):
    """A split that lies between two neighbouring float32 must not move onto the larger one."""
    for number, low in enumerate(np.linspace(0.2, 0.4, 6, dtype=np.float32)):
        first = np.tile([low, np.nextafter(low, np.float32(1))], 60)
        probabilities = np.stack([first, 1 - first], axis=1)
        repairer = trained("gradient_boosting", examples_of(probabilities, np.tile([0, 1], 60), 60))
        assert repairer.labels(probabilities).tolist() == [0, 1] * 60
        write_head(repairer, tmp_path / f"{number}.onnx")
        session = onnxruntime.InferenceSession(tmp_path / f"{number}.onnx")
        assert session.run(["label"], {"probabilities": probabilities})[0].tolist() == [0, 1] * 60
