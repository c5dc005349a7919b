"""The preprocessing of pictures is told by what the original gets right, or asked for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asking.made_answers import sigmoid, softmax
from asterism.asking.outputs import Output, OutputContext
from asterism.asking.preprocessing import (
    PreprocessingTrial,
    choose_preprocessing,
    find_preprocessing_by_range,
    try_preprocessing,
)
from asterism.core.messages.errors import UserError
from asterism.core.settings.yaml_files import read_yaml
from asterism.models.images_and_scores import PreprocessingParams
from asterism.models.signatures.signature import TensorSpec
from places import ROOT

KNOWN = {
    path.stem: PreprocessingParams.model_validate(read_yaml(path))
    for path in sorted((ROOT / "conf/preprocessing").glob("*.yaml"))
}
NOT_MADE_ALIKE = ["imagenet", "raw", "symmetric", "unit"]
LABELS = np.random.default_rng(0).integers(0, 3, 200)


def pictures(labels=LABELS, seed=1):
    """Coloured pictures: of label 0 more red, of 1 more green, of 2 more blue."""
    rng = np.random.default_rng(seed)
    values = rng.integers(60, 130, (len(labels), 8, 8, 3))
    values[np.arange(len(labels)), :, :, labels] += rng.integers(20, 60, (len(labels), 1, 1))
    return values.astype(np.uint8)


PICTURES = pictures()


def classifier(own, channels="rgb", last=softmax, name="probabilities"):
    """Answers of a model that expects pictures preprocessed so; else it sees nothing in them."""
    factor, shift = KNOWN[own].affine()

    def ask(preprocessing, order, labels=LABELS):
        given = preprocessing.apply(PICTURES if order == "rgb" else PICTURES[..., ::-1])
        seen = ((given - shift) / factor).mean(axis=(1, 2))
        seen = seen if channels == "rgb" else seen[:, ::-1]
        sees = abs(seen.mean() - PICTURES.mean()) < 1
        scores = last(seen / 3 if sees else np.tile([0.2, 0.1, 0.0], (len(seen), 1)))
        made_by = last.__name__
        return [Output(name, scores.astype(np.float32), made_by)], OutputContext(
            "images", labels=labels
        )

    return ask


@pytest.mark.parametrize("channels", ["rgb", "bgr"])
@pytest.mark.parametrize("own", NOT_MADE_ALIKE)
def test_labels_tell_preprocessing_and_channels(own, channels):
    tried = try_preprocessing(KNOWN, True, classifier(own, channels))
    assert len(tried) == 2 * len(KNOWN) and tried[0].name == "unit"
    chosen, why = choose_preprocessing(tried)
    assert (chosen.name, chosen.channels) == (own, channels)
    assert f"{chosen.accuracy:.1%}" in why and not chosen.chance
    assert all(one.name in why for one in tried)


def binary(own):
    """One score of whether a picture is red."""

    def ask(preprocessing, order):
        outputs, _ = classifier(own)(preprocessing, order)
        red = outputs[0].values[:, :1]
        return [Output("y", red, "sigmoid")], OutputContext(
            "images", labels=(LABELS == 0).astype(int)
        )

    return ask


@pytest.mark.parametrize("own", NOT_MADE_ALIKE)
def test_labels_tell_it_of_one_score(own):
    assert choose_preprocessing(try_preprocessing(KNOWN, True, binary(own)))[0].name == own


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 999))
def test_labels_that_the_model_does_not_know_choose_nothing(seed):
    labels = np.random.default_rng(seed).integers(0, 3, len(LABELS))

    def ask(preprocessing, order):
        return classifier("unit")(preprocessing, order, labels)

    chosen, _ = choose_preprocessing(try_preprocessing(KNOWN, True, ask))
    assert (chosen.name, chosen.channels) == ("unit", "rgb")


def test_the_usual_one_stays_where_others_are_as_good():
    def ask(preprocessing, order):
        rows = np.eye(3, dtype=np.float32)[LABELS]
        return [Output("y", rows, "softmax")], OutputContext("images", labels=LABELS)

    chosen, _ = choose_preprocessing(try_preprocessing(KNOWN, True, ask))
    assert (chosen.name, chosen.channels) == ("unit", "rgb")


def boxes(rows):
    """Two boxes with scores for each picture."""
    corners = np.array([[2, 2, 5, 5], [1, 3, 4, 7]])[np.newaxis] + rows[:, :1, np.newaxis] % 2
    return np.concatenate([corners, np.tile([[[0.9], [0.8]]], (len(rows), 1, 1))], axis=2)


@pytest.mark.parametrize(("last", "name"), [(abs, "embedding"), (boxes, "y"), (np.tanh, "y")])
def test_labels_say_nothing_about_a_model_that_is_no_classifier(last, name):
    """Such as one whose photos lie in a folder for each subject."""
    tried = try_preprocessing(KNOWN, True, classifier("imagenet", "bgr", last, name))
    assert [(one.name, one.channels, one.accuracy) for one in tried] == [("unit", "rgb", None)]


def test_labels_say_nothing_where_another_comparison_is_asked_for():
    ask = classifier("imagenet", "bgr", abs, "y")
    assert len(try_preprocessing(KNOWN, True, ask)) > 1
    (only,) = try_preprocessing(KNOWN, True, ask, "regression")
    assert (only.name, only.channels) == ("unit", "rgb")


def unlabelled(own, **how):
    def ask(preprocessing, order):
        return classifier(own, **how)(preprocessing, order, None)

    return try_preprocessing(KNOWN, False, ask)


def test_without_labels_confidence_is_a_hint():
    chosen, why = choose_preprocessing(unlabelled("unit"))
    assert chosen.name == "unit" and "hint" in why and chosen.accuracy is None
    assert len(unlabelled("unit")) == len(KNOWN)


def test_a_model_that_takes_grey_levels_is_asked_for_without_labels():
    with pytest.raises(UserError, match=r"one answer .*--preprocessing .*raw"):
        choose_preprocessing(unlabelled("raw"))


@pytest.mark.parametrize(
    ("last", "name"), [(sigmoid, "scores"), (np.asarray, "output"), (np.asarray, "embedding")]
)
def test_without_labels_only_scores_of_classes_are_a_hint(last, name):
    tried = unlabelled("raw", last=last, name=name)
    assert len(tried) == 1, "no other is tried for nothing"
    chosen, why = choose_preprocessing(tried)
    assert chosen.name == "unit" and "suggest no other" in why


def test_a_preprocessing_to_which_the_model_has_no_answer_is_none():
    def ask(preprocessing, order):
        outputs, scene = classifier("imagenet")(preprocessing, order)
        return ([], scene) if preprocessing == KNOWN["unit"] else (outputs, scene)

    tried = try_preprocessing(KNOWN, True, ask)
    assert choose_preprocessing(tried)[0].name == "imagenet"


def test_a_trial_is_recorded_as_the_page_has_it():
    tried = try_preprocessing(KNOWN, True, classifier("unit"))[0]
    assert set(tried.recorded()) == {"name", "channels", "accuracy", "confidence"}
    assert tried.recorded()["accuracy"] == tried.accuracy


@pytest.mark.parametrize("own", NOT_MADE_ALIKE)
def test_the_range_of_a_quantised_input_tells_it(own):
    values = KNOWN[own].apply(PICTURES)
    ends = min(0.0, float(values.min())), max(0.0, float(values.max()))
    spec = TensorSpec("x", "float32", (1, 8, 8, 3), calibrated=ends)
    assert find_preprocessing_by_range(spec, KNOWN, PICTURES) == own


def test_a_range_of_nothing_known_tells_nothing():
    assert (
        find_preprocessing_by_range(TensorSpec("x", "float32", (1, 8, 8, 3)), KNOWN, PICTURES)
        is None
    )
    other = TensorSpec("x", "float32", (1, 8, 8, 3), calibrated=(-40.0, 30.0))
    assert find_preprocessing_by_range(other, KNOWN, PICTURES) is None


def test_between_equally_right_ones_the_range_of_the_quantised_input_decides():
    tried = [
        PreprocessingTrial(name, "rgb", 1.0, 0.9, False) for name in ("unit", "imagenet", "raw")
    ]
    assert choose_preprocessing(tried)[0].name == "unit"
    assert choose_preprocessing(tried, "imagenet")[0].name == "imagenet"
    worse = [*tried[:1], PreprocessingTrial("imagenet", "rgb", 0.5, 0.9, False)]
    assert choose_preprocessing(worse, "imagenet")[0].name == "unit"
