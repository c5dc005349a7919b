"""The library lane on the page: reduction, coverage, findings and their reproducers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from textwrap import wrap
from typing import Any

import polars as pl
from markupsafe import Markup
from matplotlib.figure import Figure

from asterism.core.files.artifacts import read_json, read_table, require_file
from asterism.core.messages.errors import UserError, prefix_errors
from asterism.core.svg import PALETTE
from asterism.memo.graphs.graph import Graph, Node
from asterism.memo.graphs.store import graph_from_json
from asterism.memo.universe.layers import universe
from asterism.report.base.document import render_body, renderer
from asterism.report.base.pictures import svg
from asterism.report.base.section import KeyFigure, ReportSection, parameters_of, percent
from asterism.report.lanes import SECTIONS
from asterism.report.lanes.libraries_answer import LibraryResults, answer_libraries

_render = renderer("asterism.report.lanes")

#: Width of a plot; the page shows all in one width, so a narrower one would have larger letters.
_PLOT_INCHES = 6.0

#: Kinds of coverage as the tables and curves call them.
KINDS = {
    "types": "layer types",
    "pairs": "layer pairs",
    "parameters": "layer parameters",
    "inputs": "layer inputs",
    "paper_types": "types of the paper's families",
    "paper_pairs": "pairs of the paper's 3,660",
    "paper_parameters": "parameters of the paper's families",
}

#: Strategies as the page calls them, in its order.
STRATEGIES = {
    "memo": "MEMO",
    "memo_r": "MEMO_r (uniform selection)",
    "memo_o": "MEMO_o (older operators)",
    "lemon": "LEMON (its operators)",
    "cradle": "CRADLE (seeds alone)",
    "muffin": "Muffin (from scratch)",
}

#: Groups of parameters that shape these results.
GROUPS = ("seed", "reduce", "generate", "execute", "judge", "triage")


@SECTIONS.register("libraries")
def libraries_section(workspace: Path) -> ReportSection | None:
    """The lane's section, None before ``triage_findings`` has run."""
    metrics, artifacts = workspace / "metrics", workspace / "artifacts"
    if not (metrics / "triage_findings.json").exists():
        return None
    triage = read_json(metrics / "triage_findings.json")
    generated = read_json(metrics / "generate_models.json")
    judged = read_json(metrics / "judge_models.json")
    unique = read_json(artifacts / "triage_findings/unique.json")
    growth = read_table(workspace / "plots/generate_models/growth.csv")
    outcomes = read_table(artifacts / "execute_models/outcomes.csv").to_dicts()
    left_out = read_json(artifacts / "execute_models/left_out.json")
    body, contents = render_body(
        _render,
        "libraries.html.j2",
        "libraries",
        kinds=KINDS,
        reduction=read_table(artifacts / "reduce_models/reduction.csv").to_dicts(),
        universe=read_json(artifacts / "generate_models/universe.json"),
        branches=read_table(artifacts / "generate_models/branches.csv").to_dicts(),
        coverage=[
            (STRATEGIES.get(n, n), generated["coverage"][n])
            for n in sorted(generated["coverage"], key=_place)
        ],
        parts=[
            ("the seed models", generated["coverage_of_seeds"]),
            ("the models run in the libraries", generated["coverage_of_executed"]),
        ],
        cradle="cradle" in generated["coverage"],
        growth=[(KINDS[k], _growth(growth, k)) for k in ("types", "pairs", "parameters")],
        outcomes=outcomes,
        left_out=left_out,
        unsupported=read_table(artifacts / "judge_models/unsupported.csv").to_dicts(),
        judged=judged,
        triage=triage,
        symptoms=_by_library(unique),
        groups=_groups([_with_script(artifacts / "triage_findings", u) for u in unique]),
        versions=read_json(artifacts / "library_versions/env.json"),
        settings=parameters_of(workspace, GROUPS),
    )
    return ReportSection(
        anchor="libraries",
        title="Libraries",
        question="Does a model compute the same thing in every library, and where not, which "
        "layer and parameter is to blame?",
        headline=(
            _key("models generated", generated["models"], "generate_models.json: models"),
            _key(
                "of them run in all libraries",
                generated["executed"],
                "generate_models.json: executed",
            ),
            _key("findings", judged["findings"], "judge_models.json: findings"),
            _key("unique findings", triage["unique"], "triage_findings.json: unique"),
            _key(
                "confirmed by a script",
                triage["reproduced_in_three_processes"],
                "triage_findings.json: reproduced_in_three_processes",
            ),
        ),
        body=body,
        order=40,
        contents=contents,
        answers=(
            answer_libraries(_results(generated, judged, triage, unique, outcomes, left_out)),
        ),
    )


