"""What Hydra says, for people."""

from __future__ import annotations


def as_one_line(error: Exception) -> str:
    """Hydra's message with its lists of choices, without the folders that it searched."""
    told = str(error).partition("\nConfig search path:")[0]
    told = told.replace(":\n\t", ": ").replace("\n\t", ", ")
    return "; ".join(line.rstrip(".") for line in told.splitlines() if line.strip(" ^"))
