"""Handing jobs to Hydra, whose launcher runs them and whose sweeper may choose them."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omegaconf import DictConfig


@dataclass(frozen=True)
class HydraJob:
    """A job of a multirun.

    Attributes:
        number: its place in the multirun, from 0.
        overrides: of the tree, as Hydra took them.
        composition: its configuration as YAML.
        point: the value of the key ``point``, where it has one.
    """

    number: int
    overrides: tuple[str, ...]
    composition: str
    point: int | None


def multirun(
    conf: Path, tree: str, arguments: Sequence[str], task: Callable[[HydraJob], float | None]
) -> str:
    """Run jobs by the launcher that the arguments name.

    Args:
        conf: the folder of the configuration.
        tree: name of the tree in it.
        arguments: overrides, of Hydra's own settings too.
        task: what a job does, where the launcher puts it; its result is for the sweeper.

    Returns:
        Why a job was lost, in a line; nothing where none was.
    """
    import hydra

    main = hydra.main(version_base=None, config_path=str(conf), config_name=tree)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra raises what it would print
    before = sys.argv
    sys.argv = ["asterism-sweep", "--multirun", *arguments]
    try:
        with _logging_kept():
            main(_job(task))()
    except Exception as error:
        # A job's process was lost; or there were no processes.
        return " ".join(f"{type(error).__name__}: {error}".split())
    finally:
        sys.argv = before
    return ""


@contextmanager
def _logging_kept() -> Iterator[None]:
    """After the block, in which Hydra takes over all logging, it is as it was before."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    known = logging.Logger.manager.loggerDict.values()
    enabled = [one for one in known if isinstance(one, logging.Logger) and not one.disabled]
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        for logger in enabled:
            logger.disabled = False


def _job(task: Callable[[HydraJob], float | None]) -> Callable[[DictConfig], float | None]:
    def run(config: DictConfig) -> float | None:
        from hydra.core.hydra_config import HydraConfig
        from omegaconf import OmegaConf

        facts = HydraConfig.get()
        OmegaConf.resolve(config)
        overrides = tuple(facts.overrides.task)
        point = config.get("point")
        return task(HydraJob(facts.job.num, overrides, OmegaConf.to_yaml(config), point))

    return run
