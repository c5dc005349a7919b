"""The page of an upgrade: its rows, what each cell says, and the figures above them."""

from types import SimpleNamespace

import pytest
from made_up_changes import made_change
from made_up_pool import PAIR
from small_files import chain

from asterism.comparing import comparison as comparing
from asterism.comparing.cases import CHANGES, UpgradePair
from asterism.comparing.commands import OF_VERSIONS
from asterism.comparing.comparison import BackendComparison
from asterism.comparing.running import write_comparison_page
from asterism.differential.params import JudgeParams
from asterism.differential.subjects.onnx_file import make_subject

FASTER = UpgradePair("onnxruntime@0.1:file_optimised", "onnxruntime:file_optimised")
OFF = {"excess": 1234.5}


def change(subject="m", kind="now wrong", pair=PAIR, inputs="normal", **more):
    return made_change(kind, subject, pair, inputs, **more)


def comparison(*changes, shown=None, layers=("Exp a",), statuses=(0, 1)):
    """A comparison whose row of one of the changes has a script."""
    subjects = {c.subject: make_subject(c.subject, chain("Relu", "Neg"), 4, {}) for c in changes}
    given = [(s, [c for c in changes if c.subject == n]) for n, s in subjects.items()]
    versions = ({"a": "1", "b": "2"}, {"b": "3", "c": "4"})
    rest = {"versions": versions, "subjects": given, "rejected": [("bad", "no <file>")]}
    found = BackendComparison(page=OF_VERSIONS, compared=("lib 1", "lib 2"), **rest)
    for row in (row for row in found.rows if shown in row.cases):
        row.part = SimpleNamespace(layers=list(layers), nodes=9, finished=True)
        row.folder, row.statuses = "01-folder", dict(zip(("lib 1", "lib 2"), statuses, strict=True))
    return found


@pytest.fixture(autouse=True)
def titles(monkeypatch):
    monkeypatch.setattr(comparing, "title_of", lambda name: "lib 1" if "@" in name else "lib 2")


@pytest.fixture
def written(tmp_path):
    """Writes the page of a comparison; its text with single spaces."""

    def write(found):
        write_comparison_page(found, tmp_path / "p.html", JudgeParams(ulps=64, conditioning=8))
        return " ".join((tmp_path / "p.html").read_text().split())

    return write


@pytest.mark.parametrize(
    ("facts", "old", "new", "said"),
    [
        (OFF, None, ["values differ", 1234.5], ""),
        ({"excess": float("inf")}, None, ["values differ", 1e30], ""),
        ({"new": "wrong shape"}, None, ["wrong shape", 0.0], ""),
        ({"kind": "differs", **OFF}, ["values differ", 1234.5], None, ""),
        ({"kind": "no longer runs", "exception": "A"}, None, None, "error: A"),
    ],
)
def test_the_facts_say_how_far_off_each_version_is(facts, old, new, said):
    one = change(**facts, gap=0.5)
    found = comparison(one).to_json()
    (row,) = found["findings"]
    assert (row["model"], row["kind"], row["seen"]) == ("m", one.kind, [["file", "normal"]])
    assert (row["old"], row["new"], row["apart"], row["said"]) == (old, new, 0.5, said)
    assert found["models"] == [{"name": "m", "nodes": 2, "statuses": {"file": one.kind}}]
    assert "script" not in row and found["rejected"] == [["bad", "no <file>"]]


@pytest.mark.parametrize(
    ("kind", "statuses", "confirmed"),
    [
        ("now wrong", (0, 1), True),
        ("now wrong", (1, 0), False),
        ("now wrong", (0, 2), False),
        ("now right", (1, 0), True),
        ("now right", (0, 1), False),
    ],
)
def test_the_version_to_blame_must_fail_the_script(kind, statuses, confirmed):
    one = change(kind=kind)
    (row,) = comparison(one, shown=one, statuses=statuses).rows
    assert row.confirmed == confirmed


def test_changes_are_ordered_by_kind_then_by_model():
    given = [
        change("b", "now right"),
        change("b", "now wrong", FASTER, excess=2.0),
        change("b", "now wrong", excess=3.0),
        change("a", "now wrong"),
        change("c", "same"),
        change("c", "no longer runs", exception="A"),
    ]
    found = [c for row in comparison(*given).rows for c in row.cases]
    assert [given.index(c) for c in found] == [5, 3, 1, 2, 0]
    assert comparison(*given).rows[2].worst is given[2], "the worst one"


def test_the_worst_of_a_model_in_one_way():
    found = comparison(
        change("a", "same"),
        change("a", "now wrong", inputs="wide"),
        change("a", "no longer runs", FASTER),
        change("b", "now runs"),
    )
    assert {subject.name: worst for subject, worst in found.worst()} == {
        "a": {"file": "now wrong", "file_optimised": "no longer runs"},
        "b": {"file": "now runs"},
    }
    counts = {kind: count for kind, count, _ in found.figures() if kind in CHANGES}
    assert counts == {"no longer runs": 1, "now runs": 1}


def test_changes_of_one_kind_share_a_row():
    first, second = change(), change(pair=FASTER, inputs="wide")
    other, again = change("other"), change(inputs="wide")
    failed = change(kind="no longer runs")
    found = comparison(first, second, other, again, failed, shown=second)
    assert [row.cases for row in found.rows] == [[failed], [first, second, again], [other]]
    _, shared, _ = found.to_json()["findings"]
    assert shared["nodes"] == ["Exp a"] and shared["script"] == "01-folder/repro.py"


def test_the_page(written):
    one = change(**OFF, gap=0.5)
    answers = ((PAIR.old,), "<1>"), ((PAIR.new,), "2")
    failed = change("f", "no longer runs", exception="A", message="<b>")
    both = change("g", "both wrong", answers=answers)
    found = comparison(one, failed, both, change("s", "same"), shown=one, statuses=(0, 2))
    page = written(found)
    assert "3 of 4" in page and '<a href="01-folder/repro.py">' in page and "Exp a" in page
    assert "1.23e+03" in page and "error: A &lt;b&gt;" in page and "&lt;1&gt;" in page
    for row in ("a</td><td>1</td><td>–", "b</td><td>2</td><td>3", "c</td><td>–</td><td>4"):
        assert f"<td>{row}</td>" in page
    assert "bad: no &lt;file&gt;" in page
    assert "0 of 1" in written(comparison(change(kind="same")))
