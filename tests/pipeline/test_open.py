"""Which page each name opens, and what is said where there is none."""

import os
import webbrowser

import pytest
from typer.testing import CliRunner

from asterism.cli import commands
from asterism.cli.opening import PAGES, find_page
from asterism.core.messages.errors import UserError


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder that looks like a project's root; the current one."""
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(project, name, age=0):
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    os.utime(path, (1_000_000 - age, 1_000_000 - age))
    return path


def test_each_page_is_the_latest_of_its_kind(project):
    report = put(project, "report/index.html")
    older = put(project, "sweeps/a/points/0000/vet/index.html", age=10)
    newer = put(project, "sweeps/b/points/0000/vet/index.html")
    sweep = put(project, "sweeps/c/index.html")
    put(project, "sweeps/b/index.html", age=5)
    overview = put(project, "sweeps/index.html")
    manual = put(project, "build/manual/index.html")
    pages = {"report": report, "vet": newer, "sweep": sweep, "sweeps": overview}
    pages |= {"manual": manual}
    assert pages.keys() == PAGES.keys()
    for name, page in pages.items():
        assert find_page(project, name) == page
    older.touch()
    assert find_page(project, "vet") == older


def test_a_name_is_a_sweeps_or_that_of_a_vetted_pair(project):
    sweep = put(project, "sweeps/many/index.html")
    put(project, "sweeps/vet-small/index.html")
    vetted = put(project, "sweeps/vet-small/points/0000/vet/index.html")
    assert find_page(project, "many") == sweep
    assert find_page(project, "vet-small") == vetted
    with pytest.raises(UserError, match="did you mean 'many'"):
        find_page(project, "mny")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_is_not_there_yet_says_what_makes_it(project, name):
    with pytest.raises(UserError, match=f"yet: `{PAGES[name][1]}` makes it"):
        find_page(project, name)


def test_the_path_is_printed_and_the_browser_asked(project, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    page = put(project, "report/index.html")
    ended = CliRunner().invoke(commands.app, ["open"])
    assert ended.output == f"page: {page}\n" and opened == [page.as_uri()]
    ended = CliRunner().invoke(commands.app, ["open", "report", "--print"])
    assert ended.output == f"page: {page}\n" and len(opened) == 1
