"""Starting worker processes: from scratch, or as forks of a process that has done the imports.

Importing a library takes seconds of processor time, several workers may need the same one, and a
worker that crashed is needed again at once. A fork server does the imports, does nothing else,
and forks a worker whenever one is wanted. That is safe where the imports start no thread, which
the fork server checks.
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
import tempfile
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asterism
from asterism.core.workers.channel import Channel
from asterism.core.workers.entry import find_function, name_function, run_worker
from asterism.core.workers.processes import Countdown, start_in_lasting_thread

#: Importing the largest libraries on a busy machine stays far below this.
START_SECONDS = 300.0
_MESSAGE = 1 << 17

#: Seconds between two looks at whether a reply is still wanted, and for the last replies of all.
_LOOK_SECONDS, _FAREWELL_SECONDS = 0.1, 10.0

#: Seconds in which the status of a process that has closed its socket is known.
_REAP_SECONDS = 1.0


class LaunchError(Exception):
    """A worker cannot be started; the message says why."""


class KilledError(LaunchError):
    """The process that starts workers was killed from outside."""


@dataclass(frozen=True)
class Interpreter:
    """A Python that workers run in: this process' own, or one with other packages installed.

    Args:
        executable: the program.
        source: folder where it finds the package ``asterism``, and nothing that it has itself.
    """

    executable: str
    source: str


#: The Python and the checkout that this process runs.
OWN_INTERPRETER = Interpreter(sys.executable, str(Path(asterism.__file__).resolve().parents[1]))


def spawn(
    entry: Callable[..., None],
    arguments: Sequence[Any],
    channel: int,
    environment: Mapping[str, str],
    output: int,
    interpreter: Interpreter = OWN_INTERPRETER,
) -> subprocess.Popen[bytes]:
    """A worker as a process of its own.

    Args:
        entry: a function at the top of a module, see
            :func:`~asterism.core.workers.entry.run_worker`.
        arguments: of the function after the channel, JSON values.
        channel: descriptor of its end of the channel.
        environment: variables beside those of this process.
        output: descriptor of its standard output and error.
        interpreter: the Python that it runs in.
    """
    words = [name_function(entry), json.dumps(arguments), str(channel), str(os.getpid())]
    given = _variables(environment, interpreter)
    return start_in_lasting_thread(
        lambda: subprocess.Popen(
            [interpreter.executable, "-P", "-m", "asterism.core.workers.entry", *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(channel,),
            env=given,
            # Ctrl-C is for the parent, which still needs the workers.
            start_new_session=True,
        )
    )


def _variables(
    environment: Mapping[str, str], interpreter: Interpreter = OWN_INTERPRETER
) -> dict[str, str]:
    """This process' variables, with others beside, by which Python finds this checkout."""
    given = {**os.environ, **environment}
    paths = [interpreter.source, *filter(None, [given.get("PYTHONPATH")])]
    return given | {"PYTHONPATH": os.pathsep.join(paths)}


class ForkServer:
    """A process that has done some imports and forks workers.

    It starts when the first worker is wanted. A worker has the variables and the current folder
    that this process has when it asks for the worker.

    Args:
        does: what it does, for messages: ``"imports Keras on jax"``.
        prepare: a function at the top of a module, which does the imports; it returns why no worker
            can be forked, or nothing.
        arguments: of that function, JSON values.
        environment: variables beside those of this process, for it and its workers.
    """

    def __init__(
        self,
        does: str,
        prepare: Callable[..., str],
        arguments: Sequence[Any],
        environment: Mapping[str, str],
    ) -> None:
        self._does = does
        self._prepare = [name_function(prepare), list(arguments)]
        self._environment = environment
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._has_forked = False
        self._given_up = False

    @property
    def pid(self) -> int | None:
        """Its identity, None where it does not run."""
        return None if self._process is None else self._process.pid

    def fork(
        self, entry: Callable[..., None], arguments: Sequence[Any], channel: int, log: int
    ) -> Process:
        """A worker, which writes its standard output and error to the descriptor ``log``.

        For the other arguments see :func:`spawn`.

        Raises:
            LaunchError: the imports fail, or start a thread.
        """
        wanted = {"entry": name_function(entry), "arguments": list(arguments)}
        folder = os.open(".", os.O_RDONLY)
        try:
            variables = {"environment": _variables(self._environment)}
            reply = self._ask(wanted | variables, (channel, log, folder))
        finally:
            os.close(folder)
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
                    raise LaunchError(f"no process {self._does} any more")
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
            raise failure(f"the process that {self._does} has died or hangs")
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
        countdown, farewell = Countdown(START_SECONDS), Countdown(_FAREWELL_SECONDS)
        while not select.select([self._socket], [], [], _LOOK_SECONDS)[0]:
            if countdown.is_over():
                return b""
            if self._given_up and (not self._has_forked or farewell.is_over()):
                return b""
        return self._socket.recv(_MESSAGE)

    def _start(self) -> None:
        self._has_forked = False
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            end, nowhere = theirs.fileno(), subprocess.DEVNULL
            self._process = spawn(serve_forks, self._prepare, end, self._environment, nowhere)


class _Forked:
    """A worker that a fork server has forked.

    Attributes:
        pid: its identity.
    """

    def __init__(self, server: ForkServer, pid: int) -> None:
        self._server = server
        self._status: int | None = None
        self.pid = pid

    def wait(self) -> int:
        """Its exit status, minus the number of a signal that ended it."""
        if self._status is None:
            self._status = self._server.wait(self.pid)
        return self._status


#: A worker process. It leads a process group of its own.
Process = subprocess.Popen[bytes] | _Forked


def serve_forks(channel: Channel, prepare: str, arguments: Sequence[Any]) -> None:
    """Be a fork server until the parent closes its end. See :class:`ForkServer`."""
    here, asking = os.getpid(), channel.stream
    warnings.simplefilter("ignore")
    broken: str = find_function(prepare)(*arguments)
    if not broken and _starts_threads():
        broken = "what is imported starts threads"
    gc.freeze()  # the collector would touch, and so copy, every page that is shared
    while True:
        data, descriptors, _, _ = socket.recv_fds(asking, _MESSAGE, 3)
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
                channel.close()
                _become(here, *descriptors, **message)
            with suppress(PermissionError, ProcessLookupError):
                os.setpgid(pid, pid)  # whoever is first: the reply names a group that exists
            reply = {"pid": pid}
        for inherited in descriptors:
            os.close(inherited)
        asking.send(json.dumps(reply).encode())


def _starts_threads() -> bool:
    """Whether this process has more than one thread; yes where the system does not tell."""
    threads = Path("/proc/self/task")
    return not threads.is_dir() or len(list(threads.iterdir())) > 1


def _become(
    parent: int,
    channel: int,
    log: int,
    folder: int,
    *,
    entry: str,
    arguments: Sequence[Any],
    environment: Mapping[str, str],
) -> None:
    """Be a worker, and nothing after that."""
    status = 1
    try:
        os.setpgid(0, 0)
        os.fchdir(folder)
        os.close(folder)
        os.environ.clear()
        os.environ.update(environment)
        tempfile.tempdir = None  # which the variables tell
        for stream in (1, 2):
            os.dup2(log, stream)
        os.close(log)
        run_worker(entry, arguments, channel, parent)
        status = 0
    finally:
        os._exit(status)
