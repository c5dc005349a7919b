"""Figures of pages, before they are drawn."""

from dataclasses import dataclass

import polars as pl
import pytest
from markupsafe import Markup
from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawn:
    """A figure as a module hands it to the page, with what is told of it and its table."""

    figure: Figure
    alt: str
    data: pl.DataFrame
    title: str
    source: str


@pytest.fixture
def drawn(monkeypatch):
    """A function that catches figures where a module makes markup of them, by their names."""

    def catch(module):
        figures = {}

        def svg(figure, alt, name, data, title, source):
            assert alt.endswith("."), "a sentence"
            assert title and source, "what it is called and where its numbers are from"
            assert data.write_csv(), "a table that can be had as a file"
            figures[name] = Drawn(figure, alt, data, title, source)
            return Markup("<p>figure: {}</p>").format(alt)

        monkeypatch.setattr(module, "svg", svg)
        return figures

    return catch
