"""The page on results that the tests make, section by section."""

import re
from pathlib import Path

import numpy as np
import pytest
from markupsafe import Markup

import asterism
from asterism.core.messages.errors import UserError
from asterism.report import lanes
from asterism.report.base.pictures import png
from asterism.report.base.section import KeyFigure, ReportSection

ASTERISM = Path(asterism.__file__).parent
FOLDERS = sorted(folder.parent.relative_to(ASTERISM) for folder in ASTERISM.rglob("templates"))


def test_every_registered_section_leaves_itself_out_without_results(tmp_path):
    assert lanes.SECTIONS.names() == ["compressed", "importance", "libraries", "stateful"]
    for name in lanes.SECTIONS:
        assert lanes.SECTIONS[name](tmp_path) is None
    with pytest.raises(UserError, match="dvc repro"):
        lanes.write_page(tmp_path, tmp_path / "index.html")


def test_sections_stand_in_their_order_and_the_page_asks_for_nothing(tmp_path, monkeypatch):
    def section(name, order):
        body = Markup("<p>body of {}</p>").format(name)
        figure = KeyFigure("a <label>", "1")
        return ReportSection(name, f"Title {name}", "Why?", (figure,), body, order)

    made = {"a": lambda _: section("a", 2), "b": lambda _: section("b", 1), "c": lambda _: None}
    monkeypatch.setattr(lanes, "SECTIONS", made)
    lanes.write_page(tmp_path, tmp_path / "index.html")
    text = (tmp_path / "index.html").read_text()
    assert text.index("body of b") < text.index("body of a")
    assert "a &lt;label&gt;" in text
    assert re.findall(r"(?:src|href)=\"(?!data:|#)(.*?)\"", text) == ["../sweeps/index.html"]
    assert 'name="viewport"' in text


@pytest.mark.parametrize("channels", [1, 3])
def test_images_are_inline(channels):
    image = np.zeros((4, 5, channels), np.uint8)
    assert png(image, 'a "b"').startswith('<img class="pixels"')
    assert "data:image/png;base64," in png(image, "x")
    assert '"a "b""' not in png(image, 'a "b"')


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_a_package_holds_the_templates_that_its_own_pages_use(folder):
    templates = list((ASTERISM / folder / "templates").glob("*.html.j2"))
    sources = [f.read_text("utf-8") for f in [*(ASTERISM / folder).glob("*.py"), *templates]]
    used = {name for text in sources for name in re.findall(r'"(\w+\.html\.j2)"', text)}
    assert used == {file.name for file in templates}
