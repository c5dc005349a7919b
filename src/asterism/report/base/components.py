"""Pieces of pages that templates use: parts with headings, tables, details and sources.

A template calls them with what they hold::

    {% call part("coverage", "Coverage") %} … {% endcall %}
    {% call table("Coverage by set", "metrics/coverage.json: SET.CRITERION") %} … {% endcall %}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

_PART = Markup('<div class="part" id="{}">\n<h3>{}</h3>\n{}</div>\n')
_DETAIL = Markup('<details class="detail"><summary>{}</summary>\n{}</details>\n')
_BLOCK = Markup('<pre tabindex="0" role="group" aria-label="{}">{}</pre>\n')
_TABLE = Markup(
    '<div class="table"><div class="wide" tabindex="0" role="group" aria-label="{}">'
    "<table{}>\n{}</table></div>{}</div>\n"
)
_SOURCE = Markup(
    '<button type="button" class="from" popovertarget="{0}" aria-label="Source of {1}">source'
    '</button><span class="source" popover id="{0}"><b>{1}</b>{2}</span>'
)


class Components:
    """The pieces of one section.

    Args:
        anchor: the section's name; ids of its pieces begin with it.
    """

    def __init__(self, anchor: str) -> None:
        self._anchor = anchor
        self._sources = 0
        #: Anchor and title of each part so far.
        self.contents: list[tuple[str, str]] = []

    def functions(self) -> dict[str, Callable[..., Markup]]:
        """The pieces by the names that templates call them by."""
        return {
            "part": self.part,
            "table": self.table,
            "detail": self.detail,
            "block": self.block,
            "source": self.source,
            "parameters": self.parameters,
        }

    def part(self, name: str, title: str, caller: Callable[[], Markup]) -> Markup:
        """A heading with what belongs to it; the list of contents gets a link to it."""
        anchor = f"{self._anchor}-{name}"
        self.contents.append((anchor, title))
        return _PART.format(anchor, title, caller())

    def table(self, title: str, source: str, caller: Callable[[], Markup]) -> Markup:
        """A table that scrolls sideways in itself, and says on demand where its numbers are from.

        Args:
            title: what it shows; screen readers say it.
            source: the file and how its keys are made; words in capitals are the table's own.
            caller: gives the rows.
        """
        told = Markup(' data-source="{}"').format(source)
        found = self.source(title, source) if source else Markup("")
        return _TABLE.format(title, told if source else Markup(""), caller(), found)

    def detail(self, title: str, caller: Callable[[], Markup]) -> Markup:
        """Something that is folded up until it is asked for."""
        return _DETAIL.format(title, caller())

    def parameters(self, values: Sequence[tuple[str, str]]) -> Markup:
        """The parameters of the run, folded up.

        Args:
            values: full name and value of each.
        """
        row = Markup("<tr><td><code>{}</code></td><td>{}</td></tr>\n")
        head = Markup("<thead><tr><th>parameter</th><th>value</th></tr></thead>\n<tbody>\n")
        rows = head + Markup("").join(row.format(*value) for value in values) + Markup("</tbody>")
        title = "Parameters of this run"
        return self.detail(title, lambda: self.table(title, "params.yaml", lambda: rows))

    def block(self, title: str, caller: Callable[[], Markup]) -> Markup:
        """Text that keeps its lines, as a script."""
        return _BLOCK.format(title, caller())

    def source(self, title: str, sources: str | Sequence[str]) -> Markup:
        """A button that shows where something was read, each a file and the keys in it."""
        told = (sources,) if isinstance(sources, str) else sources
        if not told:
            return Markup("")
        self._sources += 1
        lines = Markup("").join(Markup("<code>{}</code>").format(line) for line in told)
        return _SOURCE.format(f"{self._anchor}-source-{self._sources}", title, lines)
