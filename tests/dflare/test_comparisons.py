"""Every comparison: the contract that all share, and its meaning in plain loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.core.messages.errors import UserError
from asterism.core.parameters.construction import NoOptions
from asterism.dflare.comparisons import COMPARISONS, ProbabilisticComparison, build_comparison
from asterism.dflare.comparisons.labels import TopLabelComparison
from asterism.dflare.consequence import Consequence, ConsequenceParams
from asterism.dflare.params import ComparisonParams

FRAMES = {"threshold": None, "share": 0.2}
CTC = {"decoding": "ctc", "blank": 0, "symbols": None, "unit": "symbol", "tolerance": 0.2}
TEXT = ["_", "a", "b", " "]
BOXES = {"box": 0, "form": "corners", "score": 4, "label": 5, "threshold": 0.5, "overlap": 0.5}
TOGETHER = {
    "outputs": [
        {"output": "class", "shape": [3], "kind": "top_label"},
        {"output": "place", "shape": [2, 2], "kind": "regression", "options": {"tolerance": 0.3}},
    ]
}
#: Name, options, shape of the outputs.
CASES = [
    ("top_label", {}, (5,)),
    ("multi_label", {"thresholds": [0.5]}, (4,)),
    ("multi_label", {"thresholds": [0.3, 0.5, 0.9]}, (3,)),
    ("frame_scores", FRAMES, (6, 4)),
    ("frame_scores", {"threshold": 0.5, "share": 0.0}, (1, 6, 1)),
    ("embedding", {"tolerance": 0.1, "nearest": True}, (7,)),
    ("sequence", CTC, (6, 4)),
    ("sequence", CTC | {"decoding": "argmax", "blank": None}, (6, 4)),
    ("sequence", CTC | {"unit": "word", "symbols": TEXT}, (6, 4)),
    ("sequence", CTC | {"scores": "logits"}, (6, 4)),
    ("sequence", CTC | {"unit": "word", "separator": 3}, (6, 4)),
    ("boxes", BOXES, (3, 6)),
    ("boxes", BOXES | {"rows": "last", "form": "centre", "label": None, "classes": 2}, (6, 3)),
    ("boxes", BOXES | {"outputs": [4, 0, 1, 1]}, (19,)),
    ("boxes", BOXES | {"suppress": 0.4}, (4, 6)),
    ("label_map", {"axis": 0, "share": 0.3}, (3, 2, 2)),
    ("label_map", {"axis": None, "threshold": 0.5, "share": 0.1}, (2, 3)),
    ("label_map", {"axis": -1, "share": 0.2}, (2, 3, 2)),
    ("regression", {"tolerance": 0.2}, (3,)),
    ("regression", {"tolerance": 0.1, "common": True, "share": 0.4}, (2, 3)),
    ("token_distribution", {"tolerance": 0.01}, (2, 4)),
    ("together", TOGETHER, (7,)),
    ("tolerance", {"absolute": 0.1, "relative": 0.2}, (2, 3)),
]
IDS = [f"{kind}-{number}" for number, (kind, _, _) in enumerate(CASES)]


def comparison_of(kind, options, shape):
    made = build_comparison(ComparisonParams(kind=kind, options=options), shape)
    made.calibrate(*known(math.prod(shape)))
    return made


def known(size):
    """Both models' answers to the given inputs, which are of another size."""
    given = outputs(5, size, seed=8)
    return given, 3 * given + np.float32(0.01)


def outputs(count, size, seed):
    return np.random.default_rng(seed).random((count, size)).astype(np.float32)


def both(kind, shape, count, seed):
    """Outputs of two models that often agree."""
    rng, size = np.random.default_rng(seed), int(np.prod(shape))
    f = outputs(count, size, seed)
    labels = np.zeros((count, size), bool)
    if kind == "boxes":
        corners, labels, numbers = places_of_boxes(shape)
        f[:, corners[1]] += f[:, corners[0]]
        f[:, labels] = rng.integers(0, 2, (count, len(labels)))
        f[:, numbers] = rng.integers(1, 4, (count, len(numbers)))
        labels = np.isin(np.arange(size), [*labels, *numbers])
    noise = rng.normal(0, 0.15, f.shape) * (rng.random((count, 1)) < 0.7)
    g = (f + noise).astype(np.float32)
    return f, np.where(labels, f, g)


