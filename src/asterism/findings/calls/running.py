"""Running texts in a worker process that may crash or hang, and is started again then."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.own_folders import own_temporary_folder
from asterism.core.workers.worker import Limits, WorkerDied, WorkerProcess
from asterism.findings.calls.worker import serve
from asterism.libraries.running.messages import steady

#: Texts after which a worker is started anew: compilers keep what they have compiled.
_LIFE = 300
_ENVIRONMENT = {
    "CI": "true",  # OpenVINO tells nobody of conversions, which takes a process for each
    "CUDA_VISIBLE_DEVICES": "",
    "JAX_ENABLE_X64": "1",
    "JAX_PLATFORMS": "cpu",
    "OMP_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TF_USE_LEGACY_KERAS": "0",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
}


@dataclass(frozen=True)
class Ran:
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


@dataclass
class TextRunner:
    """A worker process for texts of one framework, started when it is first needed.

    Args:
        framework: whose tensors they make.
        imports: lines that run once.
        limits: of one text.
        environment: variables beside those of every worker of this kind.
    """

    framework: str
    imports: str
    limits: Limits
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._stack = ExitStack()
        folder = str(self._stack.enter_context(own_temporary_folder()))
        given = {**_ENVIRONMENT, **self.environment, "TMPDIR": folder}
        self._worker = WorkerProcess(serve, (self.framework, self.imports), given)
        self._served = 0

    def run(self, text: str, result: str) -> Ran:
        """Run a text; ``result`` is the name that holds its results."""
        try:
            if self._worker.pid is None or self._served >= _LIFE:
                self._restart()
            self._served += 1
            request = json.dumps({"text": text, "result": result}).encode()
            self._worker.send(request, limits=self.limits)
            answer = json.loads(bytes(self._worker.receive(self.limits)))
            content = io.BytesIO(self._worker.receive_more())
        except WorkerDied as died:
            message = steady("\n".join(died.said), end=True)
            return Ran(died.how, exception=died.ended, message=message)
        with np.load(content, allow_pickle=False) as stored:
            arrays = tuple(stored[f"arr_{at}"] for at in range(len(stored.files)))
        answer["dtypes"] = tuple(answer.get("dtypes", ()))
        return Ran(arrays=arrays, **answer)

    def _restart(self) -> None:
        self._worker.stop()
        self._worker.start()
        self._served = 0
        self._worker.receive(Limits(600.0))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._worker.stop()
        self._stack.close()
