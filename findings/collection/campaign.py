"""A campaign in pieces: some models at a time are run, judged, triaged and written down.

A piece that is there is not run again, so a campaign that was ended goes on. What an earlier piece
or the collection has found is passed over by the later ones. A model runs again where other
backends are asked for.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import read_json, replacing, write_json
from asterism.core.files.folders import make_private_folder
from asterism.core.files.locks import hold_lock_now
from asterism.core.messages.console import get_logger
from asterism.core.resuming.work_units import ALONE
from asterism.core.running.footprint import processor_seconds
from asterism.core.settings import machine
from asterism.differential.engine.execution import execute, open_worker_pool
from asterism.differential.oracle.finding import defect_signature
from asterism.differential.oracle.oracle import judge_all, metrics_of
from asterism.differential.params import TriageSettings
from asterism.differential.report.writing import UNIQUE, find_known_issue, read_known_issues
from asterism.differential.shrinking.unique_finding import UniqueFinding
from asterism.differential.triage.shrink_cache import open_shrunk_findings, triage_run
from asterism.differential.triage.triage import OUTSIDE_FOLDER, FindingsToTriage, triage_and_write
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.store import write_models, write_weights

log = get_logger(__name__)

FACTS, TRIAGED = "facts.json", "triaged"
#: Locks of the pieces that are being run.
TAKEN = "taken"
#: Of a piece: differences that are no wrong results, and what configurations just outside show.
EXCLUDED = "apart.json"


def folder_of_pieces(given: Path | None) -> Path:
    """The folder that the user has named, or one below ``programs.root``: pieces hold scripts.

    Raises:
        UserError: others can write to it.
    """
    return make_private_folder(given or machine.programs_root() / "campaign")


def run_pieces(
    models: Mapping[str, Graph],
    size: int,
    settings: TriageSettings,
    folder: Path,
    elsewhere: Sequence[Mapping[str, Any]] = (),
    collected: Sequence[UniqueFinding] = (),
) -> Iterator[Path]:
    """Run the models that no piece has run in all of these backends yet.

    Pieces are parts of the list of models, so that processes that share the folder have the same
    ones: each takes those that no other one is at.
    It gives the folder of each piece that is through.

    Args:
        models: by name, in order.
        size: models of a piece.
        settings: backends, inputs, tolerances and budgets.
        folder: of the campaign.
        elsewhere: facts of pieces that a collection knows, perhaps of another machine.
        collected: unique findings of a collection, which are passed over.
    """
    names, wanted = list(models), settings.execute.backends
    for first in range(0, len(names), size):
        done = {
            name
            for facts in pieces_of(folder, elsewhere)
            if set(wanted) <= set(facts.get("backends", ()))
            for name in facts.get("names", ())
        }
        left = [name for name in names[first : first + size] if name not in done]
        digest = hashlib.sha256(json.dumps([left, wanted]).encode()).hexdigest()[:12]
        target = folder / f"piece-{digest}"
        with ExitStack() as taken:
            if not left or not _took(target, taken):
                continue
            earlier = [found for path in finished(folder) for found in read_unique(path)]
            known = [*collected, *earlier]
            part = {name: models[name] for name in left}
            run_piece(part, settings, target, known, outside_signatures(folder))
        yield target


def _took(target: Path, taken: ExitStack) -> bool:
    """Whether a piece is this process's until the stack is closed: no other one has or makes it."""
    lock = target.parent / TAKEN / target.name
    try:
        taken.enter_context(hold_lock_now(lock))
    except BlockingIOError:
        return False
    taken.callback(lock.unlink, missing_ok=True)  # while the lock is still held
    return not target.exists()


def pieces_of(folder: Path, elsewhere: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Facts of all pieces: those that a collection knows, and those of the folder after them.

    Its models and backends tell which piece it is; earlier ones were numbered in each folder.
    """
    here = [{"piece": path.name, **read_json(path / FACTS)} for path in finished(folder)]
    by_work = {_work_of(facts): dict(facts) for facts in (*elsewhere, *here)}
    return list(by_work.values())


def _work_of(facts: Mapping[str, Any]) -> tuple[object, ...]:
    """Which models ran in which backends; the piece's name where these were not written down."""
    names = tuple(facts.get("names", ())) or (str(facts["piece"]),)
    return names, tuple(facts.get("backends", ()))


def finished(folder: Path) -> list[Path]:
    """Folders of the pieces that are finished."""
    return sorted(path.parent for path in folder.glob(f"*/{FACTS}"))


def run_piece(
    models: Mapping[str, Graph],
    settings: TriageSettings,
    target: Path,
    known: Sequence[UniqueFinding],
    outside_known: Collection[str] = (),
) -> None:
    """Run, judge and triage the models of a piece, and write what it found and what it took.

    Args:
        models: by name.
        settings: backends, inputs, tolerances and budgets.
        target: the folder, which is there only when all is done.
        known: unique findings of earlier pieces.
        outside_known: signatures of theirs that are just outside of what is valid.
    """
    began, used = time.monotonic(), processor_seconds()
    graphs = list(models.values())
    given, limits = settings.execute, read_known_issues(settings.triage.known_issues)
    with replacing(target) as folder:
        folder.mkdir(parents=True)
        weights = folder / "weights.npz"
        write_weights(weights, {})
        write_models(folder, dict(models))
        with open_worker_pool(given, weights) as pool:
            shares = given.special_share, given.outside_share
            record = execute(graphs, pool, given.distributions, settings.seed, ALONE, *shares)
            executed = time.monotonic()
            judged = judge_all(graphs, record, settings.judge, settings.seed)
            worth = []  # shrinking what a library documents, whatever the layer, tells nothing
            for one in judged.findings:
                issue = find_known_issue(limits, defect_signature(one), one.distributions)
                if issue is None or not issue.limit:
                    worth.append(one)
            all_given = FindingsToTriage(
                worth, graphs, weights, judged.excluded, known, outside_known
            )
            with open_shrunk_findings(triage_run(weights, settings), target.name) as memory:
                counts = triage_and_write(all_given, settings, folder / TRIAGED, memory, pool)
            left_out = pool.start()
        write_json(folder / EXCLUDED, [finding.to_json() for finding in judged.excluded])
        outcomes = Counter(o["status"] for task in record.tasks() for o in task["outcomes"])
        write_json(
            folder / FACTS,
            {
                "models": len(graphs),
                "names": list(models),
                "backends": list(given.backends),
                "outcomes": dict(outcomes),
                "judged": metrics_of(judged, len(graphs)),
                "of_known_limits": len(judged.findings) - len(worth),
                "triaged": counts,
                "left_out": left_out,
                "seconds_executing": executed - began,
                "seconds": time.monotonic() - began,
                "processor_seconds": processor_seconds() - used,
            },
        )
    log.info("a piece is through", piece=target.name, unique=counts["unique"])


def outside_signatures(folder: Path) -> set[str]:
    """Signatures of what finished pieces have found just outside of what is valid."""
    lists = folder.glob(f"*/{TRIAGED}/{OUTSIDE_FOLDER}/{UNIQUE}")
    return {str(value["signature"]) for path in sorted(lists) for value in read_json(path)}


def read_unique(piece: Path) -> list[UniqueFinding]:
    """The unique findings of a piece, as triage knew them."""
    return [UniqueFinding.from_json(value) for value in read_json(piece / TRIAGED / UNIQUE)]
