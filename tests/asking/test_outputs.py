"""How one output is compared follows from its values, its maker, its name and its shape."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asking.made_answers import (
    COUNT,
    in_8_bits,
    labels,
    logits,
    normal,
    regions,
    rng,
    sigmoid,
    softmax,
    spoken,
)
from asterism.asking.choosing import choose_all
from asterism.asking.outputs import Output, OutputContext
from asterism.asking.rules import choose
from asterism.core.messages.errors import UserError
from asterism.dflare.comparisons import build_comparison
from asterism.dflare.params import ComparisonParams

RIGHT = labels()
PICTURES = OutputContext("images", (16, 16), channels=3)
GREY = OutputContext("images", (16, 16), channels=1)
SOUND, TENSORS = OutputContext("sound"), OutputContext("tensors")
TEXTS = OutputContext("tokens", vocabulary=12)
SCENES = [PICTURES, SOUND, TENSORS, TEXTS, OutputContext("bytes")]
CTC = {"decoding": "ctc", "blank": 0, "scores": "logits"}
WINNER = {"threshold": None}
OF_MAPS = {"common": True, "share": 0.01}


def known(kind, right=RIGHT):
    return OutputContext(kind, labels=right)


def mask(threshold):
    return {"axis": None, "threshold": threshold}


def stack_of(values, last):
    return np.moveaxis(values, 1, -1) if last else values


def unit(values):
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def decided(*shape):
    """Sigmoids of a trained model."""
    return sigmoid(12 * (rng(6).random(shape) < 0.3) - 6 + normal(*shape))


CLASSES = logits(RIGHT)
MANY = softmax(logits(labels(1000), 1000, strength=9.0))
PICTURE = rng(7).random((20, 3, 16, 16)).astype(np.float32)

CASES = {
    # One label.
    "softmax": (Output("y", softmax(CLASSES), "softmax"), SCENES, "top_label", {}),
    "logarithms": (Output("y", np.log(softmax(CLASSES)), "logsoftmax"), SCENES, "top_label", {}),
    "softmax of two": (Output("y", softmax(normal(9, 2)), "gather"), SCENES, "top_label", {}),
    "softmax in 8 bits": (Output("y", in_8_bits(MANY), "softmax"), SCENES, "top_label", {}),
    "8 bits by their values": (Output("y", in_8_bits(MANY)), SCENES, "top_label", {}),
    "softmax with axes of 1": (
        Output("y", softmax(CLASSES)[:, :, None, None], "conv"),
        SCENES,
        "top_label",
        {},
    ),
    "logits by name": (Output("class_scores", CLASSES, "gemm"), SCENES, "top_label", {}),
    "camel case": (Output("outputLogits", CLASSES, "gemm"), SCENES, "top_label", {}),
    "three logits of texts": (Output("logits", normal(9, 3), "gemm"), SCENES, "top_label", {}),
    "logits in [0, 1]": (Output("logits", softmax(CLASSES) / 2), SCENES, "top_label", {}),
    "logits that are right": (
        Output("output", CLASSES, "gemm"),
        [known("images")],
        "top_label",
        {},
    ),
    "texts that are right": (Output("output", CLASSES, "add"), [known("tokens")], "top_label", {}),
    "vocabulary of the classes": (
        Output("y", CLASSES, "gemm"),
        [OutputContext("tokens", vocabulary=4, labels=RIGHT)],
        "top_label",
        {},
    ),
    "ImageNet": (Output("495", normal(9, 1000), "gemm"), [PICTURES], "top_label", {}),
    "one label of sigmoids": (
        Output("y", sigmoid(CLASSES), "sigmoid"),
        [known("images")],
        "top_label",
        {},
    ),
    # Several labels, or one.
    "sigmoids": (Output("logits", sigmoid(normal(9, 4)), "sigmoid"), SCENES, "multi_label", {}),
    "sigmoids beside labels": (
        Output("y", sigmoid(normal(COUNT, 4)), "sigmoid"),
        [known("images")],
        "multi_label",
        {},
    ),
    "two sigmoids by chance right": (
        Output("y", sigmoid(normal(COUNT, 2)), "sigmoid"),
        [known("images", labels(2))],
        "multi_label",
        {},
    ),
    "one sigmoid": (Output("y", sigmoid(normal(9, 1)), "sigmoid"), SCENES, "multi_label", {}),
    "one hard sigmoid": (Output("y", decided(9, 1), "hardsigmoid"), SCENES, "multi_label", {}),
    "one probability": (Output("prob", decided(9, 1), "slice"), SCENES, "multi_label", {}),
    "one score of labels": (
        Output("y", (RIGHT[:, None] % 2 * 0.5).astype(np.float32), "clip"),
        [known("images", RIGHT % 2)],
        "multi_label",
        {},
    ),
    "one logit of labels": (
        Output("y", (RIGHT[:, None] % 2 * 9.0 - 4).astype(np.float32), "gemm"),
        [known("images", RIGHT % 2)],
        "multi_label",
        {"thresholds": [0.0]},
    ),
    # Numbers.
    "one number": (Output("output", normal(9, 1, scale=50), "gemm"), SCENES, "regression", {}),
    "prices": (
        Output("price", np.exp(2 * normal(400, 1)), "exp"),
        SCENES,
        "tolerance",
        {"absolute": 0.001},
    ),
    "one number of no axis": (Output("output", normal(9), "gemm"), SCENES, "regression", {}),
    "one number in [0, 1]": (Output("y", PICTURE[:, 0, 0, :1], "gemm"), SCENES, "regression", {}),
    "one number by exp": (Output("y", PICTURE[:, 0, 0, :1], "exp"), SCENES, "regression", {}),
    "a number and classes": (
        Output("y", normal(COUNT, 1, scale=9), "gemm"),
        [known("images")],
        "regression",
        {},
    ),
    "coordinates": (Output("coordinates", normal(9, 3), "gemm"), SCENES, "regression", {}),
    "landmarks by sigmoid": (
        Output("landmarks", sigmoid(normal(9, 10)), "sigmoid"),
        SCENES,
        "regression",
        {},
    ),
    "landmarks in rows": (Output("keypoints", PICTURE[:, 0, :5, :2]), SCENES, "regression", {}),
    "a box": (Output("bbox", sigmoid(normal(9, 4)), "sigmoid"), SCENES, "regression", {}),
    "a rotation by name": (Output("pose", unit(normal(9, 4)), "div"), SCENES, "regression", {}),
    "actions": (Output("y", np.tanh(normal(9, 6)), "tanh"), SCENES, "regression", {}),
    # Whole numbers.
    "a class": (
        Output("label", RIGHT[:, None].astype(np.float32), "argmax", True),
        SCENES,
        "label_map",
        {"axis": None, "share": 0.0},
    ),
    "a map of classes": (
        Output("mask", regions().argmax(1).astype(np.float32), "argmax", True),
        SCENES,
        "label_map",
        {"axis": None},
    ),
    "a picture in whole numbers": (
        Output("y", np.rint(PICTURE * 255), "cast", True),
        [PICTURES],
        "regression",
        OF_MAPS,
    ),
    # Vectors.
    "embedding by name": (Output("embedding", normal(9, 6), "gemm"), SCENES, "embedding", {}),
    "hidden state": (Output("last_hidden_state", normal(9, 5, 6)), [TEXTS, SOUND], "embedding", {}),
    "pooler": (Output("pooler_output", np.tanh(normal(9, 6)), "tanh"), SCENES, "embedding", {}),
    "unit length": (Output("output", unit(normal(9, 16)), "div"), SCENES, "embedding", {}),
    "one length": (Output("output", 64 * unit(normal(9, 16)), "mul"), SCENES, "embedding", {}),
    "one input": (Output("output", unit(normal(1, 16)), "div"), SCENES, "embedding", {}),
    "normalised": (Output("y", normal(9, 6), "layernormalization"), SCENES, "embedding", {}),
    # Tokens.
    "next tokens": (Output("y", normal(9, 5, 12), "add"), [TEXTS], "token_distribution", {}),
    "next token": (Output("y", normal(9, 12), "softmax"), [TEXTS], "token_distribution", {}),
    "classes of tokens": (Output("logits", normal(9, 5, 7)), [TEXTS], "frame_scores", WINNER),
    # Frames.
    "symbols": (Output("output", spoken(), "add"), [SOUND, PICTURES], "sequence", CTC),
    "symbols of features": (Output("ctc_logits", spoken()), [TENSORS], "sequence", CTC),
    "symbols as logarithms": (
        Output("y", np.log(softmax(spoken())), "logsoftmax"),
        [SOUND, PICTURES, TENSORS],
        "sequence",
        CTC,
    ),
    "blank last": (
        Output("y", softmax(spoken(blank=4)), "softmax"),
        [SOUND, PICTURES, TENSORS],
        "sequence",
        {"decoding": "ctc", "blank": 4, "scores": "probabilities"},
    ),
    "frames of classes": (
        Output("y", softmax(spoken(lasts=(12, 16), frames=40)), "softmax"),
        [SOUND, TENSORS],
        "frame_scores",
        WINNER,
    ),
    "symbols with an end": (
        Output("logits", np.concatenate([spoken(blank=4)[:, :, 1:], 0 * normal(COUNT, 20, 1)], 2)),
        [PICTURES],
        "frame_scores",
        WINNER,
    ),
    "frames of sigmoids": (
        Output("y", sigmoid(normal(9, 30, 8)), "sigmoid"),
        [SOUND, TENSORS, TEXTS],
        "frame_scores",
        {},
    ),
    # Maps.
    "logits at places": (
        Output("y", regions(), "conv"),
        [PICTURES, GREY],
        "label_map",
        {"axis": 0},
    ),
    "places first": (
        Output("y", stack_of(regions(), True), "conv_2d"),
        [PICTURES, GREY],
        "label_map",
        {"axis": 2},
    ),
    "probabilities at places": (
        Output("y", softmax(regions(), 1), "softmax"),
        SCENES,
        "label_map",
        {"axis": 0},
    ),
    "two classes": (Output("out", regions(2), "resize"), [PICTURES], "label_map", {"axis": 0}),
    "coarse by name": (
        Output("logits", regions(5, (8, 8)), "conv"),
        [OutputContext("images", (32, 32), channels=3)],
        "label_map",
        {"axis": 0},
    ),
    "not square": (
        Output("y", regions(3, (16, 24)), "conv"),
        [OutputContext("images", (32, 48), channels=3)],
        "label_map",
        {"axis": 0},
    ),
    "places in a row": (
        Output("y", softmax(regions(), 1).reshape(20, 3, 256).transpose(0, 2, 1), "softmax"),
        [PICTURES],
        "label_map",
        {"axis": 1},
    ),
    "a mask": (Output("y", decided(20, 16, 16), "sigmoid"), [PICTURES], "label_map", mask(0.5)),
    "a mask of an axis": (
        Output("y", decided(20, 1, 16, 16), "slice"),
        [PICTURES, GREY],
        "label_map",
        mask(0.5),
    ),
    "a mask of logits": (
        Output("mask", normal(20, 1, 16, 16, scale=5), "conv"),
        [PICTURES, GREY],
        "label_map",
        mask(0.0),
    ),
    "several masks": (
        Output("y", decided(20, 5, 16, 16), "sigmoid"),
        [PICTURES, GREY],
        "label_map",
        mask(0.5),
    ),
    "a picture": (Output("y", PICTURE, "conv"), [PICTURES], "regression", OF_MAPS),
    "a larger picture": (
        Output("y", 255 * PICTURE, "conv"),
        [OutputContext("images", (8, 8), channels=3)],
        "regression",
        OF_MAPS,
    ),
    "a picture by tanh": (Output("y", 2 * PICTURE - 1, "tanh"), [PICTURES], "regression", OF_MAPS),
    "a grey picture": (Output("y", PICTURE[:, :1], "conv"), [GREY], "regression", OF_MAPS),
    "depth": (Output("depth", normal(20, 16, 16), "conv"), [PICTURES], "regression", OF_MAPS),
    "distances": (Output("y", 9 * PICTURE[:, 0], "relu"), [PICTURES], "regression", OF_MAPS),
    "heat": (Output("heatmaps", PICTURE, "conv"), [PICTURES], "regression", OF_MAPS),
}


@pytest.mark.parametrize("case", CASES)
def test_an_output_tells_how_it_is_compared(case):
    output, scenes, kind, options = CASES[case]
    for scene in scenes:
        choice = choose(output, scene)
        assert (choice.kind, choice.options) == (kind, options), scene
        assert output.name in choice.why
        chosen = ComparisonParams(kind=kind, options=dict(options))
        build_comparison(chosen, output.shape)  # it fits


OPEN = {
    "numbers": (Output("output", normal(9, 3), "gemm"), SCENES),
    "numbers that are no labels": (Output("output", normal(COUNT, 4), "gemm"), [known("images")]),
    "numbers that depend on the label": (
        Output("output", logits(RIGHT, wrong=0.75, strength=6.0), "gemm"),
        [known("images")],
    ),
    "fewer numbers than labels": (Output("output", CLASSES[:, :2], "gemm"), [known("images")]),
    "values in [0, 1] by accident": (Output("y", PICTURE[:, 0, 0, :5], "gemm"), SCENES),
    "scores of one label or several": (Output("scores", PICTURE[:, 0, 0, :5], "clip"), SCENES),
    "a rotation": (Output("output", unit(normal(9, 4)), "div"), SCENES),
    "one number from 0 to 1": (Output("y", PICTURE[:, 0, 0, :1], "slice"), SCENES),
    "one number beside labels by chance": (
        Output("y", normal(COUNT, 1), "gemm"),
        [known("images", labels(2))],
    ),
    "features": (Output("y", np.abs(normal(9, 64)), "relu"), SCENES),
    "one answer to all": (Output("y", np.ones((9, 16), np.float32), "gemm"), SCENES),
    "many features": (Output("y", np.abs(normal(9, 64, 16, 16)), "relu"), [PICTURES]),
    "fine features": (Output("y", np.abs(normal(9, 8, 16, 16, scale=9)), "relu"), [PICTURES]),
    "coarse features": (
        Output("y", normal(9, 20, 8, 8, scale=9), "conv"),
        [OutputContext("images", (64, 64), channels=3)],
    ),
    "noise for a picture": (Output("y", normal(9, 3, 16, 16, scale=0.1), "conv"), [PICTURES]),
    "heat without a name": (Output("y", PICTURE[:9].repeat(2, 1), "conv"), [PICTURES]),
    "mask or depth": (Output("y", normal(9, 16, 16, scale=5), "conv"), [PICTURES, GREY]),
    "mask or picture": (Output("y", PICTURE[:, :1], "sigmoid"), [GREY]),
    "masks or picture": (Output("y", PICTURE, "sigmoid"), [PICTURES]),
    "boxes alone": (Output("y", sigmoid(normal(9, 30, 4)), "sigmoid"), [PICTURES]),
    "a series": (Output("output", normal(9, 24, 3), "add"), [TENSORS, SOUND, TEXTS]),
    "a series of large numbers": (Output("output", normal(9, 24, 3, scale=99), "add"), [TENSORS]),
    "frames last": (
        Output("y", softmax(spoken()).transpose(0, 2, 1), "softmax"),
        [SOUND, TENSORS, PICTURES],
    ),
    "frames last as logarithms": (
        Output("y", np.log(softmax(spoken())).transpose(0, 2, 1), "logsoftmax"),
        [SOUND, TENSORS, PICTURES],
    ),
    "a volume": (Output("y", normal(9, 4, 5, 6, 7), "conv"), SCENES),
    "integers for scores": (Output("y", np.rint(9 * PICTURE[:, 0, 0]), "softmax", True), SCENES),
    "nothing": (Output("y", np.zeros((9, 0), np.float32), "gemm"), SCENES),
}


@pytest.mark.parametrize("case", OPEN)
def test_what_can_be_read_in_two_ways_is_asked(case):
    output, scenes = OPEN[case]
    for scene in scenes:
        with pytest.raises(UserError) as raised:
            choose(output, scene)
        text = str(raised.value)
        assert output.name in text and "--comparison" in text and "\n" not in text


@pytest.mark.parametrize("case", [case for case in OPEN if case != "nothing"])
def test_a_comparison_that_the_question_names_works(case):
    output, scenes = OPEN[case]
    for scene in scenes:
        with pytest.raises(UserError) as raised:
            choose(output, scene)
        named = str(raised.value).partition("--comparison: ")[2].split(", ")
        for text in named:
            wanted = text.split()[0]
            names, choice = choose_all([output], scene, wanted)
            assert names == [output.name] and choice.kind == wanted
            chosen = ComparisonParams(kind=wanted, options=dict(choice.options))
            found = build_comparison(chosen, output.shape)
            found.know(output.rows, output.rows)
            assert not found.deviates(output.rows, output.rows).any()


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 40), st.floats(0.1, 30), st.integers(0, 99), st.sampled_from(SCENES))
def test_a_softmax_is_known_by_its_values_alone(classes, strength, seed, scene):
    values = softmax(normal(30, classes, scale=strength, seed=seed))
    assert choose(Output("y", values), scene).kind in ("top_label", "token_distribution")


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 30), st.floats(0.1, 30), st.integers(0, 99), st.sampled_from(SCENES))
def test_plain_numbers_are_never_guessed(size, scale, seed, scene):
    values = normal(30, size, scale=scale, seed=seed)
    if size == scene.vocabulary:
        return
    with pytest.raises(UserError, match="--comparison"):
        choose(Output("output", values, "gemm"), scene)
