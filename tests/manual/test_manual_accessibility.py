"""Pages of the built manual in a real browser, checked by axe-core."""

import subprocess
import sys

import pytest

from places import ROOT
from report.browser import CHROMIUM
from report.checked_pages import VIEWS, axe_core, checked, opened
from report.devtools import Browser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]

#: One page of each kind: the front, a tutorial, wide tables, long text, docstrings, findings.
PAGES = (
    "index", "tutorials/see-a-page", "pairs", "reproduction", "libraries", "reference/parameters",
    "reference/api", "findings",
)  # fmt: skip


@pytest.fixture(scope="module")
def manual(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manual")
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--quiet"]
    subprocess.run([*command, str(ROOT / "docs"), str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    return axe_core(tmp_path_factory.mktemp("axe"))


@pytest.fixture
def browser(tmp_path):
    started = Browser(tmp_path / "profile")
    yield started
    started.close()


@pytest.mark.parametrize("name", PAGES)
def test_pages_of_the_manual_have_no_accessibility_errors(name, manual, axe, browser):
    for width, scheme in VIEWS:
        page = opened(browser, manual / f"{name}.html", width, scheme)
        page.settle()
        assert checked(page, axe, unclear=False) == [], (width, scheme)
        assert page.complaints == []
