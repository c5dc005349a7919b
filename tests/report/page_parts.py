"""What a page shows, as plain values."""

import base64
import html
import re

_DRAWING = re.compile(r'<img alt="([^"]*)" src="data:image/svg\+xml;base64,([^"]*)">')


def plain(markup):
    """The text of markup, without tags, with single spaces."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", str(markup))).split())


def rows(markup):
    """The rows of all its tables with cells of data, each a list of texts."""
    found = re.findall(r"<tr>(.*?)</tr>", str(markup), re.DOTALL)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in found]
    return [[plain(cell) for cell in row] for row in cells if row]


def headline(section):
    """The key figures of a section, by their labels; each says where it was read."""
    assert all(": " in source for figure in section.headline for source in figure.sources)
    assert all(figure.sources for figure in section.headline)
    return [(figure.label, figure.value) for figure in section.headline]


def unfolded(markup):
    """Markup with the text of each drawing in place of its image."""
    return _DRAWING.sub(
        lambda found: f"{found.group(1)}{base64.b64decode(found.group(2)).decode()}", str(markup)
    )
