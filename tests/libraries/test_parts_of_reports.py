"""Reports of findings and the processes that confirm them, with processes that are made up."""

import hashlib
import json
from types import SimpleNamespace

import pytest

from asterism.core.messages.errors import UserError
from asterism.differential.oracle.finding import Finding
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.report import writing
from asterism.differential.report.known_issues import KnownIssue, issue_of, read_known_issues
from asterism.differential.report.writing import Reporter, folder_name
from asterism.differential.triage.reproduction import Reproduction
from asterism.differential.triage.unique import UniqueFinding
from asterism.memo.graphs.graph import sequential
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import layer
from places import ROOT

JUDGE = JudgeParams(ulps=64, conditioning=8)


GRAPH = sequential(Tensor((4,)), [layer("ReLU"), layer("Dense", units=4), layer("LeakyReLU")])


def finding(symptom="values differ", library="jax", distributions=("normal",), **more):
    facts = {"backends": (f"{library}:jit",), "distributions": distributions} | more
    return Finding(3, symptom, "run", library, **facts)


def unique(found=None, **more):
    return UniqueFinding("a | b", found or finding(), GRAPH, None, {5, 3}, 4, **more)


def test_a_folder_is_named_by_library_symptom_and_signature():
    found = unique(finding(symptom="NaN/Inf mask differs", library="ONNX runtime"))
    digest = hashlib.sha256(b"a | b").hexdigest()[:8]
    assert folder_name(found) == f"onnx-runtime-nan-inf-mask-differs-{digest}"


def test_a_finding_is_reproduced_where_every_process_shows_it():
    for confirmed in ((1, 0, 1), (1, 2, 1), (124,), (-11, 1)):
        assert not unique(confirmed=confirmed).reproduced
    assert unique(confirmed=(1, 1)).reproduced


class Writer:
    """Writes scripts that say of which kind they are."""

    def __init__(self, *given):
        self.given = given

    def write(self, folder):
        for kind in ("short", "whole"):
            (folder / "repro.py").write_text(f"{kind}\n")
            yield kind


@pytest.mark.parametrize(
    ("ends", "limit", "written", "place"),
    [
        ([(1, 1)], "", "short", ""),
        ([(1, 0), (1, 1)], "", "whole", ""),
        ([(2, 2), (0, 0)], "", "whole", "not-reproduced/"),
        ([(1, 1)], "it cannot", "short", "known-limits/"),
        ([(2, 2), (0, 0)], "it cannot", "whole", "known-limits/"),
    ],
)
def test_a_reporter_writes_the_scripts_confirms_them_and_then_reports(
    ends, limit, written, place, tmp_path, monkeypatch
):
    asked, statuses = [], iter(ends)
    monkeypatch.setattr(writing, "ScriptWriter", Writer)
    monkeypatch.setattr(
        writing,
        "exit_statuses",
        lambda script, times, _python, _death: (asked.append((script, times)), next(statuses))[1],
    )
    known = {"x": KnownIssue("other"), "a |": KnownIssue("the link", limit)}
    found = unique(ablation={"batch of 1": "gone"})
    pool = SimpleNamespace(saved=lambda graph: b"file" if graph == GRAPH else None)
    show = Reproduction(pool, JUDGE, 9, 10)
    with Reporter(show, {"stored": 1}, tmp_path, known) as reporter:
        reporter.start(found)
        report = reporter.finish(found)
    assert asked == [(tmp_path / folder_name(found) / "repro.py", 3)] * len(ends)
    assert report.folder == f"{place}{folder_name(found)}" and report.confirmed == ends[-1]
    assert (report.known, report.limit) == ("the link", limit)
    folder = tmp_path / report.folder
    assert {path.name for path in tmp_path.rglob("*.py")} == {"repro.py"}
    assert json.loads((folder / "model.json").read_text()) == json.loads(
        json.dumps(GRAPH.to_json())
    )
    assert (folder / "repro.py").read_text() == f"{written}\n"
    assert (folder / "model.keras").read_bytes() == b"file"
    text = (folder / "report.md").read_text()
    assert text.startswith("# jax: values differ")
    assert "the link" in text and limit in text
    assert ("Not reproduced" in text) == (place == "not-reproduced/")
    assert "| batch of 1 | gone |" in text


def test_known_issues_are_a_mapping(tmp_path):
    file = tmp_path / "issues.yaml"
    file.write_text("values differ | jax: https://example.org/1\n7: 8\n")
    assert read_known_issues(str(file)) == {
        "values differ | jax": KnownIssue("https://example.org/1"),
        "7": KnownIssue("8"),
    }
    assert read_known_issues("conf/no_file") == {}
    file.write_text("")
    assert read_known_issues(str(file)) == {}
    wrong = {
        "- a": "must map",
        "a: [": "is not YAML",
        "a: {limit: b}": "'a': 'link'",
        "a: {link: b, more: c}": "'a': 'more'",
        "a: {link: b, inputs: odd}": "there are no inputs 'odd'",
    }
    for text, message in wrong.items():
        file.write_text(text)
        with pytest.raises(UserError, match=message):
            read_known_issues(str(file))
    with pytest.raises(UserError, match="cannot read"):
        read_known_issues(str(tmp_path / "none.yaml"))


def test_a_known_issue_is_that_of_a_signature_and_of_its_inputs():
    known = {"a |": KnownIssue("1", "no large numbers", "largest"), "a": KnownIssue("2")}
    assert issue_of(known, "a | b", ["largest"]) == known["a |"]
    assert issue_of(known, "a | b", ["normal"]) == known["a"]
    assert issue_of(known, "c", ["normal"]) is None


def test_the_table_of_this_project_names_links_only():
    known = read_known_issues(str(ROOT / "conf/known_issues.yaml"))
    assert all(issue.link.startswith("https://") for issue in known.values())
    assert any(issue.limit for issue in known.values())
