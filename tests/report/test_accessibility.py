"""Pages in a real browser, checked by axe-core, by the keyboard and by what the console is told.

axe-core is fetched by npm as ``axe/package-lock.json`` pins it, by version and hash.
"""

import json
import re
import shutil
import subprocess
import sys
from base64 import b64decode
from itertools import pairwise
from pathlib import Path

import pytest

from places import ROOT
from report.browser import CHROMIUM, Browser
from report.whole_pages import (
    write_report,
    write_sweeps,
    write_versions,
    write_vetted,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]

#: What writes each kind of page into a folder.
WRITERS = {
    "report": write_report,
    "vet": write_vetted,
    "sweep": lambda folder: write_sweeps(folder)[0],
    "sweeps": lambda folder: write_sweeps(folder)[1],
    "versions": write_versions,
}
PAGES = tuple(WRITERS)
#: Wide enough for all tables, so that contrast can be computed of everything.
WIDEST = 6000
NPM = shutil.which("npm")

#: Widths and themes: of a desk and of a phone.
VIEWS = [(1280, "light"), (1280, "dark"), (375, "light"), (375, "dark")]


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The text of axe-core; skips the test where npm cannot fetch it."""
    folder = tmp_path_factory.mktemp("axe")
    if NPM is None:
        pytest.skip("there is no npm to fetch axe-core with")
    for file in (Path(__file__).parent / "axe").iterdir():
        shutil.copy(file, folder)
    command = [NPM, "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"npm cannot fetch axe-core: {done.stderr.strip()[-300:]}")
    return (folder / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


def opened(browser, file, width=1280, scheme="light"):
    page = browser.page()
    page.size(width, 900, scheme)
    page.open(file)
    return page


def checked(page, axe, unclear=True):
    """What axe-core finds: rules that are broken, and parts whose contrast it cannot tell.

    It tells no contrast of what is scrolled out of sight: ``unclear=False`` leaves such parts out.
    """
    page.run(f"{axe}\n;0")
    found = json.loads(
        page.run(
            "axe.run(document, {resultTypes: ['violations', 'incomplete']})"
            ".then((found) => JSON.stringify([found.violations, found.incomplete]))"
        )
    )
    return [
        [(rule["id"], node["html"][:200], node["failureSummary"]) for node in rule["nodes"]]
        for rules in found
        for rule in rules
        if rules is found[0] or (unclear and rule["id"] == "color-contrast")
    ]


class Written(dict):
    """The page of each kind, written when it is first asked for."""

    def __init__(self, new_folder):
        super().__init__()
        self.new_folder = new_folder

    def __missing__(self, name):
        self[name] = WRITERS[name](self.new_folder(name))
        return self[name]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return Written(tmp_path_factory.mktemp)


@pytest.fixture
def browser(tmp_path):
    started = Browser(tmp_path / "profile")
    yield started
    started.close()


@pytest.mark.parametrize("name", PAGES)
def test_pages_have_no_accessibility_errors(name, files, axe, browser):
    for width, scheme in VIEWS:
        page = opened(browser, files[name], width, scheme)
        page.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        page.settle()
        broken = [rule for rule in checked(page, axe) if "color-contrast" not in rule[0][0]]
        assert broken == [], (width, scheme)
        assert page.complaints == []
        assert page.asked == [files[name].resolve().as_uri()], "nothing but the page is asked for"
        room = page.run("document.documentElement.scrollWidth - innerWidth")
        assert room <= 0, f"the page scrolls sideways at {width} pixels"


#: One page of the manual of each kind: the front, a tutorial, wide tables, long text, docstrings.
MANUAL = (
    "index", "tutorials/see-a-page", "pairs", "reproduction", "libraries", "reference/parameters",
    "reference/api", "findings",
)  # fmt: skip


@pytest.fixture(scope="module")
def manual(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manual")
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--quiet"]
    subprocess.run([*command, str(ROOT / "docs"), str(folder)], check=True)
    return folder


@pytest.mark.parametrize("name", MANUAL)
def test_pages_of_the_manual_have_no_accessibility_errors(name, manual, axe, browser):
    for width, scheme in VIEWS:
        page = opened(browser, manual / f"{name}.html", width, scheme)
        page.settle()
        assert checked(page, axe, unclear=False) == [], (width, scheme)
        assert page.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_every_text_has_contrast(name, scheme, files, axe, browser):
    page = opened(browser, files[name], WIDEST, scheme)
    page.run("document.querySelector('.layout').style.maxWidth = 'none'")
    page.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.settle()
    assert checked(page, axe) == []


def test_axe_finds_what_is_wrong(files, axe, browser, tmp_path):
    broken = files["sweeps"].read_text(encoding="utf-8")
    broken = broken.replace('<html lang="en">', "<html>").replace(
        "--soft: light-dark(#55616d", "--soft: light-dark(#b5b1ad"
    )
    policy = re.search(r"<meta http-equiv=\"Content-Security-Policy\".*?>", broken).group()
    (tmp_path / "broken.html").write_text(broken.replace(policy, ""), encoding="utf-8")
    rules = {rule[0][0] for rule in checked(opened(browser, tmp_path / "broken.html"), axe)}
    assert rules >= {"html-has-lang", "color-contrast"}


@pytest.mark.parametrize("name", PAGES)
def test_headings_are_in_order_and_links_lead_somewhere(name, files, browser):
    page = opened(browser, files[name])
    levels = page.run("[...document.querySelectorAll('h1, h2, h3, h4')].map((h) => +h.tagName[1])")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))
    dangling = page.run(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map((a) => a.hash.slice(1))"
        ".filter((id) => !document.getElementById(id))"
    )
    assert dangling == []
    ids = page.run("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))
    alts = page.run("[...document.querySelectorAll('.figure img')].map((i) => i.alt)")
    assert all(len(alt) > 30 for alt in alts), "an alt text says what is seen"


def test_a_keyboard_reaches_results_tables_and_sources(files, browser):
    page = opened(browser, files["report"])
    page.press("Tab", 9)
    assert page.run("document.activeElement.textContent") == "Skip to the results"
    assert page.run("document.activeElement.getBoundingClientRect().top >= 0"), "it is seen"
    page.press("Enter", 13)
    assert page.run("location.hash") == "#content"
    page.press("Tab", 9)
    assert page.run("document.activeElement.className") == "from"
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.press("Enter", 13)
    told = page.run("document.querySelector(':popover-open').innerText")
    assert "metrics/train_rnn.json: test_accuracy" in told
    page.press("Escape", 27)
    assert page.run("document.querySelector(':popover-open')") is None


def test_tables_sort_by_number_and_back(files, browser):
    page = opened(browser, files["report"])
    rows = "[...document.querySelectorAll('#importance-criteria tbody tr')]"
    column = f"{rows}.map((row) => row.cells[1].innerText)"
    before = page.run(column)
    click = "document.querySelectorAll('#importance-criteria thead th button')[1].click()"
    page.run(click)
    numbers = [float(re.sub("[,%]", "", text)) for text in page.run(column)]
    assert numbers == sorted(numbers) and sorted(page.run(column)) == sorted(before)
    page.run(click)
    assert [float(re.sub("[,%]", "", text)) for text in page.run(column)] == numbers[::-1]
    sort = "document.querySelectorAll('#importance-criteria thead th')[1].getAttribute('aria-sort')"
    assert page.run(sort) == "descending"
    cell = "document.querySelector('#stateful-coverage tbody td:nth-child(3)').title"
    assert "metrics/measure_coverage.json: SET.CRITERION" in page.run(cell)


def test_the_theme_is_the_readers_and_stays(files, browser):
    page = opened(browser, files["sweeps"], scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.run(ground)
    assert page.run("document.querySelector('[data-does=theme]').getAttribute('aria-pressed')") == (
        "true"
    )
    page.run("document.querySelector('[data-does=theme]').click()")
    assert page.run(ground) == "rgb(255, 255, 255)" != dark
    page.open(files["sweeps"])
    assert page.run(ground) == "rgb(255, 255, 255)", "the choice outlives the page"


def test_figures_can_be_enlarged_and_had_as_files(files, browser):
    page = opened(browser, files["report"])
    assert page.run("document.querySelectorAll('.figure').length") >= 8
    without = page.run(
        "[...document.querySelectorAll('.figure')].filter((f) => f.querySelectorAll("
        "'button[data-does=enlarge], button[data-does=save], a[download$=\".csv\"]').length !== 3)"
        ".map((f) => f.querySelector('img').alt)"
    )
    assert without == []
    link = page.run("document.querySelector('#stateful-campaigns a[download]').href")
    rows = b64decode(link.partition("base64,")[2]).decode().splitlines()
    assert rows[0] == "guided by,mutants,basic_state" and len(rows) > 3
    page.run("document.querySelector('.figure [data-does=enlarge]').click()")
    assert page.run("document.querySelector('dialog').open")
    assert page.run("document.querySelector('dialog img').alt.length") > 30
    page.press("Escape", 27)
    assert not page.run("document.querySelector('dialog').open")


@pytest.mark.parametrize("name", PAGES)
def test_every_figure_table_and_number_has_a_source(name, files, browser):
    page = opened(browser, files[name])
    without = page.run(
        "[...document.querySelectorAll('.figure, .table, .headline li')]"
        ".filter((part) => !part.querySelector('.from, .origin'))"
        ".map((part) => part.outerHTML.slice(0, 100))"
    )
    assert without == []


def _found(value, keys):
    """Whether a JSON value has what the keys lead to; a word in capitals is any key."""
    if not keys:
        return True
    first, *rest = keys
    if isinstance(value, list):
        return any(_found(item, keys) for item in value)
    if first.isupper():
        return any(_found(inner, rest) for inner in value.values())
    return first in value and _found(value[first], rest)


def test_sources_of_the_report_are_files_and_keys_that_are_there(files, browser):
    page = opened(browser, files["report"])
    told = page.run(
        "[...document.querySelectorAll('.source code, .origin code')].map((c) => c.textContent)"
    )
    folder = files["report"].parent.parent
    checked = 0
    for source in set(told):
        name, _, keys = re.sub(r" \(.*?\)", "", source).partition(": ")
        paths = list(folder.glob(re.sub("[A-Z]{2,}", "*", name).split(" and ")[0]))
        assert paths, source
        if name.endswith(".json") and keys and "…" not in keys:
            first, *others = [key.split(".") for key in keys.split(", ")]
            values = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
            assert any(_found(value, first) for value in values), source
            for key in others:  # beside the first, or at the top
                beside = [*first[:-1], *key]
                assert any(_found(v, key) or _found(v, beside) for v in values), source
            checked += 1
    assert checked > 20


def test_paper_has_everything_and_no_buttons(files, browser):
    page = opened(browser, files["report"], scheme="dark")
    page.size(800, 1000, "dark", media="print")
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run("[...document.querySelectorAll('details.detail')].every((d) => d.open)")
    seen = page.run(
        "[...document.querySelectorAll('header, nav, button')].filter((e) => e.checkVisibility())"
        ".map((e) => e.outerHTML.slice(0, 80))"
    )
    assert [html for html in seen if "Sort by this column" not in html] == []
    assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.run("dispatchEvent(new Event('afterprint'))")
    assert not page.run("[...document.querySelectorAll('details.detail')].some((d) => d.open)")
