"""What a job asks of a cluster by the kinds of its stages, and how Slurm is asked about jobs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from asterism.core.messages.console import get_logger
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection, validate
from asterism.core.settings.yaml_files import read_yaml

#: The table, in a project.
TABLE = Path("conf/hydra/resources.yaml")

#: How a launcher's settings leave a resource open, where that is not by None.
_OPEN = {"timeout_min": 0}

_Count = Annotated[int, Field(ge=1)]

log = get_logger(__name__)


class StageNeeds(ParameterSection):
    """What a kind of stage needs, in the words of Hydra's Slurm launcher.

    Attributes:
        partition: the cluster's name for a set of nodes; None for its default.
        timeout_min: minutes after which a job is queued again, and goes on.
        cpus_per_task: processors.
        mem_gb: memory of the job, in GB.
        gpus_per_node: GPUs; None for none.
    """

    partition: str | None
    timeout_min: _Count
    cpus_per_task: _Count
    mem_gb: _Count
    gpus_per_node: _Count | None


class StageKindTable(ParameterSection):
    """Kinds of stages, in their order, and each stage's kind."""

    kinds: Annotated[dict[str, StageNeeds], Field(min_length=1)]
    stages: dict[str, str]

    def request(self, stages: Iterable[str]) -> dict[str, Any]:
        """What a job that runs these stages asks for; without any, what the last kind needs.

        Args:
            stages: names, with or without their variant.

        Raises:
            UserError: one of them has no kind.
        """
        kinds = {self._kind(name.partition("@")[0]) for name in stages}
        last = next(reversed(self.kinds))
        needs = [facts for kind, facts in self.kinds.items() if kind in kinds or kind == last]
        return {
            "partition": needs[0].partition,
            "timeout_min": max(n.timeout_min for n in needs),
            "cpus_per_task": max(n.cpus_per_task for n in needs),
            "mem_gb": max(n.mem_gb for n in needs),
            "gpus_per_node": max(n.gpus_per_node or 0 for n in needs) or None,
        }

    def _kind(self, stage: str) -> str:
        kind = self.stages.get(stage)
        if kind not in self.kinds:
            raise UserError(
                f"{TABLE}: the stage {stage} has to be under stages, with one of the kinds "
                f"{', '.join(self.kinds)}"
            )
        return kind


def read_table(root: Path) -> StageKindTable:
    """A project's table.

    Raises:
        UserError: it is missing, or a value is impossible.
    """
    try:
        document = read_yaml(root / TABLE)
    except FileNotFoundError:
        raise UserError(f"{TABLE} is missing: it says what stages need on a cluster") from None
    return validate(StageKindTable, document or {}, source=str(TABLE))


def open_resources(settings: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a request that a launcher's settings leave open."""
    return {
        key: value
        for key, value in request.items()
        if settings[key] == _OPEN.get(key) and value is not None
    }


def is_queued(job_name: str) -> bool:
    """Whether jobs of that name wait or run; also where Slurm, too busy, gives no answer."""
    command = ["squeue", "--noheader", "--array", "--me", f"--name={job_name}"]
    result = subprocess.run(command, text=True, capture_output=True, check=False)
    return result.returncode != 0 or bool(result.stdout.strip())


def cancel_pending(job_name: str) -> None:
    """Take jobs of that name that have not started out of the queue."""
    command = ["scancel", "--me", f"--name={job_name}", "--state=PENDING"]
    result = subprocess.run(command, text=True, capture_output=True, check=False)
    if result.returncode:
        reason = " ".join(result.stderr.split())
        log.warning("waiting jobs are still queued", job_name=job_name, reason=reason)
