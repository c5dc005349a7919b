"""What a sweep asks of Slurm beside submitting its points."""

from __future__ import annotations

import subprocess


def queued(job_name: str) -> int:
    """Jobs of that name that wait or run."""
    command = ["squeue", "--noheader", "--array", "--me", f"--name={job_name}"]
    result = subprocess.run(command, text=True, capture_output=True, check=True)
    return len(result.stdout.splitlines())


def cancel_pending(job_name: str) -> None:
    """Take jobs of that name that have not started out of the queue."""
    command = ["scancel", "--me", f"--name={job_name}", "--state=PENDING"]
    subprocess.run(command, check=True)
