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
from asterism.asking.output_comparison import choose_comparisons
from asterism.asking.outputs import Output, OutputContext
from asterism.asking.rules import choose_comparison
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


def unit(values):
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def decided(*shape):
    """Sigmoids of a trained model."""
    return sigmoid(12 * (rng(6).random(shape) < 0.3) - 6 + normal(*shape))


def padded(scores):
    """Scores of symbols, of which the first is all that there is in the later frames."""
    half = scores.shape[1] // 2
    scores[:, :half, 0] -= 20
    scores[:, half:, 0] += 20
    return scores


CLASSES = logits(RIGHT)
MANY = softmax(logits(labels(1000), 1000, strength=9.0))
PICTURE = rng(7).random((20, 3, 16, 16)).astype(np.float32)


def case(kind, output, scenes=SCENES, **options):
    """An output, the scenes that it is looked at in, and what it is compared by in all of them."""
    return output, scenes, kind, options


CASES = {
    # One label.
    "softmax": case("top_label", Output("y", softmax(CLASSES), "softmax")),
    "logarithms": case("top_label", Output("y", np.log(softmax(CLASSES)), "logsoftmax")),
    "softmax of two": case("top_label", Output("y", softmax(normal(9, 2)), "gather")),
    "softmax in 8 bits": case("top_label", Output("y", in_8_bits(MANY), "softmax")),
    "8 bits by their values": case("top_label", Output("y", in_8_bits(MANY))),
    "softmax with axes of 1": case(
        "top_label", Output("y", softmax(CLASSES)[:, :, None, None], "conv")
    ),
    "logits by name": case("top_label", Output("class_scores", CLASSES, "gemm")),
    "camel case": case("top_label", Output("outputLogits", CLASSES, "gemm")),
    "three logits of texts": case("top_label", Output("logits", normal(9, 3), "gemm")),
    "logits in [0, 1]": case("top_label", Output("logits", softmax(CLASSES) / 2)),
    "logits that are right": case(
        "top_label", Output("output", CLASSES, "gemm"), [known("images")]
    ),
    "texts that are right": case("top_label", Output("output", CLASSES, "add"), [known("tokens")]),
    "vocabulary of the classes": case(
        "top_label",
        Output("y", CLASSES, "gemm"),
        [OutputContext("tokens", vocabulary=4, labels=RIGHT)],
    ),
    "ImageNet": case("top_label", Output("495", normal(9, 1000), "gemm"), [PICTURES]),
    "one label of sigmoids": case(
        "top_label", Output("y", sigmoid(CLASSES), "sigmoid"), [known("images")]
    ),
    # Several labels, or one.
    "sigmoids": case("multi_label", Output("logits", sigmoid(normal(9, 4)), "sigmoid")),
    "sigmoids beside labels": case(
        "multi_label", Output("y", sigmoid(normal(COUNT, 4)), "sigmoid"), [known("images")]
    ),
    "two sigmoids by chance right": case(
        "multi_label",
        Output("y", sigmoid(normal(COUNT, 2)), "sigmoid"),
        [known("images", labels(2))],
    ),
    "one sigmoid": case("multi_label", Output("y", sigmoid(normal(9, 1)), "sigmoid")),
    "one hard sigmoid": case("multi_label", Output("y", decided(9, 1), "hardsigmoid")),
    "one probability": case("multi_label", Output("prob", decided(9, 1), "slice")),
    "one score of labels": case(
        "multi_label",
        Output("y", (RIGHT[:, None] % 2 * 0.5).astype(np.float32), "clip"),
        [known("images", RIGHT % 2)],
    ),
    "one logit of labels": case(
        "multi_label",
        Output("y", (RIGHT[:, None] % 2 * 9.0 - 4).astype(np.float32), "gemm"),
        [known("images", RIGHT % 2)],
        thresholds=[0.0],
    ),
    # Numbers.
    "one number": case("regression", Output("output", normal(9, 1, scale=50), "gemm")),
    "prices": case("tolerance", Output("price", np.exp(2 * normal(400, 1)), "exp"), absolute=0.001),
    "one number of no axis": case("regression", Output("output", normal(9), "gemm")),
    "one number in [0, 1]": case("regression", Output("y", PICTURE[:, 0, 0, :1], "gemm")),
    "one number by exp": case("regression", Output("y", PICTURE[:, 0, 0, :1], "exp")),
    "a number and classes": case(
        "regression", Output("y", normal(COUNT, 1, scale=9), "gemm"), [known("images")]
    ),
    "coordinates": case("regression", Output("coordinates", normal(9, 3), "gemm")),
    "landmarks by sigmoid": case(
        "regression", Output("landmarks", sigmoid(normal(9, 10)), "sigmoid")
    ),
    "landmarks in rows": case("regression", Output("keypoints", PICTURE[:, 0, :5, :2])),
    "a box": case("regression", Output("bbox", sigmoid(normal(9, 4)), "sigmoid")),
    "a rotation by name": case("regression", Output("pose", unit(normal(9, 4)), "div")),
    "actions": case("regression", Output("y", np.tanh(normal(9, 6)), "tanh")),
    # Whole numbers.
    "a class": case(
        "label_map",
        Output("label", RIGHT[:, None].astype(np.float32), "argmax", True),
        axis=None,
        share=0.0,
    ),
    "a map of classes": case(
        "label_map",
        Output("mask", regions().argmax(1).astype(np.float32), "argmax", True),
        axis=None,
    ),
    "a picture in whole numbers": case(
        "regression", Output("y", np.rint(PICTURE * 255), "cast", True), [PICTURES], **OF_MAPS
    ),
    # Vectors.
    "embedding by name": case("embedding", Output("embedding", normal(9, 6), "gemm")),
    "hidden state": case("embedding", Output("last_hidden_state", normal(9, 5, 6)), [TEXTS, SOUND]),
    "pooler": case("embedding", Output("pooler_output", np.tanh(normal(9, 6)), "tanh")),
    "unit length": case("embedding", Output("output", unit(normal(9, 16)), "div")),
    "one length": case("embedding", Output("output", 64 * unit(normal(9, 16)), "mul")),
    "one input": case("embedding", Output("output", unit(normal(1, 16)), "div")),
    "normalised": case("embedding", Output("y", normal(9, 6), "layernormalization")),
    # Tokens.
    "next tokens": case("token_distribution", Output("y", normal(9, 5, 12), "add"), [TEXTS]),
    "next token": case("token_distribution", Output("y", normal(9, 12), "softmax"), [TEXTS]),
    "classes of tokens": case("frame_scores", Output("logits", normal(9, 5, 7)), [TEXTS], **WINNER),
    # Frames.
    "symbols": case("sequence", Output("output", spoken(), "add"), [SOUND, PICTURES], **CTC),
    "symbols of features": case("sequence", Output("ctc_logits", spoken()), [TENSORS], **CTC),
    "symbols as logarithms": case(
        "sequence",
        Output("y", np.log(softmax(spoken())), "logsoftmax"),
        [SOUND, PICTURES, TENSORS],
        **CTC,
    ),
    "blank last": case(
        "sequence",
        Output("y", softmax(spoken(blank=4)), "softmax"),
        [SOUND, PICTURES, TENSORS],
        decoding="ctc",
        blank=4,
        scores="probabilities",
    ),
    "frames of classes": case(
        "frame_scores",
        Output("y", softmax(spoken(lasts=(12, 16), frames=40)), "softmax"),
        [SOUND, TENSORS],
        **WINNER,
    ),
    "symbols with an end": case(
        "frame_scores",
        Output("logits", np.concatenate([spoken(blank=4)[:, :, 1:], 0 * normal(COUNT, 20, 1)], 2)),
        [PICTURES],
        **WINNER,
    ),
    "symbols and then padding": case(
        "frame_scores", Output("logits", padded(spoken(blank=4)[:, :, :4])), [SOUND], **WINNER
    ),
    "frames of sigmoids": case(
        "frame_scores", Output("y", sigmoid(normal(9, 30, 8)), "sigmoid"), [SOUND, TENSORS, TEXTS]
    ),
    # Maps.
    "logits at places": case("label_map", Output("y", regions(), "conv"), [PICTURES, GREY], axis=0),
    "places first": case(
        "label_map", Output("y", np.moveaxis(regions(), 1, -1), "conv_2d"), [PICTURES, GREY], axis=2
    ),
    "probabilities at places": case(
        "label_map", Output("y", softmax(regions(), 1), "softmax"), axis=0
    ),
    "two classes": case("label_map", Output("out", regions(2), "resize"), [PICTURES], axis=0),
    "coarse by name": case(
        "label_map",
        Output("logits", regions(5, (8, 8)), "conv"),
        [OutputContext("images", (32, 32), channels=3)],
        axis=0,
    ),
    "not square": case(
        "label_map",
        Output("y", regions(3, (16, 24)), "conv"),
        [OutputContext("images", (32, 48), channels=3)],
        axis=0,
    ),
    "places in a row": case(
        "label_map",
        Output("y", softmax(regions(), 1).reshape(20, 3, 256).transpose(0, 2, 1), "softmax"),
        [PICTURES],
        axis=1,
    ),
    "a mask": case(
        "label_map", Output("y", decided(20, 16, 16), "sigmoid"), [PICTURES], **mask(0.5)
    ),
    "a mask of an axis": case(
        "label_map", Output("y", decided(20, 1, 16, 16), "slice"), [PICTURES, GREY], **mask(0.5)
    ),
    "a mask of logits": case(
        "label_map",
        Output("mask", normal(20, 1, 16, 16, scale=5), "conv"),
        [PICTURES, GREY],
        **mask(0.0),
    ),
    "several masks": case(
        "label_map", Output("y", decided(20, 5, 16, 16), "sigmoid"), [PICTURES, GREY], **mask(0.5)
    ),
    "a picture": case("regression", Output("y", PICTURE, "conv"), [PICTURES], **OF_MAPS),
    "a larger picture": case(
        "regression",
        Output("y", 255 * PICTURE, "conv"),
        [OutputContext("images", (8, 8), channels=3)],
        **OF_MAPS,
    ),
    "a picture by tanh": case(
        "regression", Output("y", 2 * PICTURE - 1, "tanh"), [PICTURES], **OF_MAPS
    ),
    "a grey picture": case("regression", Output("y", PICTURE[:, :1], "conv"), [GREY], **OF_MAPS),
    "depth": case("regression", Output("depth", normal(20, 16, 16), "conv"), [PICTURES], **OF_MAPS),
    "distances": case("regression", Output("y", 9 * PICTURE[:, 0], "relu"), [PICTURES], **OF_MAPS),
    "heat": case("regression", Output("heatmaps", PICTURE, "conv"), [PICTURES], **OF_MAPS),
}


