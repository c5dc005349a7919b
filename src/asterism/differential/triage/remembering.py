"""Where triage remembers what candidates have shown: state by all that is the same for a run."""

from __future__ import annotations

import inspect
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asterism.core.files.hashes import digest_of
from asterism.core.resuming.journal import Journal
from asterism.core.resuming.stage_units import run_of
from asterism.core.resuming.state import Run
from asterism.core.settings import machine
from asterism.differential.adapters.backends import library_of, plugin_of
from asterism.differential.adapters.environments import FOLDER
from asterism.differential.adapters.versions import installed_versions
from asterism.differential.triage.answers import Answers
from asterism.differential.triage.params import TriageSettings

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
def remembered(run: Run) -> Iterator[Answers]:
    """The answers of earlier runs, to which those of this one are added while the block lasts."""
    with run.in_use():
        yield Answers(Journal(run.checkpoint("candidates") / "answers.jsonl"))
