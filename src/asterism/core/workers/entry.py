"""What a worker process runs: a function of the project, which gets the worker's channel."""

from __future__ import annotations

import importlib
import json
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any

from asterism.core.workers.channel import Channel
from asterism.core.workers.processes import die_with_parent


def name_function(function: Callable[..., Any]) -> str:
    """The name by which another process finds a function at the top of a module."""
    return f"{function.__module__}:{function.__qualname__}"


def find_function(name: str) -> Any:
    """The function that :func:`name_function` has named."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


def run_worker(
    entry: str, arguments: Sequence[Any], descriptor: int, parent: int | None = None
) -> None:
    """Be a worker until the function returns.

    Args:
        entry: the function's name, of :func:`name_function`; it is called with the channel and the
            arguments, and answers what comes through the channel.
        arguments: JSON values.
        descriptor: the worker's end of the channel.
        parent: the process that started this one, if known, see
            :func:`~asterism.core.workers.processes.die_with_parent`.
    """
    die_with_parent(parent)
    with Channel(socket.socket(fileno=descriptor)) as channel:
        find_function(entry)(channel, *arguments)


if __name__ == "__main__":  # ENTRY ARGUMENTS DESCRIPTOR PARENT: what `spawn` starts
    run_worker(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
