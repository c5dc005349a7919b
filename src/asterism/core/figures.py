"""Figures as SVG: the same content gives the same bytes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from asterism.core.artifacts import replacing

_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "asterism",  # element ids that do not differ from run to run
    "svg.fonttype": "none",  # text stays text
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
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    drawing = buffer.getvalue()
    return drawing[drawing.index("<svg") :]


def write_svg(path: Path, figure: Figure) -> None:
    """The figure as an SVG file."""
    with replacing(path) as temporary:
        temporary.write_text(svg_text(figure), encoding="utf-8")
