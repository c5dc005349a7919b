"""Running the texts of calls in the libraries' workers, which may crash or hang."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays
from asterism.core.files.own_folders import own_temporary_folder
from asterism.core.messages.errors import UserError
from asterism.core.workers.worker import Limits
from asterism.differential.engine.worker_client import WorkerClient
from asterism.differential.oracle.finding import ERROR, UNSUPPORTED
from asterism.differential.oracle.params import JudgeParams
from asterism.findings.calls.program import CallProgram

#: Texts after which a worker is started anew: compilers keep what they have compiled.
_LIFE = 300
_ENVIRONMENT = {
    "CI": "true",  # OpenVINO tells nobody of conversions, which takes a process for each
    "JAX_ENABLE_X64": "1",
    "TF_USE_LEGACY_KERAS": "0",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
}


@dataclass(frozen=True)
class TextRun:
    """How a text ended.

    Args:
        status: ``ok``, ``error``, ``crash``, ``hang`` or ``memory``.
        arrays: results.
        dtypes: their dtypes, as the library names them.
        exception: type of an exception, or the signal that ended the process.
        message: of the exception, or the last lines of a process that died.
        frame: innermost frame inside a package.
    """

    status: str
    arrays: tuple[NDArray[Any], ...] = ()
    dtypes: tuple[str, ...] = ()
    exception: str = ""
    message: str = ""
    frame: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether it gave results."""
        return self.status == "ok"


class Runners:
    """Workers of one framework's library: one for plain calls, one for each library's ways.

    Args:
        framework: whose calls.
        limits: of one text.
        params: tolerances.
    """

    def __init__(self, framework: str, limits: Limits, params: JudgeParams) -> None:
        self.framework, self.params, self.limits = framework, params, limits
        self._stack = ExitStack()
        self._folder = self._stack.enter_context(own_temporary_folder())
        self._clients: dict[str, WorkerClient] = {}
        self._served: dict[str, int] = {}

    def run(self, text: str, result: str, worker: str = "") -> TextRun:
        """Run a text.

        Args:
            text: with all that it imports.
            result: the name that holds its results.
            worker: names the process, which is started when it is first needed.

        Raises:
            UserError: it does not start.
        """
        if worker not in self._clients:
            environment = {**_ENVIRONMENT, "TMPDIR": str(self._folder)}
            client = WorkerClient(self.framework, self.limits, environment)
            self._stack.callback(client.stop)
            self._clients[worker] = client
        client = self._clients[worker]
        self._served[worker] = self._served.get(worker, 0) + 1
        if self._served[worker] % _LIFE == 0:
            client.stop()
        target = self._folder / "results.npz"
        request = {"step": "text", "backend": worker, "text": text, "result": result}
        answer = client.ask(request | {"target": str(target)}, self.limits.seconds)
        if answer["status"] == "blocked":
            raise UserError(f"no worker of {self.framework} starts: {answer['message']}")
        facts = {name: answer.get(name, "") for name in ("exception", "message", "frame")}
        if answer["status"] != "ok":
            status = ERROR if answer["status"] == UNSUPPORTED else answer["status"]
            return TextRun(status, **facts)
        stored = read_arrays(target)
        arrays = tuple(stored[f"arr_{at}"] for at in range(len(stored)))
        return TextRun("ok", arrays, tuple(answer["dtypes"]))

    def plain(self, program: CallProgram) -> tuple[TextRun, TextRun, TextRun]:
        """A plain call as it is, in float64, and in float64 with inputs that are moved."""
        plain = self.run(program.plain, "expected")
        floating = any("float" in given.dtype for given in program.call.inputs)
        if not plain.is_ok or not floating:
            return plain, TextRun(ERROR), TextRun(ERROR)
        exact, moved = (self.run(program.in_float64(m), "expected") for m in (False, True))
        return plain, exact, moved

    def indirect(self, program: CallProgram) -> TextRun:
        """What the way of a program gives."""
        return self.run(program.indirect, "actual", program.way.imports)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
