"""What the shell completes behind a command: stages and pages."""

from __future__ import annotations

import re
from pathlib import Path

from asterism.cli.pages import PAGES
from asterism.core.messages.errors import UserError

#: A stage's name in ``dvc.yaml``, which is indented by two.
_STAGE = re.compile(r"^  (\w+):$", re.MULTILINE)

#: A name that stands for itself in a shell, and is no option.
_WORD = re.compile(r"[\w.@][\w./@+-]*")


def stage_names(incomplete: str) -> list[str]:
    """Stages that begin so; those of several variants with each that has run."""
    from asterism.dvc_hydra.lockfile import stage_names as names_in_lock

    try:
        declared = _STAGE.findall(Path("dvc.yaml").read_text(encoding="utf-8"))
        known = [*declared, *names_in_lock(Path())]
    except (OSError, UserError):
        return []
    return _beginning(known, incomplete)


def page_names(incomplete: str) -> list[str]:
    """Pages that ``asterism open`` knows, and sweeps."""
    sweeps = [path.parent.name for path in Path("sweeps").glob("*/index.html")]
    return _beginning([*PAGES, *sweeps], incomplete)


def _beginning(known: list[str], incomplete: str) -> list[str]:
    """Those that a shell takes as one plain word: it puts them into a line that it will run."""
    return sorted({name for name in known if _WORD.fullmatch(name) and name.startswith(incomplete)})
