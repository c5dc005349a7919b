"""What ``asterism doctor`` looks at: what one look found, and what to do about it.

Each module beside looks at one thing: software, machine and project.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

#: ``error`` stops a run; ``warning`` does not, and is worth knowing.
Status = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Check:
    """One line of the doctor's answer.

    Attributes:
        name: what was looked at, such as ``memory``.
        status: see :data:`Status`.
        found: what is there.
        advice: what to do; empty where nothing is to be done.
    """

    name: str
    status: Status
    found: str
    advice: str = ""


def checks_as_json(checks: list[Check]) -> dict[str, Any]:
    """What a program reads: the checks, and how many are of each status."""
    counts = {status: sum(c.status == status for c in checks) for status in ("error", "warning")}
    return {"checks": [asdict(check) for check in checks], **counts}


def format_checks(checks: list[Check]) -> list[str]:
    """What people read: a line for each check, and below it what to do."""
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        lines.append(f"{check.status:8} {check.name:{width}}  {check.found}")
        if check.advice:
            lines.append(f"{'':8} {'':{width}}  → {check.advice}")
    errors, warnings = (sum(c.status == s for c in checks) for s in ("error", "warning"))
    return [*lines, f"{errors} errors, {warnings} warnings"]
