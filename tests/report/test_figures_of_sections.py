"""What the figures about neurons and about libraries show."""

import numpy as np
import polars as pl
import pytest

from asterism.memo.graphs.graph import Graph, Node, WeightEdit, input_node
from asterism.report.base.pictures import png
from asterism.report.lanes.importance import drawings
from asterism.report.lanes.importance import section as importance
from asterism.report.lanes.libraries import section as libraries

NEURONS = [
    {
        **{"neuron": number, "edges": [0.0, 1.0, 2.0], "histogram": counts},
        "centroids": [0.5, 1.5, 1.75][: number + 1],
    }
    for number, counts in enumerate([[3, drawings.LINEAR_UP_TO + 1], [2, 1], [5, 0], [1, 1]])
]


def test_relevance_is_red_and_blue_and_white():
    found = drawings.diverging(np.array([[4.0, 0.0, -4.0, 1.0]], np.float32))
    assert found.dtype == np.uint8
    assert found[0].tolist()[:3] == [[178, 24, 43], [255, 255, 255], [33, 102, 172]]
    assert found[0, 3].tolist() == [round(255 + (end - 255) / 2) for end in (178, 24, 43)]
    assert (drawings.diverging(np.zeros((2, 2), np.float32)) == 255).all()


def test_heatmaps_stand_beside_their_images_class_by_class():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (3, 2, 2, 1)).astype(np.uint8)
    relevance = rng.normal(size=(3, 2, 2)).astype(np.float32)
    arrays = {"labels": np.array([7, 2, 7]), "images": images, "relevance": relevance}
    shown = drawings.heatmaps(arrays)
    assert [(label, len(pairs)) for label, pairs in shown] == [(2, 1), (7, 2)]
    for (label, pairs), places in zip(shown, [[1], [0, 2]], strict=True):
        for (image, colours), at in zip(pairs, places, strict=True):
            assert image == png(images[at], f"an input of class {label}", 56)
            drawn_ = drawings.diverging(relevance[at])
            assert colours == png(drawn_, f"relevance of its pixels for class {label}", 56)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        *((None, "–"), (1234.0, "1,234"), (1.5, "1.5"), (1, "100.0%"), (0.1, "10.0%")),
        *((0.0999, "9.99%"), (0.00123, "0.123%"), (0, "0.0%"), (1.04, "1")),
    ],
)
def test_shares_are_percent_and_counts_are_as_they_are(value, told):
    assert importance._number(value) == told


@pytest.mark.parametrize(
    ("facts", "step", "clean", "noise"),
    [
        ({"value": 0.5}, 0.0, True, True),
        ({"value": 0.3}, 0.0, False, True),
        ({"value": 0.11}, 0.0, False, False),
        ({"value": 0.5}, 0.31, False, True),
        ({"value": 0.5, "clean_std": 0.5}, 0.0, False, True),
    ],
)
def test_an_augmentation_rises_by_more_than_its_controls_and_one_combination(
    facts, step, clean, noise
):
    given = {
        **{"clean_mean": 0.2, "clean_std": 0.05, "noise_mean": 0.1, "noise_std": 0.01},
        **facts,
    }
    assert importance._verdict(given, step) == importance.VERDICTS[clean, noise]
    assert importance._verdict(given | {"clean_std": None}, step) == importance.NO_VERDICT


def test_findings_are_counted_by_library_and_symptom():
    unique = [
        {"finding": {"library": library, "symptom": symptom}}
        for library, symptom in (("b", "nan"), ("a", "crash"), ("b", "nan"), ("b", "crash"))
    ]
    assert libraries._by_library(unique) == {
        "names": ["crash", "nan"],
        "rows": [("a", [1, 0]), ("b", [1, 2])],
    }
    assert libraries._by_library([]) == {"names": [], "rows": []}


def test_important_neurons_have_a_histogram_each(drawn):
    figures = drawn(drawings)
    drawings.histograms(NEURONS)
    (shown,) = figures.values()
    assert shown.data.rows()[:2] == [(0, 0.0, 1.0, 3), (0, 1.0, 2.0, drawings.LINEAR_UP_TO + 1)]
    assert len(shown.data) == 2 * len(NEURONS)


def test_the_rise_by_each_augmentation_stands_beside_those_by_its_controls(drawn):
    figures = drawn(drawings)
    facts = {
        **{"value": 0.5, "clean_mean": 0.375, "clean_std": 0.0625},
        **{"noise_mean": 0.25, "noise_std": None},
    }
    augmentations = {"fgsm": {"idc_6": facts}, "semantic": {"idc_6": facts | {"value": 0.75}}}
    drawings.gains({"idc_6": 0.125}, augmentations, "idc_6")
    (shown,) = figures.values()
    assert shown.data.rows() == [("fgsm", 37.5, 25, 12.5), ("semantic", 62.5, 25, 12.5)]


def test_coverage_grows_to_the_end_of_the_longest_strategy(drawn):
    figures = drawn(libraries)
    table = pl.DataFrame(
        {
            "strategy": ["cradle", "cradle", "other", "memo", "memo", "memo"],
            "models": [0, 1, 0, 0, 5, 9],
            "types": [0.25, 0.5, 0.125, 0.25, 0.5, 0.75],
        }
    )
    libraries._growth(table, "types")
    (shown,) = figures.values()
    assert shown.data.equals(table)
    points = [(list(c.get_xdata()), list(c.get_ydata())) for c in shown.figure.axes[0].lines]
    assert sorted(points) == [
        ([0, 1, 9], [25, 50, 50]),
        ([0, 5, 9, 9], [25, 50, 75, 75]),
        ([0, 9], [12.5, 12.5]),
    ]


def test_a_model_is_drawn_with_what_each_layer_reads(drawn):
    figures = drawn(libraries)
    graph = Graph(
        {
            0: input_node((6,)),
            1: Node("Dense", {"units": 4}, (0,), edits=(WeightEdit("special", 1),)),
            2: Node("Dense", {"units": 4, "activation": "tanh"}, (0,)),
            3: Node("Add", {}, (1, 2)),
        }
    )
    libraries._model(graph, "litert-crash")
    (shown,) = figures.values()
    assert shown.data["node"].to_list() == [0, 1, 2, 3]
    assert shown.data["inputs"].to_list() == ["", "0", "0", "1 2"]
    layers = ("Dense(units=4) with a special weight", "Dense(units=4, activation=tanh)", "Add()")
    assert all(layer in shown.alt for layer in layers)
