"""Detections are found in outputs by their values: which columns, in which form, of which axis."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asking.made_answers import in_8_bits, logits, normal, regions, sigmoid, softmax, spoken
from asterism.asking.detections import recognise_detections, recognise_split_detections
from asterism.asking.output_comparison import choose_comparisons
from asterism.asking.outputs import Output, OutputContext
from asterism.core.messages.errors import UserError
from asterism.dflare.comparisons import build_comparison
from asterism.dflare.params import ComparisonParams

SIZE, INPUTS, CELLS = 640.0, 30, 64
SCENE = OutputContext("images", (64, 64), channels=3)


def things(classes=3, n=INPUTS, seed=0):
    """Two things in each input: middle and size in pixels ``(n, 2, 4)``, classes ``(n, 2)``."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(60, 160, (n, 2, 2))
    middle = np.stack([rng.uniform(80, 240, (n, 2)), rng.uniform(80, 560, (n, 2))], 2)
    middle[:, 1, 0] += 320  # apart from the first
    return np.concatenate([middle, size], 2), rng.integers(0, classes, (n, 2))


def cells(classes=3, seed=0):
    """Detections before suppression: boxes ``(n, 64, 4)`` and scores ``(n, 64, classes)``."""
    rng = np.random.default_rng(seed)
    boxes, told = things(classes, seed=seed)
    middles = rng.uniform(50, SIZE - 50, (INPUTS, CELLS, 2))
    found = np.concatenate([middles, rng.uniform(20, 80, (INPUTS, CELLS, 2))], 2)
    scores = rng.uniform(0, 0.03, (INPUTS, CELLS, classes))
    for i in range(INPUTS):
        for thing in range(2):
            near = slice(10 * thing, 10 * thing + 3)  # three cells find it
            found[i, near] = boxes[i, thing] + rng.normal(0, 2, (3, 4))
            scores[i, near, told[i, thing]] = rng.uniform(0.7, 0.95, 3)
    return found.astype(np.float32), scores.astype(np.float32)


def suppressed(rows=10, classes=3, seed=0):
    """Corners ``(n, rows, 4)``, scores and labels ``(n, rows)``, zeros behind the first two."""
    boxes, told = things(classes, seed=seed)
    rng = np.random.default_rng(seed)
    corners, scores, labels = np.zeros((INPUTS, rows, 4)), *np.zeros((2, INPUTS, rows))
    corners[:, :2, :2] = boxes[..., :2] - boxes[..., 2:] / 2
    corners[:, :2, 2:] = boxes[..., :2] + boxes[..., 2:] / 2
    scores[:, :2], labels[:, :2] = rng.uniform(0.6, 0.95, (INPUTS, 2)), told
    return [part.astype(np.float32) for part in (corners, scores, labels)]


def found_by(choice, values, shape):
    """How many things a comparison finds in all."""
    chosen = ComparisonParams(kind=choice.kind, options=dict(choice.options))
    rows = values.reshape(len(values), -1)
    return build_comparison(chosen, shape).figures(rows, rows)[0].value


def sized(boxes):
    """Left, top, width and height of corners."""
    return np.concatenate([boxes[..., :2], boxes[..., 2:] - boxes[..., :2]], axis=-1)


@pytest.mark.parametrize("scale", [1.0, 1 / SIZE])
@pytest.mark.parametrize("columns_first", [False, True])
@pytest.mark.parametrize("classes", [1, 2, 3, 20])
def test_cells_with_scores_of_classes(classes, columns_first, scale):
    boxes, scores = cells(classes)
    table = np.concatenate([boxes * scale, scores], axis=2)
    values = table.transpose(0, 2, 1) if columns_first else table
    choice = recognise_detections(Output("output0", values, "concat"), SCENE)
    assert choice.options == {
        **{"box": 0, "form": "centre", "score": 4, "classes": classes},
        **{"rows": "last" if columns_first else "first", "threshold": 0.5, "suppress": 0.5},
    }
    assert found_by(choice, values, values.shape[1:]) == 2 * INPUTS


