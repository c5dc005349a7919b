"""How a sweep runs: the launcher and the sweeper that its overrides name."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.hydra_messages import as_one_line
from asterism.sweep.points import is_hydras
from asterism.sweep.shards import Shards

#: Choices of Hydra's that come with packages of their own, which are not among the pinned ones.
_EXTRAS = {"hydra/sweeper/optuna": "hydra-optuna-sweeper"}

#: See :func:`store_empty_tree`.
_EMPTY = "asterism_empty"


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
        package = _EXTRAS.get(getattr(error, "missing_cfg_file", ""))
        needed = f"it needs a package that is not here: pip install {package}"
        reason = needed if package is not None else as_one_line(error)
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
