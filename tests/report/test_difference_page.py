"""The page of what changed between two states, in a real browser."""

import json

import pytest

from asterism.results.difference_page import write_differences
from asterism.results.differences import find_differences
from asterism.results.revision import open_revision
from pipeline.committed_results import Recorded
from report.browser import CHROMIUM
from report.test_accessibility import VIEWS, WIDEST, axe, browser, checked, opened

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]

__all__ = ["axe", "browser"]


def results(scale, signature):
    history = "".join(f"{n},{n * scale},{n**2}\n" for n in range(9))
    found = {"signature": signature, "finding": {"library": "litert", "symptom": "crash"}}
    metrics = {f"metric_{n}": n * scale for n in range(30)}
    return {
        "metrics/a.json": metrics,
        "plots/fuzz/history.csv": f"mutants,crashes,queue\n{history}".encode(),
        "artifacts/triage_findings": {"unique.json": json.dumps([found]).encode()},
    }


@pytest.fixture
def page(tmp_path):
    made = Recorded(tmp_path / "own")
    made.commit({"seed": 0}, results(1, "old"))
    made.experiment("one", {"seed": 1}, results(2, "new"))
    both = [open_revision(made.root, name, made.cache) for name in ("HEAD", "one")]
    write_differences(tmp_path / "diff.html", find_differences(*both))
    return tmp_path / "diff.html"


def test_the_page_of_differences_has_no_accessibility_errors(page, axe, browser):
    for width, scheme in VIEWS:
        seen = opened(browser, page, width, scheme)
        seen.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        seen.settle()
        broken = [rule for rule in checked(seen, axe) if "color-contrast" not in rule[0][0]]
        assert broken == [], (width, scheme)
        assert seen.complaints == []
        room = seen.run("document.documentElement.scrollWidth - innerWidth")
        assert room <= 0, f"the page scrolls sideways at {width} pixels"
    for scheme in ("light", "dark"):
        seen = opened(browser, page, WIDEST, scheme)
        seen.run("document.querySelector('.layout').style.maxWidth = 'none'")
        seen.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        seen.settle()
        assert checked(seen, axe) == []