@pytest.mark.parametrize("scale", [1.0, 1 / SIZE])
@pytest.mark.parametrize("classes", [1, 3, 20])
def test_a_column_may_say_that_there_is_something(classes, scale):
    boxes, scores = cells(classes)
    there = scores.max(axis=2, keepdims=True)
    which = np.where(scores > 0.5, 0.97, 0.1)
    which[10:12, 30:40] = 0.9  # of nothing
    table = np.concatenate([boxes * scale, there, which], axis=2).astype(np.float32)
    choice = recognise_detections(Output("output", table, "concat"), SCENE)
    assert (choice.options["objectness"], choice.options["score"]) == (4, 5)
    assert choice.options["classes"] == classes
    assert found_by(choice, table, table.shape[1:]) == 2 * INPUTS


def test_the_first_class_says_not_that_there_is_something():
    boxes, scores = cells(4)
    told = scores.argmax(axis=2)[scores.max(axis=2) > 0.5]
    assert (told == 0).any()
    table = np.concatenate([boxes, scores], axis=2)
    assert "objectness" not in recognise_detections(Output("y", table, "concat"), SCENE).options


LAYOUTS = {
    "score, label": lambda box, score, label: [box, score, label],
    "label, score": lambda box, score, label: [box, label, score],
    "SSD": lambda box, score, label: [0 * label, label, score, box],
    "label in front": lambda box, score, label: [label, score, box],
    "batch in front": lambda box, score, label: [0 * label, box, label, score],
}


@pytest.mark.parametrize("scale", [1.0, 1 / SIZE])
@pytest.mark.parametrize("form", ["corners", "size"])
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_suppressed_detections(layout, classes, form, scale):
    box, score, label = suppressed(classes=classes)
    box = (box if form == "corners" else sized(box)) * np.float32(scale)
    parts = LAYOUTS[layout](box, score[..., None], label[..., None])
    widths = [part.shape[2] for part in parts]
    starts = [sum(widths[:i]) for i in range(len(parts))]
    table = np.concatenate(parts, axis=2)
    for values in (table, table[:, np.newaxis]):
        choice = recognise_detections(Output("y", values, "concat"), SCENE)
        told = choice.options
        assert told["box"] == starts[widths.index(4)]
        assert told["form"] == "corners" if form == "corners" else told["form"] != "corners"
        for name, column in (("score", score), ("label", label)):
            assert (table[..., told[name]] == column).all()
        assert "suppress" not in told and told["threshold"] == 0.5
        assert found_by(choice, table, table.shape[1:]) == 2 * INPUTS


def test_one_class_alone_has_no_label():
    box, score, label = suppressed(classes=1)
    table = np.concatenate([box, score[..., None], label[..., None]], axis=2)
    choice = recognise_detections(Output("y", table, "concat"), SCENE)
    assert choice.options["score"] == 4 and "label" not in choice.options


@settings(max_examples=25, deadline=None)
@given(
    st.permutations(["boxes", "scores", "labels", "number"]),
    st.sets(st.sampled_from(["labels", "number"])),
    st.booleans(),
    st.sampled_from([1.0, 1 / SIZE]),
    st.integers(0, 9),
)
def test_several_outputs_in_any_order(order, left_out, integers, scale, seed):
    box, score, label = suppressed(seed=seed)
    made = {
        "boxes": Output("a", box * np.float32(scale), "gather"),
        "scores": Output("b", score, "gather"),
        "labels": Output("c", label, "gather", integers),
        "number": Output("d", np.full((INPUTS, 1), 2, np.float32), "cast", integers),
    }
    outputs = [made[name] for name in order if name not in left_out]
    names, choice = choose_comparisons(outputs, SCENE, None)
    assert (names, choice.kind) == ([output.name for output in outputs], "boxes")
    assert ("label" in choice.options) == ("labels" not in left_out)
    values = np.concatenate([output.rows for output in outputs], axis=1)
    assert found_by(choice, values, values.shape[1:]) == 2 * INPUTS


