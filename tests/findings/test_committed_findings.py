"""The committed collection: each folder is what a maintainer needs, and the index says so."""

import pytest

from collection.audit import unlike_audit
from collection.diagnosis import TO_MEND, WRONG
from collection.entry import read_collection
from collection.pages import index_page, report_of
from extras import needs
from libraries.small_runs import python
from places import ROOT

COLLECTION = ROOT / "findings"
ENTRIES = read_collection(COLLECTION)


def gaps_of(said):
    """Names of the fields of a diagnosis that a maintainer would miss."""
    wanted = ["title", "because"]
    if said.kind == WRONG and not said.duplicate_of:
        wanted += ["contradicts", "effect", "smallest", "siblings"]
    if said.kind in TO_MEND and not said.duplicate_of:
        wanted += ["mended_by"]
        wanted += [] if said.upstream else ["searched"]
    unknown = said.searched.startswith("not looked up yet") and said.kind == WRONG
    return [n for n in wanted if not getattr(said, n) or (n == "searched" and unknown)]


def test_scripts_are_short_and_all_of_them_together_too():
    lines = {
        e.name: len((COLLECTION / e.name / "repro.py").read_text().splitlines()) for e in ENTRIES
    }
    assert {name for name, count in lines.items() if count > 25} == set()
    below = sum(len(path.read_text().splitlines()) for path in COLLECTION.glob("*-*/**/*.py"))
    assert below == sum(lines.values()) <= 5000


def test_each_finding_has_what_its_reader_asks_for():
    assert {e.name: gaps_of(e.diagnosis) for e in ENTRIES if gaps_of(e.diagnosis)} == {}
    named = {e.name for e in ENTRIES}
    originals = {e.diagnosis.duplicate_of for e in ENTRIES} - {""}
    assert originals <= named
    assert not any(e.diagnosis.duplicate_of for e in ENTRIES if e.name in originals)


def test_the_index_and_the_reports_are_what_the_command_writes():
    assert (COLLECTION / "README.md").read_text() == index_page(ENTRIES)
    for entry in ENTRIES:
        folder = COLLECTION / entry.name
        assert (folder / "report.md").read_text() == report_of(entry, folder), entry.name


def test_the_last_run_of_each_script_is_noted():
    assert {
        e.name for e in ENTRIES if e.ran is None or "actual" not in e.ran.output + "actual"
    } == set()
    crashing = {e.name for e in ENTRIES if e.symptom == "crash"}
    told = {e.name for e in ENTRIES if e.ran and "the process ends by" in e.ran.output}
    assert told == crashing


def test_where_the_index_disagrees_with_the_audit_a_reason_stands():
    audited = [e for e in ENTRIES if e.diagnosis.audit]
    assert len(audited) == 149
    assert {e.name for e in unlike_audit(ENTRIES) if not e.diagnosis.audit_note} == set()
    assert {e.diagnosis.kind for e in audited if e.diagnosis.audit == "A"} <= {
        *TO_MEND,
        "difference",
    }


@needs("openvino", "torch")
@pytest.mark.parametrize("name", ["openvino-f-softplus-values-differ-a9e1eb"])
def test_a_script_runs_by_itself(name, tmp_path):
    done = python(COLLECTION / name / "repro.py", folder=tmp_path)
    assert done.returncode == 1
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["expected", "actual"]
