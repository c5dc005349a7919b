"""Figures of the lanes about neurons and about libraries, before they are drawn."""

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import StepPatch

from asterism.core.drawing.svg import PALETTE
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


@pytest.mark.parametrize(
    ("count", "panels", "size"), [(1, 1, 1.7), (2, 2, 1.7), (3, 3, 1.7), (4, 6, 3.4)]
)
def test_important_neurons_have_a_panel_each(drawn, count, panels, size):
    figures = drawn(drawings)
    drawings.histograms(NEURONS[:count])
    (shown,) = figures.values()
    told = ["1 cluster", "2 clusters", "3 clusters", "3 clusters"][:count]
    assert shown.alt == (
        "Histograms of the important neurons' activations over the training inputs, with a line "
        "at each cluster's centroid: "
        + ", ".join(f"neuron {number} has {clusters}" for number, clusters in enumerate(told))
        + "."
    )
    assert shown.data.rows()[:2] == [(0, 0.0, 1.0, 3), (0, 1.0, 2.0, drawings.LINEAR_UP_TO + 1)]
    assert len(shown.data) == 2 * count
    figure = shown.figure
    assert len(figure.axes) == panels
    assert figure.get_size_inches().tolist() == [6.4, pytest.approx(size)]
    assert [axes.axison for axes in figure.axes] == [n < count for n in range(panels)]
    assert figure.get_supxlabel() == "activation over the training inputs"
    for number, axes in enumerate(figure.axes[:count]):
        (bars,) = [p for p in axes.patches if isinstance(p, StepPatch)]
        assert bars.get_data().values.tolist() == NEURONS[number]["histogram"]
        assert bars.get_data().edges.tolist() == [0, 1, 2]
        assert bars.get_fill() and to_hex(bars.get_facecolor()) == PALETTE[4]
        assert [line.get_xdata()[0] for line in axes.lines] == NEURONS[number]["centroids"]
        assert {to_hex(line.get_color()) for line in axes.lines} == {PALETTE[5]}
        assert {line.get_linewidth() for line in axes.lines} == {1.2}
        assert axes.get_yscale() == ("symlog" if number == 0 else "linear")
        assert axes.get_title() == f"neuron {number}: {told[number]}"


def test_counts_up_to_a_limit_are_shown_as_they_are(drawn):
    figures = drawn(drawings)
    most = [NEURONS[1] | {"histogram": [drawings.LINEAR_UP_TO, 0]}]
    drawings.histograms(most)
    assert [shown.figure.axes[0].get_yscale() for shown in figures.values()] == ["linear"]


