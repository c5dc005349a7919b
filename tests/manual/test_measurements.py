"""Figures in the manual that a benchmark's command has written, and where they stand."""

import re
import sys

import pytest

from asterism.core.messages.errors import UserError
from places import ROOT

sys.path.append(str(ROOT / "benchmarks"))

import figures

# Other modules there have the names of the tests' folders.
sys.path.remove(str(ROOT / "benchmarks"))

PAGES = sorted(ROOT.glob("docs/measurements/*.md"))
PLACE = re.compile(r"^<!-- figures: (.+) -->\n(.*?)^<!-- end of \1 -->$", re.MULTILINE | re.DOTALL)
WRITTEN = [found for page in PAGES for found in PLACE.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("name", "content"), WRITTEN, ids=[name for name, _ in WRITTEN])
def test_a_table_says_the_command_the_date_the_commit_and_the_machine(name, content):
    said = re.search(
        r"Measured by `python (benchmarks/\w+\.py) .*--write` on 20\d\d-\d\d-\d\d, "
        r"at commit [0-9a-f]{10}\+?\.\nMachine: .+, \d+ cores, ",
        content,
    )
    assert said and (ROOT / said[1]).is_file()
    assert f'"{name}"' in (ROOT / said[1]).read_text(encoding="utf-8")
    assert len([line for line in content.splitlines() if line.startswith("| ")]) >= 3


def test_there_are_such_tables():
    assert len(WRITTEN) >= 3


def test_only_the_named_place_is_written(tmp_path, monkeypatch):
    page = "before\n<!-- figures: a -->\nold\n<!-- end of a -->\nafter\n"
    (tmp_path / "x.md").write_text(page)
    monkeypatch.setattr(figures, "PAGES", tmp_path)
    monkeypatch.setattr(figures, "_commit", lambda: "0" * 10)
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["benchmarks/b.py", "what", "--write", "--n", "1"])
    figures.write_figures("x", "a", ("k", "v"), [["one", "2"]])
    text = (tmp_path / "x.md").read_text()
    assert text.startswith("before\n<!-- figures: a -->\n| k | v |\n| --- | --- |\n| one | 2 |\n")
    assert "`python benchmarks/b.py what --n 1 --write`" in text
    assert text.endswith("<!-- end of a -->\nafter\n") and "old" not in text
    with pytest.raises(UserError, match="no place `<!-- figures: b -->`"):
        figures.write_figures("x", "b", (), [])
