"""Whether what ``asterism vet`` said of a pair is true."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from vetted_truth.answers import Answer, answers
from vetted_truth.counting import ROLES, by_role, renamed
from vetted_truth.recounting import deviations

#: Verdicts by the status of ``--exit-code``.
WORDS = {
    0: "ship",
    3: "ship with the repair",
    4: "do not ship",
    5: "not enough inputs to say",
}


@dataclass
class Outcome:
    """What came of one pair.

    Attributes:
        status: of the command that gave a verdict, or of the last that did not.
        word: the verdict; empty where there is none.
        asked: flags that were given after the program had named them.
        failures: what is not true, a line each.
        notes: what is worth knowing and no failure.
        blamed: whether the damaged node is named first; None where there is none to name.
        seconds: of all commands together.
    """

    status: int
    word: str = ""
    asked: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    blamed: bool | None = None
    seconds: float = 0.0


def judge(
    truth: dict[str, Any], certificate: dict[str, Any], folder: Path, repaired: Path
) -> Outcome:
    """Compare a certificate with the truth.

    Args:
        truth: of the pair.
        certificate: what the command printed.
        folder: the pair's.
        repaired: the repaired file, which may be missing.
    """

    def sides(inputs: str, *files: Path) -> list[list[Answer]]:
        with np.load(folder / f"{inputs}.npz") as arrays:
            feed = dict(arrays)
        return [answers(path, feed) for path in files]

    original, small = (folder / truth[key] for key in ("original", "compressed"))
    outcome = judge_answers(truth, certificate, lambda: sides("given", original, small))
    if outcome.word == "ship with the repair":
        if not repaired.exists():
            outcome.failures.append("repair: there is no repaired file")
        elif repaired.suffix != original.suffix:
            outcome.notes.append("the repaired file is of another format and is not counted")
        else:
            f, g = sides("fresh", original, repaired)
            judge_repair(truth, f, g, outcome)
    return outcome


def judge_answers(
    truth: dict[str, Any], certificate: dict[str, Any], sides: Callable[[], list[list[Answer]]]
) -> Outcome:
    """Compare a certificate with the truth, but for the repair.

    Args:
        truth: of the pair.
        certificate: what was said.
        sides: gives the answers of both models.
    """
    outcome = Outcome(status=0, word=certificate["verdict"]["word"])
    try:
        _verdict(truth, certificate, outcome)
        _figures(truth, certificate, sides, outcome)
        _blame(truth, certificate, outcome)
    except (KeyError, TypeError) as lacking:
        outcome.failures.append(f"figure: the certificate is of another form: {lacking!r}")
    return outcome


def _verdict(truth: dict[str, Any], certificate: dict[str, Any], outcome: Outcome) -> None:
    word = outcome.word
    wrong = f"{truth['clearly_differ']} of {truth['total']} differ clearly"
    if truth["lost_in_half"]:
        wrong += f", {truth['lost_in_half']} of 24 have no finite answer in half precision"
    if truth["must_not_ship"] and word == "ship":
        outcome.failures.append(f"verdict: ship, and {wrong}")
    if truth["count_decides"] and word == "not enough inputs to say":
        outcome.failures.append(f"verdict: not enough inputs to say, and {wrong}")
    if not truth["must_not_reject"] or word == "ship":
        return
    criteria = certificate["verdict"]["criteria"]
    unmet = [c for c in criteria if c["met"] is False]
    if word != "do not ship":
        outcome.notes.append(f"undecided, and {truth['clearly_same']} are the same")
    elif all("flip" in c["name"] for c in unmet):
        outcome.notes.append("do not ship, by flips under natural changes alone")
    else:
        told = f"{truth['clearly_same']} of {truth['total']} are the same"
        outcome.failures.append(f"verdict: do not ship, and {told}")


def _figures(
    truth: dict[str, Any],
    certificate: dict[str, Any],
    sides: Callable[[], list[list[Answer]]],
    outcome: Outcome,
) -> None:
    told = certificate["measured"]["agreement"]
    chosen = _comparison_of(certificate, list(truth["roles"]))
    _expect(outcome, "inputs counted", told["differ"]["total"], truth["total"])
    _expect(outcome, "inputs without an answer", told["lost"], truth["no_answer"])
    wrong = _wrong_comparisons(truth, chosen)
    if wrong:
        outcome.failures.append(f"comparison: {wrong}")
    else:
        counted = _recounted(truth, chosen, sides)
        if counted is None:
            outcome.notes.append(f"figures of {chosen['kind']} are not counted here")
        else:
            _expect(outcome, f"deviations by {chosen['kind']}", told["differ"]["count"], counted)
    if truth["accuracy"] is not None:
        given = [share["count"] for share in told["accuracy"]]
        _expect(outcome, "right answers", given, truth["accuracy"])


def _comparison_of(certificate: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The comparison that the certificate names, with the outputs' names of the truth.

    In a LiteRT file outputs are called ``StatefulPartitionedCall:0`` and so on, in their order.
    """
    chosen = dict(yaml.safe_load(certificate["parameters"])["comparison"])
    parts = chosen["options"].get("outputs") if chosen["kind"] == "together" else ()
    if not set(names) & {part["output"] for part in parts}:
        for name, part in zip(names, sorted(parts, key=lambda one: one["output"]), strict=False):
            part["output"] = name
    return chosen


