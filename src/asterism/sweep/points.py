"""What a sweep consists of: its points, checked before anything runs."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asterism.core.errors import UserError
from asterism.core.hydra_messages import as_one_line
from asterism.sweep.shards import Shards

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

#: Overrides of Hydra itself: they say how a sweep runs, not what.
_HYDRA = ("hydra.", "hydra/", "+hydra.", "+hydra/", "++hydra.", "~hydra")

#: Choices of Hydra's that come with packages of their own, which are not among the pinned ones.
_EXTRAS = {"hydra/sweeper/optuna": "hydra-optuna-sweeper"}

#: See :func:`store_empty_tree`.
_EMPTY = "asterism_empty"

#: What a folder, a git reference and a job can all be called.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


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

    @property
    def values(self) -> dict[str, str]:
        """Its overrides by parameter."""
        return split_overrides(self.overrides)


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
    if not _NAME.fullmatch(name) or ".." in name or name.endswith(".lock"):
        raise UserError(
            f"--name {name!r} cannot name a folder and an experiment: use letters, digits, "
            "'_', '-' and single dots, a letter or a digit first, and no '.lock' at the end"
        )


def with_slashes(conf: Path, overrides: Sequence[str]) -> list[str]:
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


def sweep_name(overrides: Sequence[str], targets: Sequence[str]) -> str:
    """The name of a sweep that was given none: the same for the same command."""
    text = "\n".join([*sorted(o for o in overrides if not is_hydras(o)), "", *targets])
    return f"sweep-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def store_empty_tree() -> str:
    """The name of a tree of configuration that holds Hydra's own settings and nothing else."""
    from hydra.core.config_store import ConfigStore

    ConfigStore.instance().store(_EMPTY, {})
    return _EMPTY


def hydra_settings(conf: Path, overrides: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Settings of the ``launcher`` and of the ``sweeper`` that the overrides name.

    Raises:
        UserError: there is none of that name, or the launcher needs a program that is not here.
    """
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    mine = [override for override in overrides if is_hydras(override)]
    try:
        with initialize_config_dir(str(conf.resolve()), version_base=None):
            config = hydra_compose(store_empty_tree(), overrides=mine, return_hydra_config=True)
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        reason = as_one_line(error)
        for choice, package in _EXTRAS.items():
            if f"Could not find '{choice}'" in reason:
                reason = f"it needs a package that is not here: pip install {package}"
        raise UserError(f"{' '.join(mine)}: {reason}") from None
    settings = {}
    for part in ("launcher", "sweeper"):
        plain = OmegaConf.to_container(config.hydra[part])
        assert isinstance(plain, dict)
        settings[part] = {str(key): value for key, value in plain.items()}
    if launcher_name(settings["launcher"]) == "slurm" and shutil.which("sbatch") is None:
        raise UserError(
            "hydra/launcher=slurm needs Slurm's sbatch, which is not on this machine's path: run "
            "the sweep on a login node of the cluster, or with hydra/launcher=joblib"
        )
    return settings


def launcher_name(settings: Mapping[str, Any]) -> str:
    """Its name in a word: ``"slurm"``, ``"joblib"`` or ``"basic"``."""
    target = str(settings["_target_"])
    return target.rpartition(".")[2].removesuffix("Launcher").lower()


def make_shards(conf: Path, count: int, launcher: str | None, points_on: str) -> Shards:
    """How long stages are spread.

    Args:
        conf: the Hydra tree.
        count: see :class:`~asterism.sweep.shards.Shards`.
        launcher: a choice of ``hydra/launcher`` for a Slurm cluster; None to follow the points.
        points_on: name of the points' launcher.

    Raises:
        UserError: see :func:`hydra_settings`, or the launcher is not for Slurm.
    """
    if launcher is None and (count == 1 or points_on != "slurm"):
        return Shards(count)
    chosen = f"hydra/launcher={launcher or 'slurm_shard'}"
    settings = hydra_settings(conf, [chosen])["launcher"]
    if launcher_name(settings) != "slurm":
        raise UserError(
            f"shards run as jobs of Slurm, and hydra/launcher={launcher} is another launcher: "
            "leave --shard-launcher out for processes on this machine"
        )
    leave_out = ("_target_", "submitit_folder")
    return Shards(count, {k: v for k, v in settings.items() if k not in leave_out})


def is_adaptive(sweeper: Mapping[str, Any]) -> bool:
    """Whether a sweeper chooses points by the results of earlier ones, as Optuna's does."""
    return "BasicSweeper" not in sweeper["_target_"]


def _parse(overrides: Sequence[str]) -> list[Override]:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    parser = OverridesParser.create()
    parsed = []
    for override in overrides:
        if is_hydras(override):
            continue
        try:
            parsed.append(parser.parse_override(override))
        except HydraException as error:
            raise UserError(
                f"the override {override!r} cannot be read: {as_one_line(error)}"
            ) from None
    return parsed


def check_space(conf: Path, overrides: Sequence[str]) -> list[str]:
    """Compose and validate so much of the space of an adaptive sweeper that each bound is met.

    Returns:
        The compositions: together they have the ends of all ranges, and all choices.

    Raises:
        UserError: see :func:`enumerate_points`.
    """
    columns = [_bounds(override) for override in _parse(overrides)]
    rows = [
        [column[min(number, len(column) - 1)] for column in columns]
        for number in range(max(map(len, columns), default=0))
    ]
    return [_compose(conf, row, f"a point of the space ({' '.join(row)}): ") for row in rows]


def _bounds(override: Override) -> list[str]:
    """The ends of a range as overrides, or all of the choices."""
    from hydra.core.override_parser.types import IntervalSweep, RangeSweep

    if not override.is_sweep_override():
        return [str(override.input_line)]
    sweep = override.value()
    if isinstance(sweep, IntervalSweep):
        values = [str(sweep.start), str(sweep.end)]
    else:
        values = [str(text) for text in override.sweep_string_iterator()]
    if isinstance(sweep, RangeSweep):
        values = [values[0], values[-1]]
    return [f"{override.key_or_group}={value}" for value in values]


def enumerate_points(conf: Path, overrides: Sequence[str]) -> list[Point]:
    """The points that Hydra's own sweeper makes of the overrides, each composed and validated.

    Raises:
        UserError: an override names no parameter or cannot be read, or a point's value is
            impossible; the message names the point.
    """
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
    from hydra.errors import HydraException

    try:
        (batch,) = BasicSweeper.split_arguments(_parse(overrides), None)
    except HydraException as error:
        raise UserError(as_one_line(error)) from None
    points = []
    for number, chosen in enumerate(batch):
        where = f"point {number} ({' '.join(chosen)}): " if len(batch) > 1 else ""
        points.append(Point(number, tuple(chosen), _compose(conf, list(chosen), where)))
    return points


def _compose(conf: Path, overrides: list[str], where: str) -> str:
    from asterism.config import compose  # points load this module without all lanes' parameters

    try:
        return compose(conf, overrides)
    except UserError as error:
        raise UserError(f"{where}{error}") from None
