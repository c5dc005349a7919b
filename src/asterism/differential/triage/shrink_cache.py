"""Saved findings that an earlier run of triage has shrunk, so that the next run need not.

A finding is remembered as it was when it was shrunk, under all that this depends on: what is the
same for a whole run is in the key of the run's folder, the finding and its model are in its own.
So a run that takes up where another was cut off shrinks only what is left, and ends with the same
bytes.

A finding that time cut off is not kept, nor one of which a candidate was "gone" while a worker
died: that may only mean that nobody could tell. Whatever is remembered, fresh processes run the
script of each finding, so that none is reported because it was remembered.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from asterism.core.files.hashes import hash_path
from asterism.core.messages.console import get_logger
from asterism.core.resuming.checkpoints import SavedFacts, saved_facts
from asterism.core.resuming.state import RunState
from asterism.core.resuming.work_units import stage_run
from asterism.core.settings import machine
from asterism.differential.adapters.backend_names import library_of, plugin_of
from asterism.differential.adapters.environments import FOLDER, installed_versions
from asterism.differential.params import TriageSettings
from asterism.differential.shrinking.unique_finding import UniqueFinding

log = get_logger(__name__)

#: The stage whose code they depend on. ``asterism state`` lists them under its name.
STAGE = "triage_findings"

#: Variables that change how a library computes; the others are the same for all workers.
_VARIABLES = ("TF_ENABLE_ONEDNN_OPTS",)


def triage_run(weights: Path, settings: TriageSettings) -> RunState:
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
        "weights": hash_path(weights),
        "versions": installed_versions(),
        "plug-ins": {name: hash_path(Path(inspect.getfile(plugin_of(name)))) for name in libraries},
        "machine": [platform.machine(), platform.python_version(), machine.processor_name()],
        "variables": {name: os.environ.get(name, "") for name in _VARIABLES},
    }
    return stage_run(STAGE, facts, [FOLDER])


class ShrunkFindings:
    """Findings that earlier runs have shrunk, to which those of this one are added.

    Args:
        facts: where they are kept.
    """

    def __init__(self, facts: SavedFacts | None = None) -> None:
        self._facts = facts or SavedFacts()
        self._shrunk = dict(self._facts.known)
        if self._shrunk:
            log.info("resumes", stage="triage", remembered_findings=len(self._shrunk))

    def shrunk(
        self, asked: Any, steps: int, shrink: Callable[[], tuple[UniqueFinding, bool]]
    ) -> UniqueFinding:
        """A finding as an earlier run shrank it, or as it is shrunk now and kept.

        One that was left unfinished is shrunk again where there are other steps.

        Args:
            asked: the finding and all that shrinking it depends on, JSON values.
            steps: the budget.
            shrink: does it, and says whether the result may be kept.
        """
        key = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:32]
        value = self._shrunk.get(key)
        if value is not None and (not value["unfinished"] or value["steps"] == steps):
            return UniqueFinding.from_json(value)
        found, is_sure = shrink()
        if is_sure:
            self._facts.known.append([key, {**found.to_json(), "steps": steps}])
            self._facts.save()
        return found


@contextmanager
def open_shrunk_findings(run: RunState, of: str = "findings") -> Iterator[ShrunkFindings]:
    """What earlier runs have shrunk; nobody removes it while the block lasts.

    Args:
        run: whose findings.
        of: which of them. Where another process is at these, none are remembered.
    """
    with ExitStack() as using:
        using.enter_context(run.in_use())
        try:
            facts = using.enter_context(saved_facts(run.checkpoint(of)))
        except BlockingIOError:
            log.warning("another process triages the same: what is shrunk here is not kept")
            facts = None
        yield ShrunkFindings(facts)
