"""Situations that people report, made small: what the program says of each beside the truth.

They lie in a folder beside the project (``README.md`` there: situation, truth, what is right), and
``run CASE`` there makes and runs one. A check here is coarse: it reads certificates, statuses and
what is said, and tells what is not right. ``cases.yaml`` says what is right of each case; what its
entries cannot say is a function here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from vetted_truth.running import TRACEBACK

#: What is right, by the case's number.
CHECKS: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Ran:
    """A case that was run in a folder."""

    folder: Path

    @cached_property
    def said(self) -> str:
        """All that the commands said."""
        return (self.folder / "out.txt").read_text(errors="replace")

    @cached_property
    def truth(self) -> str:
        """What the case knows of itself."""
        path = self.folder / "truth.txt"
        return path.read_text(errors="replace") if path.exists() else ""

    @cached_property
    def certificates(self) -> list[dict[str, Any]]:
        """Certificates, the oldest first."""
        found = self.folder.joinpath("work").rglob("vet/certificate.json")
        paths = sorted(found, key=lambda path: path.stat().st_mtime)
        return [json.loads(path.read_text()) for path in paths]

    @property
    def comparison(self) -> str:
        """The kind of comparison of the first certificate."""
        chosen = yaml.safe_load(self.certificates[0]["parameters"]).get("comparison") or {}
        return str(chosen.get("kind", ""))

    def statuses(self, name: str) -> list[int]:
        """Statuses that the case prints, such as ``vet=0``."""
        return [int(s) for s in re.findall(rf"^{name}=(\d+)$", self.said, re.MULTILINE)]

    def parts(self) -> dict[str, str]:
        """What was said by each command that the case prints, ``--- asterism COMMAND``."""
        parts = re.split(r"^--- asterism ", self.said, flags=re.MULTILINE)[1:]
        return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}

    def number(self, pattern: str) -> float:
        """A number that the truth names."""
        found = re.search(pattern, self.truth)
        return float(found[1]) if found else float("nan")


def _as_listed(ran: Ran, right: Mapping[str, Any]) -> Iterator[str]:
    """What is not as an entry of ``cases.yaml`` says."""
    for name, statuses in right.get("statuses", {}).items():
        if ran.statuses(name) not in statuses:
            yield f"{name} ends with {ran.statuses(name)}, and right is {statuses}"
    if (words := right.get("verdict")) is not None:
        if not ran.certificates:
            yield "there is no verdict 1"
        elif (word := ran.certificates[0]["verdict"]["word"]) not in words:
            yield f"the verdict is {word!r}, and right is {' or '.join(words)}"
    for certificate, figures in zip(ran.certificates, right.get("figures", ()), strict=False):
        agreement = certificate["measured"]["agreement"]
        for name, true in figures.items():
            told = ran.number(true["pattern"]) * true["of"] if isinstance(true, dict) else true
            told = ran.number(told) if isinstance(told, str) else told
            given = agreement["differ"]["count"] if name == "differ" else agreement[name]
            if not abs(given - told) <= 0.6:  # the truth may be a share of a few digits
                yield f"{name}: {given} is said, {told:g} is true"
    if ran.certificates and ran.comparison == right.get("not_compared_as"):
        yield f"the answers are compared by {ran.comparison}"
    for name in right.get("files", ()):
        if not list(ran.folder.joinpath("work").rglob(name)):
            yield f"there is no {name}"
    yield from _as_worded(right, ran.said, ran.said + json.dumps(ran.certificates))
    for named, words in right.get("commands", {}).items():
        for command, said in ran.parts().items():
            if re.search(named, command):
                yield from (f"{command}: {wrong}" for wrong in _as_worded(words, said, said))


def _as_worded(right: Mapping[str, Any], said: str, told: str) -> Iterator[str]:
    """Patterns that are missing in what is told, and those in what is said that should be."""
    options = re.IGNORECASE | re.MULTILINE | re.DOTALL
    for pattern in right.get("says", ()):
        if not re.search(pattern, told, options):
            yield f"nowhere is said: {pattern}"
    for pattern in right.get("never_says", ()):
        if re.search(pattern, said, options):
            yield f"is said: {pattern}"


def detector(ran: Ran) -> Iterator[str]:
    if ran.certificates:
        blamed = ran.certificates[0]["repair"].get("blamed") or [{"node": "nothing"}]
        if "Concat" not in blamed[0]["node"]:
            yield f"{blamed[0]['node']} is blamed, and the last Concat is to blame"


def dynamic_lstm(ran: Ran) -> Iterator[str]:
    if ran.certificates:
        repaired = ran.certificates[0]["repair"].get("agreement") or {"differ": {"count": "all"}}
        if repaired["differ"]["count"] != 0:
            yield f"{repaired['differ']['count']} unseen inputs differ with scales by channel"


def neurons(ran: Ran) -> Iterator[str]:
    shares = re.findall(r"combinations that .* exercise: ([\d.]+%)", ran.said)
    advised = re.findall(r"the rest of the test inputs exercises ([\d.]+%)", ran.said)
    if set(advised) & set(shares[::2]):
        yield "natural inputs are advised that add nothing"


def dynamic_batch(ran: Ran) -> Iterator[str]:
    if ran.certificates:
        given = ran.certificates[0]["measured"]["agreement"]["differ"]["count"]
        least = ran.number(r"batches of 1 cosine distance over 0.02: (\d+)")
        if given < least:
            yield f"{given} differ, and {least:g} do alone"


def cases_in(folder: Path) -> list[str]:
    """The names of the cases that can be checked."""
    found = (path.name for path in folder.iterdir() if (path / "run.sh").exists())
    return sorted(name for name in found if name[:2] in CHECKS)


def run_case(folder: Path, name: str, work: Path, asterism: Path) -> Ran:
    """Run a case below ``work``; its files stay there and are made once.

    Args:
        folder: of all cases.
        name: the case's.
        work: a folder.
        asterism: the command, a file of that name.
    """
    work.mkdir(parents=True, exist_ok=True)
    path = f"{asterism.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "CASES_ROOT": str(work), "PATH": path}
    subprocess.run([folder / "run", name], cwd=folder, env=environment, capture_output=True)
    return Ran(work / name)


def wrong_with(ran: Ran) -> list[str]:
    """What is not right, a line each."""
    if not (ran.folder / "out.txt").exists():
        return [f"its files cannot be made: {ran.truth[-200:]}"]
    crashed = ["a traceback"] if TRACEBACK.search(ran.said) else []
    right = CHECKS[ran.folder.name[:2]]
    more = globals()[right["also"]](ran) if "also" in right else ()
    return [*crashed, *_as_listed(ran, right), *more]


def shown(ran: Ran) -> str:
    """The truth beside the answer, and what is not right."""
    wrong = wrong_with(ran)
    lines = [f"{ran.folder.name}: {'right' if not wrong else 'WRONG'}"]
    told = [line for line in ran.truth.splitlines() if re.match(r"\w.*\d", line)]
    lines += [f"  truth   {line[:150]}" for line in told if "Warning" not in line][-3:]
    answered = r"verdict|error:|\w+=\d|status=|--- |  agreement|  check"
    said = ran.said.splitlines() if (ran.folder / "out.txt").exists() else []
    lines += [f"  answer  {line.strip()[:150]}" for line in said if re.match(answered, line)]
    return "\n".join(lines + [f"  wrong   {line}" for line in wrong])