@pytest.mark.parametrize("case", CASES)
def test_an_output_tells_how_it_is_compared(case):
    output, scenes, kind, options = CASES[case]
    for scene in scenes:
        choice = choose_comparison(output, scene)
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
def test_what_can_be_read_in_two_ways_is_asked_and_each_comparison_that_is_named_works(case):
    output, scenes = OPEN[case]
    for scene in scenes:
        with pytest.raises(UserError) as raised:
            choose_comparison(output, scene)
        text = str(raised.value)
        assert output.name in text and "--comparison" in text and "\n" not in text
        if case == "nothing":
            continue
        for named in text.partition("--comparison: ")[2].split(", "):
            wanted = named.split()[0]
            names, choice = choose_comparisons([output], scene, wanted)
            assert names == [output.name] and choice.kind == wanted
            chosen = ComparisonParams(kind=wanted, options=dict(choice.options))
            found = build_comparison(chosen, output.shape)
            found.calibrate(output.rows, output.rows)
            assert not found.deviates(output.rows, output.rows).any()


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 40), st.floats(0.1, 30), st.integers(0, 99), st.sampled_from(SCENES))
def test_a_softmax_is_known_by_its_values_alone(classes, strength, seed, scene):
    values = softmax(normal(30, classes, scale=strength, seed=seed))
    assert choose_comparison(Output("y", values), scene).kind in ("top_label", "token_distribution")


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 30), st.floats(0.1, 30), st.integers(0, 99), st.sampled_from(SCENES))
def test_plain_numbers_are_never_guessed(size, scale, seed, scene):
    values = normal(30, size, scale=scale, seed=seed)
    if size == scene.vocabulary:
        return
    with pytest.raises(UserError, match="--comparison"):
        choose_comparison(Output("output", values, "gemm"), scene)
