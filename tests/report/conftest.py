"""Figures of pages, before they are drawn."""

import pytest
from markupsafe import Markup


@pytest.fixture
def drawn(monkeypatch):
    """A function that catches figures where a module makes markup of them, by what they show."""

    def catch(module):
        figures = {}

        def svg(figure, alt):
            figures[alt] = figure
            return Markup("<p>figure: {}</p>").format(alt)

        monkeypatch.setattr(module, "svg", svg)
        return figures

    return catch
