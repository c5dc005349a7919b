"""From the results of runs, and scripts by hand, to the collection: one folder for each finding."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import read_json, replacing
from asterism.core.files.folders import require_private
from asterism.core.files.limits import read_within_limit
from asterism.core.files.records import record_from
from asterism.core.files.user_files import resolve_inside
from asterism.core.messages.errors import UserError
from asterism.differential.adapters.environments import installed_versions
from asterism.differential.oracle.finding import Finding
from asterism.differential.report.confirming import run_script
from asterism.differential.report.script_writer import REPRO
from asterism.differential.report.writing import CONFIRMATIONS, UNIQUE, KnownIssue, find_known_issue
from asterism.differential.shrinking.unique_finding import UniqueFinding, layer_at_fault
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.keras_build import layer_name
from asterism.memo.graphs.store import graph_from_json
from asterism.memo.universe.keras_options import OF_WEIGHTS
from asterism.memo.universe.layers import universe
from collection.checking import LIVES, note_run, word_of
from collection.entry import COLLECTED_SYMPTOMS, CollectedFinding, name_finding, names_place
from collection.occurrences import Candidate, have_one_cause

#: Files of a finding that are kept, and the most that one may take, in bytes.
_KEPT = (REPRO, "arrays.npz", "model.json", "model.keras", "model.onnx")
_LARGEST = 60_000

#: Parameters without which a layer says nothing, at their defaults too.
_ALL_THAT_IT_DOES = {"Activation": ("activation",)}


@dataclass
class Collected:
    """What became of the findings of a run.

    Args:
        new: names of the folders that were added.
        merged: findings with the cause of another one.
        limits: known limits of libraries, which stand apart.
        unconfirmed: findings that no script showed.
        large: findings whose scripts are too large to keep.
    """

    new: list[str] = field(default_factory=list)
    merged: int = 0
    limits: int = 0
    unconfirmed: int = 0
    large: int = 0


def candidates_of(
    triaged: Path, outcome: Collected, known: Mapping[str, KnownIssue]
) -> list[Candidate]:
    """The confirmed findings of a folder that triage wrote; the others are counted.

    Args:
        triaged: the folder.
        outcome: counts what became of each.
        known: issues and limits of today by a part of the signature: triage may have known fewer.

    Raises:
        UserError: the folder holds no list of findings or a damaged one, or others can write to a
            script.
    """
    found = []
    for value in read_json(triaged / UNIQUE):
        folder = resolve_inside(triaged, str(value["folder"]), str(triaged / UNIQUE))
        require_private(folder / REPRO)
        finding = record_from(Finding, value["finding"])
        issue = find_known_issue(known, value["signature"], finding.distributions)
        if value["limit"] or (issue is not None and issue.limit):
            outcome.limits += 1
            continue
        if any(status != 1 for status in value["confirmed"]):
            outcome.unconfirmed += 1
        else:
            found.append(_candidate(folder, value))
    return found


def collect(
    candidates: Iterable[Candidate | None],
    known: Sequence[Candidate],
    collection: Path,
    outcome: Collected,
) -> None:
    """Add what has no folder yet; what has the cause of another one is noted there.

    Args:
        candidates: confirmed findings, the most telling ones first; None for one that no script
            shows, which is counted.
        known: those of the collection.
        collection: its folder.
        outcome: counts what became of each.
    """
    kept = list(known)
    for candidate in candidates:
        if candidate is None:
            outcome.unconfirmed += 1
            continue
        same = next((k for k in kept if have_one_cause(k, candidate)), None)
        if same is not None:
            outcome.merged += 1
            at = kept.index(same)
            kept[at] = replace(same, entry=_with_other(same.entry, candidate.entry))
            kept[at].entry.write(collection / same.entry.name)
        elif (candidate.folder / REPRO).stat().st_size > _LARGEST:
            outcome.large += 1
        else:
            ran = run_script(candidate.folder / REPRO)
            if word_of(candidate.entry, ran) != LIVES:
                outcome.unconfirmed += 1
                continue
            _copy(candidate, collection)
            note_run(collection, candidate.entry, ran)
            kept.append(candidate)
            outcome.new.append(candidate.entry.name)


def unique_of(collection: Path, entries: Iterable[CollectedFinding]) -> list[UniqueFinding]:
    """The findings in models of layers as triage knows them, once for each signature noted.

    Without those whose signature says no place: another bug may have the same.
    """
    found = []
    for entry in entries:
        if entry.source != "layer":
            continue
        graph = graph_from_json(read_json(collection / entry.name / "model.json"))
        finding = record_from(Finding, entry.finding)
        layer, size = layer_at_fault(graph, _at_fault(graph, finding, "")), len(graph.layers)
        for signature in filter(names_place, (entry.signature, *entry.also)):
            own = layer if signature == entry.signature else None
            found.append(UniqueFinding(signature, finding, graph, own, set(), size))
    return found


def _candidate(folder: Path, value: dict[str, Any]) -> Candidate:
    graph, finding = graph_from_json(value["graph"]), record_from(Finding, value["finding"])
    node = _at_fault(graph, finding, value["layer"])
    layer = graph.nodes[node].type
    parameters = _needed(graph, node)
    found = CollectedFinding(
        name=name_finding(finding.library, finding.symptom, layer, value["signature"]),
        source="layer",
        signature=value["signature"],
        library=finding.library,
        symptom=finding.symptom,
        severity=finding.severity,
        inputs=finding.distributions[0] if finding.distributions else "normal",
        layer=layer,
        parameters=parameters,
        backends=finding.backends,
        right=finding.agreeing,
        versions=installed_versions(finding.library),
        models=len(value["models"]),
        finding=finding.to_json(),
    )
    return Candidate(link_upstream(found, value["known"]), folder)


def _at_fault(graph: Graph, finding: Finding, named: str) -> int:
    """The layer at fault: named by triage, in the message, or the last one."""
    for i in graph.layers:
        if named and str(layer_at_fault(graph, i)) == named:
            return i
        if not finding.by_values and layer_name(i, graph.nodes[i]) in finding.message:
            return i
    return graph.layers[-1]


def _needed(graph: Graph, identity: int) -> dict[str, str]:
    """Parameters of a layer that shrinking left off their defaults."""
    node = graph.nodes[identity]
    defaults = universe()[node.type].defaults()
    return {
        name: str(value)
        for name, value in sorted(node.config.items())
        if name in defaults
        and (value != defaults[name] or name in _ALL_THAT_IT_DOES.get(node.type, ()))
        and not name.endswith(OF_WEIGHTS)
    }


def link_upstream(entry: CollectedFinding, link: str) -> CollectedFinding:
    """An entry whose diagnosis has a link to what upstream knows, where there is one."""
    said = entry.diagnosis
    if not link or link in said.upstream:
        return entry
    return replace(entry, told=replace(said, upstream=(*said.upstream, link)))


def _with_other(entry: CollectedFinding, other: CollectedFinding) -> CollectedFinding:
    """An entry that notes another finding of its cause."""
    signatures = {*entry.also, other.signature} - {entry.signature}
    return replace(entry, also=tuple(sorted(signatures)), models=entry.models + other.models)


def _copy(candidate: Candidate, collection: Path) -> None:
    with replacing(collection / candidate.entry.name) as folder:
        folder.mkdir(parents=True)
        for name in _KEPT:
            source = resolve_inside(candidate.folder, name, str(candidate.folder))
            if source.is_file() and source.stat().st_size <= _LARGEST:
                (folder / name).write_bytes(read_within_limit(source, "limits.text_mb"))
        candidate.entry.write(folder)


def add_by_hand(
    script: Path, seen: CollectedFinding, packages: Sequence[str], title: str, collection: Path
) -> CollectedFinding:
    """Give a script a folder of its own, if three fresh processes show what was seen.

    Someone wrote it by hand: it prints what is expected, then ``actual`` and what comes, and exits
    with 1 while the bug lives. One that shows a crash ends by the signal.

    Args:
        script: exits with 1 while the bug lives.
        seen: what it shows.
        packages: whose versions are noted.
        title: names the fault; empty for the place and the symptom.
        collection: its folder.

    Raises:
        UserError: there is no such script or symptom, or a process shows something else.
    """
    if not script.is_file():
        raise UserError(f"there is no script {script}")
    if seen.symptom not in COLLECTED_SYMPTOMS:
        raise UserError(f"{seen.symptom!r} is none of {', '.join(COLLECTED_SYMPTOMS)}")
    installed = installed_versions()
    entry = replace(seen, versions={package: installed[package] for package in packages})
    if title:
        entry = replace(entry, told=replace(entry.diagnosis, title=title))
    runs = [run_script(script) for _ in range(CONFIRMATIONS)]
    words = [word_of(entry, run) for run in runs]
    if words != [LIVES] * len(runs):
        raise UserError(f"{script} is not confirmed: its runs say {', '.join(words)}, not {LIVES}")
    with replacing(collection / entry.name) as folder:
        folder.mkdir(parents=True)
        shutil.copyfile(script, folder / REPRO)
        entry.write(folder)
    return note_run(collection, entry, runs[-1])