def _results(
    generated: Any, judged: Any, triage: Any, unique: Any, outcomes: Any, left_out: Any
) -> LibraryResults:
    """What the front page says of these results."""
    return LibraryResults(
        generated=generated["models"],
        executed=generated["executed"],
        agreements=judged["agreements"],
        unresolved=judged["unresolved"],
        rejected=judged["invalid_rate"],
        libraries=tuple(sorted({u["finding"]["library"] for u in unique})),
        problems=triage["unique"],
        known=triage["known"],
        confirmed=triage["reproduced_in_three_processes"],
        affected=len({model for u in unique for model in u["models"]}),
        left=triage["groups_left_by_budget"],
        left_by_time=triage["groups_left_by_time"],
        cut_by_time=triage["not_minimal_by_time"],
        left_out=tuple(left_out),
        silent=tuple(row["backend"] for row in outcomes if not row["ok"]),
    )


def _key(label: str, count: int, source: str) -> KeyFigure:
    """A count out of a file of metrics."""
    return KeyFigure(label, f"{count:,}", sources=(f"metrics/{source}",))


def _place(strategy: str) -> tuple[int, str]:
    """Where a strategy stands in tables and legends; one that the page has no name for, last."""
    known = list(STRATEGIES)
    return (known.index(strategy) if strategy in known else len(known)), strategy


def _growth(growth: pl.DataFrame, kind: str) -> Markup:
    figure = Figure(figsize=(_PLOT_INCHES, 2.6))
    axes = figure.add_subplot()
    names = sorted(growth["strategy"].unique(), key=_place)
    end = growth["models"].max()
    for name, colour in zip(names, PALETTE, strict=False):
        rows = growth.filter(pl.col("strategy") == name)
        share = [100 * value for value in rows[kind]]
        # A strategy that has no more models, as CRADLE after the seeds, keeps what it covered.
        models, share = [*rows["models"], end], [*share, share[-1]]
        axes.plot(models, share, color=colour, label=STRATEGIES.get(name, name))
    axes.set_xlabel("generated models")
    axes.set_ylabel(f"{KINDS[kind]} (%)")
    axes.legend(frameon=False)
    rows = growth.sort("models").group_by("strategy", maintain_order=True).last()
    ends = {row["strategy"]: percent(row[kind]) for row in rows.to_dicts()}
    told = ", ".join(f"{STRATEGIES.get(name, name)} {ends[name]}" for name in names)
    alt = (
        f"Line chart: share of {KINDS[kind]} covered by generated models, a line for each "
        f"strategy. At the end: {told}."
    )
    data = growth.select("strategy", "models", kind)
    return svg(
        figure,
        alt,
        f"growth-{kind}",
        data,
        f"growth of {KINDS[kind]}",
        f"plots/generate_models/growth.csv: {kind}",
    )


def _by_library(unique: list[dict[str, Any]]) -> dict[str, Any]:
    counts = Counter((u["finding"]["library"], u["finding"]["symptom"]) for u in unique)
    symptoms = sorted({symptom for _, symptom in counts})
    names = sorted({library for library, _ in counts})
    return {"names": symptoms, "rows": [(n, [counts[n, s] for s in symptoms]) for n in names]}