def test_the_rise_by_each_augmentation_stands_beside_those_by_its_controls(drawn):
    figures = drawn(drawings)
    facts = {
        **{"value": 0.5, "clean_mean": 0.375, "clean_std": 0.0625},
        **{"noise_mean": 0.25, "noise_std": None},
    }
    augmentations = {"fgsm": {"idc_6": facts}, "semantic": {"idc_6": facts | {"value": 0.75}}}
    drawings.gains({"idc_6": 0.125}, augmentations, "idc_6")
    (shown,) = figures.values()
    assert shown.alt == (
        "Bar chart: rise of IDC 6 in points by each augmentation, beside its clean and its random "
        "control: FGSM 37.5 beside 25.0 and 12.5; natural, most different 62.5 beside 25.0 and "
        "12.5."
    )
    assert shown.data.rows() == [("fgsm", 37.5, 25, 12.5), ("semantic", 62.5, 25, 12.5)]
    figure = shown.figure
    (axes,) = figure.axes
    bars = [container for container in axes.containers if hasattr(container, "patches")]
    heights = [[bar.get_height() for bar in container] for container in bars]
    assert heights == [[37.5, 62.5], [25, 25], [12.5, 12.5]]
    middles = [[bar.get_x() + bar.get_width() / 2 for bar in container] for container in bars]
    assert np.allclose(middles, [[-0.27, 0.73], [0, 1], [0.27, 1.27]])
    assert {bar.get_width() for container in bars for bar in container} == {0.25}
    assert [to_hex(container[0].get_facecolor()) for container in bars] == list(PALETTE[:3])
    spreads = [
        [segment[1, 1] - segment[0, 1] for segment in container.errorbar.lines[2][0].get_segments()]
        for container in bars
    ]
    assert spreads == [[0, 0], [12.5, 12.5], [0, 0]]
    labels = [container.get_label() for container in bars]
    assert labels == ["the augmentation", *drawings.CONTROLS.values()]
    names = [text.get_text() for text in axes.get_xticklabels()]
    assert names == ["FGSM", "natural, most\ndifferent"]
    assert axes.get_ylim()[0] == 0 and axes.get_ylabel() == "rise of IDC (points)"
    assert figure.get_size_inches().tolist() == [6.4, 3.2]
    assert not axes.get_legend().get_frame_on()


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
    assert shown.alt == (
        "Line chart: share of layer types covered by generated models, a line for each strategy. "
        f"At the end: {libraries.STRATEGIES['memo']} 75.0%, {libraries.STRATEGIES['cradle']} "
        "50.0%, other 12.5%."
    )
    assert shown.data.equals(table)
    figure = shown.figure
    (axes,) = figure.axes
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines) == [libraries.STRATEGIES["memo"], libraries.STRATEGIES["cradle"], "other"]
    points = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines]
    assert points == [
        ([0, 5, 9, 9], [25, 50, 75, 75]),
        ([0, 1, 9], [25, 50, 50]),
        ([0, 9], [12.5, 12.5]),
    ]
    assert [line.get_color() for line in axes.lines] == list(PALETTE[:3])
    assert axes.get_xlabel() == "generated models" and axes.get_ylabel() == "layer types (%)"
    assert figure.get_size_inches().tolist() == [6, 2.6]
    assert not axes.get_legend().get_frame_on()


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


def test_a_model_is_drawn_from_top_to_bottom_each_layer_below_what_it_reads(drawn):
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
    ((name, shown),) = figures.items()
    assert name == "model-litert-crash"
    assert shown.alt.startswith("Boxes joined by arrows: the smallest model found, InputLayer(")
    assert shown.alt.endswith(
        "then Dense(units=4) with a special weight, then Dense(units=4, activation=tanh), "
        "then Add()."
    )
    assert shown.data["node"].to_list() == [0, 1, 2, 3]
    assert shown.data["inputs"].to_list() == ["", "0", "0", "1 2"]
    figure = shown.figure
    (axes,) = figure.axes
    boxes = [text for text in axes.texts if text.get_text()]
    captions = {text.get_text(): text.get_position() for text in boxes}
    (start,) = [text for text in captions if text.startswith("InputLayer(shape=[6]")]
    assert captions == {
        start: (0, 0),
        "Dense(units=4)\nwith a special weight": (0, -1),
        "Dense(units=4, activation=tanh)": (1, -1),
        "Add()": (0, -2),
    }
    assert all(text.get_ha() == text.get_va() == "center" for text in boxes)
    assert {text.get_fontsize() for text in boxes} == {8}
    box_inches = 0.21 + 0.15 * 2  # the longest caption has two lines
    edge = box_inches / (box_inches + 0.24) / 2
    arrows = [(text.xy, text.xyann) for text in axes.texts if not text.get_text()]
    assert arrows == [
        ((0, pytest.approx(-1 + edge)), (0, pytest.approx(-edge))),
        ((1, pytest.approx(-1 + edge)), (0, pytest.approx(-edge))),
        ((0, pytest.approx(-2 + edge)), (0, pytest.approx(-1 - edge))),
        ((0, pytest.approx(-2 + edge)), (1, pytest.approx(-1 - edge))),
    ]
    assert (axes.get_xlim(), axes.get_ylim()) == ((-0.5, 1.5), (-2.5, 0.5))
    assert not axes.axison
    wide, high = figure.get_size_inches()
    assert (wide, high) == (pytest.approx(6.4), pytest.approx((box_inches + 0.24) * 3 + 0.2))
