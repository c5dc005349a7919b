"""Gathering what campaigns have found into a collection, with the pages that show it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from asterism.comparing.commands import find_upgrade_pairs
from asterism.core.files.artifacts import read_json, write_json
from asterism.core.files.folders import private_temporary_folder
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError
from asterism.core.resuming import saved_folders
from asterism.differential.adapters.backend_names import OF_ONNX
from asterism.differential.engine.execution import limits_of
from asterism.differential.engine.worker_pool import WorkerPool
from asterism.differential.params import TriageSettings
from asterism.differential.report.writing import KnownIssue, find_known_issue, read_known_issues
from asterism.memo.graphs.coverage import coverage_of
from asterism.memo.graphs.light_keras import import_keras
from collection.calls.campaign import CALLS, count_calls
from collection.calls.candidates import CallScripts, all_call_occurrences
from collection.calls.running import CallWorkers
from collection.campaign import TRIAGED, finished, folder_of_pieces, pieces_of
from collection.checking import made_environments, note_elsewhere
from collection.collecting import Collected, candidates_of, collect, link_upstream
from collection.entry import names_place, read_collected_finding, read_collection
from collection.occurrences import Candidate, confirmed_candidates
from collection.operators import OperatorScripts, operator_occurrences
from collection.pages import write_pages
from collection.single_layers import single_layer_models

#: What the pages say of campaigns; it lies beside them.
FACTS = "campaign.json"


def gather(
    settings: TriageSettings,
    collection: Path,
    pieces: Path | None,
    comparisons: Sequence[str],
    frameworks: Sequence[str] = (),
    only: Sequence[str] = (),
) -> Collected:
    """Add what is new to a collection and write its pages.

    Args:
        settings: tolerances, limits and known issues.
        collection: its folder.
        pieces: of a campaign; None for those below ``programs.root``.
        comparisons: of libraries on single operators, as ``FOLDER:OLD:NEW``.
        frameworks: whose calls are looked through.
        only: parts of signatures, one of which a finding of a call must have; none for all.

    Raises:
        UserError: a folder is missing or damaged.
    """
    import_keras("numpy")  # its lists of options are read, and nothing is built
    collection.mkdir(parents=True, exist_ok=True)
    outcome, compared = Collected(), 0
    facts = facts_of(collection)
    issues = read_known_issues(settings.triage.known_issues)
    known = [Candidate(entry, collection / entry.name) for entry in read_collection(collection)]
    signatures = {s for k in known for s in (k.entry.signature, *k.entry.also)}
    noted = set(filter(names_place, signatures))
    folder = folder_of_pieces(pieces)
    with private_temporary_folder() as scratch:
        candidates: list[Candidate | None] = []
        for given in comparisons:
            found, models = _of_operators(given, settings, scratch, noted)
            candidates += found
            compared += models
        for piece in progress(finished(folder), label="reading", unit="piece"):
            candidates += candidates_of(piece / TRIAGED, outcome, issues)
        fresh = [c for c in candidates if c is not None and c.entry.signature not in noted]
        fresh.sort(key=_telling)
        outcome.unconfirmed += candidates.count(None)
        shown = progress(fresh, label="collecting", unit="finding")
        calls = (_of_calls(name, settings, scratch, noted, only) for name in frameworks)
        collect(chain(shown, *calls), known, collection, outcome)
    added = [read_collected_finding(collection, name) for name in outcome.new]
    noting = note_elsewhere(collection, added, made_environments())
    for _ in progress(noting, total=len(added), label="other versions", unit="finding"):
        pass  # each is written as it is noted
    note_links(collection, issues)
    facts["operators"]["models"] = max(compared, facts["operators"]["models"])
    facts["calls"] = count_calls(saved_folders.place(CALLS), facts.get("calls", {}))
    facts["pieces"] = pieces_of(folder, facts["pieces"])
    if any("names" in piece for piece in facts["pieces"]):
        facts["coverage"] = _coverage(facts["pieces"], settings.seed)
    entries = read_collection(collection)
    facts["counts"] = {
        "merged": sum(len(entry.also) for entry in entries),
        "limits": max(
            facts["counts"]["limits"],
            outcome.limits + sum(p.get("of_known_limits", 0) for p in facts["pieces"]),
        ),
        "unconfirmed": outcome.unconfirmed or facts["counts"]["unconfirmed"],
        "large": outcome.large,
    }
    write_json(collection / FACTS, facts)
    write_pages_of(collection)
    return outcome


def write_pages_of(collection: Path) -> None:
    """Write the pages of a collection as its files say it."""
    write_pages(collection, read_collection(collection), facts_of(collection))


def note_links(collection: Path, known: Mapping[str, KnownIssue]) -> None:
    """Link each finding to the issue of its library, where one is known.

    Args:
        collection: its folder.
        known: issues and limits by a part of the signature.
    """
    issues = {part: issue for part, issue in known.items() if not issue.limit}
    for entry in read_collection(collection):
        issue = find_known_issue(issues, entry.signature, [entry.inputs])
        noted = link_upstream(entry, issue.link if issue is not None else "")
        if noted != entry:
            noted.write(collection / entry.name)


def _of_calls(
    framework: str,
    settings: TriageSettings,
    scratch: Path,
    noted: Collection[str],
    only: Sequence[str],
) -> Iterator[Candidate | None]:
    """New findings of a framework's calls, as each is confirmed or is not."""
    with CallWorkers(framework, limits_of(settings.execute), settings.judge) as workers:
        occurrences = all_call_occurrences(saved_folders.place(CALLS), framework)
        wanted = _wanted(noted, settings, only)
        yield from confirmed_candidates(occurrences, CallScripts(workers), scratch, wanted)