def _wrong_comparisons(truth: dict[str, Any], chosen: dict[str, Any]) -> str:
    """Outputs that are compared as something that they are not."""
    right = truth["comparisons"]
    if chosen["kind"] == "together":
        told = {part["output"]: part["kind"] for part in chosen["options"]["outputs"]}
    else:
        told = dict.fromkeys(right, chosen["kind"])
    pairs = [(name, told.get(name, "nothing")) for name in right]
    bad = [f"{kind} of {truth['roles'][n]}" for n, kind in pairs if kind not in right[n]]
    return ", ".join(bad)


def _expect(outcome: Outcome, what: str, told: Any, counted: Any) -> None:
    if told != counted:
        outcome.failures.append(f"figure: {what}: {told} is said, {counted} is counted")


def _recounted(
    truth: dict[str, Any], chosen: dict[str, Any], sides: Callable[[], list[list[Answer]]]
) -> int | None:
    """Deviations by the comparison that the certificate names; None: not known here."""
    roles = {name: role for name, role in truth["roles"].items() if role in ROLES}
    f, g = (renamed(truth["roles"], side) for side in sides())
    found = deviations(chosen, roles, f, g)
    return None if found is None else int(found.sum())


def _blame(truth: dict[str, Any], certificate: dict[str, Any], outcome: Outcome) -> None:
    """Whether the damaged node comes first; only where the damage makes a difference."""
    if not truth["node"] or truth["clearly_differ"] < truth["total"] / 10:
        return
    blamed = [entry["node"] for entry in certificate["repair"].get("blamed", ())]
    if not blamed:
        why = certificate["repair"].get("reason", "")
        outcome.notes.append(f"no blame ({why[:120]})")
    outcome.blamed = bool(blamed) and _named(truth["node"], blamed[0])
    if blamed and not outcome.blamed:
        outcome.notes.append(f"{blamed[0]} is blamed, and {truth['node']} is damaged")


def _named(node: str, blamed: str) -> bool:
    """Whether a node is meant.

    Converters put the layer's name into a longer one, ``functional_1/first_1_2/Relu``, and call the
    last layer by the call.
    """
    parts = {re.sub(r"(_\d+)+$", "", part) for part in re.split(r"[/;:]", blamed)}
    is_last = "StatefulPartitionedCall" in parts and node not in ("first", "second")
    if node.startswith(f"{blamed}."):  # attention is exchanged as a whole
        return True
    return blamed == node or (node[0] != "/" and (node in parts or is_last))


def judge_repair(truth: dict[str, Any], f: list[Answer], g: list[Answer], outcome: Outcome) -> None:
    """Count a repaired model's deviations on inputs that nobody but this has seen."""
    off = int(by_role(truth["roles"], f, g).clearly_differs.sum())
    if off > 0.06 * len(f):
        outcome.failures.append(f"repair: {off} of {len(f)} fresh inputs differ clearly")
