"""Every tutorial's commands run, and print what the page shows."""

import re
import shlex

import pytest
from manual_pages import unexplained
from tutorials import PAGES, follow, lacking, parts, pictures
from typer.testing import CliRunner

from asterism.cli.commands import app
from asterism.config import compose
from places import ROOT

NAMES = [page.stem for page in PAGES]

#: Pages that go on in a tutorial's folder.
CONTINUED = {"vet-a-compressed-model": ["docs/how-to/continuous-integration.md"]}


def commands(page):
    """Each command of ``asterism`` on the page, as words."""
    texts = [part.text.replace("\\\n", " ") for part in parts(page) if not part.file]
    lines = [line for text in texts for line in text.splitlines()]
    return [words[1:] for words in map(shlex.split, lines) if words[:1] == ["asterism"]]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_the_page_has_commands_that_there_are_with_settings_that_compose_and_output(page):
    assert any(not part.file for part in parts(page))
    assert any(part.shown for part in parts(page))
    for words in commands(page):
        result = CliRunner().invoke(app, [words[0], "--help"])
        assert result.exit_code == 0, words
        if words[0] == "params":
            compose(ROOT / "conf", words[1:])


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_picture_is_of_a_page_that_is_named(page):
    shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    assert {(page.parent / picture).resolve() for picture in shown} == set(pictures(page))
    assert shown, "a newcomer sees what comes out"
    assert all(0 < picture.stat().st_size < 200_000 for picture in pictures(page))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_following_the_page_prints_what_it_shows(page, tmp_path):
    for part, output in follow(page, tmp_path):
        assert not lacking(part, output), output
    for shown in pictures(page).values():
        file, _, part = shown.partition("#")
        assert not part or f'id="{part}"' in (tmp_path / file).read_text(encoding="utf-8")
        assert (tmp_path / file).is_file()
    assert not unexplained(tmp_path)
    for later in CONTINUED.get(page.stem, ()):
        for part, output in follow(ROOT / later, tmp_path):
            assert not lacking(part, output), output
