"""What stands at the front of the project: its links and citations are whole."""

import re

import yaml
from manual_pages import pages

from asterism import __version__
from places import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *pages()])


def test_links_lead_somewhere():
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)[)#]", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_lines_are_short():
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        long = [line for line in text.splitlines() if len(line) > 120]
        assert not [line for line in long if not line.startswith(("|", "!["))], page.name


def test_make_has_the_targets_that_pages_name():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in PAGES:
        for target in re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.M):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_citation_names_the_version_and_the_four_papers():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == __version__
    assert len(cited["references"]) == 4
    for paper in cited["references"]:
        assert paper["title"] and paper["year"] and paper["authors"]


def test_continuous_integration_runs_what_everybody_can_run():
    text = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    runs = [step["run"] for step in steps if "run" in step]
    assert runs == [".ci/run", "make docs"]
    assert (ROOT / ".ci/run").stat().st_mode & 0o111
