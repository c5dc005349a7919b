"""Every command that README and the manual show is run."""

import subprocess
import sys

import hollow_project
import pytest
from page_commands import Command, commands, lines, way_of
from typer.testing import CliRunner
from workspace import ENVIRONMENT

from asterism.cli.commands import app
from places import ROOT

COMMANDS = commands()
#: Tests import much: their commands take seconds.
SLOW = ("python benchmarks/", "python -m pytest", "python stages")

#: Commands that nothing runs. A new one needs a reason that holds.
UNTESTED = 4


def of(where):
    """The commands that are run there; those that take long are marked."""
    found = [command for command in COMMANDS if way_of(command).where == where]
    return [
        pytest.param(
            command,
            id=command.text[:90],
            marks=[pytest.mark.slow] if command.text.startswith(SLOW) else [],
        )
        for command in found
    ]


def words_of(command):
    return [*command.words, *way_of(command).more.split()]


@pytest.mark.parametrize("command", of("checkout"))
def test_it_runs_in_the_checkout(command, monkeypatch):
    words = words_of(command)
    if words[0] == "asterism":
        monkeypatch.chdir(ROOT)
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == 0, done.output
        return
    program = [sys.executable] if words[0] == "python" else ["make", "--no-print-directory"]
    done = subprocess.run(
        [*program, *words[1:]],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return hollow_project.make(tmp_path_factory.mktemp("hollow"))


@pytest.mark.slow
@pytest.mark.parametrize("command", of("project"))
def test_it_runs_in_a_project_whose_stages_compute_nothing(command, project):
    done = hollow_project.call(project, words_of(command))
    assert done.returncode == 0, done.stdout


def test_every_command_is_run_or_said_to_be_not():
    assert len(COMMANDS) > 150
    ways = [way_of(command) for command in COMMANDS]
    elsewhere = {ROOT / way.more for way in ways if way.where == "elsewhere"}
    assert not [path for path in elsewhere if not path.is_file()]
    assert sum(way.where == "nowhere" for way in ways) == UNTESTED


def test_commands_are_found_in_blocks_and_in_running_text():
    block = "```sh\nasterism b \\\n  -c  # d\n```\n"
    page = f"Run `make x`, then `dvc repro` or\n`dvc repro\na`.\n\n{block}"
    assert lines(page) == ["asterism b -c", "make x", "dvc repro a"]
    with pytest.raises(LookupError, match=r"a\.md: no test runs `perl x`"):
        way_of(Command("a.md", "perl x"))
