"""How differences and tables of experiments are told, in a terminal and on a page."""

import os
import shlex

import polars as pl
import pytest

from asterism.core.messages.errors import UserError
from asterism.results import difference_page, runs
from asterism.results.difference_page import as_text, write_differences
from asterism.results.differences import Change, Differences, Finding, PlotChange
from asterism.results.experiments import Experiment
from asterism.results.pages import find_page
from asterism.results.runs import Runs, dvc_command, spoken


def found(**parts):
    nothing = {
        "before": "first", "after": "second", "parameters": [], "metrics": [], "alike": (3, 4),
        "plots": [], "findings": [], "verdict": (None, None), "outputs": {}, "missing": {},
    }  # fmt: skip
    return Differences(**nothing | parts)


def curves(factor, rows=3, kinds=("a",)):
    return pl.DataFrame(
        [
            {"n": n, "v": float(n * factor), "w": 1.0 * factor, "kind": kind}
            for kind in kinds
            for n in range(rows)
        ]
    )


def plot(first, second, **columns):
    return PlotChange("plots/p/x.csv", first, second, columns)


def test_states_that_are_alike_are_told_in_few_lines():
    assert as_text(found()) == [
        f"{'':44}{'first':>16}  {'second':>16}  change",
        "parameters: none differs",
        "metrics: none differs",
        "0 outputs of stages differ",
    ]


def test_each_kind_of_difference_has_its_line():
    told = as_text(
        found(
            before="a" * 15 + "bc",
            parameters=[Change("k", None, 2)],
            metrics=[Change(f"a:{n}", 1, 2) for n in range(18)],
            plots=[plot(None, curves(1)), plot(curves(1), None)],
            findings=[Finding(x, "l", "s", x) for x in ("new", "gone", "same")],
            verdict=("ship", None),
            outputs={"x": "new"},
            missing={"first": ["a", "b", "c", "d"]},
        )
    )
    assert told[0].split() == ["a" * 15 + "b", "second", "change"]
    assert told[1:4] == ["parameters:", f"  {'k':42}{'–':>16}  {'2':>16}", "metrics:"]
    assert told[4] == f"  {'a:0':42}{'1':>16}  {'2':>16}  +1 (+100.0%)"
    assert told[19:] == [
        f"  {'a:15':42}{'1':>16}  {'2':>16}  +1 (+100.0%)",
        "  2 more metrics differ",
        "plot: plots/p/x.csv: new",
        "plot: plots/p/x.csv: gone",
        "new finding: new",
        "gone finding: gone",
        "verdict: ship → –",
        "not in the cache of first: a, b, c; `asterism pull` fetches",
        "1 outputs of stages differ",
    ]


def test_a_verdict_that_stays_is_not_told():
    assert "verdict" not in "\n".join(as_text(found(verdict=("ship", "ship"))))
    exact = "\n".join(as_text(found(metrics=[Change("m", 1, 2)] * runs.SHOWN)))
    assert "more metrics" not in exact and exact.count("  m ") == runs.SHOWN


def test_of_long_names_the_end_is_shown():
    assert difference_page._line(Change("n" * 42, "a", "b")).split()[0] == "n" * 42
    assert difference_page._line(Change("m" + "n" * 42, "a", "b")).split()[0] == "…" + "n" * 41


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (2, 3, "+1 (+50.0%)"), (-2, -3, "-1 (-50.0%)"), (0, 0.25, "+0.25"), ("a", 1, ""),
        (4.0, 3.0, "-1 (-25.0%)"), (1, 1.00001237, "+1.237e-05 (+0.0%)"),
    ],
)  # fmt: skip
def test_numbers_are_told_with_sign_and_share(before, after, told):
    assert difference_page._signed(Change("x", before, after)) == told


def test_what_changed_in_a_plot_is_one_clause():
    told, table = difference_page._told, curves(1)
    assert told(plot(table, curves(1, rows=5), v=None)) == "3 rows, now 5"
    assert told(plot(table, table)) == "its texts or columns differ"
    assert told(plot(table, table, v=2.0)) == "1 column changed, most v (by up to 2)"
    both = plot(table, table, n=None, v=2.0, w=3.5)
    assert told(both) == "3 columns changed, most w (by up to 3.5)"
    assert told(plot(table, table, n=None)) == "1 column changed, most n (by up to 0)"


# the page


def drawn(plot):
    return str(difference_page._drawn(plot, found()))


def test_curves_are_drawn_of_both_states():
    page = drawn(plot(curves(1), curves(2), n=1.0, v=2.0, w=1.0))
    assert "v, w against n: dashed first, solid second" in page
    assert "plots-p-x" in page and "plots/p/x.csv: v, w" in page


