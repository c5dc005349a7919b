"""The manual's pages, and what its lists of contents name."""

import re
from pathlib import Path

from places import ROOT

DOCS = ROOT / "docs"

CONTENTS = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Every page's file."""
    return sorted(DOCS.rglob("*.md"))


def named_by(page: Path) -> list[Path]:
    """The pages that a page's lists of contents name, in their order."""
    lists = CONTENTS.findall(page.read_text(encoding="utf-8"))
    entries = [line for text in lists for line in text.splitlines() if line and line[0] != ":"]
    return [(page.parent / f"{entry}.md").resolve() for entry in entries]
