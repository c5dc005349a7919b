"""Whether what ``asterism vet`` said of a pair is true."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from vetted_truth.answers import Answer, answers
from vetted_truth.counting import by_role, cosine, labels_of, nearest, transcript

Array = NDArray[Any]
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
    word = certificate["verdict"]["word"]
    outcome = Outcome(status=0, word=word)
    try:
        _verdict(truth, certificate, outcome)
        _figures(truth, certificate, folder, outcome)
        _blame(truth, certificate, outcome)
    except (KeyError, TypeError) as lacking:
        outcome.failures.append(f"figure: the certificate is of another form: {lacking!r}")
    if word == "ship with the repair":
        _repair(truth, folder, repaired, outcome)
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
    truth: dict[str, Any], certificate: dict[str, Any], folder: Path, outcome: Outcome
) -> None:
    told = certificate["measured"]["agreement"]
    chosen = _comparison_of(certificate)
    name, options = chosen.get("kind", ""), chosen.get("options") or {}
    _expect(outcome, "inputs counted", told["differ"]["total"], truth["total"])
    _expect(outcome, "inputs without an answer", told["failed"], truth["no_answer"])
    right = truth["comparisons"]
    if len(right) == 1 and name not in next(iter(right.values())):
        outcome.failures.append(f"comparison: {name} of {next(iter(truth['roles'].values()))}")
    else:
        counted = _recounted(name, options, truth, folder)
        if counted is None:
            outcome.notes.append(f"figures of {name} are not counted here")
        else:
            _expect(outcome, f"deviations by {name}", told["differ"]["count"], counted)
    if truth["accuracy"] is not None:
        given = [share["count"] for share in told["accuracy"]]
        _expect(outcome, "right answers", given, truth["accuracy"])


def _comparison_of(certificate: dict[str, Any]) -> dict[str, Any]:
    chosen = (yaml.safe_load(certificate["parameters"]) or {}).get("comparison")
    return chosen if isinstance(chosen, dict) else {}


def _expect(outcome: Outcome, what: str, told: Any, counted: Any) -> None:
    if told != counted:
        outcome.failures.append(f"figure: {what}: {told} is said, {counted} is counted")


def _recounted(
    name: str, options: dict[str, Any], truth: dict[str, Any], folder: Path
) -> int | None:
    """Deviations by a comparison with the options that the certificate names; None: unknown."""
    roles = truth["roles"]
    if len(roles) > 1 or not roles:
        return None
    (role,) = roles.values()
    if name in ("top_label", "multi_label", "binary_label") and role in (
        "classes",
        "several",
        "one",
    ):
        return int(truth["differ"]) if options.get("threshold", 0.5) == 0.5 else None
    with np.load(folder / "given.npz") as arrays:
        feed = dict(arrays)
    f, g = (_values(answers(folder / truth[k], feed)) for k in ("original", "compressed"))
    finite = np.array(
        [np.isfinite(b).all() or not np.isfinite(a).all() for a, b in zip(f, g, strict=True)]
    )
    counted = _by_name(name, options, role, f, g)
    return None if counted is None else int((counted | ~finite).sum())


def _values(side: list[Answer]) -> list[Array]:
    return [np.asarray(next(iter(answer.values()))) for answer in side]


def _by_name(
    name: str, options: dict[str, Any], role: str, f: list[Array], g: list[Array]
) -> Array | None:
    if name == "tolerance" and {"absolute", "relative"} <= set(options):
        limit = [options["absolute"] + options["relative"] * np.abs(a) for a in f]
        sides = zip(f, g, limit, strict=True)
        return np.array([(~(np.abs(a - b) <= most)).any() for a, b, most in sides])
    if name == "embedding" and {"tolerance", "nearest"} <= set(options):
        x, y = (np.stack([v.reshape(-1) for v in side]).astype(np.float64) for side in (f, g))
        far = ~(cosine(x, y) <= options["tolerance"])
        return np.asarray(far | (nearest(x, x) != nearest(x, y))) if options["nearest"] else far
    if name == "label_map" and "share" in options:
        maps = [
            (labels_of(role, a) != labels_of(role, b)).mean() for a, b in zip(f, g, strict=True)
        ]
        return np.asarray(np.array(maps) > options["share"])
    plain = {"decoding": "ctc", "blank": 0, "unit": "symbol"}
    if name == "sequence" and plain.items() <= options.items() and not options.get("rate"):
        return np.array([transcript(a) != transcript(b) for a, b in zip(f, g, strict=True)])
    return None


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
    return blamed == node or (node[0] != "/" and (node in parts or is_last))


def _repair(truth: dict[str, Any], folder: Path, repaired: Path, outcome: Outcome) -> None:
    """Count a repaired file's deviations on inputs that nobody but this has seen."""
    if not repaired.exists():
        outcome.failures.append("repair: there is no repaired file")
        return
    with np.load(folder / "fresh.npz") as arrays:
        feed = dict(arrays)
    if repaired.suffix != Path(truth["original"]).suffix:
        outcome.notes.append("the repaired file is of another format and is not counted")
        return
    f, g = answers(folder / truth["original"], feed), answers(repaired, feed)
    off = int(by_role(truth["roles"], f, g).clearly_differs.sum())
    if off > 0.06 * len(f):
        outcome.failures.append(f"repair: {off} of {len(f)} fresh inputs differ clearly")