@pytest.mark.parametrize(
    "nothing",
    [
        plot(None, curves(1), v=1.0),
        plot(curves(1), None, v=1.0),
        plot(curves(1), curves(2)),
        plot(curves(1), curves(2), n=1.0),
        plot(curves(1, rows=2), curves(2, rows=2), v=1.0),
        plot(curves(1), curves(2).drop("kind"), v=1.0),
    ],
)
def test_without_curves_nothing_is_drawn(nothing):
    assert drawn(nothing) == ""


def test_at_most_four_columns_are_drawn():
    tables = [pl.DataFrame({c: [0, k, 2 * k] for c in "nabcde"}) for k in (1, 2)]
    assert "a, b, c, d against n:" in drawn(plot(*tables, **dict.fromkeys("abcde", 1.0)))


def test_the_first_groups_of_a_table_have_lines_of_their_own():
    table = curves(1, kinds="gfedcba")
    groups = difference_page._groups(table, ["kind"])
    assert [key for key, _ in groups] == [["g"], ["f"], ["e"], ["d"], ["c"]]
    assert all(rows["n"].to_list() == [0, 1, 2] for _, rows in groups)
    ((key, rows),) = difference_page._groups(table, [])
    assert key == [] and rows is table
    assert difference_page._groups(table, ["kind", "n"])[1][0] == ["g", "1"]


def test_the_page_counts_and_lists_what_differs(monkeypatch, tmp_path):
    written = []
    monkeypatch.setattr(difference_page, "write_document", lambda *words: written.append(words))
    everything = found(
        parameters=[Change("k", 1, 2)],
        metrics=[Change(f"a:m{n}", 0, n) for n in range(1, 19)],
        plots=[plot(curves(1), curves(2), v=2.0)],
        findings=[
            Finding(s, "lib", "crash", c)
            for s, c in (("s1", "new"), ("s2", "gone"), ("s3", "gone"))
        ],
        verdict=("ship", None),
    )
    write_differences(tmp_path / "x.html", everything)
    ((target, (section,), sweeps, title),) = written
    assert (target, sweeps, title) == (tmp_path / "x.html", "", "Asterism: first and second")
    assert (section.anchor, section.title) == ("diff", "first and second")
    assert section.question == "What changed in the results?" and section.order == 0
    assert [(figure.label, figure.value) for figure in section.headline] == [
        ("parameters differ", "1"), ("metrics differ", "18 of 22"), ("plots differ", "1"),
        ("findings new", "1"), ("findings gone", "2"), ("verdict", "ship → –"),
    ]  # fmt: skip
    body = str(section.body)
    assert "2 more metrics" in body and "a:<wbr>m18" in body and "4 metrics are the same" in body
    assert "<b>gone</b>" in body and "v against n: dashed first, solid second" in body
    assert section.contents
    write_differences(tmp_path / "x.html", found())
    assert len(written[1][1][0].headline) == 5
    assert "All 3 parameters are the same" in str(written[1][1][0].body)


# experiments beside each other


def beside(count=2, metrics=1, missing=()):
    made = [Experiment(f"e{n}", "0123456789", "b", "2026-01-31 12:00") for n in range(count)]
    values = {f"a:m{n}": list(range(count)) for n in range(metrics)}
    return Runs(made, {"k.l": list(range(count))}, values, (5, 6), list(missing))


def told(found, everything=False, width=80):
    return runs.as_text(found, "dvc x", everything=everything, width=width)


def test_experiments_are_numbered_and_their_values_stand_in_columns():
    assert told(beside()) == [
        "  1  e0  (2026-01-31 12:00, 0123456)",
        "  2  e1  (2026-01-31 12:00, 0123456)",
        "",
        "parameters  1  2",
        "k.l         0  1",
        "",
        "metrics  1  2",
        "a:m0     0  1",
        "",
        "5 parameters and 6 metrics are the same in all",
        "the same by DVC: dvc x",
    ]


def test_metrics_and_names_that_are_left_out_are_counted():
    many = beside(metrics=18, missing="wxyz")
    lines = told(many)
    assert "2 more metrics differ: --all shows them" in lines and "a:m16    0  1" not in lines
    assert any("in the cache of: w, x, y, …; `asterism pull`" in line for line in lines)
    assert any("in the cache of: x, y, z; `as" in li for li in told(beside(missing="xyz")))
    lines = told(many, everything=True)
    assert "a:m17    0  1" in lines and not any("more metrics" in line for line in lines)


