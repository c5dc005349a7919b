"""The manual names every page, builds without a broken link, and asks no other host."""

import ast
import pydoc
import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest
from manual_pages import DOCS, named_by, pages

from places import ROOT


def build(source, target):
    """Sphinx's exit status and messages, as `make docs` runs it."""
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--builder", "html"]
    command = [sys.executable, "-m", "sphinx", *options, str(source), str(target)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_lists_of_contents_name_every_page_once():
    named = Counter(page for listing in pages() for page in named_by(listing))
    assert named == Counter(page for page in pages() if page != DOCS / "index.md")


def defined_in(body):
    """Names of classes, functions, methods, constants and attributes; no local variables."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from defined_in(node.body)
        if isinstance(node, ast.Assign | ast.AnnAssign):
            names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
            yield from (name.id for name in names if isinstance(name.ctx, ast.Store))


def test_the_names_in_the_glossary_are_defined_in_the_source():
    files = [file for part in ("src", "stages") for file in (ROOT / part).rglob("*.py")]
    words = {part for file in files for part in file.relative_to(ROOT).with_suffix("").parts}
    words |= {n for file in files for n in defined_in(ast.parse(file.read_text("utf-8")).body)}
    rows = [row.split("|") for row in (DOCS / "glossary.md").read_text("utf-8").splitlines()]
    named = {name for row in rows if len(row) > 3 for name in re.findall("`([^`]+)`", row[2])}
    assert len(named) > 50 and named <= words


def test_what_the_reference_of_the_code_names_is_there():
    named = re.findall(
        r"(?m)^\.\. auto\w+:: ([\w.]+)", (DOCS / "reference/api.md").read_text("utf-8")
    )
    assert len(named) > 20
    assert [name for name in named if pydoc.locate(name) is None] == []


@pytest.mark.slow
def test_the_manual_builds_and_asks_no_other_host(tmp_path):
    result = build(DOCS, tmp_path / "manual")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "manual/searchindex.js").is_file()
    fetched = (
        r"""(?:<(?:script|img|link|iframe)\b[^>]*(?:src|href)=|url\(|@import )["']?(?:https?:)?//"""
    )
    for file in (tmp_path / "manual").rglob("*"):
        if file.suffix in {".html", ".css"}:
            assert not re.findall(fetched, file.read_text(encoding="utf-8")), file


@pytest.mark.slow
def test_broken_links_are_errors(tmp_path):
    # Beside the rest of the project, to which pages link.
    for name in ("src", "dvc.yaml", "params.yaml", "SECURITY.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(DOCS, tmp_path / "docs")
    broken = {
        "no-such-page.md": "no-such-page.md",
        "vetting.md#no-such-heading": "no-such-heading",
        "../no-such-file": "no-such-file",
    }
    page = tmp_path / "docs/glossary.md"
    links = "".join(f"\n[see]({link})\n" for link in broken)
    page.write_text(page.read_text(encoding="utf-8") + links, encoding="utf-8")
    result = build(tmp_path / "docs", tmp_path / "manual")
    assert result.returncode != 0
    for told in broken.values():
        assert re.search(rf"glossary\.md.*{told}", result.stderr), told