def places_of_boxes(shape):
    """Where a row of detections holds corners (the first, the last), labels and numbers."""
    if shape == (19,):  # outputs of boxes, of the number, of scores, of labels
        boxes = np.arange(12).reshape(3, 4)
        return (boxes[:, :2].ravel(), boxes[:, 2:].ravel()), np.arange(16, 19), np.array([12])
    places = np.arange(math.prod(shape)).reshape(shape)
    if shape == (6, 3):  # by columns, with middles and sizes
        return (np.arange(0), np.arange(0)), np.arange(0), np.arange(0)
    return (places[:, :2].ravel(), places[:, 2:4].ravel()), places[:, 5], np.arange(0)


# Each comparison once more for one input, from plain lists: (deviates, distance, uncertainty).


def k_gap(scores, k):
    ordered = sorted(scores, reverse=True)
    return 1 - (ordered[0] - ordered[min(k, len(ordered)) - 1])


def slow_top_label(f, g, k, options, shape):
    return np.argmax(f) != np.argmax(g), abs(max(f) - max(g)), max(k_gap(f, k), k_gap(g, k))


def slow_multi_label(f, g, k, options, shape):
    limits = options["thresholds"] * (len(f) if len(options["thresholds"]) == 1 else 1)
    differs = any((a >= t) != (b >= t) for a, b, t in zip(f, g, limits, strict=True))
    gaps = [sorted(abs(v - t) for v, t in zip(m, limits, strict=True)) for m in (f, g)]
    return (
        differs,
        max(abs(a - b) for a, b in zip(f, g, strict=True)),
        1 - min(own[min(k, len(f) + 1) - 2] for own in gaps),
    )


def slow_frame_scores(f, g, k, options, shape):
    frames = [np.reshape(m, shape[-2:]).tolist() for m in (f, g)]
    limit = options["threshold"]
    different, distance, undecided = 0, 0.0, 0.0
    for one, other in zip(*frames, strict=True):
        if limit is None:
            different += one.index(max(one)) != other.index(max(other))
            undecided += max(k_gap(one, k), k_gap(other, k))
        else:
            different += [v >= limit for v in one] != [v >= limit for v in other]
            undecided += 1 - min(abs(v - limit) for v in one + other)
        distance += max(abs(a - b) for a, b in zip(one, other, strict=True))
    count = len(frames[0])
    return different / count > options["share"], distance / count, undecided / count


def cosine(a, b):
    return (
        sum(x * y for x, y in zip(a, b, strict=True))
        / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5
    )


def slow_embedding(f, g, k, options, shape):
    near = []
    for vector, answers in zip((f, g), known(7), strict=True):
        near.append([cosine(vector, other) for other in answers.astype(float).tolist()])
    far = 1 - cosine(f, g) > options["tolerance"]
    differs = far or near[0].index(max(near[0])) != near[1].index(max(near[1]))
    return differs, 1 - cosine(f, g), max(k_gap(own, k) for own in near)


def slow_transcript(frames, options):
    labels = [row.index(max(row)) for row in frames]
    if options["decoding"] == "ctc":
        kept = [v for n, v in enumerate(labels) if n == 0 or labels[n - 1] != v]
        labels = [v for v in kept if v != options["blank"]]
    if "separator" in options:
        text = "".join(" " if v == options["separator"] else f"{v}," for v in labels)
        return text.split()
    if options["symbols"] is None:
        return labels
    return "".join(options["symbols"][v] for v in labels).split()


def slow_edits(a, b):
    if not a or not b:
        return len(a) + len(b)
    replaced = slow_edits(a[1:], b[1:]) + (a[0] != b[0])
    return min(replaced, slow_edits(a[1:], b) + 1, slow_edits(a, b[1:]) + 1)


def slow_softmax(frame):
    powers = [math.exp(score) for score in frame]
    return [power / sum(powers) for power in powers]


def slow_sequence(f, g, k, options, shape):
    one, other = (np.reshape(m, shape).tolist() for m in (f, g))
    right, found = slow_transcript(one, options), slow_transcript(other, options)
    if options.get("scores") == "logits":
        one, other = ([slow_softmax(frame) for frame in m] for m in (one, other))
    rate = slow_edits(right, found) / max(1, len(right))
    total = [
        sum(abs(a - b) for a, b in zip(*p, strict=True)) / 2 for p in zip(one, other, strict=True)
    ]
    return (
        rate > options["tolerance"],
        sum(total) / len(total),
        max(k_gap(frame, k) for frame in one + other),
    )


