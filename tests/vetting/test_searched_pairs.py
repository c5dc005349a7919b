"""Searching a pair: what is found, in which order it is left, and what is said of it."""

import json

import numpy as np
import pytest
from small_vetting import Rule, by_runtime, digit_params, vet_params, vetted_rules, with_files

from asterism.core.resuming.work_units import WorkUnits
from asterism.models.signatures.reading import read_signature
from asterism.vetting.opening import draw_inputs, read_given
from asterism.vetting.searching import search_opened, search_rows

pytestmark = pytest.mark.usefixtures("models_here")

PAPER = {"search": "dflare", "options": {"fitness": "paper", "delta": 0.001, "guided": True}}
BLIND = {"search": "dflare", "options": {"fitness": "paper", "delta": 0.001, "guided": False}}
NAMES = ("items", "references", "seeds", "f", "g", "right", "wrong")


@pytest.fixture
def left(digits, tmp_path):
    """Searches a pair and gives its parameters, the summaries and the triggering inputs."""

    def of(compressed="damaged.onnx", **changes):
        params = digit_params(digits, compressed, **changes)
        summaries = with_files(search_opened, params, 0, tmp_path / "found")
        assert json.loads((tmp_path / "found/summary.json").read_text()) == summaries
        with np.load(tmp_path / "found/triggers.npz") as arrays:
            return params, summaries, dict(arrays)

    return of


def sureness(f, g, labels):
    """How sure the original is of a label, and the other of its best other label, one by one."""
    right = [row[label] for row, label in zip(f, labels, strict=True)]
    wrong = [np.delete(row, label).max() for row, label in zip(g, labels, strict=True)]
    return np.array(right), np.array(wrong)


@pytest.mark.parametrize("labelled", [True, False])
def test_what_is_found_deviates_and_the_surest_comes_first(left, digits, tmp_path, labelled):
    changes = {}
    if not labelled:
        with np.load(digits / "inputs.npz") as arrays:
            np.savez(tmp_path / "unlabelled.npz", inputs=arrays["inputs"])
        changes["inputs"] = str(tmp_path / "unlabelled.npz")
    searches = {"paper": PAPER, "blind": BLIND}
    params, summaries, found = left(search__searches=searches, **changes)
    assert sorted(found) == sorted(NAMES)
    f, g = (by_runtime(path, x=found["items"]) for path in (params.original, params.compressed))
    assert found["f"] == pytest.approx(f, abs=1e-5) and found["g"] == pytest.approx(g, abs=1e-5)
    assert (f.argmax(axis=1) != g.argmax(axis=1)).all()
    given = draw_inputs(read_given(params, read_signature(digits / "original.onnx")), 200, 0)
    assert (found["references"] == given.items[found["seeds"]]).all()
    labels = given.labels[found["seeds"]] if labelled else f.argmax(axis=1)
    right, wrong = sureness(f, g, labels)
    assert found["right"] == pytest.approx(right, abs=1e-5)
    assert found["wrong"] == pytest.approx(wrong, abs=1e-5)
    least = np.minimum(found["right"], found["wrong"])
    assert (np.diff(least) <= 0).all() and least[0] > least[-1]
    assert list(summaries) == ["paper", "blind"]
    for name, summary in summaries.items():
        with np.load(tmp_path / f"found/{name}/triggers.npz") as own:
            assert summary["triggered"] == len(own["items"]) > 0
            assert {row.tobytes() for row in own["items"]} <= {
                row.tobytes() for row in found["items"]
            }
        assert summary["seeds"] == 12 and summary["total_queries"] <= 12 * 24
    assert len(found["items"]) == sum(summary["triggered"] for summary in summaries.values())
    with np.load(tmp_path / "found/seeds.npz") as seeds:
        assert (seeds["items"] == given.items[seeds["numbers"]]).all()


def test_what_is_found_lies_within_the_bound(left):
    _, _, found = left(search__bound={"measure": "linf", "limit": 0.2}, search__queries=80)
    assert len(found["items"])
    assert np.abs(found["items"] - found["references"]).max() <= 0.2


def test_where_nothing_is_found_there_are_no_items(left):
    _, summaries, found = left("original.onnx", search__queries=3)
    assert summaries["paper"]["triggered"] == 0
    assert list(found) == ["items"] and found["items"].shape == (0, 64)


def test_outputs_without_answers_are_ordered_by_their_distance(left):
    tolerance = {"kind": "tolerance", "options": {"absolute": 0.01, "relative": 0.05}}
    params, _, found = left("int8.onnx", comparison=tolerance, search__queries=60)
    f, g = (by_runtime(path, x=found["items"]) for path in (params.original, params.compressed))
    assert len(f) > 1
    parts = np.abs(f - g) / (0.01 + 0.05 * np.abs(f))
    assert found["right"] == pytest.approx(parts.max(axis=1), rel=1e-3)
    assert (found["right"] == found["wrong"]).all() and (np.diff(found["right"]) <= 0).all()


def test_a_search_is_the_same_again_and_another_with_another_seed(digits, tmp_path):
    params = digit_params(digits)
    first, again, other = (
        with_files(search_opened, params, seed, tmp_path / "found") for seed in (0, 0, 1)
    )
    assert first == again != other


class Noted(WorkUnits):
    """Work units that note what was computed."""

    def __init__(self):
        self.names = []

    def gather(self, jobs, load):
        self.names += jobs
        return super().gather(jobs, load)


def test_the_work_is_shared_by_who_is_asked_to(digits, tmp_path):
    units = Noted()
    searches = {"one": PAPER, "two": BLIND}
    params = digit_params(digits, search__searches=searches, search__queries=1)
    with_files(search_opened, params, 0, tmp_path / "found", units)
    assert units.names == ["one-0", "two-0"]


def test_no_more_seeds_are_asked_for_than_there_are_inputs(digits, tmp_path):
    params = digit_params(digits, limit=7, search__queries=1)
    assert with_files(search_opened, params, 0, tmp_path / "found")["paper"]["seeds"] == 7


SHIFT = np.array([0.5, 0])
CONSEQUENCE = {
    "search": "dflare",
    "options": {
        "fitness": "consequence",
        "delta": 0.001,
        "guided": True,
        "consequence": {"original": 0.51, "compressed": 0.51},
    },
}


def test_a_search_from_some_rows_knows_their_items_and_labels():
    params = vet_params(
        comparison={"kind": "top_label", "options": {}},
        search__seeds=100,
        search__queries=40,
        search__bound=None,
        search__searches={"own": CONSEQUENCE},
    )
    items = np.random.default_rng(0).uniform(-1, 1, (40, 2)).astype(np.float32)

    def scores(x):  # the first label where the first number is the larger one
        first = 1 / (1 + np.exp(-5 * (x[:, 0] - x[:, 1])))
        return np.stack([first, 1 - first], axis=1)

    models = Rule("f", scores), Rule("g", lambda x: scores(x - SHIFT))
    # Only the label 0 can be told rightly by the original and wrongly by the other.
    labels = np.arange(40) // 20
    vetted = vetted_rules(params, items, *models, labels=labels)
    for rows, consequential in ((np.arange(20), {True}), (np.arange(20, 40), {False})):
        found = search_rows(vetted, rows, 100, 0)["own"]
        assert {record.seed for record in found.seeds} <= set(rows.tolist()) and found.triggers
        if consequential == {False}:
            assert not any(trigger.consequential for trigger in found.triggers)
        else:
            assert any(trigger.consequential for trigger in found.triggers)
        already = vetted.deviates[rows]
        assert [
            record.seed for record in found.seeds if record.outcome == "deviates_already"
        ] == rows[already].tolist()
