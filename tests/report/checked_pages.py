"""Pages in a real browser, checked by axe-core.

axe-core is fetched by npm as ``axe/package-lock.json`` pins it, by version and hash.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

NPM = shutil.which("npm")

#: Widths and themes: of a desk and of a phone.
VIEWS = [(1280, "light"), (1280, "dark"), (375, "light"), (375, "dark")]


def axe_core(folder):
    """The text of axe-core, fetched into an empty folder; skips the test where that fails."""
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
