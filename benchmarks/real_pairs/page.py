"""The page of the docs about real pairs, made of the registry and of the results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asterism.reproduction.page import markdown_table, wrapped
from real_pairs.entry import RealPair, packages, packages_of

#: Where the page lies in the project.
PAGE = Path("docs/pairs.md")

#: Where the part of the page begins that is written by this module.
_MARK = "<!-- All below is written by `python benchmarks/real_pairs --write`. -->\n"

_COLUMNS = (
    "pair", "verdict", "agreement", "flips", "found", "gone", "nodes in float", "size, MB", "s",
)  # fmt: skip


def page(text: str, pairs: Mapping[str, RealPair], results: Mapping[str, Any]) -> str:
    """The page's text with current results.

    Args:
        text: the page as it is.
        pairs: all pairs of the registry, by name.
        results: of :func:`~real_pairs.results.read_results`.
    """
    vetted = {name: pair for name, pair in pairs.items() if name in results}
    left = {name: pair for name, pair in pairs.items() if name not in results}
    parts = [
        "## Results",
        markdown_table(_COLUMNS, [_summary(name, results[name]) for name in vetted]),
        "## The pairs",
        *(_about(name, pair, results[name]) for name, pair in vetted.items()),
    ]
    if left:
        parts += ["## Not vetted", *(_not_vetted(name, pair) for name, pair in left.items())]
    rows = [
        [f"{name} {known.version}", known.licence, known.licence_source]
        for name, known in sorted(packages().items())
    ]
    parts += ["## Licences", markdown_table(["package", "licence", "source"], rows)]
    return text.partition(_MARK)[0] + _MARK + "\n" + "\n\n".join(parts) + "\n"


def _summary(name: str, result: Any) -> list[str]:
    differ, repair = result["differ"], result["repair"]
    agreement = f"{1 - differ['share']:.1%} ({1 - differ['high']:.1%} to {1 - differ['low']:.1%})"
    sizes = [*result["bytes"], *([repair["bytes"]] if "bytes" in repair else [])]
    return [
        f"[{name}](#{name})",
        result["verdict"]["word"],
        agreement,
        f"{result['flips'][0]['share']['share']:.1%}" if result["flips"] else "",
        _found(result["searches"]),
        _gone(repair),
        _nodes(repair),
        " → ".join(f"{size / 1e6:.2f}" for size in sizes),
        "" if result["seconds"] is None else f"{result['seconds']:.0f}",
    ]


def _found(searches: Any) -> str:
    return ", ".join(
        f"{found['triggered']} of {found['seeds'] - found['deviates_already']}"
        for found in searches.values()
    )


def _gone(repair: Any) -> str:
    share = repair.get("gone_held_out")
    if share is None or not share["total"]:
        return "no repair"
    return f"{share['share']:.0%} of {share['total']}"


def _nodes(repair: Any) -> str:
    if "nodes_in_float" not in repair:
        return ""
    finer = repair["nodes_with_finer_scales"]
    more = f", {finer} with finer scales ({repair['bits']} bits)" if finer else ""
    finest = repair.get("nodes_with_finest_weights", 0)
    more += f", {finest} of these with weights of 16 bits" if finest else ""
    return f"{repair['nodes_in_float']} of {repair['quantised_nodes']}{more}"


def _about(name: str, pair: RealPair, result: Any) -> str:
    lines = [f"### {name}", "", wrapped(f"{pair.title}; {pair.compression}. {pair.note}"), ""]
    lines += [wrapped(f"* {reason}") for reason in result["verdict"]["reasons"]]
    if result["accuracy"]:
        shares = " and ".join(f"{share['share']:.1%}" for share in result["accuracy"])
        lines.append(f"* accuracy of the original and of the compressed model: {shares}")
    if result["failed"]:
        lines.append(f"* {result['failed']} inputs without a finite answer")
    repair = result["repair"]
    if "differ" in repair:
        before, after = (1 - repair[key]["share"] for key in ("differ_before", "differ"))
        lines.append(
            wrapped(
                f"* agreement on {repair['differ']['total']} inputs that the repair has not seen: "
                f"{before:.1%} before, {after:.1%} with the repaired file"
            )
        )
    if "reason" in repair:
        lines.append(wrapped(f"* repair: {repair['reason']}"))
    blamed = [node for node in repair.get("blamed", []) if node["explained"]]
    if blamed:
        named = ", ".join(
            f"`{'/'.join(node['node'].split('/')[-2:])}` ({node['operator']}, "
            f"{node['explained']:.0%})"
            for node in blamed
        )
        lines.append(wrapped(f"* most blamed nodes, with the deviations gone by each: {named}"))
    lines.append(f"* packages: {', '.join(packages_of(pair))}")
    return "\n".join(lines)


def _not_vetted(name: str, pair: RealPair) -> str:
    return wrapped(f"* **{pair.title}** ({name}): {pair.not_vetted or 'no result yet'}.")