def test_as_many_columns_as_fit_stand_in_a_line():
    rows = {"name": ["11", "22", "33"]}
    whole = ["p      1   2   3", "name  11  22  33"]
    assert runs._blocks("p", rows, 3, 16) == whole
    assert runs._blocks("p", rows, 3, 15) == [
        "p      1   2", "name  11  22", "p      3", "name  33",
    ]  # fmt: skip
    assert len(runs._blocks("p", rows, 3, 1)) == 6
    assert runs._blocks("metrics", {"n": ["1"]}, 1, 80) == ["metrics  1", "n        1"]
    assert runs._blocks("p", {"n" * 60: ["1"]}, 1, 80)[1] == "n" * 60 + "  1"
    assert runs._blocks("p", {"m" + "n" * 60: ["1"]}, 1, 80)[1] == "…" + "n" * 59 + "  1"


def test_metrics_are_ranked_by_what_they_tell():
    metrics = {"a:x.y": [1], "a:z": [2], "b:c": [3]}
    assert runs._ranked(metrics) == ["a:z", "b:c", "a:x.y"]


def test_the_call_of_dvc_keeps_what_is_shown():
    plain = ["dvc", "exp", "show", "--hide-workspace", "--only-changed"]
    call = dvc_command(beside(metrics=16), all_commits=False, everything=False)
    assert shlex.split(call) == [*plain, "--drop", "[^:]*/[^:]*$"]
    many = beside(metrics=17)
    call = dvc_command(many, all_commits=True, everything=True)
    assert shlex.split(call) == [*plain, "--all-commits", "--drop", "[^:]*/[^:]*$"]
    words = shlex.split(dvc_command(many, all_commits=False, everything=False))
    assert words[:-1] == [*plain, "--drop", "(?!Experiment|Created)", "--keep"]
    names = "|".join(f"m{n}" for n in range(16))
    assert words[-1] == rf"(.*:)?(k\.l|{names})$"


def test_a_program_reads_each_experiment_with_its_own_values():
    one = {"commit": "0123456789", "baseline": "b", "made": "2026-01-31 12:00"}
    assert runs.as_json(beside(missing=["e1"]), "dvc x") == {
        "experiments": [
            {"name": f"e{n}", **one, "parameters": {"k.l": n}, "metrics": {"a:m0": n}}
            for n in (0, 1)
        ],
        "alike": {"parameters": 5, "metrics": 6},
        "missing": ["e1"],
        "dvc": "dvc x",
    }


def test_tables_differ_where_two_values_do():
    tables = [{"a": 1, "b": 1, "c": 0}, {"a": 2, "b": 1}, {"a": 1, "b": 1, "c": 0, "d": None}]
    assert runs.differing(tables) == ({"a": [1, 2, 1], "c": [0, None, 0]}, 2)
    assert runs.differing([{"a": 1}, {"a": 1.0}]) == ({"a": [1, 1.0]}, 0)
    assert runs.differing([]) == ({}, 0)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1234567.0, "1.23457e+06"),
        ("x" * 16, "x" * 16),
        ("yz" + "x" * 15, "…" + "x" * 15),
        (True, "True"),
    ],
)
def test_values_of_sixteen_letters_are_whole(value, shown):
    assert spoken(value) == shown


# pages


def put(root, name, age=0):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).touch()
    os.utime(root / name, (1000 - age, 1000 - age))
    return root / name


def test_the_page_of_a_sweep_is_that_of_its_only_vetted_pair(tmp_path):
    index = put(tmp_path, "sweeps/s/index.html")
    assert find_page(tmp_path, "s") == index
    first = put(tmp_path, "sweeps/s/points/0/vet/index.html")
    assert find_page(tmp_path, "s") == first
    put(tmp_path, "sweeps/s/points/1/vet/index.html")
    assert find_page(tmp_path, "s") == index
    with pytest.raises(UserError, match=r"no page is called 'z' \(known: report, .*, s\)"):
        find_page(tmp_path, "z")


def test_the_latest_page_is_meant_whatever_its_pattern(tmp_path):
    own = put(tmp_path, "report/vet/index.html", age=5)
    newer = put(tmp_path, "sweeps/s/points/0/vet/index.html")
    put(tmp_path, "sweeps/r/points/0/vet/index.html", age=9)
    assert find_page(tmp_path, "vet") == newer
    os.utime(own, (2000, 2000))
    assert find_page(tmp_path, "vet") == own
    with pytest.raises(UserError, match=r"no diffs/\*\.html yet: `asterism diff REV1 REV2` makes"):
        find_page(tmp_path, "diff")
