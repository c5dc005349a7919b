"""What Hydra says, for people."""

from __future__ import annotations

import re

from asterism.core.parameters.registry import unknown


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
