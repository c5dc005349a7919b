"""The pages of a collection: ``README.md`` lists findings, ``campaign.md`` says what they took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import replacing
from asterism.core.files.records import record_from
from asterism.core.files.user_files import inside
from asterism.core.messages.counting import counted
from asterism.core.messages.errors import UserError
from asterism.core.settings.yaml_files import read_yaml
from asterism.findings.checking import CANNOT_TELL, ELSEWHERE
from asterism.findings.entry import VERDICTS, Entry
from asterism.findings.phase import CONVERTING_LIBRARIES, PHASES, PLAIN, is_of_compiled_code
from asterism.libraries.adapters.environments import by_version
from asterism.libraries.reporting.markdown import cell

INDEX, CAMPAIGN = "README.md", "campaign.md"

#: The section that this module writes at the end of each report.
_LOOKED_AT = "\n## Looked at by hand\n"


@dataclass(frozen=True)
class Verdict:
    """What someone found who looked at a finding.

    Args:
        false_alarm: whether the library does nothing wrong.
        reason: why, in a sentence or two.
        mended: whether the oracle of today no longer reports such a false alarm.
    """

    false_alarm: bool
    reason: str
    mended: bool = False


def read_verdicts(collection: Path) -> dict[str, Verdict]:
    """What was looked at by hand, by the finding's folder; nothing where the file is not there.

    Raises:
        UserError: the file holds something else, or names a folder that is not there.
    """
    path = collection / VERDICTS
    if not path.exists():
        return {}
    document = read_yaml(path) or {}
    if not isinstance(document, dict):
        raise UserError(f"{path} must map names of folders to verdicts")
    for name in document:
        if not inside(collection, str(name), str(path)).is_dir():
            raise UserError(f"{path}: there is no finding {str(name)!r}")
    return {str(name): record_from(Verdict, value) for name, value in document.items()}


def write_pages(
    collection: Path,
    entries: Sequence[Entry],
    verdicts: Mapping[str, Verdict],
    facts: Mapping[str, Any],
) -> None:
    """Write the index and the page of figures, and note each verdict in its report.

    Args:
        collection: the folder.
        entries: all findings.
        verdicts: by folder.
        facts: of the campaign, see :func:`campaign_page`.
    """
    _write(collection / INDEX, index_page(entries, verdicts))
    _write(collection / CAMPAIGN, campaign_page(entries, verdicts, facts))
    for entry in entries:
        report = collection / entry.name / "report.md"
        text = report.read_text(encoding="utf-8").partition(_LOOKED_AT)[0]
        if entry.name in verdicts:
            said = verdicts[entry.name]
            word = "A false alarm" if said.false_alarm else "No false alarm"
            text = f"{text}{_LOOKED_AT}\n{word}: {said.reason}\n"
        _write(report, text)


def index_page(entries: Sequence[Entry], verdicts: Mapping[str, Verdict]) -> str:
    """All findings, and below them those that turned out to be false alarms."""
    real = _real(entries, verdicts)
    alarms = [entry for entry in entries if entry not in real]
    today = [entry for entry in alarms if not verdicts[entry.name].mended]
    earlier = [entry for entry in alarms if entry not in today]
    ordinary = sum(entry.is_ordinary for entry in real)
    wrong = sum(entry.is_ordinary and entry.by_values for entry in real)
    known = sum(bool(entry.known) for entry in real)
    failures = [entry for entry in real if entry.is_failure]
    compiled = sum(is_of_compiled_code(entry.library, entry.phase) for entry in failures)
    lines = [
        "# Findings",
        "",
        f"{len(real)} distinct findings. The `check.py` of each confirmed it in fresh processes",
        f"when it was collected. {ordinary} show on ordinary inputs, {wrong} of them by a wrong "
        "result.",
        "The others need special inputs such as NaN or an empty batch. "
        f"{known} are linked to an issue of",
        "the library. [What they took](campaign.md).",
        "",
        f"{compiled} are crashes, failures or hangs of compiled code: a compiler ends so, or what "
        "it made,",
        "and no converter is to blame.",
        "",
        *_counts("library or converter", (e.library for e in real)),
        "",
        *_counts("symptom", (e.symptom for e in real)),
        "",
        *_phases(failures),
        "",
        "`python FOLDER/repro.py` shows one. `python FOLDER/check.py` exits with 1 while the bug",
        "lives, with 0 when it is gone, and with 2 when something else fails. `make findings` runs",
        "every check.",
        "",
        *_table(real, verdicts),
        "",
        "## False alarms",
        "",
        f"{counted(len(today), 'difference')} that the oracle of today calls a wrong result, and "
        "that a person found",
        "to be none. Each report says why.",
        "",
        *(_table(today, verdicts) if today else ()),
        *([""] if today else ()),
        f"{counted(len(earlier), 'difference')} that earlier oracles called so. What they led to "
        "is mended: the oracle of",
        "today does not report them.",
        "",
        *_table(earlier, verdicts),
    ]
    return "\n".join(lines) + "\n"


def _table(entries: Sequence[Entry], verdicts: Mapping[str, Verdict]) -> list[str]:
    """Findings on ordinary inputs first, then by library and symptom."""
    order = sorted(entries, key=lambda e: (not e.is_ordinary, e.library, e.symptom, e.name))
    rows = [
        f"| [{_symptom(e)}]({e.name}/report.md) | {e.library} | {_versions(e)} | {cell(e.where)} | "
        f"{_inputs(e)} | {_elsewhere(e)} | {'yes' if e.name in verdicts else ''} | {_issue(e)} |"
        for e in order
    ]
    heads = ("symptom", "library", "version", "layer and parameters", "inputs", "other versions")
    last = ("looked at", "issue")
    return [f"| {' | '.join((*heads, *last))} |", f"|{'---|' * 8}", *rows]


def _real(entries: Sequence[Entry], verdicts: Mapping[str, Verdict]) -> list[Entry]:
    """Those that nobody found to be a false alarm."""
    return [e for e in entries if e.name not in verdicts or not verdicts[e.name].false_alarm]


def campaign_page(
    entries: Sequence[Entry], verdicts: Mapping[str, Verdict], facts: Mapping[str, Any]
) -> str:
    """What the collection took: models, time, coverage, false alarms.

    Args:
        entries: all findings.
        verdicts: by folder.
        facts: ``pieces``, what each piece took; ``coverage`` by kind; ``counts`` of what became of
            findings; ``operators``, of comparisons on single operators; ``calls`` by way.
    """
    pieces, counts = facts["pieces"], facts["counts"]
    models = sum(piece["models"] for piece in pieces)
    hours = sum(piece["seconds"] for piece in pieces) / 3600
    used = sum(piece["processor_seconds"] for piece in pieces) / 3600
    running = sum(piece["seconds_executing"] for piece in pieces) / 3600
    real = _real(entries, verdicts)
    layers = [entry for entry in real if entry.source == "layer"]
    wrong = [entry for entry in entries if entry.by_values]
    earlier = [e for e in wrong if e.name in verdicts and verdicts[e.name].mended]
    wrong = [entry for entry in wrong if entry not in earlier]
    looked = [entry for entry in wrong if entry.name in verdicts]
    alarms = sum(verdicts[entry.name].false_alarm for entry in looked)
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
        f"The oracle of today calls {len(wrong)} differences a wrong result. {len(looked)} of "
        "them were looked at",
        f"by hand, with the reason in the report: {alarms} of these are false alarms, "
        f"{alarms / max(len(looked), 1):.1%}.",
        f"Earlier oracles had {len(earlier)} more false alarms, which led to repairs.",
    ]
    return "\n".join(lines) + "\n"


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
    words = ("agrees", "invalid", "unsupported")
    lines = ["| way | calls | agree | invalid | unsupported | others | distinct findings |"]
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


def _counts(title: str, words: Iterable[str]) -> list[str]:
    """How many findings each word has, as a table."""
    rows = (f"| {word} | {count} |" for word, count in Counter(words).most_common())
    return [f"| {title} | findings |", "|---|---|", *rows]


def _phases(failures: Sequence[Entry]) -> list[str]:
    """How many failures each phase has: those of converters stand apart."""
    lines = ["| failures while | of converters' making | others |", "|---|---|---|"]
    for phase in PHASES:
        here = [entry for entry in failures if entry.phase == phase]
        others = sum(entry.library not in CONVERTING_LIBRARIES for entry in here)
        word = "running as it is, uncompiled" if phase == PLAIN else phase
        lines.append(f"| {word} | {len(here) - others} | {others} |")
    return lines


def _symptom(entry: Entry) -> str:
    return f"{entry.symptom}, {entry.phase}" if entry.phase else entry.symptom


def _versions(entry: Entry) -> str:
    return ", ".join(f"{package} {v}" for package, v in sorted(entry.versions.items()))


def _inputs(entry: Entry) -> str:
    if entry.is_ordinary:
        return entry.inputs
    ordinary = entry.inputs in ("normal", "wide")
    return f"{entry.inputs}, special weights" if ordinary else entry.inputs


def _issue(entry: Entry) -> str:
    return f"[{entry.known.rpartition('/')[2]}]({entry.known})" if entry.known else ""


def _elsewhere(entry: Entry) -> str:
    """Which other versions have it: ``has it: openvino@2025.0, openvino@2025.4; has it not: …``.

    Versions that cannot tell are named only where no other version can.
    """
    said = entry.elsewhere
    versions = sorted(said, key=by_version)
    saying = {word: [v for v in versions if said[v] == word] for word in ELSEWHERE.values()}
    if versions and not any(saying.values()):
        saying = {CANNOT_TELL: versions}
    return "; ".join(f"{word}: {', '.join(some)}" for word, some in saying.items() if some)


def _write(path: Path, text: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
