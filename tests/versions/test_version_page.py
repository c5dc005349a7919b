"""The page of an upgrade: its rows, what each cell says, and the figures above them."""

from types import SimpleNamespace

import pytest
from made_up_changes import made_change
from made_up_pool import PAIR
from small_files import chain

from asterism.differential.adapters.backends import OF_ONNX
from asterism.differential.comparing.comparing import Pair
from asterism.differential.comparing.page import Explained
from asterism.differential.comparing.versions_page import (
    Comparison,
    _count,
    _packages,
    _rows,
    _times,
    write_versions_page,
)
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.subjects.onnx_file import subject_of

FASTER = Pair("onnxruntime@0.1:file_optimised", "onnxruntime:file_optimised")
OFF = {"excess": 1234.5}


def change(subject="m", kind="now wrong", pair=PAIR, inputs="normal", **more):
    return made_change(kind, subject, pair, inputs, **more)


def explained(of, layers=("Exp a",), statuses=(0, 1), *, finished=True):
    part = SimpleNamespace(layers=list(layers), nodes=9, finished=finished)
    return Explained(of, part, "01-folder", tuple(zip(("lib 1", "lib 2"), statuses, strict=True)))


def comparison(*changes, explained=()):
    subjects = {c.subject: subject_of(c.subject, chain("Relu", "Neg"), 4, {}) for c in changes}
    found = [(s, [c for c in changes if c.subject == n]) for n, s in subjects.items()]
    versions = ({"a": "1", "b": "2"}, {"b": "3", "c": "4"})
    rest = {"explained": list(explained), "rejected": [("bad", "no <file>")]}
    return Comparison("lib 1", "lib 2", versions, found, **rest)


@pytest.mark.parametrize(
    ("facts", "old", "new"),
    [
        (OFF, "within", "1.23e+03"),
        ({"new": "wrong shape"}, "within", "wrong shape"),
        ({"kind": "differs", **OFF}, "1.23e+03", "no reference"),
        ({"kind": "no longer runs", "exception": "A"}, "within", "does not run"),
    ],
)
def test_how_far_off_a_version_is(facts, old, new):
    one = change(**facts)
    assert (_times(one.old, one), _times(one.new, one)) == (old, new)


def test_a_row_without_a_script():
    (row,) = _rows(comparison(change(**OFF, apart=0.12345)))
    assert row["cells"] == ("m", "file", "normal", "now wrong", "within", "1.23e+03", "0.123")
    assert not (row["explained"] or row["said"] or row["told"])
    (failed,) = _rows(comparison(change(kind="no longer runs", exception="A")))
    assert failed["cells"][-2:] == ("does not run", "–") and failed["said"] == "error: A"
    (open_,) = _rows(comparison(change(kind="both wrong", answers=("1", "2"))))
    assert open_["told"] == "Where they are furthest apart, lib 1 gave 1, and lib 2 gave 2."


@pytest.mark.parametrize(
    ("size", "layers"), [(1, "Op 0"), (3, "Op 0, Op 1, Op 2"), (5, "Op 0, Op 1, Op 2 and 2 more")]
)
def test_a_row_with_a_script(size, layers):
    one = change()
    shown = explained(one, [f"Op {i}" for i in range(size)])
    other = explained(change("other"), ["Other"])
    (row,) = _rows(comparison(one, explained=[other, shown]))
    assert row["explained"] == [shown] and shown.confirmed
    assert (shown.nodes, shown.script) == (layers, "01-folder/repro.py")


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
    assert explained(change(kind=kind), statuses=statuses).confirmed == confirmed


def test_changes_are_ordered_by_kind_then_by_model_and_way():
    given = [
        change("b", "now right"),
        change("b", "now wrong", FASTER),
        change("b", "now wrong"),
        change("a", "now wrong"),
        change("c", "same"),
        change("c", "no longer runs", exception="A"),
    ]
    found = comparison(*given).changes
    assert [given.index(c) for c in found] == [5, 3, 2, 1, 0]


def test_the_worst_of_a_model_in_one_way():
    found = comparison(
        change("a", "same"),
        change("a", "now wrong", inputs="wide"),
        change("a", "no longer runs", FASTER),
        change("b", "now runs"),
    )
    (first, _), (second, _) = found.subjects
    assert found.worst(first, "file") == "now wrong"
    assert found.worst(first, "file_optimised") == "no longer runs"
    assert found.worst(second, "file") == "now runs"
    assert found.worst(second, "file_optimised") == "–"
    counts = [_count(found, k) for k in ("no longer runs", "now wrong", "now runs", "same")]
    assert counts == [1, 0, 1, 0]


def test_changes_of_one_kind_share_a_row():
    first, second = change(), change(pair=FASTER, inputs="wide")
    other, again = change("other"), change(inputs="wide")
    found = comparison(first, second, other, again, explained=[explained(second, ["Exp e"])])
    rows = _rows(found)
    assert [row["cells"][:3] for row in rows] == [
        ("m", "file, file_optimised", "normal, wide"),
        ("other", "file", "normal"),
    ]
    assert [[one.nodes for one in row["explained"]] for row in rows] == [["Exp e"], []]


def test_packages_of_both():
    assert _packages({"b": "2", "a": "1"}, {"b": "3", "c": "4"}) == [
        ("a", "1", "–"),
        ("b", "2", "3"),
        ("c", "–", "4"),
    ]


def test_the_page(tmp_path):
    one = change(**OFF, apart=0.5)
    failed = change("f", "no longer runs", exception="A", message="<b>")
    found = comparison(
        one, failed, change("s", "same"), explained=[explained(one, ["Exp e"], (0, 2))]
    )
    write_versions_page(tmp_path / "p.html", found, JudgeParams(ulps=64, conditioning=8))
    page = " ".join((tmp_path / "p.html").read_text().split())
    assert "lib 1 beside lib 2" in page and "2 of 3" in page
    assert "64 roundings" in page and "8 times" in page
    assert '<a href="01-folder/repro.py">' in page and "does not confirm" in page
    assert "exit status is 0 with lib 1 and 2 with lib 2" in page
    assert "<td>f</td><td>2</td><td>no longer runs</td>" in page
    assert "<td>a</td><td>1</td><td>–</td>" in page
    assert "bad: no &lt;file&gt;" in page and "Nothing: no model" not in page


def test_a_page_without_changes(tmp_path):
    found = comparison(change(kind="same", referee=OF_ONNX.right))
    write_versions_page(tmp_path / "p.html", found, JudgeParams(ulps=64, conditioning=8))
    page = (tmp_path / "p.html").read_text()
    assert "Nothing: no model computes something else" in page and "0 of 1" in page
