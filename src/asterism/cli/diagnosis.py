"""The command that says whether this machine and this project are ready."""

from __future__ import annotations

import sys
from pathlib import Path

from asterism.cli.program import BEGIN, AsJson, app
from asterism.core.messages.terminal import say, say_json


@app.command(rich_help_panel=BEGIN)
def doctor(
    as_json: AsJson = False,
) -> None:
    """Say whether everything is there to run: software, machine, project; and what to do.

    It mends nothing itself. The exit status is 1 where something stops a run.
    """
    from asterism.doctor import check, examination

    checks = examination.examine(Path.cwd())
    facts = check.as_json(checks)
    if as_json:
        say_json(facts)
    else:
        say(*check.as_text(checks))
    sys.exit(1 if facts["error"] else 0)
