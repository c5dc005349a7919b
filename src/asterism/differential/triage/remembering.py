"""What triage has shrunk, remembered from one run to the next.

A finding is remembered as it was when it was shrunk, under all that this depends on: what is the
same for a whole run is in the key of the run's folder, the finding and its model are in its own.
So a run that takes up where another was cut off shrinks only what is left, and ends with the same
bytes.

A finding that time cut off is not kept, nor one of which a candidate was "gone" while a worker
died: that may only mean that nobody could tell. Whatever is remembered, fresh processes run the
script of each finding, so that none is reported because a journal says so.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asterism.core.files.hashes import digest_of
from asterism.core.messages.console import get_logger
from asterism.core.resuming.journal import Journal
from asterism.core.resuming.stage_units import run_of
from asterism.core.resuming.state import Run
from asterism.core.settings import machine
from asterism.differential.adapters.backends import library_of, plugin_of
from asterism.differential.adapters.environments import FOLDER
from asterism.differential.adapters.versions import installed_versions
from asterism.differential.triage.params import TriageSettings
from asterism.differential.triage.unique import UniqueFinding

log = get_logger(__name__)

#: The stage whose code they depend on. ``asterism state`` lists them under its name.
STAGE = "triage_findings"

#: Variables that change how a library computes; the others are the same for all workers.
_VARIABLES = ("TF_ENABLE_ONEDNN_OPTS",)


def triage_run(weights: Path, settings: TriageSettings) -> Run:
    """The state of all runs of triage whose workers would answer the same.

    Budgets are no part of it: with a larger one a run goes on where one with a smaller one was.

    Args:
        weights: file of the arrays that nodes may name.
        settings: of which budgets and kinds of inputs do not count.
    """
    execution = settings.execute
    libraries = sorted({library_of(backend) for backend in execution.backends})
    limits = [execution.hang_seconds, execution.memory_mb, settings.triage.hang_seconds]
    facts: dict[str, Any] = {
        "seed": settings.seed,
        "judge": settings.judge.model_dump(mode="json"),
        "backends": list(execution.backends),
        "limits": limits,
        "weights": digest_of(weights),
        "versions": installed_versions(),
        "plug-ins": {name: digest_of(Path(inspect.getfile(plugin_of(name)))) for name in libraries},
        "machine": [platform.machine(), platform.python_version(), machine.processor()],
        "variables": {name: os.environ.get(name, "") for name in _VARIABLES},
    }
    return run_of(STAGE, facts, [FOLDER])


class Memory:
    """Findings that earlier runs have shrunk, to which those of this one are added.

    Args:
        journal: where they are kept; None for nowhere.
    """

    def __init__(self, journal: Journal | None = None) -> None:
        self._journal = journal
        self._shrunk = dict(journal.read()) if journal is not None else {}
        if self._shrunk:
            log.info("goes on", stage="triage", remembered_findings=len(self._shrunk))

    def recalled(self, asked: Any, steps: int) -> UniqueFinding | None:
        """A finding as it was shrunk; None where it was not, or where more steps may go on.

        Args:
            asked: the finding and all that shrinking it depends on, JSON values.
            steps: the budget.
        """
        text = self._shrunk.get(_key_of(asked))
        value = None if text is None else json.loads(text)
        if value is None or (value["unfinished"] and value["steps"] != steps):
            return None
        return UniqueFinding.from_json(value)

    def add(self, asked: Any, steps: int, found: UniqueFinding) -> None:
        """Remember a finding for the runs after this one."""
        if self._journal is not None:
            # As a text, in which what is listed keeps its order: a journal sorts what it names.
            text = json.dumps({**found.to_json(), "steps": steps})
            self._journal.append([_key_of(asked), text])


def _key_of(facts: Any) -> str:
    """A short name of JSON values, the same in every run."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


@contextmanager
def remembered(run: Run) -> Iterator[Memory]:
    """What earlier runs have shrunk; nobody removes it while the block lasts."""
    with run.in_use():
        yield Memory(Journal(run.checkpoint("findings") / "shrunk.jsonl"))
