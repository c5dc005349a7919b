"""The pages of a collection: the index, and ``campaign.md`` that says what the findings took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import replacing
from asterism.findings.diagnosis import DIFFERENCE, NO_FAULT, WRONG
from asterism.findings.entry import Entry
from asterism.findings.index import INDEX, index_page
from asterism.findings.phase import is_of_compiled_code
from asterism.findings.report import REPORT, report_of
from asterism.differential.oracle.finding import INVALID_INPUTS, RIGHT, UNSUPPORTED
from asterism.differential.report.markdown import cell

CAMPAIGN = "campaign.md"


def write_pages(collection: Path, entries: Sequence[Entry], facts: Mapping[str, Any]) -> None:
    """Write the index, the page of figures, and the report of each finding.

    Args:
        collection: the folder.
        entries: all findings.
        facts: of the campaign, see :func:`campaign_page`.
    """
    _write(collection / INDEX, index_page(entries))
    _write(collection / CAMPAIGN, campaign_page(entries, facts))
    for entry in entries:
        folder = collection / entry.name
        _write(folder / REPORT, report_of(entry, folder))


def campaign_page(entries: Sequence[Entry], facts: Mapping[str, Any]) -> str:
    """What the collection took: models, time, coverage, and what the oracle's reports were.

    Args:
        entries: all findings.
        facts: ``pieces``, what each piece took; ``coverage`` by kind; ``counts`` of what became of
            findings; ``operators``, of comparisons on single operators; ``calls`` by way.
    """
    pieces, counts = facts["pieces"], facts["counts"]
    models = sum(piece["models"] for piece in pieces)
    hours = sum(piece["seconds"] for piece in pieces) / 3600
    used = sum(piece["processor_seconds"] for piece in pieces) / 3600
    running = sum(piece["seconds_executing"] for piece in pieces) / 3600
    real = [entry for entry in entries if entry.diagnosis.kind != NO_FAULT]
    layers = [entry for entry in real if entry.source == "layer"]
    failures = [entry for entry in real if entry.is_failure]
    compiled = sum(is_of_compiled_code(entry.library, entry.phase) for entry in failures)
    apart = _apart(pieces)
    operators, ways = facts["operators"], facts.get("calls", {})
    calling = sum(way["seconds"] for way in ways.values()) / 3600
    lines = [
        "# What the findings took",
        "",
        "| | |",
        "|---|---|",
        f"| models of one layer that ran, once for each set of backends | {models:,} |",
        f"| hours, by the clock, on a machine that others used too | {hours:.2f} |",
        f"| hours of processors | {used:.2f} |",
        f"| models an hour, while they ran | {models / max(running, 1e-9):,.0f} |",
        f"| models an hour, with triage | {models / max(hours, 1e-9):,.0f} |",
        f"| distinct confirmed findings of these | {len(layers)} |",
        f"| distinct confirmed findings an hour | {len(layers) / max(hours, 1e-9):.1f} |",
        f"| findings with the cause of another one | {counts['merged']} |",
        f"| known limits, left out | {counts['limits']} |",
        f"| not confirmed, left out | {counts['unconfirmed']} |",
        f"| scripts too large to keep | {counts['large']} |",
        f"| runs of ONNX operators' models in two libraries each | {operators['models']:,} |",
        f"| distinct confirmed findings of these | {_of_source(real, 'operator')} |",
        f"| calls of functions by ways | {sum(map(_calls, ways.values())):,} |",
        f"| hours of these, by the clock, on a machine that others used too | {calling:.2f} |",
        f"| calls an hour | {sum(map(_calls, ways.values())) / max(calling, 1e-9):,.0f} |",
        f"| distinct confirmed findings of these | {_of_source(real, 'call')} |",
        f"| distinct confirmed findings that were seen by hand | {_of_source(real, 'hand')} |",
        "",
        *_sets(pieces),
        *_standing_apart(apart),
        *_ways(ways, real),
        "Coverage of the universe of layers by these models:",
        "",
        "| layer types | parameters' options | inputs |",
        "|---|---|---|",
        "| " + " | ".join(f"{facts['coverage'][k]:.0%}" for k in _COVERED) + " |",
        "",
        f"{compiled} of {len(failures)} failures are those of compiled code: a compiler ends so, "
        "or what it made, and",
        "no converter is to blame.",
        "",
        *_judged(entries),
    ]
    return "\n".join(lines) + "\n"


def _judged(entries: Sequence[Entry]) -> list[str]:
    """What became of the differences that an oracle called wrong, as people read them."""
    reported = [entry for entry in entries if entry.by_values]
    kinds = Counter(entry.diagnosis.kind for entry in reported)
    today = len(reported) - kinds[NO_FAULT]
    rest = today - kinds[WRONG] - kinds[DIFFERENCE]
    return [
        f"The oracle of today calls {today} differences a wrong result; people read each. "
        f"{kinds[WRONG]} are wrong",
        f"results by the documents. In {kinds[DIFFERENCE]} no document says which side is right: "
        f"{kinds[DIFFERENCE] / max(today, 1):.0%} that are",
        f"called wrong without proof. {rest} are stated limits, empty inputs or those of dormant "
        "projects.",
        f"Earlier oracles called {kinds[NO_FAULT]} more wrong that are no fault.",
    ]


def _sets(pieces: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each set of backends: models that ran there, and what that took."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for piece in pieces:
        groups.setdefault(tuple(piece.get("backends", ())), []).append(piece)
    rows = [
        (
            ", ".join(f"`{backend}`" for backend in backends),
            f"{sum(piece['models'] for piece in group):,}",
            f"{sum(piece['seconds'] for piece in group) / 3600:.2f}",
            f"{sum(piece['processor_seconds'] for piece in group) / 3600:.2f}",
        )
        for backends, group in groups.items()
        if backends
    ]
    if not rows:
        return []
    return [
        "Models by set of backends, with hours by the clock and of processors:",
        "",
        "| backends | models | hours | of processors |",
        "|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]


def _apart(pieces: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """How many differences of all pieces stand apart, by symptom."""
    counts: Counter[str] = Counter()
    for piece in pieces:
        counts.update(piece.get("judged", {}).get("apart", {}))
    return counts


def _standing_apart(counts: Mapping[str, int]) -> list[str]:
    """A line for each symptom that stands apart; none where no piece has counted them."""
    if not counts:
        return []
    lines = (f"| {cell(symptom)} | {count:,} |" for symptom, count in sorted(counts.items()))
    return [
        "What stands apart, as no wrong result, by models and backends:",
        "",
        "| what | how often |",
        "|---|---|",
        *lines,
        "",
    ]


def _ways(ways: Mapping[str, Any], real: Sequence[Entry]) -> list[str]:
    """A line for each way: calls, what became of them, and findings."""
    if not ways:
        return []
    words = (RIGHT, INVALID_INPUTS, UNSUPPORTED)
    lines = [f"| way | calls | {' | '.join(words)} | others | distinct findings |"]
    lines.append("|---|---|---|---|---|---|---|")
    for name, facts in sorted(ways.items()):
        counts = [facts["words"].get(word, 0) for word in words]
        counts.append(_calls(facts) - sum(counts))
        found = sum(entry.backends[0] == name for entry in real if entry.source == "call")
        row = (f"{count:,}" for count in (_calls(facts), *counts, found))
        lines.append(f"| {name} | {' | '.join(row)} |")
    return [
        "Calls of functions by way. `others` are symptoms, many of one cause:",
        "",
        *lines,
        "",
    ]


def _calls(facts: Mapping[str, Any]) -> int:
    """How many calls a way has run."""
    return sum(facts["words"].values())


def _of_source(entries: Sequence[Entry], source: str) -> int:
    return sum(entry.source == source for entry in entries)


_COVERED = ("types", "parameters", "inputs")


def _write(path: Path, text: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
