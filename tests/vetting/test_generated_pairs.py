"""Pairs whose truth is known: that it is the truth, and that the program says it."""

import json

import numpy as np
import onnxruntime
import pytest
import yaml
from truths import counting, judging, modules, pairs, running, written_command

from thinning import every

#: Pairs of seed 0 that are vetted here by the command, of as many kinds of output.
SAMPLE = [10, 0, 2, 4, 13, 17, 24, 26]
#: Pairs of modules of PyTorch: of each kind of inputs, with damage to a layer, to some inputs, and
#: with none; the first among the fast tests.
MODULES = [0, 4, 6, 7, 8]


@pytest.mark.slow
@pytest.mark.parametrize("number", SAMPLE)
def test_what_is_said_of_a_pair_is_true(number, tmp_path):
    runs = running.Runs(tmp_path, 0, str(written_command(tmp_path)))
    line = runs.run(number)
    assert line["failures"] == [], line


@pytest.mark.parametrize("number", every(len(MODULES), MODULES))
def test_what_is_said_of_a_pair_of_modules_is_true(number):
    outcome = modules.run_pair(0, number)
    assert outcome["failures"] == []
    assert outcome["blamed"] in (True, None)


def made(folder, kind, inputs, form, damage, number=0):
    return pairs.make(folder, pairs.Asked(kind, inputs, form, damage), 3, number)


def rows(folder, name):
    (output,) = json.loads((folder / "truth.json").read_text())["roles"]
    session = onnxruntime.InferenceSession(folder / name)
    with np.load(folder / "given.npz") as given:
        feed = {i.name: given[i.name] for i in session.get_inputs()}
    count = len(next(iter(feed.values())))
    one = [session.run([output], {k: v[i : i + 1] for k, v in feed.items()}) for i in range(count)]
    return np.concatenate([answer[0] for answer in one])


def test_a_good_pair_agrees_and_a_damaged_one_does_not(tmp_path):
    good = made(tmp_path / "good", "logits", "tensors", "qdq", "none")
    bad = made(tmp_path / "bad", "logits", "tensors", "qdq", "wrong axis")
    assert good["must_not_reject"] and not good["must_not_ship"] and not good["node"]
    assert bad["must_not_ship"] and not bad["must_not_reject"] and bad["node"]
    for name, truth in (("good", good), ("bad", bad)):
        folder = tmp_path / name
        f, g = (rows(folder, truth[k]).argmax(1) for k in ("original", "compressed"))
        assert truth["clearly_differ"] == (f != g).sum() and truth["total"] == len(f) == pairs.GIVEN
    if good["labelled"]:
        assert good["accuracy"][0] > 0.9 * pairs.GIVEN


def test_nan_constant_answers_and_overflow_are_counted(tmp_path):
    silent = made(tmp_path / "nan", "embedding", "tensors", "dynamic", "NaN on some")
    g = rows(tmp_path / "nan", silent["compressed"])
    assert silent["no_answer"] == (~np.isfinite(g)).any(1).sum() > 5
    constant = made(tmp_path / "constant", "sigmoid", "tensors", "qdq", "constant")
    assert np.ptp(rows(tmp_path / "constant", constant["compressed"])) == 0
    assert constant["must_not_ship"] and constant["clearly_same"] == 0
    beyond = made(tmp_path / "half", "number", "sound", "half", "half-precision overflow", 2)
    assert beyond["beyond_half_precision"] > 100 and beyond["must_not_ship"]


def test_the_same_seed_gives_the_same_pair(tmp_path):
    first, again, other = (
        made(tmp_path / f"{i}", "numbers", "tensors", "qoperator", "scale", number)
        for i, number in enumerate((1, 1, 2))
    )
    assert first == again != other
    files = [(tmp_path / f"{i}" / "model-qoperator.onnx").read_bytes() for i in range(3)]
    assert files[0] == files[1] != files[2]
    planned = [list(zip(pairs.plan(seed), range(60), strict=False)) for seed in (0, 0, 1)]
    assert planned[0] == planned[1] != planned[2]
    assert {asked.kind for asked, _ in planned[0]} == set(pairs.KINDS)


def certificate(truth, word, differ=None, lost=None, **more):
    """What a program says that says the truth, or something else."""
    share = {
        "count": truth["clearly_differ"] if differ is None else differ,
        "total": truth["total"],
    }
    accuracy = [{"count": count} for count in truth["accuracy"] or ()]
    return {
        "verdict": {"word": word, "criteria": [{"name": "agreement", "met": False}]},
        "measured": {
            "agreement": {
                "differ": share,
                "lost": truth["no_answer"] if lost is None else lost,
                "accuracy": accuracy,
            }
        },
        "parameters": yaml.safe_dump({"comparison": {"kind": "top_label", "options": {}}}),
        "repair": {"blamed": [{"node": truth["node"]}]},
        **more,
    }


def test_a_true_certificate_passes_and_each_lie_is_named(tmp_path):
    truth = made(tmp_path, "logits", "tensors", "qdq", "wrong axis")

    def failures(*arguments, **more):
        told = certificate(truth, *arguments, **more)
        return judging.judge(truth, told, tmp_path, tmp_path / "repaired.onnx")

    true = failures("do not ship")
    assert (true.failures, true.blamed) == ([], True)
    assert "verdict" in failures("ship").failures[0]
    assert "verdict" in failures("not enough inputs to say").failures[0]
    assert "deviations" in failures("do not ship", differ=1).failures[0]
    assert "without an answer" in failures("do not ship", lost=3).failures[0]
    assert "no repaired file" in failures("ship with the repair").failures[0]
    other = failures("do not ship", repair={"blamed": [{"node": "another"}]})
    assert other.blamed is False


def test_roles_are_judged_by_what_they_hold():
    boxes = np.array([[[10, 10, 4, 4, 0.9, 0.1], [30, 30, 4, 4, 0.01, 0.02]]], np.float32)
    moved, gone = boxes.copy(), boxes.copy()
    moved[0, 0, :2] += 0.1
    gone[0, 0, 4] = 0.01
    for role, turn in (("boxes", (0, 1, 2)), ("boxes, columns first", (0, 2, 1))):
        f, same, other = ([v.transpose(turn)] for v in (boxes, moved, gone))
        assert counting.judge(role, f, same).clearly_same.all()
        assert counting.judge(role, f, other).clearly_differs.all()
    scores = np.eye(4)[[0, 1, 1, 0, 1, 3]]
    assert counting.transcript(scores[np.newaxis]) == [1, 1, 3]
    assert counting.transcript(scores[:, np.newaxis]) == [1, 1, 3]
    nothing = [np.full((1, 3), np.nan)]
    lost = counting.judge("classes", [np.eye(3)[:1]], nothing)
    assert lost.clearly_differs.all() and not lost.finite.any()
