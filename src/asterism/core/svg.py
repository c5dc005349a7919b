"""Figures as SVG: the same content gives the same bytes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogFormatter, LogFormatterMathtext

from asterism.core.files.artifacts import replacing
from asterism.core.messages.escaping import printable_lines

_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "asterism",  # element ids that do not differ from run to run
    "svg.fonttype": "none",  # text stays text
    # Names may hold dollar signs, which must not begin a formula.
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.use": True,
}
mpl.rcParams.update(_STYLE)

#: Colours for categories, apart also for the colour-blind (Okabe and Ito), and their order.
PALETTE = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#f0e442",
    "#000000",
    "#999999",
    "#7f5f00",
)


def svg_text(figure: Figure) -> str:
    """The figure's ``<svg>`` element."""
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        # Logarithmic axes get numbers such as 100 in place of formulas.
        if isinstance(major := axis.get_major_formatter(), LogFormatterMathtext):
            axis.set_major_formatter(LogFormatter(labelOnlyBase=major.labelOnlyBase))
        if isinstance(minor := axis.get_minor_formatter(), LogFormatterMathtext):
            axis.set_minor_formatter(LogFormatter(labelOnlyBase=minor.labelOnlyBase))
    for text in figure.findobj(Text):
        text.set_text(printable_lines(text.get_text()))
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    drawing = buffer.getvalue()
    return drawing[drawing.index("<svg") :]


def write_svg(path: Path, figure: Figure) -> None:
    """The figure as an SVG file."""
    with replacing(path) as temporary:
        temporary.write_text(svg_text(figure), encoding="utf-8")
