"""Starting worker processes: anew, or as forks of a process that has done the imports.

Importing a library takes seconds of processor time; three workers need TensorFlow, and a worker
that crashed is needed again at once. A *nursery* imports Keras on one backend, does nothing else,
and forks a worker whenever one is wanted. That is safe where the import starts no thread, which
the nursery checks; libraries whose import does start some are never forked.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any, Protocol

import asterism
from asterism.core.workers.processes import Patience, killed_with_parent, started_to_last
from asterism.libraries.adapters.library import LIBRARIES
from asterism.libraries.running.outcomes import steady
from asterism.libraries.running.worker import start_worker
from asterism.memo.graphs.light_keras import import_keras

#: Importing the largest libraries on a busy machine stays far below this.
START_SECONDS = 300.0
_MESSAGE = 1 << 16

#: Seconds between two looks at whether a reply is still wanted, and for the last replies of all.
_LOOK_SECONDS, _FAREWELL_SECONDS = 0.1, 10.0

#: Seconds in which the status of a process that has closed its socket is known.
_REAP_SECONDS = 1.0


class LaunchError(Exception):
    """A worker cannot be started; the message says why."""


class KilledError(LaunchError):
    """The process that starts workers was killed from outside."""


class Process(Protocol):
    """A worker process. It leads a process group of its own."""

    @property
    def pid(self) -> int:
        """Its identity."""
        ...

    def wait(self) -> int:
        """Its exit status, minus the number of a signal that ended it."""
        ...


def spawn(
    library: str, request: int, answer: int, log: int, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    """A worker as a process of its own.

    Args:
        library: name in :data:`LIBRARIES`.
        request: descriptor that it reads requests from.
        answer: descriptor that it writes answers to.
        log: descriptor of what it prints.
        environment: more variables.
    """
    command = [sys.executable, "-m", "asterism.libraries.running.worker", library, str(request)]
    return started_to_last(
        lambda: subprocess.Popen(
            [*command, str(answer)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(request, answer),
            env={**os.environ, **variables(LIBRARIES[library].keras_backend), **environment},
            start_new_session=True,
        )
    )


class Nursery:
    """A process that has imported Keras on one backend and forks workers.

    It starts when the first worker is wanted.

    Args:
        backend: of Keras.
        environment: more variables for the workers.
    """

    def __init__(self, backend: str, environment: dict[str, str]) -> None:
        self._backend = backend
        self._environment = environment
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._has_forked = False
        self._given_up = False

    def fork(self, library: str, request: int, answer: int, log: int) -> Process:
        """A worker; arguments as for :func:`spawn`.

        Raises:
            LaunchError: the import fails, or starts a thread.
        """
        reply = self._ask({"library": library}, (request, answer, log))
        if "broken" in reply:
            raise LaunchError(reply["broken"])
        self._has_forked = True
        return _Forked(self, int(reply["pid"]))

    def wait(self, pid: int) -> int:
        """The exit status of a worker that is ending; nobody knows it where this has died too."""
        try:
            return int(self._ask({"wait": pid})["status"])
        except LaunchError:
            return -signal.SIGKILL

    def give_up(self) -> None:
        """Let other threads wait for no import any more; what has workers stays, to reap them."""
        self._given_up = True

    def stop(self) -> None:
        """End the process; its workers have ended before."""
        if self._process is not None:
            self._socket.close()
            self._process.kill()
            self._process.wait()
            self._process = None

    def _ask(self, message: dict[str, Any], descriptors: tuple[int, ...] = ()) -> dict[str, Any]:
        with self._lock:
            if self._process is None:
                if self._given_up:
                    raise LaunchError(f"no process imports Keras on {self._backend} any more")
                self._start()
            try:
                socket.send_fds(self._socket, [json.dumps(message).encode()], descriptors)
                data = self._receive()
            except OSError:
                data = b""
            if not data:
                failure = KilledError if self._was_killed() else LaunchError
                self.stop()  # the next worker starts another one
        if not data:
            raise failure(f"the process that imports Keras on {self._backend} has died or hangs")
        reply: dict[str, Any] = json.loads(data)
        return reply

    def _was_killed(self) -> bool:
        """Whether the process has been ended by a SIGKILL that is not this process' own."""
        assert self._process is not None
        try:
            return not self._given_up and self._process.wait(_REAP_SECONDS) == -signal.SIGKILL
        except subprocess.TimeoutExpired:  # it hangs, and is killed next
            return False

    def _receive(self) -> bytes:
        """The reply; nothing where none comes in time, or nobody waits for it any more."""
        patience, farewell = Patience(START_SECONDS), Patience(_FAREWELL_SECONDS)
        while not select.select([self._socket], [], [], _LOOK_SECONDS)[0]:
            if patience.is_over():
                return b""
            if self._given_up and (not self._has_forked or farewell.is_over()):
                return b""
        return self._socket.recv(_MESSAGE)

    def _start(self) -> None:
        self._has_forked = False
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        module = "asterism.libraries.running.launch"
        with theirs:
            self._process = started_to_last(
                lambda: subprocess.Popen(
                    [sys.executable, "-m", module, self._backend, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    env={**os.environ, **variables(self._backend), **self._environment},
                    # Ctrl-C is for the parent, which still needs the workers.
                    start_new_session=True,
                )
            )


class _Forked:
    def __init__(self, nursery: Nursery, pid: int) -> None:
        self._nursery = nursery
        self._status: int | None = None
        self.pid = pid

    def wait(self) -> int:
        if self._status is None:
            self._status = self._nursery.wait(self.pid)
        return self._status


def variables(backend: str | None) -> dict[str, str]:
    """One thread for every numeric library, this checkout's source, and the Keras backend."""
    source = str(Path(asterism.__file__).resolve().parents[1])
    return {
        **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "TF_NUM_INTRAOP")},
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
        "CUDA_VISIBLE_DEVICES": "",
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1"),
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]).rstrip(
            os.pathsep
        ),
        **({"KERAS_BACKEND": backend} if backend is not None else {}),
    }


