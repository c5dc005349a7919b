"""Worker processes by name, side by side: each has a thread and a queue of its own.

The client of a worker sends requests, and starts the process again when it has died.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

from asterism.core.messages.console import get_logger
from asterism.core.workers.starting import (
    OWN_INTERPRETER,
    START_SECONDS,
    ForkServer,
    Interpreter,
    KilledError,
    LaunchError,
)
from asterism.core.workers.worker import WorkerDied, WorkerLimits, WorkerProcess
from asterism.differential.adapters.backend_names import plugin_of, product_of
from asterism.differential.adapters.environments import interpreter_of
from asterism.differential.engine.messages import find_abort_message, strip_volatile_parts
from asterism.differential.engine.worker import serve
from asterism.differential.engine.worker_environment import (
    start_keras_fork_server,
    worker_variables,
)

log = get_logger(__name__)


class WorkerClient:
    """A long-lived worker process. It is started when it is first needed and after it died.

    Args:
        library: name of a plug-in, with its environment where it has one.
        limits: ceilings of a step.
        environment: more variables for the process.
        forks: forks the process; None where it is started anew.
        interpreter: the Python of a process that is started anew.
    """

    def __init__(
        self,
        library: str,
        limits: WorkerLimits,
        environment: dict[str, str] | None = None,
        forks: ForkServer | None = None,
        interpreter: Interpreter = OWN_INTERPRETER,
    ) -> None:
        self.library = library
        self.broken: str | None = None
        #: Processor time by step, for logs and benchmarks; of a step with no answer, its time.
        self.seconds: dict[str, float] = {}
        #: How often it has died, or could not be started, since it was asked first.
        self.deaths = 0
        #: What the worker's meter of branches has told, where it has one.
        self.news: list[dict[str, Any]] = []
        self._limits = limits
        given = {
            **worker_variables(plugin_of(library).keras_backend, interpreter),
            **(environment or {}),
        }
        self._worker = WorkerProcess(
            serve, [product_of(library)], given, forks, interpreter=interpreter
        )
        self._given_up = False
        self._was_killed = False

    @property
    def pid(self) -> int | None:
        """The worker's process, None where it does not run."""
        return self._worker.pid

    def start(self) -> bool:
        """Whether the worker runs; its first answer says so, or why not.

        One that is killed from outside meanwhile is started once more.

        Raises:
            CancelledError: :meth:`give_up` was called: none is started any more.
        """
        if self._given_up:
            raise CancelledError
        if self._worker.pid is not None:
            return True
        if self.broken is not None:
            return False
        self.broken = self._rejection()
        if self._was_killed:
            self.broken = self._rejection()
        return self.broken is None

    def _rejection(self) -> str | None:
        """Start the worker: why it does not, None where it runs."""
        self._was_killed = False
        try:
            self._worker.start()
            answer = _value(self._worker.receive(WorkerLimits(START_SECONDS)))
        except LaunchError as error:
            self._was_killed = isinstance(error, KilledError)
            return str(error)
        except WorkerDied as death:
            return str(self._answer_of_death(death)["message"])
        if answer["status"] == "ready":
            return None
        self._worker.stop()
        return str(answer["message"])

    def ask(self, request: dict[str, Any], seconds: float | None = None) -> dict[str, Any]:
        """The answer to a request; a worker's death, hang or excess of memory is an answer too.

        One that is killed from outside, as by a system short of memory, is asked once more.

        Args:
            request: what to do.
            seconds: a limit in place of the client's own.

        Raises:
            CancelledError: :meth:`give_up` was called meanwhile.
        """
        answer = self._ask(request, seconds)
        return self._ask(request, seconds) if self._was_killed else answer

    def _ask(self, request: dict[str, Any], seconds: float | None) -> dict[str, Any]:
        if not self.start():
            self.deaths += 1
            return {"status": "blocked", "stage": "compile", "message": self.broken or ""}
        limits = self._limits if seconds is None else replace(self._limits, seconds=seconds)
        self._was_killed = False
        started = time.monotonic()
        try:
            self._worker.send(json.dumps(request).encode(), limits=limits)
            answer = _value(self._worker.receive(limits))
        except OSError:  # it died since the last request
            self.deaths += 1
            self._worker.stop()
            return self._ask(request, seconds)
        except WorkerDied as death:
            answer = self._answer_of_death(death)
        spent = answer.pop("seconds", time.monotonic() - started)
        self.seconds[request["backend"]] = self.seconds.get(request["backend"], 0.0) + spent
        if "news" in answer:
            self.news.append(answer.pop("news"))
        return {"stage": "convert" if request["step"] == "convert" else "run", **answer}

    def _answer_of_death(self, death: WorkerDied) -> dict[str, Any]:
        """A worker's death as an answer."""
        self._was_killed = death.killed
        self.deaths += 1
        log.warning("worker restarts", library=self.library, after=death.how, reason=death.ended)
        return {
            "status": death.how,
            "exception": death.ended if death.how == "crash" else "",
            "message": strip_volatile_parts("\n".join(find_abort_message(death.said)), end=True),
        }

    def give_up(self) -> None:
        """Let another thread wait for no answer any more; :meth:`stop` is left to do."""
        self._given_up = True
        self._worker.give_up()

    def stop(self) -> None:
        """End the process and its children."""
        self._worker.stop()


def _value(message: memoryview) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(bytes(message))
    return value


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
        limits: WorkerLimits,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.libraries = dict(sorted(libraries.items()))
        interpreters = {library: interpreter_of(library) for library in libraries.values()}
        self.scratch = Path(tempfile.mkdtemp(prefix="asterism-"))
        more = {"TMPDIR": str(self.scratch), **(environment or {})}
        forked = sorted({b for b in map(_forked_for, self.libraries.values()) if b})
        self._fork_servers = {backend: start_keras_fork_server(backend, more) for backend in forked}
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
        """End all workers, whatever they are doing, and remove their files."""
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
        """The branches that workers have reached since the last call, if they measure branches."""
        for client in self._clients.values():
            yield from client.news
            client.news = []


def _forked_for(library: str) -> str:
    """The Keras backend whose fork server forks a library's worker, or nothing."""
    kind = plugin_of(library)
    return kind.keras_backend or "" if kind.forks and "@" not in library else ""
