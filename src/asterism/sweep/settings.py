"""How a sweep runs: the launcher and the sweeper that its overrides name."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.core.settings import machine
from asterism.dvc_hydra.composition import CompositionError, settings_of_hydra
from asterism.sweep.executors import Shards, require_dask
from asterism.sweep.points import is_hydras

#: Choices of Hydra's that come with packages of their own, which are not among the pinned ones.
_EXTRAS = {"hydra/sweeper/optuna": "hydra-optuna-sweeper"}


def hydra_settings(conf: Path, overrides: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Settings of the ``launcher`` and of the ``sweeper`` that the overrides name.

    Raises:
        UserError: there is none of that name, or the launcher needs a program that is not here.
    """
    mine = [override for override in overrides if is_hydras(override)]
    try:
        settings = settings_of_hydra(conf, mine)
    except CompositionError as error:
        package = _EXTRAS.get(error.missing)
        needed = f"it needs a package that is not installed: pip install {package}"
        reason = needed if package is not None else str(error)
        raise UserError(f"{' '.join(mine)}: {reason}") from None
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
        count: see :class:`~asterism.sweep.executors.Shards`.
        launcher: a choice of ``hydra/launcher`` for a Slurm cluster, or the address of a Dask
            cluster's scheduler (``tcp://host:8786``); None to follow the points.
        points_on: name of the points' launcher.

    Raises:
        UserError: see :func:`hydra_settings`, or the launcher is not for Slurm.
    """
    if launcher is not None and "://" in launcher:
        return Shards(count, dask=require_dask(launcher), store=machine.state_store())
    if launcher is None and (count == 1 or points_on != "slurm"):
        return Shards(count)
    chosen = f"hydra/launcher={launcher or 'slurm_shard'}"
    settings = hydra_settings(conf, [chosen])["launcher"]
    if launcher_name(settings) != "slurm":
        raise UserError(
            f"shards run as jobs of Slurm, or by a Dask cluster whose address is given, and "
            f"hydra/launcher={launcher} is another launcher: leave --shard-launcher out for "
            "processes on this machine"
        )
    leave_out = ("_target_", "submitit_folder")
    return Shards(count, {k: v for k, v in settings.items() if k not in leave_out})


def is_adaptive(sweeper: Mapping[str, Any]) -> bool:
    """Whether a sweeper chooses points by the results of earlier ones, as Optuna's does."""
    return "BasicSweeper" not in sweeper["_target_"]
