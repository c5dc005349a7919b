"""The pages of a collection: the index, what the findings took, and a report of each.

A report is in the template that the library asks issues to have, a file of ``templates``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import replacing
from asterism.core.messages.escaping import printable
from asterism.differential.adapters.environments import version_sort_key
from asterism.differential.oracle.finding import INVALID_INPUTS, RIGHT, UNSUPPORTED
from asterism.differential.report.script_writer import REPRO
from asterism.differential.report.texts import template_environment
from collection.checking import CANNOT_TELL, ELSEWHERE
from collection.diagnosis import KINDS, NO_FAULT, TO_MEND, WRONG
from collection.entry import CollectedFinding, LastRun

INDEX, CAMPAIGN, REPORT = "README.md", "campaign.md", "report.md"

#: Characters that Markdown reads: an underscore within a word is none.
_MARKUP = re.compile(r"([\\\[\]*]|(?<!\w)_|_(?!\w))")
#: Libraries that have the template of another one, and the packages that are called otherwise.
_LIKE = {"tflite": "litert"}
_PACKAGES = {"litert": "ai-edge-litert"}

_TEMPLATES = template_environment(__package__)


def write_pages(
    collection: Path, entries: Sequence[CollectedFinding], facts: Mapping[str, Any]
) -> None:
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


def index_page(entries: Sequence[CollectedFinding]) -> str:
    """All findings, each in the table of its kind; duplicates in cause stand apart.

    Args:
        entries: of a collection.
    """
    own = [entry for entry in entries if not entry.diagnosis.duplicate_of]
    by_kind = {kind: [e for e in own if e.diagnosis.kind == kind] for kind in KINDS}
    return _render(
        f"{INDEX}.j2",
        kinds=KINDS,
        by_kind=by_kind,
        wrong=by_kind[WRONG],
        apart={kind: some for kind, some in by_kind.items() if kind != WRONG},
        repeated=[entry for entry in entries if entry.diagnosis.duplicate_of],
        menders=Counter(entry.diagnosis.mended_by for entry in by_kind[WRONG]).most_common(),
    )


def campaign_page(entries: Sequence[CollectedFinding], facts: Mapping[str, Any]) -> str:
    """What the collection took: models, time, coverage, and what the oracle's reports were.

    Args:
        entries: all findings.
        facts: ``pieces``, what each piece took; ``coverage`` by kind; ``counts`` of what became of
            findings; ``operators``, of comparisons on single operators; ``calls`` by variant.
    """
    apart: Counter[str] = Counter()
    for piece in facts["pieces"]:
        apart.update(piece.get("judged", {}).get("apart", {}))
    real = [entry for entry in entries if entry.diagnosis.kind != NO_FAULT]
    return _render(
        f"{CAMPAIGN}.j2",
        **{"calls": {}, **facts},
        apart=apart,
        statuses=(RIGHT, INVALID_INPUTS, UNSUPPORTED),
        found=Counter(entry.source for entry in real),
        by_variant=Counter(entry.backends[0] for entry in real if entry.source == "call"),
        judged=Counter(entry.diagnosis.kind for entry in entries if entry.by_values),
    )


def report_of(entry: CollectedFinding, folder: Path) -> str:
    """The report of a finding, in the template of the library that has to be changed.

    Args:
        entry: the finding.
        folder: that holds its script.
    """
    said = entry.diagnosis
    library = (said.mended_by or entry.library).partition(",")[0]
    packages = _packages(entry.versions)
    return _render(
        [f"{_LIKE.get(library, library)}.md.j2", "onnx.md.j2"],
        entry=entry,
        said=said,
        ran=entry.ran or LastRun("(it has not run yet)", "", "", ""),
        description=_render("description.j2", entry=entry, said=said, to_mend=TO_MEND).strip(),
        script=(folder / REPRO).read_text(encoding="utf-8"),
        packages=packages,
        version=entry.versions.get(_PACKAGES.get(library, library), packages),
    )


def history_of(entry: CollectedFinding) -> str:
    """Which versions have it, in their order, and what is known of its beginning.

    Versions that cannot tell are named only where no other version can.
    """
    said = entry.elsewhere
    versions = sorted(said, key=version_sort_key)
    saying = {word: [v for v in versions if said[v] == word] for word in ELSEWHERE.values()}
    if versions and not any(saying.values()):
        saying = {CANNOT_TELL: versions}
    parts = [f"{word}: {_releases(some)}" for word, some in saying.items() if some]
    return "; ".join([entry.diagnosis.since] * bool(entry.diagnosis.since) + parts)


def escape_prose(text: str) -> str:
    """A text of a collection on one line: code in backticks stays, other Markdown has no effect."""
    parts = printable(" ".join(text.split())).split("`")
    if len(parts) % 2 == 0:  # a backtick without its end
        parts[-2:] = ["'".join(parts[-2:])]
    parts[::2] = map(_without_markup, parts[::2])
    return "`".join(parts)


def _without_markup(text: str) -> str:
    """A text whose HTML and Markdown have no effect; links of their own are none of it."""
    words = text.replace("<", "&lt;").split(" ")
    return " ".join(w if "://" in w else _MARKUP.sub(r"\\\1", w) for w in words)


def _releases(environments: Sequence[str]) -> str:
    """Environments by their releases, each library once: ``openvino 2025.0, 2025.4``."""
    releases: dict[str, list[str]] = {}
    for name in environments:
        library, _, release = name.partition("@")
        releases.setdefault(library, []).append(release)
    return ", ".join(f"{library} {', '.join(some)}" for library, some in releases.items())


def _packages(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


_FILTERS: dict[str, Callable[..., str]] = {
    "cell": lambda text: escape_prose(text).replace("|", "\\|"),
    "history": history_of,
    "number": lambda value, digits=0: f"{value:,.{digits}f}",
    "packages": lambda versions: _packages(dict(sorted(versions.items()))),
    "percent": lambda value: f"{value:.0%}",
    "prose": escape_prose,
}
_TEMPLATES.filters |= _FILTERS


def _render(names: str | list[str], **context: Any) -> str:
    """The first template of some names that is there, filled in."""
    chosen = [names] if isinstance(names, str) else names
    return _TEMPLATES.select_template(chosen).render(**context).strip() + "\n"


def _write(path: Path, text: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
