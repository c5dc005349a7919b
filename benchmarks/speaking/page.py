"""The table of ``docs/speech.md``, from the results that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import read_json

ROOT = Path(__file__).resolve().parents[2]
RESULTS, PAGE = ROOT / "results/speech", ROOT / "docs/speech.md"

_BEGIN, _END = "<!-- begin of the tables -->\n", "<!-- end of the tables -->\n"

Figures = Mapping[str, Any]

#: The paper's table 9: success in percent, seconds, queries.
PUBLISHED = {
    "DeepSpeech 0.9.3 (the paper)": {
        "dflare": (100, 5.740, 8.42),
        "diffchaser": (95.6, 169.365, 223.04),
    },
    "DeepSpeech 0.8.2 (the paper)": {
        "dflare": (100, 4.812, 5.88),
        "diffchaser": (95.5, 168.402, 214.53),
    },
}
_TITLES = {"dflare": "Dflare", "diffchaser": "DiffChaser"}


def kept_results() -> list[Figures]:
    """The committed results, by the recogniser's name."""
    return [read_json(path) for path in sorted(RESULTS.glob("*.json"))]


def with_table(text: str, results: Sequence[Figures]) -> str:
    """The page with tables of these results between its marks."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    parts = [_searches(results), _clips(results), _repairs(results)]
    return before + _BEGIN + "\n" + "\n\n".join(parts) + "\n\n" + _END + after


def write(results: Sequence[Figures]) -> None:
    """Write the tables into the page."""
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _searches(results: Sequence[Figures]) -> str:
    head = ["recogniser", "search", "seeds", "success", "mean queries", "seconds a seed"]
    rows = [
        [name, _TITLES[search], "500", f"{success}%", f"{queries}", f"{seconds}"]
        for name, searches in PUBLISHED.items()
        for search, (success, seconds, queries) in searches.items()
    ]
    for figures in results:
        for search, found in figures["searches"].items():
            rate, queries = found["success_rate"], found["mean_queries"]
            rows.append(
                [
                    f"`{figures['subject']}`",
                    _TITLES[search],
                    str(found["seeds"]),
                    "" if rate is None else f"{100 * rate:.1f}%",
                    "" if queries is None else f"{queries:.2f}",
                    f"{found['processor_seconds_of_a_seed']:.2f}",
                ]
            )
    return _table(head, rows)


def _clips(results: Sequence[Figures]) -> str:
    head = ["recogniser", "clips", "transcripts differ", "word errors", "kB"]
    rows = []
    for figures in results:
        clips = figures["clips"]
        rates = clips.get("word_error_rates")
        rows.append(
            [
                f"`{figures['subject']}`",
                str(clips["count"]),
                _share(clips["differ"]),
                f"{100 * rates[0]:.1f}% and {100 * rates[1]:.1f}%" if rates else "not known",
                " and ".join(f"{size / 1e3:,.0f}" for size in figures["bytes"]),
            ]
        )
    return _table(head, rows)


def _repairs(results: Sequence[Figures]) -> str:
    head = [
        *("recogniser", "repaired file", "gone, held out", "transcripts differ"),
        *("new search: success", "mean queries", "kB"),
    ]
    rows = []
    for figures in results:
        repair, name = figures["repair"], f"`{figures['subject']}`"
        if "chosen" not in repair:
            rows.append([name, repair["reason"], *[""] * 5])
            continue
        chosen, search = repair["chosen"], repair["search"]
        queries = search["mean_queries"]
        rows.append(
            [
                name,
                f"{chosen['nodes_in_float']} of {repair['quantised_nodes']} nodes in float, "
                f"{chosen['nodes_with_finer_scales']} with finer scales, {chosen['bits']} bits",
                _share(repair["gone_held_out"]),
                f"{_share(figures['clips']['differ'])} before, {_share(repair['clips']['differ'])}",
                "" if search["success_rate"] is None else f"{100 * search['success_rate']:.1f}%",
                "" if queries is None else f"{queries:.2f}",
                f"{chosen['bytes'] / 1e3:,.0f}",
            ]
        )
    return _table(head, rows)


def _share(share: Mapping[str, float]) -> str:
    low, high = (100 * share[end] for end in ("low", "high"))
    return f"{100 * share['share']:.1f}% ({low:.0f} to {high:.0f})"
