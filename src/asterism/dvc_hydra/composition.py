"""Composing a Hydra tree: the parameters, and the settings of Hydra itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError
from asterism.core.parameters.registry import unknown

#: See :func:`store_empty_tree`.
_EMPTY = "asterism_empty"


class CompositionError(UserError):
    """Hydra rejects overrides.

    Attributes:
        advised: the overrides with a ``+`` where Hydra advises one; None where it does not.
        missing: the file of ``conf/`` that a choice would be; empty for other errors.
    """

    def __init__(self, error: Exception, overrides: Sequence[str]) -> None:
        super().__init__(as_one_line(error))
        self.advised = with_advice_taken(error, list(overrides))
        self.missing = str(getattr(error, "missing_cfg_file", None) or "")


def compose_parameters(conf: Path, overrides: Sequence[str]) -> str:
    """The text that ``dvc exp run -S`` writes into ``params.yaml``.

    Args:
        conf: the tree.
        overrides: as Hydra takes them, ``["data=mnist", "abstraction.k=4"]``.

    Raises:
        CompositionError: Hydra rejects an override.
    """
    from hydra import compose
    from omegaconf import OmegaConf

    with _opened(conf, overrides, before=f"{' '.join(overrides)}: "):
        config = compose("config", overrides=list(overrides))
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
    from hydra import compose
    from omegaconf import OmegaConf

    added = [f"+{text}" if text.startswith(f"{group}=") else text for text in overrides]
    with _opened(conf, overrides):
        config = compose(store_empty_tree(), overrides=added)
        return OmegaConf.to_container(config[group], resolve=True, throw_on_missing=True)


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


def as_one_line(error: Exception) -> str:
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


def with_advice_taken(error: Exception, overrides: list[str]) -> list[str] | None:
    """The overrides with a ``+`` where Hydra advises one; None where it does not.

    It advises that for every name that it does not know, misspelt ones too.
    """
    advice = re.search(r"To append to your config use \+(\S+)", str(error))
    if advice is None or advice[1] not in overrides:
        return None
    return [f"+{each}" if each == advice[1] else each for each in overrides]
