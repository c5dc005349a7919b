"""Every command that a page shows is one that there is, with its options."""

import re
import shlex
from itertools import pairwise

import pytest
import typer
import yaml
from manual_pages import pages

from asterism.cli import app
from asterism.config import compose
from places import ROOT

PROGRAM = typer.main.get_command(app)
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"].keys()

_BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def lines(page):
    """Lines of the page's blocks of commands, continued ones as one, without comments."""
    blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
    shown = [text for language, text in blocks if language in {"", "sh", "yaml"}]
    text = "".join(shown).replace("\\\n", " ")
    return [line.removeprefix("- run: ").partition("  #")[0] for line in text.splitlines()]


def commands(start):
    """The words behind this start of a command, of every page and of those at the front."""
    found = []
    for page in [*pages(), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        for line in lines(page):
            if line.startswith(start):
                first = re.split(r" && | \|\| ", line.removeprefix(start))[0]
                words = shlex.split(first)
                found.append(pytest.param(words, id=f"{page.stem}: {line}"[:80]))
    return found


@pytest.mark.parametrize("words", commands("asterism "))
def test_its_arguments_and_options_are_taken(words):
    assert words[0] in PROGRAM.commands
    context = PROGRAM.commands[words[0]].make_context(words[0], words[1:])
    targets = context.params.get("targets") or context.params.get("target") or []
    if words[0] in {"repro", "sweep"}:
        assert {target.partition("@")[0] for target in targets} <= STAGES


@pytest.mark.parametrize("words", commands("dvc repro "))
def test_its_stages_are_there(words):
    named = {word.partition("@")[0] for word in words if not word.startswith("-")}
    assert named <= STAGES


@pytest.mark.slow
@pytest.mark.parametrize("words", commands("dvc exp run "))
def test_its_settings_compose(words):
    if "--queue" not in words:  # a series; test_points.py has those
        compose(ROOT / "conf", [value for flag, value in pairwise(words) if flag == "-S"])


@pytest.mark.parametrize("words", commands("python benchmarks/"))
def test_its_benchmark_is_there(words):
    assert (ROOT / "benchmarks" / words[0]).is_file()
