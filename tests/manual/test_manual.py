"""The manual names every page, builds without a broken link, and asks no other host."""

import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest
from manual_pages import DOCS, named_by, pages

from places import ROOT

PARTS = ["tutorials", "how-to", "reference", "explanation", "measurements"]


def build(source, target):
    """Sphinx's exit status and messages, as `make docs` runs it."""
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--builder", "html"]
    command = [sys.executable, "-m", "sphinx", *options, str(source), str(target)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_lists_of_contents_name_every_page_once():
    named = Counter(page for listing in pages() for page in named_by(listing))
    assert named == Counter(page for page in pages() if page != DOCS / "index.md")


def test_the_manual_has_its_parts():
    assert named_by(DOCS / "index.md") == [DOCS / part / "index.md" for part in PARTS]


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


def sentences(page):
    """The sentences of a page's running text; code counts as one word."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = [line for line in text.splitlines() if not line.startswith(("|", "#", "    "))]
    text = re.sub(r"\n\s*[-*] ", "\n\n", "\n".join(lines))
    text = re.sub(r"`[^`]*`", "CODE", re.sub(r"\]\([^)]*\)", "]", text))
    for paragraph in re.split(r"\n\s*\n", text):
        yield from re.split(r"(?<=[.!?:;])\s+(?=[A-Z0-9\[(*-])", " ".join(paragraph.split()))


FIRST = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", DOCS / "index.md"]
FIRST += [page for part in ("tutorials", "how-to") for page in sorted((DOCS / part).glob("*.md"))]


@pytest.mark.parametrize("page", FIRST, ids=lambda page: page.stem)
def test_sentences_of_the_first_pages_have_fewer_than_25_words(page):
    long = [one for one in sentences(page) if len(re.findall(r"[\w’'-]+", one)) >= 25]
    assert not long


def test_lines_of_the_four_parts_are_short():
    for page in (page for part in PARTS for page in (DOCS / part).glob("*.md")):
        if page.parent.name != "measurements":  # moved as they were
            long = [line for line in page.read_text("utf-8").splitlines() if len(line) > 120]
            assert not [line for line in long if line[0] != "|"], page.name
