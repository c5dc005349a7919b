"""Where triage remembers what candidates have shown: state by all that is the same for a run."""

from __future__ import annotations

import inspect
import os
import platform
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from asterism.core.files.hashes import digest_of
from asterism.core.messages.console import get_logger
from asterism.core.resuming.checkpoints import saved_facts
from asterism.core.resuming.state import Run
from asterism.core.resuming.work_units import run_of
from asterism.core.settings import machine
from asterism.differential.adapters.backends import library_of, plugin_of
from asterism.differential.adapters.environments import FOLDER
from asterism.differential.adapters.versions import installed_versions
from asterism.differential.triage.answers import Answers
from asterism.differential.triage.params import TriageSettings

log = get_logger(__name__)

#: The stage whose code answers depend on. ``asterism state`` lists them under its name.
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


@contextmanager
def remembered(run: Run, of: str = "candidates") -> Iterator[Answers]:
    """The answers of earlier runs, to which those of this one are added while the block lasts.

    Args:
        run: whose answers.
        of: which of its answers. Where another process is at these, none are remembered.
    """
    with ExitStack() as using:
        using.enter_context(run.in_use())
        try:
            facts = using.enter_context(saved_facts(run.checkpoint(of)))
        except BlockingIOError:
            log.warning("another process triages the same: what is seen here is not kept")
            facts = None
        yield Answers(facts)
