"""Hydra: composing its tree and its own settings, and handing jobs to it.

Its launcher runs the jobs, and its sweeper may choose them.
"""

from __future__ import annotations

import copy
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import unknown

if TYPE_CHECKING:
    from omegaconf import DictConfig


#: See :func:`store_empty_tree`.
_EMPTY = "asterism_empty"

#: An override of a value that there is: whatever its key is, it is no choice of a group's file.
_VALUE = re.compile(r"[\w-]+(\.[\w-]+)+=")

#: The files of a tree: path, time of the last change, size.
_State = tuple[tuple[str, int, int], ...]


class CompositionError(UserError):
    """Hydra rejects overrides.

    Attributes:
        advised: the overrides with a ``+`` where Hydra advises one; None where it does not.
        missing: the file of ``conf/`` that a choice would be; empty for other errors.
    """

    def __init__(self, error: Exception, overrides: Sequence[str]) -> None:
        super().__init__(shorten_hydra_message(error))
        self.advised = add_advised_plus(error, list(overrides))
        self.missing = str(getattr(error, "missing_cfg_file", None) or "")


def compose_parameters(conf: Path, overrides: Sequence[str]) -> str:
    """The text that ``dvc exp run -S`` writes into ``params.yaml``.

    Args:
        conf: the tree.
        overrides: as Hydra takes them, ``["data=mnist", "abstraction.k=4"]``.

    Raises:
        CompositionError: Hydra rejects an override.
    """
    from omegaconf import OmegaConf

    with _opened(conf, overrides, before=f"{' '.join(overrides)}: "):
        config = _composed(conf, "config", overrides)
        OmegaConf.resolve(config)
    return OmegaConf.to_yaml(config)


def settings_of_hydra(conf: Path, overrides: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Settings of Hydra's ``launcher`` and ``sweeper``.

    Args:
        conf: the tree.
        overrides: of Hydra itself (``hydra/launcher=joblib``).

    Raises:
        CompositionError: there is none of that name, or a setting is unknown.
    """
    from hydra import compose
    from omegaconf import OmegaConf

    with _opened(conf, overrides):
        config = compose(store_empty_tree(), overrides=list(overrides), return_hydra_config=True)
    settings = {}
    for part in ("launcher", "sweeper"):
        plain = OmegaConf.to_container(config.hydra[part])
        assert isinstance(plain, dict)
        settings[part] = {str(key): value for key, value in plain.items()}
    return settings


def compose_group(conf: Path, group: str, overrides: Sequence[str]) -> Any:
    """One group of the tree alone, which takes a fraction of the time of all, as plain values.

    Args:
        conf: the tree.
        group: its name.
        overrides: of this group only; one of them chooses its file.

    Raises:
        CompositionError: as :func:`compose_parameters`, and where another group is referred to.
    """
    from omegaconf import OmegaConf

    added = [f"+{text}" if text.startswith(f"{group}=") else text for text in overrides]
    with _opened(conf, overrides):
        config = _composed(conf, store_empty_tree(), added)
        return OmegaConf.to_container(config[group], resolve=True, throw_on_missing=True)


def _composed(conf: Path, name: str, overrides: Sequence[str]) -> DictConfig:
    """What Hydra composes from an open tree: values are set, as Hydra sets them, on a kept copy.

    Reading the tree and merging its files takes many times as long as setting values.

    Args:
        conf: the tree.
        name: the file that it is composed from.
        overrides: as Hydra takes them. Those after the last choice of a file are the values.
    """
    from hydra import compose
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    first = len(overrides)
    while first > 0 and _VALUE.match(overrides[first - 1]):
        first -= 1
    chosen, values = overrides[:first], overrides[first:]
    config = copy.deepcopy(_of_files(name, tuple(chosen), str(conf.resolve()), _state(conf)))
    try:
        for override in OverridesParser.create().parse_overrides(list(values)):
            if override.is_sweep_override():
                return compose(name, overrides=list(overrides))
            OmegaConf.update(config, override.key_or_group, override.value())
    except (HydraException, OmegaConfBaseException):  # Hydra's message tells more
        return compose(name, overrides=list(overrides))
    return config


@lru_cache(maxsize=8)
def _of_files(name: str, chosen: tuple[str, ...], _conf: str, _state: _State) -> DictConfig:
    """What the files of the open tree come to, read again where one has changed."""
    from hydra import compose

    return compose(name, overrides=list(chosen))


def _state(conf: Path) -> _State:
    """What tells whether a file of a tree has changed."""
    paths = [Path(folder, name) for folder, _, names in os.walk(conf) for name in names]
    known = ((path, path.stat()) for path in sorted(paths))
    return tuple((str(path), one.st_mtime_ns, one.st_size) for path, one in known)


@contextmanager
def _opened(conf: Path, overrides: Sequence[str], before: str = "") -> Iterator[None]:
    """Hydra's configuration, open in the block; its rejections become composition errors.

    Args:
        conf: folder of the configuration.
        overrides: of the composition, which an error names.
        before: what the message of a plain ``ValueError`` begins with, which names none.

    Raises:
        CompositionError: Hydra rejects what is composed.
    """
    from hydra import initialize_config_dir
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    try:
        with initialize_config_dir(str(conf.resolve()), version_base=None):
            yield
    except (HydraException, OmegaConfBaseException) as error:
        raise CompositionError(error, overrides) from None
    except ValueError as error:  # Hydra's answer to a group that is set to null or a number
        raise CompositionError(ValueError(f"{before}{error}"), overrides) from None


def store_empty_tree() -> str:
    """The name of a tree of configuration that holds Hydra's own settings and nothing else."""
    from hydra.core.config_store import ConfigStore

    ConfigStore.instance().store(_EMPTY, {})
    return _EMPTY


def shorten_hydra_message(error: Exception) -> str:
    """Hydra's message with its lists of choices, without the folders that it searched.

    Of a choice that there is not, it is the message of every name that there is not.
    """
    from hydra.errors import MissingConfigException

    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, name = error.missing_cfg_file.rpartition("/")
        return str(unknown(f"choice of {group}", name, list(error.options)))
    told = str(error).partition("\nConfig search path:")[0]
    told = told.replace(":\n\t", ": ").replace("\n\t", ", ")
    return "; ".join(line.rstrip(".") for line in told.splitlines() if line.strip(" ^"))


def add_advised_plus(error: Exception, overrides: list[str]) -> list[str] | None:
    """The overrides with a ``+`` where Hydra advises one; None where it does not.

    It advises that for every name that it does not know, misspelt ones too.
    """
    advice = re.search(r"To append to your config use \+(\S+)", str(error))
    if advice is None or advice[1] not in overrides:
        return None
    return [f"+{each}" if each == advice[1] else each for each in overrides]


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
