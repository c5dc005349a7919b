"""A stranger's findings: what they name lies in their own folders, or they are not read."""

import json
import shutil

import pytest
from small_findings import candidate, facts, listed

from asterism.core.files.artifacts import write_json
from asterism.core.messages.errors import UserError
from asterism.findings.checking import check_all, note_elsewhere
from asterism.findings.collecting import Collected, candidates_of, collect
from asterism.findings.entry import read_entries
from asterism.findings.pages import write_pages

OUT = ["..", "../mine", "../../mine", "{root}/mine", "link", "link/x", ".", "x/../../mine"]


@pytest.fixture
def collection(tmp_path):
    """A collection of one finding, beside a folder of the user's with files of the same names."""
    made = candidate(tmp_path / "findings")
    made.entry.write(made.folder)
    mine = tmp_path / "mine"
    shutil.copytree(made.folder, mine)
    (mine / "repro.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w').close()\n")
    (made.folder.parent / "link").symlink_to(mine)
    return made.folder.parent


def content(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def entries_out(collection):
    for entry in read_entries(collection):
        list(check_all(collection, [entry]))
        list(note_elsewhere(collection, [entry], []))
        write_pages(collection, [entry], facts())


@pytest.mark.parametrize("name", OUT)
def test_the_name_in_a_findings_facts_leads_nowhere(collection, tmp_path, name):
    (collection / "link").unlink()
    facts = collection / "one/finding.yaml"
    name = name.format(root=tmp_path)
    facts.write_text(facts.read_text().replace("  name: one\n", f"  name: {json.dumps(name)}\n"))
    before = content(tmp_path / "mine")
    with pytest.raises(UserError, match=r"one/finding\.yaml"):
        entries_out(collection)
    assert not (tmp_path / "owned").exists() and content(tmp_path / "mine") == before


@pytest.mark.parametrize("link", ["two", "one/report.md", "one/repro.py", "one/finding.yaml"])
def test_a_link_in_a_collection_is_not_followed(collection, tmp_path, link):
    (collection / "link").unlink()
    if link != "two":
        (collection / link).unlink(missing_ok=True)
    (collection / link).symlink_to(tmp_path / "mine" / "/".join(link.split("/")[1:]))
    before = content(tmp_path / "mine")
    with pytest.raises(UserError, match=link.rpartition("/")[2]):
        entries_out(collection)
    assert not (tmp_path / "owned").exists() and content(tmp_path / "mine") == before


@pytest.mark.parametrize("name", [*OUT[:-2], "x/../../mine"])
def test_a_list_of_findings_runs_no_script_of_another_folder(collection, tmp_path, name):
    value = listed(folder=name.format(root=tmp_path), confirmed=[0])
    write_json(collection / "unique.json", [value])
    with pytest.raises(UserError, match=r"unique\.json"):
        candidates_of(collection, Collected(), {})
    assert not (tmp_path / "owned").exists()


def test_a_file_behind_a_link_is_not_collected(tmp_path):
    (tmp_path / "secret").write_text("of nobody else")
    found = candidate(tmp_path / "pieces")
    (found.folder / "model.json").symlink_to(tmp_path / "secret")
    with pytest.raises(UserError, match=r"model\.json"):
        collect([found], [], tmp_path / "findings", Collected())
    assert not (tmp_path / "findings/one").exists()
