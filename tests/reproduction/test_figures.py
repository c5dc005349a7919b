"""Series of experiments' tables, and the figures that are drawn of them."""

import pytest
from recorded_runs import recorded_point, recorded_run

from asterism.config import SeriesParams
from asterism.core.files.artifacts import write_table
from asterism.core.messages.errors import UserError
from asterism.reproduction.collecting import read_series
from asterism.reproduction.experiments import read_experiments
from asterism.reproduction.figures import PaperFigure, draw_figures, read_figures
from asterism.reproduction.records import BINS, RecordedSeries
from places import ROOT

ROWS = [{"search": "a", "queries": n} for n in (1, 2, 3, 5, 5, 7, 9000)] + [
    {"search": "b", "queries": 4}
]


@pytest.fixture
def table(tmp_path):
    write_table(tmp_path / "t.csv", ROWS)
    return tmp_path


def figure(kind, **drawn):
    """A figure of one experiment."""
    one = {"experiment": "one", "label": "it", **drawn}
    return PaperFigure(title="One", paper="Dflare", kind=kind, across="x", up="y", drawn=[one])


def axes_of(figure_, *points, scale="small"):
    (plot,) = draw_figures({"one": figure_}, {"one": recorded_run(points, scale=scale)})
    return plot.figure.axes[0]


def test_a_histogram_counts_the_rows_that_are_wanted(table):
    settings = SeriesParams(file="t.csv", column="queries", where={"search": "a"})
    assert read_series(table, settings) == RecordedSeries([1, 2, 3, 4, 6, 8192], [1, 1, 1, 2, 1, 1])


def test_bins_grow_and_have_no_gap():
    assert BINS[:9] == (1, 2, 3, 4, 6, 8, 12, 16, 24)
    assert list(BINS) == sorted(set(BINS))


@pytest.mark.parametrize("count", [1, 2, 24, 500])
def test_a_curve_keeps_its_first_and_its_last_point(tmp_path, count):
    write_table(tmp_path / "t.csv", {"x": list(range(count)), "y": [n / 3 for n in range(count)]})
    found = read_series(tmp_path, SeriesParams(file="t.csv", column="y", over="x"))
    assert len(found.x) == min(count, 24)
    assert (found.x[0], found.x[-1]) == (0, count - 1)
    assert found.y == [float(f"{x / 3:.5g}") for x in found.x]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"column": "query"}, "t.csv has no column 'query' (it has: search, queries)"),
        ({"column": "search"}, "t.csv holds values other than numbers in ['search']"),
    ],
)
def test_a_wrong_column_is_told(table, changes, told):
    settings = SeriesParams(**{"file": "t.csv", "column": "queries"} | changes)
    with pytest.raises(UserError) as error:
        read_series(table, settings)
    assert told in str(error.value)


def test_a_table_without_rows_gives_an_empty_series(table):
    settings = SeriesParams(file="t.csv", column="queries", where={"search": "c"})
    assert read_series(table, settings) == RecordedSeries((), ())


def test_a_histogram_is_of_all_points_together():
    axes = axes_of(
        figure("histogram", series="q"),
        recorded_point({}, {}, series={"q": RecordedSeries([1, 3], [1, 1])}),
        recorded_point({}, {}, series={"q": RecordedSeries([3], [2])}),
    )
    values = axes.patches[0].get_data().values
    assert values[:4].tolist() == [25, 0, 75, 0]
    assert axes.get_legend().get_texts()[0].get_text() == "it"


def test_a_curve_is_the_mean_as_far_as_all_points_reach():
    axes = axes_of(
        figure("curves", series="q"),
        recorded_point({}, {}, series={"q": RecordedSeries([0, 10, 20], [0, 10, 20])}),
        recorded_point({}, {}, series={"q": RecordedSeries([0, 10], [0, 30])}),
    )
    assert axes.lines[0].get_xydata().tolist() == [[0, 0], [10, 20]]


def test_bars_are_means_over_the_points_of_a_value():
    points = [
        recorded_point({"a:x": value}, {"p": where, "seed": str(seed)})
        for seed, (where, value) in enumerate((("1", 2.0), ("1", 4.0), ("2", 5.0)))
    ]
    axes = axes_of(figure("bars", value="a:x", parameter="p"), *points)
    assert [bar.get_height() for bar in axes.patches] == [3, 5]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2"]


def test_only_points_with_the_parameters_that_are_wanted_are_drawn():
    points = [
        recorded_point({}, {"classifier": name}, series={"q": RecordedSeries([0, 1], [0, height])})
        for name, height in (("a", 1), ("b", 9))
    ]
    axes = axes_of(figure("curves", series="q", where={"classifier": "a"}), *points)
    assert axes.lines[0].get_ydata().tolist() == [0, 1]


def test_smoke_runs_and_runs_without_the_series_are_not_drawn():
    one = figure("curves", series="q")
    point = recorded_point({}, {}, series={"q": RecordedSeries([0], [0])})
    for points, scale in (([point], "smoke"), ([recorded_point({}, {})], "small")):
        assert draw_figures({"one": one}, {"one": recorded_run(points, scale=scale)}) == []
    assert draw_figures({"one": one}, {}) == []


@pytest.mark.parametrize(
    ("kind", "given"),
    [("bars", {"series": "q"}), ("curves", {"value": "a:x", "parameter": "p"}), ("bars", {})],
)
def test_a_figure_that_lacks_what_its_kind_draws_is_told(tmp_path, kind, given):
    drawn = ", ".join(f"{name}: {value!r}" for name, value in given.items())
    text = f"title: t\npaper: MEMO\nkind: {kind}\nacross: x\nup: y\n"
    text += f"drawn: [{{experiment: one, label: it, {drawn}}}]\n"
    (tmp_path / "one.yaml").write_text(text)
    with pytest.raises(UserError, match="value and parameter") as error:
        read_figures(tmp_path)
    assert "one.yaml" in str(error.value)


def test_the_papers_figures_draw_what_their_experiments_record():
    experiments = read_experiments(ROOT / "conf")
    figures = read_figures(ROOT / "results/figures")
    assert figures
    for name, one in figures.items():
        for drawn in one.drawn:
            settings = experiments[drawn.experiment].settings
            if drawn.series is not None:
                assert drawn.series in settings.series, name
            else:
                scales = " ".join(o for scale in settings.scales.values() for o in scale)
                assert f"{drawn.parameter}=" in scales, name