def slow_overlap(a, b):
    width = max(0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0, min(a[3], b[3]) - max(a[1], b[1]))
    shared = width * height
    areas = [max(0, m[2] - m[0]) * max(0, m[3] - m[1]) for m in (a, b)]
    return shared / (sum(areas) - shared) if sum(areas) > shared else 0


def slow_detections(row, shape):
    """Left, top, right, bottom, score and label of each detection."""
    if shape == (19,):
        boxes, scores, labels = np.reshape(row[:12], (3, 4)).tolist(), row[13:16], row[16:]
        found = [[*b, s, v] for b, s, v in zip(boxes, scores, labels, strict=True)]
        return found[: int(row[12])]
    if shape == (6, 3):
        columns = np.reshape(row, shape).T.tolist()
        return [
            [x - w / 2, y - h / 2, x + w / 2, y + h / 2, max(a, b), int(b > a)]
            for x, y, w, h, a, b in columns
        ]
    return np.reshape(row, shape).tolist()


def slow_suppression(detections, most):
    kept = []
    for one in sorted(detections, key=lambda d: -d[4]):
        if not any(one[5] == o[5] and slow_overlap(one, o) > most for o in kept):
            kept.append(one)
    return kept


def slow_boxes(f, g, k, options, shape):
    every = [slow_detections(m, shape) for m in (f, g)]
    one, other = ([d for d in m if d[4] >= 0.5] for m in every)
    if "suppress" in options:
        one, other = (slow_suppression(m, options["suppress"]) for m in (one, other))
    pairs = [
        (slow_overlap(a, b), i, j)
        for i, a in enumerate(one)
        for j, b in enumerate(other)
        if a[5] == b[5] and slow_overlap(a, b) >= 0.5
    ]
    agreement, used = 0.0, 0
    while pairs:
        overlap, i, j = max(pairs, key=lambda p: p[0])
        agreement += overlap * (1 - min(1, abs(one[i][4] - other[j][4])))
        used += 1
        pairs = [p for p in pairs if p[1] != i and p[2] != j]
    most = max(len(one), len(other))
    closest = min(abs(d[4] - 0.5) for m in every for d in m)
    return used < most, 1 - agreement / most if most else 0, 1 - closest


def slow_tolerance(f, g, k, options, shape):
    parts = [abs(a - b) / (0.1 + 0.2 * abs(a)) for a, b in zip(f, g, strict=True)]
    return max(parts) > 1, max(parts), max(parts)


def slow_labels(m, options, shape):
    if options["axis"] is None:
        return [int(v >= options["threshold"]) for v in m]
    maps = np.moveaxis(np.reshape(m, shape), options["axis"], -1).reshape(
        -1, shape[options["axis"]]
    )
    return [scores.index(max(scores)) for scores in maps.tolist()]


def slow_label_map(f, g, k, options, shape):
    ours, theirs = (slow_labels(m, options, shape) for m in (f, g))
    share = sum(a != b for a, b in zip(ours, theirs, strict=True)) / len(ours)
    total = sum(abs(a - b) for a, b in zip(f, g, strict=True))
    mean = total / len(f) if options["axis"] is None else total / 2 / len(ours)
    return share > options["share"], max(mean, share), max(mean, share)


def slow_regression(f, g, k, options, shape):
    own = known(len(f))[0].astype(float)
    axis = None if options.get("common") else 0
    spread = np.broadcast_to(
        np.percentile(own, 99, axis=axis) - np.percentile(own, 1, axis=axis), len(f)
    ).tolist()
    parts = [abs(a - b) / s for a, b, s in zip(f, g, spread, strict=True)]
    far = sum(part > options["tolerance"] for part in parts)
    return far > options.get("share", 0) * len(f), max(parts), max(parts)


def _normalised(step):
    positive = [max(v, 1e-12) for v in step]
    return [v / sum(positive) for v in positive]


def slow_token_distribution(f, g, k, options, shape):
    one, other = (np.reshape(m, shape).tolist() for m in (f, g))
    ways = [_normalised if abs(sum(step) - 1) < 0.05 else slow_softmax for step in one]
    steps = [[way(step) for way, step in zip(ways, m, strict=True)] for m in (one, other)]
    divergences = [
        sum(p * math.log(p / q) for p, q in zip(one, other, strict=True))
        for one, other in zip(*steps, strict=True)
    ]
    mean = sum(divergences) / len(divergences)
    return mean > options["tolerance"], mean, max(k_gap(s, k) for s in steps[0] + steps[1])


