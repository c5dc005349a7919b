"""Figures and triggering inputs of the page about a vetted pair, on results made by hand."""

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex

from asterism.core.files.artifacts import write_arrays, write_table
from asterism.report.base.pictures import png
from asterism.report.vetted.page import page as vetted
from report.page_parts import plain, rows
from report.vetted_results import FACTS, IMAGES, Results, share


@pytest.fixture
def figures(drawn):
    """What is drawn, by what it shows."""
    return drawn(vetted)


@pytest.fixture
def results(tmp_path, figures):
    return Results(tmp_path)


class TestTriggers:
    """The triggering inputs that the page shows."""

    def leave(self, results, count, **more):
        items = np.stack([IMAGES[n % 5] for n in range(count)])
        write_arrays(
            results.root / "artifacts/vet_search/triggers.npz",
            items=items,
            references=255 - items,
            seeds=np.arange(count) * 2,
            right=np.linspace(0, 0.5, count, dtype=np.float32),
            wrong=np.linspace(1, 0.5, count, dtype=np.float32),
            **more,
        )

    def shown(self, results):
        return vetted._triggers(results.root / "artifacts/vet_search/triggers.npz", results.facts)

    def test_each_stands_beside_its_seed(self, results):
        self.leave(results, 3)
        assert self.shown(results) == [
            {
                **{"name": f"image {2 * n}.png", "right": 0.25 * n, "wrong": 1 - 0.25 * n},
                "before": png(255 - IMAGES[n], "the seed"),
                "after": png(IMAGES[n], "the triggering input"),
            }
            for n in range(3)
        ]
        results.write()
        assert ["image 2.png", "", "", "0.250", "0.750"] in rows(results.page)
        assert "3 triggering inputs of the search" in plain(results.page)

    def test_what_is_no_image_has_no_picture_and_only_the_first_are_shown(self, results):
        self.leave(results, 17)
        results.facts = FACTS | {"kind": "tensors"}
        shown = self.shown(results)
        assert [entry["name"] for entry in shown] == [f"image {2 * n}.png" for n in range(12)]
        assert {tuple(entry) for entry in shown} == {("name", "right", "wrong")}
        results.write()
        assert ["image 0.png", "0.000", "1.000"] in rows(results.page)


class TestFigures:
    """Figures before they are drawn."""

    def test_classes_are_bars_with_intervals_the_worst_on_top(self, figures):
        counts = [3, 9, 0, 5]
        classes = {
            str(label): share(count, 10, count / 20, count / 10 + 0.05)
            for label, count in enumerate(counts)
        }
        vetted._classes(classes, ["cat", "dog", "hen"])
        (shown,) = figures.values()
        assert shown.alt == (
            "Bar chart: share of inputs on which the models differ, by class, with intervals. "
            "Largest: dog 90.0%, 3 50.0%, cat 30.0%."
        )
        assert shown.data["class"].to_list() == ["dog", "3", "cat", "hen"]
        assert shown.data["share"].to_list() == [0.9, 0.5, 0.3, 0]
        figure = shown.figure
        (axes,) = figure.axes
        names = [label.get_text() for label in axes.get_yticklabels()]
        assert names == ["hen", "cat", "3", "dog"]
        assert [bar.get_width() for bar in axes.patches] == [0, 0.3, 0.5, 0.9]
        (intervals,) = axes.collections
        ends = [segment[:, 0].tolist() for segment in intervals.get_segments()]
        expected = [[count / 20, count / 10 + 0.05] for count in (0, 3, 5, 9)]
        assert np.allclose(ends, expected)
        assert {to_hex(bar.get_facecolor()) for bar in axes.patches} == {"#0072b2"}
        assert {to_hex(colour) for colour in intervals.get_colors()} == {"#777777"}
        assert figure.get_size_inches().tolist() == [7, 2]
        assert axes.get_xlabel() == "share of inputs on which the models differ"

    def test_of_many_classes_the_worst_are_shown(self, figures):
        classes = {str(n): share(n, 50, n / 50, n / 50) for n in range(30)}
        vetted._classes(classes, [])
        (shown,) = figures.values()
        names = [label.get_text() for label in shown.figure.axes[0].get_yticklabels()]
        assert names == [str(n) for n in range(10, 30)]

    def test_without_classes_there_is_none(self, results, figures):
        assert vetted._classes({}, ["cat"]) == ""
        results.write()
        bars = figures["classes"].figure.axes[0].get_yticklabels()
        assert [label.get_text() for label in bars] == ["cat", "dog"]

    def test_errors_of_tensors_stand_in_their_order_and_what_is_no_number_is_left_out(
        self, tmp_path, figures
    ):
        assert vetted._errors(tmp_path / "none.csv") == ""
        table = {"relative_l2": ["0.5", "inf", "0.25"], "own_relative_l2": ["nan", "0.125", "2"]}
        write_table(tmp_path / "tensors.csv", pl.DataFrame(table))
        vetted._errors(tmp_path / "tensors.csv")
        (shown,) = figures.values()
        assert "relative error of each of 3 tensors along the graph" in shown.alt
        assert shown.data.columns == list(table)
        figure = shown.figure
        (axes,) = figure.axes
        values = [line.get_ydata().tolist() for line in axes.lines]
        assert np.array_equal(values[0], [0.5, np.nan, 0.25], equal_nan=True)
        assert np.array_equal(values[1], [np.nan, 0.125, 2], equal_nan=True)
        assert [line.get_color() for line in axes.lines] == ["#0072b2", "#e69f00"]
        assert {line.get_marker() for line in axes.lines} == {"."}
        assert {line.get_linestyle() for line in axes.lines} == {"None"}
        told = [text.get_text() for text in axes.get_legend().get_texts()]
        assert told == ["as it is in the compressed graph", "of the node alone"]
        assert axes.get_yscale() == "log"
        assert axes.get_xlabel() == "tensors, in the order of the graph"
        assert axes.get_ylabel() == "relative error"
        assert figure.get_size_inches().tolist() == [7, 3]