def main(backend: str, descriptor: int) -> None:
    """Import Keras, then fork workers until the parent closes its end."""
    killed_with_parent()
    here = os.getpid()
    warnings.simplefilter("ignore")
    broken = _imported(backend)
    gc.freeze()  # the collector would touch, and so copy, every page that is shared
    with socket.socket(fileno=descriptor) as parent:
        while True:
            data, descriptors, _, _ = socket.recv_fds(parent, _MESSAGE, 3)
            if not data:
                return
            message = json.loads(data)
            if "wait" in message:
                _, status = os.waitpid(message["wait"], 0)
                reply: dict[str, Any] = {"status": os.waitstatus_to_exitcode(status)}
            elif broken:
                reply = {"broken": broken}
            else:
                pid = os.fork()
                if pid == 0:
                    parent.detach()
                    os.close(descriptor)
                    _become(here, message["library"], *descriptors)
                reply = {"pid": pid}
            for inherited in descriptors:
                os.close(inherited)
            parent.send(json.dumps(reply).encode())


def _imported(backend: str) -> str:
    """Import Keras; why no worker can be forked, or nothing."""
    try:
        import_keras(backend)
    except Exception as error:  # a broken installation is reported, and the run goes on
        return steady(f"{type(error).__name__}: {error}")
    threads = len(list(Path("/proc/self/task").iterdir()))
    return "" if threads == 1 else f"importing Keras on {backend} starts threads"


def _become(parent: int, library: str, request: int, answer: int, log: int) -> None:
    """Be a worker, and nothing after that."""
    status = 1
    try:
        os.setsid()
        for stream in (1, 2):
            os.dup2(log, stream)
        os.close(log)
        start_worker(library, request, answer, parent)
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