def slow_together(f, g, k, options, shape):
    spread = np.percentile(known(7)[0], [1, 99], axis=0).astype(float)[:, 3:]
    parts = [
        abs(a - b) / (high - low) for a, b, low, high in zip(f[3:], g[3:], *spread, strict=True)
    ]
    label = slow_top_label(f[:3], g[:3], k, options, shape)
    worst = max(parts)
    return label[0] or worst > 0.3, max(label[1], worst), max(label[2], worst)


TWINS = {name.removeprefix("slow_"): found for name, found in globals().items() if "slow_" in name}


def test_every_comparison_is_among_the_cases():
    assert {kind for kind, _, _ in CASES} == set(COMPARISONS) <= set(TWINS)


@pytest.mark.parametrize(("kind", "options", "shape"), CASES, ids=IDS)
@given(seed=st.integers(0, 2**32), k=st.integers(2, 4))
def test_comparisons_are_their_twins(kind, options, shape, seed, k):
    f, g = both(kind, shape, 6, seed)
    comparison = comparison_of(kind, options, shape)
    found = comparison.deviates(f, g), comparison.distance(f, g), comparison.uncertainty(f, g, k)
    assert [column.dtype for column in found] == [np.bool_, np.float32, np.float32]
    for row, (deviates, distance, uncertainty) in enumerate(zip(*found, strict=True)):
        own = (m[row].astype(float).tolist() for m in (f, g))
        expected = TWINS[kind](*own, k, options, shape)
        assert bool(deviates) == bool(expected[0])
        assert distance == pytest.approx(expected[1], rel=1e-3, abs=1e-5)
        assert uncertainty == pytest.approx(expected[2], rel=1e-3, abs=1e-5)


@pytest.mark.parametrize(("kind", "options", "shape"), CASES, ids=IDS)
def test_a_row_is_the_same_alone_and_in_a_batch(kind, options, shape):
    f, g = both(kind, shape, 60, 3)
    comparison = comparison_of(kind, options, shape)

    def columns(rows):
        pair = f[rows], g[rows]
        return (
            comparison.deviates(*pair),
            comparison.distance(*pair),
            comparison.uncertainty(*pair, 2),
        )

    together = columns(np.arange(60))
    assert 0 < together[0].sum() < 60
    for rows in ([0], [59], [3, 1], list(range(20, 37))):
        for alone, all_ in zip(columns(np.array(rows)), together, strict=True):
            assert alone.tobytes() == all_[rows].tobytes()
    assert all(len(column) == 0 for column in columns(np.arange(0)))