def _groups(unique: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Findings under their headlines: confirmed, documented limits, and those not reproduced."""
    headlines = {
        "": "Confirmed by a script",
        "known-limits": "Known limits, which the libraries document",
        "not-reproduced": "Not reproduced by a script in a fresh process",
    }
    found = [(title, [u for u in unique if _group(u) == kind]) for kind, title in headlines.items()]
    return [(title, many) for title, many in found if many]


def _with_script(folder: Path, unique: dict[str, Any]) -> dict[str, Any]:
    """A finding with its picture and its script, which lies in a folder of the stage's own."""
    name = str(unique["folder"])
    with prefix_errors(str(folder / "unique.json")):
        graph = graph_from_json(unique["graph"])
        inside = name.removeprefix(f"{_group(unique)}/")
        if inside in ("", ".", "..") or Path(inside).name != inside:
            raise UserError(f"{name!r} is no name of a folder")
    script = folder / name / "repro.py"
    require_file(script, "script")
    return {
        **unique,
        "special_weights": any(node.is_special for node in graph.nodes.values()),
        "picture": _model(graph, name),
        "script": script.read_text(encoding="utf-8", errors="replace"),
    }


def _group(unique: dict[str, Any]) -> str:
    """The folder of known limits, or of what is not reproduced; empty for confirmed findings."""
    if unique.get("limit"):
        return "known-limits"
    return "" if all(s == 1 for s in unique["confirmed"]) else "not-reproduced"


def _model(graph: Graph, name: str) -> Markup:
    """The smallest model found as boxes from top to bottom, each at its depth."""
    depth: dict[int, int] = {}
    place: dict[int, tuple[float, float]] = {}
    for identity, node in graph.nodes.items():
        level = max((depth[i] + 1 for i in node.inputs), default=0)
        column = sum(d == level for d in depth.values())
        depth[identity] = level
        place[identity] = (column, -level)
    wide, high = max(x for x, _ in place.values()) + 1, max(depth.values()) + 1
    captions = {identity: _caption(node) for identity, node in graph.nodes.items()}
    box_inches = 0.21 + 0.15 * max(len(caption.splitlines()) for caption in captions.values())
    level_inches = box_inches + 0.24
    edge = box_inches / level_inches / 2
    figure = Figure(figsize=(max(_PLOT_INCHES, 3.2 * wide), level_inches * high + 0.2))
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(-0.5, wide - 0.5)
    axes.set_ylim(-high + 0.5, 0.5)
    for identity, node in graph.nodes.items():
        x, y = place[identity]
        for source in node.inputs:
            arrow = {"arrowstyle": "->", "color": "gray"}
            start = place[source]
            axes.annotate("", (x, y + edge), (start[0], start[1] - edge), arrowprops=arrow)
        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "gray"}
        axes.text(x, y, captions[identity], ha="center", va="center", fontsize=8, bbox=box)
    layers = [caption.replace("\n", " ") for caption in captions.values()]
    data = pl.DataFrame(
        {
            "node": list(graph.nodes),
            "layer": layers,
            "inputs": [" ".join(map(str, node.inputs)) for node in graph.nodes.values()],
        }
    )
    alt = f"Boxes joined by arrows: the smallest model found, {', then '.join(layers)}."
    return svg(
        figure,
        alt,
        f"model-{name}",
        data,
        "the smallest model found",
        "artifacts/triage_findings/unique.json: graph",
    )


#: Characters of a caption's line, so that boxes side by side do not touch.
_CHARACTERS = 44

#: Sizes, which the box of a layer shows even if they are the default.
_SIZES = ("units", "filters", "kernel_size")


def _caption(node: Node) -> str:
    """The layer with its sizes and all that is off its default: one of them may be to blame."""
    known = universe()
    defaults = known[node.type].defaults() if node.type in known else {}
    told = [
        f"{name}={value}"
        for name, value in node.config.items()
        if name in _SIZES or name not in defaults or value != defaults[name]
    ]
    lines = wrap(f"{node.type}({', '.join(told)})", _CHARACTERS)
    return "\n".join([*lines, *(["with a special weight"] if node.is_special else [])])