@pytest.mark.parametrize(("wrong", "boxes"), [(0, True), (1, True), (2, False)])
def test_one_of_fifty_boxes_may_be_none(wrong, boxes):
    box, score, label = (part[:25] for part in suppressed())
    box[:wrong, 0] = box[:wrong, 0][:, [2, 3, 0, 1]]  # from right to left
    outputs = [Output("a", box, "gather"), Output("b", score, "gather")]
    found = recognise_split_detections([*outputs, Output("c", label, "gather")], SCENE)
    assert (found is not None and found[1].options["form"] == "corners") == boxes


def test_scores_of_classes_beside_boxes():
    boxes, scores = cells(5)
    outputs = [Output("scores", scores, "sigmoid"), Output("boxes", boxes, "mul")]
    names, choice = choose_comparisons(outputs, SCENE, None)
    assert names == ["scores", "boxes"] and choice.options["outputs"] == [5, 4]
    assert (choice.options["score"], choice.options["classes"], choice.options["box"]) == (0, 5, 5)


def test_what_else_a_detector_gives_is_compared_by_itself():
    box, score, label = suppressed()
    outputs = [
        Output("boxes", box, "gather"),
        Output("weather", softmax(normal(INPUTS, 4)), "softmax"),
        Output("scores", score, "gather"),
        Output("labels", label, "gather", True),
    ]
    names, choice = choose_comparisons(outputs, SCENE, None)
    assert choice.kind == "together"
    assert names == ["boxes", "scores", "labels", "weather"]
    assert [part["kind"] for part in choice.options["outputs"]] == ["boxes", "top_label"]


def test_low_scores_have_a_lower_threshold():
    boxes, scores = cells(2)
    table = np.concatenate([boxes, scores * 0.4], axis=2)
    assert recognise_detections(Output("y", table, "concat"), SCENE).options["threshold"] == 0.25


NONE = {
    "symbols": Output("y", softmax(spoken(12)), "softmax"),
    "symbols by their values": Output("y", softmax(spoken(12))),
    "symbols in 8 bits": Output("y", in_8_bits(softmax(spoken(12)))),
    "logits in frames": Output("y", spoken(12), "add"),
    "sigmoids in frames": Output("y", sigmoid(normal(20, 30, 9)), "sigmoid"),
    "a mask": Output("y", sigmoid(4 * normal(20, 64, 64)), "div"),
    "classes": Output("y", softmax(logits(np.arange(20) % 9, 9)), "softmax"),
    "a label map": Output("y", regions().argmax(1).astype(np.float32), "argmax", True),
    "offsets of boxes": Output("y", normal(20, 64, 6), "concat"),
    "nothing found": Output("y", np.zeros((20, 10, 6), np.float32), "concat"),
}


@pytest.mark.parametrize("case", NONE)
def test_what_is_no_detection(case):
    assert recognise_detections(NONE[case], SCENE) is None
    assert recognise_split_detections([NONE[case], Output("n", normal(20, 1))], SCENE) is None


def test_only_pictures_have_detections():
    boxes, scores = cells()
    table = np.concatenate([boxes, scores], axis=2)
    assert recognise_detections(Output("y", table, "concat"), OutputContext("tensors")) is None


@pytest.mark.parametrize("last", [sigmoid, softmax, np.asarray])
def test_boxes_whose_scores_are_logits_are_asked_for(last):
    """A detector by a set of queries, whose last class is that there is nothing."""
    boxes, _ = cells()
    scores = normal(INPUTS, CELLS, 5)
    scores[:, 2:, 4] += 9
    scores = softmax(scores) if last is softmax else scores
    outputs = [
        Output("logits", scores.astype(np.float32), "add"),
        Output("pred_boxes", boxes / np.float32(SIZE), "sigmoid"),
    ]
    with pytest.raises(UserError, match=r"pred_boxes .*--comparison"):
        choose_comparisons(outputs, SCENE, None)
    names, choice = choose_comparisons(outputs, SCENE, "tolerance")
    assert names == ["logits", "pred_boxes"] and choice.kind == "tolerance"
