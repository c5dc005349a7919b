"""Tables of figures in the manual: a benchmark's ``--write`` puts them into docs/measurements.

A page has a place for each table, between ``<!-- figures: NAME -->`` and ``<!-- end of NAME -->``.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from asterism.core.messages.errors import UserError
from asterism.reproduction.collecting import machine_facts

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs/measurements"


def write_figures(
    page: str, name: str, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Put a table into its place on a page, with the command, the date, the machine and the commit.

    Args:
        page: the page's name in docs/measurements.
        name: of the place.
        header: titles of the columns.
        rows: what stands below them.

    Raises:
        UserError: the page has no such place.
    """
    path = PAGES / f"{page}.md"
    path.write_text(placed(path.read_text(encoding="utf-8"), name, table(header, rows)), "utf-8")
    print(f"{path.relative_to(ROOT)}: {name} is written")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, with what was measured where."""
    lines = [header, ["---"] * len(header), *rows]
    shown = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"{shown}\n{origin()}\n"


def origin() -> str:
    """The command, date, commit and machine of the measurement, a line each."""
    words = [word for word in sys.argv[1:] if word != "--write"]
    command = shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *words])
    machine = machine_facts()
    return (
        f"Measured by `{command} --write` on {datetime.now(UTC).date()}, at commit {_commit()}.\n"
        f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['memory']}, "
        f"{machine['system']};\nload average {os.getloadavg()[0]:.1f} at the end."
    )


def placed(text: str, name: str, content: str) -> str:
    """A page's text with other content in the place of that name.

    Raises:
        UserError: it has no such place.
    """
    begin, end = f"<!-- figures: {name} -->\n", f"<!-- end of {name} -->\n"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise UserError(f"the page has no place `{begin.strip()}` … `{end.strip()}`")
    return f"{before}{begin}{content}{end}{after}"


def _commit() -> str:
    """The commit that is checked out; `+` where files of the source differ from it."""
    changed = _git("status", "--porcelain", "src", "benchmarks")
    return f"{_git('rev-parse', '--short=10', 'HEAD')}{'+' if changed else ''}"


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()
