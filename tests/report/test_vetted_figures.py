"""Figures and triggering inputs of the page about a vetted pair, on results made by hand."""

import numpy as np
import polars as pl
import pytest

from asterism.core.files.artifacts import write_arrays, write_table
from asterism.report.base.pictures import png
from asterism.report.vetted import page as vetted
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
        assert "3 triggering inputs" in plain(results.page)

    def test_what_is_no_image_has_no_picture_and_only_the_first_are_shown(self, results):
        self.leave(results, 17)
        results.facts = FACTS | {"kind": "tensors"}
        shown = self.shown(results)
        assert [entry["name"] for entry in shown] == [f"image {2 * n}.png" for n in range(12)]
        assert {tuple(entry) for entry in shown} == {("name", "right", "wrong")}
        results.write()
        assert ["image 0.png", "0.000", "1.000"] in rows(results.page)


class TestFigures:
    """What figures show."""

    def test_classes_have_their_shares_the_worst_first(self, figures):
        counts = {str(label): count for label, count in enumerate([3, 9, 0, 5])}
        classes = {label: share(n, 10, n / 20, n / 10 + 0.05) for label, n in counts.items()}
        vetted._classes(classes, ["cat", "dog", "hen"])
        (shown,) = figures.values()
        assert shown.data["class"].to_list() == ["dog", "3", "cat", "hen"]
        assert shown.data["share"].to_list() == [0.9, 0.5, 0.3, 0]

    def test_without_classes_there_is_none(self):
        assert vetted._classes({}, ["cat"]) == ""

    def test_errors_of_tensors_stand_in_their_order_and_what_is_no_number_is_left_out(
        self, tmp_path, figures
    ):
        assert vetted._errors(tmp_path / "none.csv") == ""
        table = {"relative_l2": ["0.5", "inf", "0.25"], "own_relative_l2": ["nan", "0.125", "2"]}
        write_table(tmp_path / "tensors.csv", pl.DataFrame(table))
        vetted._errors(tmp_path / "tensors.csv")
        (shown,) = figures.values()
        assert shown.data.columns == list(table)
        drawn, own = (line.get_ydata() for line in shown.figure.axes[0].lines)
        assert np.array_equal(drawn, [0.5, np.nan, 0.25], equal_nan=True)
        assert np.array_equal(own, [np.nan, 0.125, 2], equal_nan=True)