def _of_operators(
    given: str, settings: TriageSettings, scratch: Path, noted: Collection[str]
) -> tuple[list[Candidate | None], int]:
    """New findings of a comparison on single operators; how many models it had."""
    name, old, new = ([*given.rsplit(":", 2), "", ""])[:3]
    comparison = Path(name)
    if not new or not comparison.is_dir():
        raise UserError(f"{given!r} should be like compare-versions/FOLDER:onnxruntime:openvino")
    pairs = list(find_upgrade_pairs(old, new))
    backends = [backend for pair in pairs for backend in (pair.old, pair.new)]
    with WorkerPool([*backends, *OF_ONNX.all], limits_of(settings.execute)) as pool:
        pool.start()
        write = OperatorScripts(pool, {p.option: p for p in pairs}, settings.judge, settings.seed)
        occurrences = operator_occurrences(comparison, old, new)
        found = confirmed_candidates(occurrences, write, scratch, _wanted(noted, settings))
        return list(found), len(read_json(comparison / "changes.json")["models"])


def _wanted(
    noted: Collection[str], settings: TriageSettings, only: Sequence[str] = ()
) -> Callable[[str, Sequence[str]], bool]:
    """Whether a cause is new, no limit that a library documents, and one that is asked for."""
    known = read_known_issues(settings.triage.known_issues)
    limits = {part: issue for part, issue in known.items() if issue.limit}

    def wanted(signature: str, others: Sequence[str]) -> bool:
        asked = not only or any(part in signature for part in only)
        documented = find_known_issue(limits, signature, ())
        return asked and documented is None and not {signature, *others} & set(noted)

    return wanted


def _telling(candidate: Candidate) -> tuple[bool, bool, int]:
    """Ordinary inputs first, then an operator alone, then what needs the fewest parameters."""
    entry = candidate.entry
    return not entry.is_ordinary, entry.source != "operator", len(entry.parameters)


def _coverage(pieces: Sequence[Mapping[str, Any]], seed: int) -> dict[str, float]:
    """What the models of all pieces cover, which their names and the seed give again."""
    models = single_layer_models(seed)
    names = dict.fromkeys(name for facts in pieces for name in facts.get("names", ()))
    return coverage_of(models[name] for name in names if name in models).rates()


def facts_of(collection: Path) -> dict[str, Any]:
    """What campaigns took and covered, as the collection knows it."""
    path = collection / FACTS
    if path.exists():
        found: dict[str, Any] = read_json(path)
        return found
    return {
        "pieces": [],
        "coverage": {"types": 0.0, "parameters": 0.0, "inputs": 0.0},
        "counts": {"merged": 0, "limits": 0, "unconfirmed": 0, "large": 0},
        "operators": {"models": 0},
    }
