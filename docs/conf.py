"""How Sphinx builds the manual: `make docs`.

The build fails on a broken link and on a page that no list of contents names. Built pages load
nothing from other hosts.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]

project = "Asterism"
author = "The Asterism developers"
version = release = re.findall(
    r'^__version__ = "(.+)"$',
    (ROOT / "src/asterism/__init__.py").read_text(encoding="utf-8"),
    re.MULTILINE,
)[0]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
nitpicky = True
# Links of pages are checked; of signatures and docstrings, types of other packages are not.
nitpick_ignore_regex = [(r"py:.*", r".*")]

autodoc_typehints = "description"
autodoc_member_order = "bysource"

# Headings are linked to as on GitHub, and links to them are checked.
myst_heading_anchors = 4
# `a--b` and `...` stay as they are written: commands stand in running text too.
smartquotes = False

html_theme = "furo"
html_title = f"Asterism {version}"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_js_files = ["manual.js"]


def files_of_the_project(app: Sphinx, name: str, text: list[str]) -> None:
    """Make links to Markdown files outside of docs/ links to these files, not to pages."""
    folder = ROOT / "docs" / Path(name).parent

    def changed(link: re.Match[str]) -> str:
        inside = (folder / link[1]).resolve().is_relative_to(ROOT / "docs")
        return link[0] if inside else f"](<path:{link[1]}>)"

    text[0] = re.sub(r"\]\((\.\./[^):#]+\.md)\)", changed, text[0])


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", files_of_the_project)
