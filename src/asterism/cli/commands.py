"""All commands of ``asterism``, by their groups; within a group as they are declared."""

from __future__ import annotations

from asterism.cli import (  # noqa: F401 - each adds its commands to the app
    judging,
    libraries,
    models,
    pipeline,
    projects,
    reproduction,
    versions,
)
from asterism.cli.program import GROUPS, app

app.registered_commands.sort(key=lambda command: GROUPS.index(command.rich_help_panel))

__all__ = ["app"]
