"""What a sweep asks of Slurm beside submitting its points."""

from __future__ import annotations

import subprocess

from asterism.core.messages.console import get_logger

log = get_logger(__name__)


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
