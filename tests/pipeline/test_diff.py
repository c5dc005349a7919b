"""What changed in results between two states of a project, as a table, JSON and a page."""

import json

import pytest
from committed_results import Recorded
from typer.testing import CliRunner

from asterism.cli import commands
from asterism.core.messages.errors import UserError
from asterism.results.differences import FINDINGS, Change, find_differences
from asterism.results.revision import open_revision

HISTORY = "plots/fuzz-state/history.csv"


def finding(signature, library="litert"):
    return {"signature": signature, "finding": {"library": library, "symptom": "crash"}}


def history(last, rows=4):
    lines = [f"{n},{n * last / (rows - 1)},same" for n in range(rows)]
    return ("mutants,crashes,kind\n" + "\n".join(lines) + "\n").encode()


def encoded(document):
    return json.dumps(document).encode()


def results(right, last, signatures, word="ship", rows=4):
    return {
        "metrics/a.json": {"right": right, "same": 1},
        HISTORY: history(last, rows),
        "plots/b/graph.svg": b"<svg/>",
        "artifacts/triage_findings": {"unique.json": encoded([finding(s) for s in signatures])},
        "report/vet": {"certificate.json": encoded({"verdict": {"word": word}})},
    }


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A commit, and an experiment in which everything is other."""
    made = Recorded(tmp_path / "own")
    monkeypatch.chdir(made.root)
    made.commit({"seed": 0, "k": {"a": 1}}, results(0.5, 3, ["old", "both"]))
    other = results(0.25, 9, ["new", "both"], "do not ship")
    made.experiment("one", {"seed": 1, "k": {"a": 1}}, other)
    return made


def differences(recorded, before, after):
    names = (before, after)
    return find_differences(*(open_revision(recorded.root, n, recorded.cache) for n in names))


def diff(*words):
    return CliRunner().invoke(commands.app, ["diff", *words])


def test_everything_that_changed_is_found(recorded):
    found = differences(recorded, "HEAD", "one")
    assert found.parameters == [Change("seed", 0, 1)]
    assert found.metrics == [Change("a:right", 0.5, 0.25)] and found.alike == (1, 1)
    (plot,) = found.plots
    assert (plot.path, plot.columns) == (HISTORY, {"crashes": 6.0})
    assert [(f.signature, f.change) for f in found.findings] == [
        ("new", "new"), ("old", "gone"), ("both", "same"),
    ]  # fmt: skip
    assert found.verdict == ("ship", "do not ship")
    changed = ["artifacts/triage_findings", "metrics/a.json", HISTORY, "report/vet"]
    assert found.outputs == dict.fromkeys(changed, "changed")
    assert found.missing == {}


def test_a_state_and_itself_are_the_same(recorded):
    found = differences(recorded, "HEAD", "HEAD")
    assert (found.parameters, found.metrics, found.plots, found.outputs) == ([], [], [], {})
    assert {f.change for f in found.findings} == {"same"}


def test_the_table_is_short_and_the_page_is_beside(recorded):
    lines = diff("HEAD", "one").output.splitlines()
    (seed,) = [line.split() for line in lines if line.startswith("  seed")]
    assert seed == ["seed", "0", "1", "+1"]
    (right,) = [line.split() for line in lines if line.startswith("  a:right")]
    assert right == ["a:right", "0.5", "0.25", "-0.25", "(-50.0%)"]
    assert f"plot: {HISTORY}: 1 column changed, most crashes (by up to 6)" in lines
    assert "new finding: new" in lines and "gone finding: old" in lines
    assert "verdict: ship → do not ship" in lines and "4 outputs of stages differ" in lines
    page = recorded.root / "diffs/HEAD..one.html"
    assert lines[-1] == f"page: {page}"
    text = page.read_text()
    assert "HEAD and one" in text and "crashes against mutants: dashed HEAD, solid one" in text
    assert text.count("<script") == 1, "the page's own, see the tests of documents"


def test_programs_read_json_and_no_page_is_written(recorded):
    told = json.loads(diff("HEAD", "one", "--json").output)
    assert told["metrics"] == [
        {"name": "a:right", "before": 0.5, "after": 0.25, "difference": -0.25}
    ]
    assert told["plots"] == {HISTORY: {"crashes": 6.0}}
    assert told["verdict"] == ["ship", "do not ship"]
    assert not (recorded.root / "diffs").exists()


def test_the_second_state_is_the_workspace_where_none_is_given(recorded):
    plain = {"metrics/a.json": {"right": 0.75}, HISTORY: history(3, 5)}
    recorded.put(plain | {FINDINGS: [finding("old")]})
    found = differences(recorded, "HEAD", "workspace")
    assert found.metrics == [Change("a:right", 0.5, 0.75), Change("a:same", 1, None)]
    assert found.plots[0].columns == {"mutants": None, "crashes": None}
    assert [f.change for f in found.findings] == ["gone", "same"]
    assert found.verdict == ("ship", None)
    ended = diff("HEAD", "--output", "page.html")
    assert ended.exit_code == 0 and "4 rows, now 5" in ended.output
    assert (recorded.root / "page.html").is_file()


def test_what_the_cache_lacks_is_named(recorded):
    for file in (recorded.cache / "files/md5").rglob("*"):
        if file.is_file() and b'"right": 0.25' in file.read_bytes():
            file.unlink()
    assert differences(recorded, "HEAD", "one").missing == {"one": ["metrics/a.json"]}
    assert "not in the cache of one: metrics/a.json" in diff("HEAD", "one").output


def test_damaged_results_are_one_line(recorded):
    recorded.put({FINDINGS: [{"signature": "x"}]})
    with pytest.raises(UserError, match=r"unique\.json of workspace: there is no 'finding'"):
        differences(recorded, "HEAD", "workspace")
    recorded.put({FINDINGS: [], HISTORY: b'a,b\n1,"'})
    with pytest.raises(UserError, match=r"history\.csv of workspace: could not parse"):
        differences(recorded, "HEAD", "workspace")


@pytest.mark.parametrize(
    ("before", "after", "by"), [(1, 3, 2.0), (True, False, None), ("a", 1, None), (None, 1, None)]
)
def test_only_numbers_have_a_difference(before, after, by):
    assert Change("x", before, after).difference == by
