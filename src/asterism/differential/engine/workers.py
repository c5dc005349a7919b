"""Worker processes by name, side by side: each has a thread and a queue of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self, TypeVar

from asterism.core.workers.worker import Limits
from asterism.differential.adapters.backend_names import plugin_of
from asterism.differential.adapters.environments import interpreter_of
from asterism.differential.engine.worker_client import WorkerClient
from asterism.differential.engine.worker_environment import keras_forks

R = TypeVar("R")


class Workers:
    """Processes that answer requests. Use it as a context manager; they end with it.

    Args:
        libraries: the library of each worker, by the worker's name.
        limits: ceilings of a step.
        environment: more variables for the processes.

    Attributes:
        libraries: as given, sorted by name.
        scratch: a folder of files that go with the workers; what they leave among temporary files
            lies there too.

    Raises:
        UserError: a library's environment does not exist, or is not made.
    """

    def __init__(
        self,
        libraries: Mapping[str, str],
        limits: Limits,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.libraries = dict(sorted(libraries.items()))
        interpreters = {library: interpreter_of(library) for library in libraries.values()}
        self.scratch = Path(tempfile.mkdtemp(prefix="asterism-"))
        more = {"TMPDIR": str(self.scratch), **(environment or {})}
        forked = sorted({b for b in map(_forked_for, self.libraries.values()) if b})
        self._fork_servers = {backend: keras_forks(backend, more) for backend in forked}
        self._clients = {
            name: WorkerClient(
                library,
                limits,
                more,
                self._fork_servers.get(_forked_for(library)),
                interpreters[library],
            )
            for name, library in self.libraries.items()
        }
        self._threads = {name: ThreadPoolExecutor(1, f"worker-{name}") for name in self._clients}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers, whatever they are at, and forget their files."""
        for thread in self._threads.values():
            thread.shutdown(wait=False, cancel_futures=True)
        for client in self._clients.values():
            client.give_up()
        for thread in self._threads.values():
            thread.shutdown()
        for client in self._clients.values():
            client.stop()
        for server in self._fork_servers.values():
            server.stop()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def queued(self, worker: str, function: Callable[..., R], *given: Any) -> Future[R]:
        """A call that waits until a worker is through with what it was asked before."""
        return self._threads[worker].submit(function, *given)

    def ask(self, worker: str, request: dict[str, Any]) -> dict[str, Any]:
        """What a worker answers, when it is through with what it was asked before."""
        return self.queued(worker, self._clients[worker].ask, request).result()

    def start_all(self) -> None:
        """Start all workers at once, and wait until each runs or is known to be broken."""
        for future in [self.queued(name, c.start) for name, c in self._clients.items()]:
            future.result()

    def renew(self, workers: Iterable[str]) -> None:
        """End some workers, by name. Each begins as a fresh process with its next request."""
        for future in [
            self.queued(name, self._clients[name].stop) for name in sorted(set(workers))
        ]:
            future.result()

    @property
    def seconds(self) -> dict[str, float]:
        """Processor time of each step in all, for logs and benchmarks."""
        return {k: v for client in self._clients.values() for k, v in client.seconds.items()}

    @property
    def deaths(self) -> int:
        """How often workers have died, or could not be started, up to now."""
        return sum(client.deaths for client in self._clients.values())

    def news(self) -> Iterator[dict[str, Any]]:
        """What workers that measure branches have told since the last call."""
        for client in self._clients.values():
            yield from client.news
            client.news = []


def _forked_for(library: str) -> str:
    """The Keras backend whose fork server forks a library's worker, or nothing."""
    kind = plugin_of(library)
    return kind.keras_backend or "" if kind.forks and "@" not in library else ""
