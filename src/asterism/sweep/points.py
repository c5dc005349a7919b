"""What a sweep consists of: its points, checked before anything runs."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from asterism.core.messages.errors import UserError
from asterism.core.parameters.validation import LONGEST, is_label
from asterism.dvc_hydra.overrides import SweepOverride, parse_overrides
from asterism.dvc_hydra.overrides import expand_sweep as points_of

#: Overrides of Hydra itself: they say how a sweep runs, not what.
_HYDRA = ("hydra.", "hydra/", "+hydra.", "+hydra/", "++hydra.", "~hydra")


@dataclass(frozen=True)
class Point:
    """One point of a sweep.

    Attributes:
        number: its place in the sweep, from 0.
        overrides: as Hydra takes them.
        composition: its ``params.yaml``.
    """

    number: int
    overrides: tuple[str, ...]
    composition: str

    @property
    def key(self) -> str:
        """Twelve hexadecimal digits that stand for its parameters."""
        return hashlib.sha256(self.composition.encode()).hexdigest()[:12]


def split_overrides(overrides: Sequence[str]) -> dict[str, str]:
    """``["fuzz.mutants=5"]`` as ``{"fuzz.mutants": "5"}``."""
    pairs = (override.partition("=") for override in overrides)
    return {name.lstrip("+~"): value for name, _, value in pairs}


def is_hydras(override: str) -> bool:
    """Whether an override says how the sweep runs."""
    return override.startswith(_HYDRA)


def check_name(name: str) -> None:
    """A sweep's name becomes a folder's, a git reference's and a job's.

    Raises:
        UserError: it cannot.
    """
    if not _fits(name):
        raise UserError(
            f"--name {name[:LONGEST]!a} cannot name a folder and an experiment: use at most "
            f"{LONGEST} letters from a to z, digits, '_', '-' and single dots, a letter or a digit "
            "first and after each dot, and no '.lock' at the end"
        )


def derive_sweep_name(text: str) -> str:
    """A name for a sweep that says as much of a text, such as a file's name, as a name can.

    It ends with a number of the text's own where letters were lost.
    """
    if _fits(text):
        return text
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    name = re.sub(r"[^A-Za-z0-9]+", "-", re.sub(r"[\u0300-\u036f]", "", plain)).strip("-")
    lost = any(sign.isalnum() and not sign.isascii() for sign in plain)
    if name and not lost and len(name) <= LONGEST:
        return name
    digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:8]
    return f"{name[: LONGEST - 9].strip('-')}-{digest}".strip("-")


def _fits(name: str) -> bool:
    labels = all(map(is_label, name.split(".")))
    return labels and len(name) <= LONGEST and not name.endswith(".lock")


def hydra_choice_path(conf: Path, overrides: Sequence[str]) -> list[str]:
    """``fuzz.selection=random`` as ``fuzz/selection=random``, as Hydra spells a choice.

    Args:
        conf: the Hydra tree.
        overrides: as users give them. An override is a choice where ``conf/`` has a folder of
            options for it, and it does not spell a whole section out (``fuzz.selection={…}``).
    """
    spelled = []
    for override in overrides:
        key, equals, value = override.partition("=")
        group = key.replace(".", "/")
        is_choice = equals and not value.lstrip().startswith("{") and (conf / group).is_dir()
        spelled.append(f"{group}={value}" if is_choice else override)
    return spelled


def default_sweep_name(overrides: Sequence[str], targets: Sequence[str]) -> str:
    """The name of a sweep that was given none: the same for the same command."""
    text = "\n".join([*sorted(o for o in overrides if not is_hydras(o)), "", *targets])
    return f"sweep-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def check_space(conf: Path, overrides: Sequence[str]) -> list[str]:
    """Compose and validate so much of the space of an adaptive sweeper that each bound is met.

    Returns:
        The compositions: together they have the ends of all ranges, and all choices.

    Raises:
        UserError: see :func:`enumerate_points`.
    """
    columns = [override.bounds for override in _read(overrides)]
    rows = [
        [column[min(number, len(column) - 1)] for column in columns]
        for number in range(max(map(len, columns), default=0))
    ]
    return [_compose(conf, row, f"a point of the space ({' '.join(row)}): ") for row in rows]


def count_points(overrides: Sequence[str]) -> int:
    """The number of points that Hydra's own sweeper would make, none of which is composed.

    Raises:
        UserError: an override cannot be read, or is an interval.
    """
    return len(points_of(_read(overrides)))


def enumerate_points(conf: Path, overrides: Sequence[str]) -> list[Point]:
    """The points that Hydra's own sweeper would make of the overrides, each composed and validated.

    Raises:
        UserError: an override names no parameter or cannot be read, or a point's value is
            impossible; the message names the point.
    """
    batch = points_of(_read(overrides))
    points = []
    for number, chosen in enumerate(batch):
        where = f"point {number} ({' '.join(chosen)}): " if len(batch) > 1 else ""
        points.append(Point(number, chosen, _compose(conf, list(chosen), where)))
    return points


def _read(overrides: Sequence[str]) -> list[SweepOverride]:
    return parse_overrides([override for override in overrides if not is_hydras(override)])


def _compose(conf: Path, overrides: list[str], where: str) -> str:
    from asterism.config import compose  # points load this module without all lanes' parameters

    try:
        return compose(conf, overrides)
    except UserError as error:
        raise UserError(f"{where}{error}") from None
