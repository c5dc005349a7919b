"""Every command that a page shows is one that there is, with its options; nothing runs."""

from itertools import pairwise

import pytest
import typer
import yaml
from manual_pages import commands as shown_commands

from asterism.cli.commands import app
from asterism.config import compose
from collection.commands import app as findings
from places import ROOT
from thinning import every

PROGRAM = typer.main.get_command(app)
FINDINGS = typer.main.get_command(findings)
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"].keys()


def commands(start):
    """The words behind this start of a command, of every page and of those at the front."""
    found = [command for command in shown_commands() if command.text.startswith(start)]
    skipped = start.count(" ")
    return [pytest.param(command.words[skipped:], id=command.text[:80]) for command in found]


@pytest.mark.parametrize("words", commands("asterism "))
def test_its_arguments_and_options_are_taken(words):
    assert words[0] in {*PROGRAM.commands, "--help"}
    if len(words) == 1:
        return  # a name in running text may leave its arguments out
    context = PROGRAM.commands[words[0]].make_context(words[0], words[1:])
    targets = context.params.get("targets") or context.params.get("target") or []
    if words[0] in {"repro", "sweep"}:
        assert {target.partition("@")[0] for target in targets} <= STAGES


@pytest.mark.parametrize("words", commands("dvc repro "))
def test_its_stages_are_there(words):
    named = {word.partition("@")[0] for word in words if not word.startswith("-")}
    assert named <= STAGES


@pytest.mark.parametrize("words", every(30, commands("dvc exp run ")))
def test_its_settings_compose(words):
    if "--queue" not in words:  # a series; test_points.py has those
        compose(ROOT / "conf", [value for flag, value in pairwise(words) if flag == "-S"])


@pytest.mark.parametrize("words", commands("python benchmarks/"))
def test_its_benchmark_is_there(words):
    assert any((ROOT / words[0] / part).is_file() for part in ("", "__main__.py"))


@pytest.mark.parametrize("words", commands("python findings "))
def test_its_command_for_findings_is_there_with_its_options(words):
    assert words[0] in {*FINDINGS.commands, "--help"}
    if len(words) > 1:  # a name in running text may leave its arguments out
        FINDINGS.commands[words[0]].make_context(words[0], words[1:])
