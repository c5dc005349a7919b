"""All that the doctor looks at, in the order in which it is shown."""

from __future__ import annotations

from pathlib import Path

from asterism.doctor import hardware, project, software
from asterism.doctor.check import Check


def examine(root: Path) -> list[Check]:
    """Every check of software, machine and the project in a folder.

    Args:
        root: the current folder, whether it is a project's root or not.
    """
    return [
        software.python(),
        software.requirements(),
        software.pinned(),
        *software.under_test(),
        *software.programs(),
        hardware.cores(),
        hardware.memory(),
        *hardware.disks(),
        hardware.own_programs(),
        hardware.graphics(),
        *project.project(root),
    ]
