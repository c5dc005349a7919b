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
    for name, count in right.get("statuses", {}).items():
        if ran.statuses(name) != [0] * count:
            yield f"{name} ends with {ran.statuses(name)}, and right is 0, {count} times"
    if (words := right.get("verdict")) is not None:
        if not ran.certificates:
            yield "there is no verdict 1"
        elif (word := ran.certificates[0]["verdict"]["word"]) not in words:
            yield f"the verdict is {word!r}, and right is {' or '.join(words)}"
    for at, figures in enumerate(right.get("figures", ())):
        for name, true in figures.items():
            yield from _figure(ran, name, ran.number(true) if isinstance(true, str) else true, at)
    told = ran.said + json.dumps(ran.certificates)
    for pattern in right.get("says", ()):
        if not re.search(pattern, told, re.IGNORECASE):
            yield f"nowhere is said: {pattern}"
    for pattern in right.get("never_says", ()):
        if re.search(pattern, ran.said, re.IGNORECASE):
            yield f"is said: {pattern}"


def _figure(ran: Ran, name: str, told: float, at: int = 0) -> Iterator[str]:
    if len(ran.certificates) > at:
        agreement = ran.certificates[at]["measured"]["agreement"]
        given = agreement["differ"]["count"] if name == "differ" else agreement[name]
        if not abs(given - told) <= 0.6:  # the truth may be a share of a few digits
            yield f"{name}: {given} is said, {told:g} is true"


def _comparison(ran: Ran) -> str:
    if not ran.certificates:
        return ""
    chosen = yaml.safe_load(ran.certificates[0]["parameters"]).get("comparison") or {}
    return str(chosen.get("kind", ""))


def detector(ran: Ran) -> Iterator[str]:
    if _comparison(ran) == "top_label":
        yield "boxes and scores are compared as labels"
    if ran.certificates:
        blamed = ran.certificates[0]["repair"].get("blamed") or [{"node": "nothing"}]
        if "Concat" not in blamed[0]["node"]:
            yield f"{blamed[0]['node']} is blamed, and the last Concat is to blame"


def not_finite_on_some(ran: Ran) -> Iterator[str]:
    yield from _figure(ran, "lost", 900 * ran.number(r"int8 NaN ([\d.e-]+)"))


def segmentation(ran: Ran) -> Iterator[str]:
    if _comparison(ran) == "top_label":
        yield "a map of labels is compared as one label"


def dynamic_lstm(ran: Ran) -> Iterator[str]:
    if ran.certificates:
        repaired = ran.certificates[0]["repair"].get("agreement") or {"differ": {"count": "all"}}
        if repaired["differ"]["count"] != 0:
            yield f"{repaired['differ']['count']} unseen inputs differ with scales by channel"


def pruned(ran: Ran) -> Iterator[str]:
    if not list(ran.folder.joinpath("work").rglob("vet/repaired.onnx")):
        yield "there is no repaired file"


def own_layer(ran: Ran) -> Iterator[str]:
    for command, said in ran.parts().items():
        if "model.keras" in command and "Gate" not in said:
            yield f"{command.split()[0]} does not name the layer Gate"
        if command.startswith("check") and re.search(r"^ +yes +vet", said, re.MULTILINE):
            yield f"{command}: says that it can be vetted"
        if command.startswith("check") and "saved_model" in command and "convert" not in said:
            yield f"{command}: names no command that leads on"


def other_files(ran: Ran) -> Iterator[str]:
    wanted = {
        "pointer.onnx": "git.?lfs",
        "empty.onnx": "empty",
        "page.onnx": "html",
        "cut.onnx": "cut|end|damaged|truncated",
        "module.pt": "export",
        "weights.pth": "export|weights",
        "script.pt": "export",
        "weights.safetensors": "weights",
        "weights.gguf": "weights|gguf",
    }
    for command, said in ran.parts().items():
        for name, pattern in wanted.items():
            if command.startswith("check") and command.endswith(name):
                if not re.search(pattern, said, re.IGNORECASE):
                    yield f"check {name}: does not say {pattern}"
                if re.search(r"^ +yes +vet", said, re.MULTILINE):
                    yield f"check {name}: says that it can be vetted"
        if command.startswith("vet external.onnx") and "verdict:" not in said:
            yield "a model with data in another file is not vetted"


def single_operators(ran: Ran) -> Iterator[str]:
    if ran.statuses("status") not in ([0], [1]):  # 1 where a library has a fault
        yield f"compare-libraries ends with {ran.statuses('status')}"


def worktree(ran: Ran) -> Iterator[str]:
    if ran.said.count("verdict:") != 3:
        yield "there are not three verdicts"
    if not re.search(r"^changed$", ran.said, re.MULTILINE):
        yield "the user's change is lost"


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