@pytest.mark.parametrize(("kind", "options", "shape"), CASES, ids=IDS)
def test_equal_outputs_do_not_deviate(kind, options, shape):
    f, _ = both(kind, shape, 20, 5)
    comparison = comparison_of(kind, options, shape)
    size = math.prod(shape)
    comparison.calibrate(outputs(5, size, 8), outputs(5, size, 8))
    assert not comparison.deviates(f, f).any()
    if kind != "boxes":
        assert comparison.distance(f, f) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(("kind", "options", "shape"), CASES, ids=IDS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_answer_that_one_model_lost_deviates_and_one_that_both_lost_does_not(
    kind, options, shape, value
):
    f, _ = both(kind, shape, 6, 5)
    g = f.copy()
    g[1, 0] = g[2] = value
    f[3] = g[3] = value
    f[4] = value
    comparison = comparison_of(kind, options, shape)
    comparison.calibrate(f[:3], f[:3])
    assert comparison.deviates(f, g).tolist() == [False, True, True, False, False, False]
    assert np.isfinite(comparison.distance(f, g)).all()
    assert comparison.distance(f, g)[1] > comparison.distance(f, g)[0]


@pytest.mark.parametrize("kind", sorted({kind for kind, _, _ in CASES} - {"together"}))
def test_each_comparison_works_by_its_name_alone(kind):
    shape = (6, 6)
    f, _ = both("top_label", shape, 20, 1)
    comparison = comparison_of(kind, {}, shape)
    assert not comparison.deviates(f, f).any()
    assert comparison.deviates(f, -20 * f[::-1]).any()


@pytest.mark.parametrize(
    ("kind", "options", "shape", "message"),
    [
        ("label_map", {"axis": 3}, (3, 2, 2), "axis 3 of classes"),
        ("together", TOGETHER, (8,), "outputs of 7 numbers.*has 8"),
        ("boxes", BOXES | {"outputs": [4, 1]}, (9,), "5 columns in all.*has 9"),
        ("multi_label", {"thresholds": [0.1, 0.2]}, (3,), "2 thresholds.*3 labels"),
        ("frame_scores", FRAMES, (7,), "needs outputs of shape"),
        ("sequence", CTC | {"blank": None}, (6, 4), "has None as its blank"),
        ("sequence", CTC | {"blank": 4}, (6, 4), "0 to 3"),
        ("sequence", CTC | {"unit": "word"}, (6, 4), "need the symbols' texts"),
        ("sequence", CTC | {"symbols": ["a"]}, (6, 4), "1 symbols.*score 4"),
        ("boxes", BOXES, (3, 5), "names column 5, but a detection has 5"),
        ("tolerance", {"absolute": 0.0, "relative": 0.0}, (3,), "greater than 0"),
        ("labels", {}, (3,), "known: boxes"),
    ],
)
def test_what_does_not_fit_is_one_line(kind, options, shape, message):
    with pytest.raises(UserError, match=message):
        build_comparison(ComparisonParams(kind=kind, options=options), shape)


def slow_sureness(f, g, expected, several):
    if several:
        wrong = [1 - v if e else v for v, e in zip(g, expected, strict=True)]
        worst = wrong.index(max(wrong))
        return (f[worst] if expected[worst] else 1 - f[worst]), max(wrong)
    return f[expected[0]], max(v for n, v in enumerate(g) if n != expected[0])


@pytest.mark.parametrize(("kind", "options", "shape"), CASES[:3], ids=IDS[:3])
@given(seed=st.integers(0, 2**32))
def test_sureness_and_consequence_are_their_definitions(kind, options, shape, seed):
    f, g = both(kind, shape, 8, seed)
    comparison = comparison_of(kind, options, shape)
    assert isinstance(comparison, ProbabilisticComparison)
    expected = comparison.answers(both(kind, shape, 8, seed + 1)[0])
    judge = Consequence.of(comparison, ConsequenceParams(original=0.7, compressed=0.5))
    holds, near = judge.holds(f, g, expected), judge.nearness(f, g, expected)
    best = np.log(0.7 / 0.3) + np.log(0.5 / 0.5)
    for row in range(8):
        own = (m[row].astype(float).tolist() for m in (f, g))
        right, wrong = slow_sureness(*own, expected[row].tolist(), kind != "top_label")
        assert holds[row] == (np.float32(right) >= 0.7 and np.float32(wrong) >= 0.5)
        parts = (min(max(p, 1e-30), limit) for p, limit in ((right, 0.7), (wrong, 0.5)))
        assert near[row] == pytest.approx(sum(np.log(p / (1 - p)) for p in parts), abs=1e-3)
        assert bool(holds[row]) == bool(near[row] >= best - 1e-6) or abs(near[row] - best) < 1e-4


def test_top_label_is_asked_for_probabilities_of_labels_only():
    assert isinstance(TopLabelComparison(NoOptions(), ()), ProbabilisticComparison)
    plain = build_comparison(
        ComparisonParams(kind="tolerance", options={"absolute": 1.0, "relative": 0.0}), (3,)
    )
    with pytest.raises(UserError, match="ToleranceComparison compares others"):
        Consequence.of(plain, ConsequenceParams(original=0.9, compressed=0.6))


def test_a_label_is_a_class_and_scores_beside_it_tell_the_same():
    labels = np.float32([[2.0], [0.0], [1.0]])
    scores = np.eye(3, dtype=np.float32)[[2, 0, 0]]
    alone = build_comparison(ComparisonParams(kind="label_map", options={"axis": None}), ())
    assert alone.classes(labels).tolist() == [2, 0, 1] and alone.figures(labels, labels) == ()
    parts = [
        {"output": "label", "kind": "label_map", "options": {"axis": None}, "shape": []},
        {"output": "scores", "kind": "top_label", "options": {}, "shape": [3]},
    ]
    both_of_them = build_comparison(
        ComparisonParams(kind="together", options={"outputs": parts}), (4,)
    )
    rows = np.concatenate([labels, scores], axis=1)
    assert both_of_them.classes(rows).tolist() == [2, 0, 0]
    maps = build_comparison(ComparisonParams(kind="label_map", options={"axis": None}), (2,))
    assert maps.classes(np.float32([[1, 2]])) is None
