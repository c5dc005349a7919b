"""Running the texts of calls in the libraries' workers, which may crash or hang."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays
from asterism.core.messages.errors import UserError
from asterism.core.workers.worker import Limits
from asterism.differential.engine.outcomes import ExecutionOutcome
from asterism.differential.engine.tasks import outcome_of
from asterism.differential.engine.workers import Workers
from asterism.differential.oracle.finding import ERROR
from asterism.differential.oracle.params import JudgeParams
from asterism.findings.calls.program import CallProgram
from asterism.findings.calls.variant import VARIANTS, variants_of

#: Texts after which a worker is started anew: compilers keep what they have compiled.
_LIFE = 300
_ENVIRONMENT = {
    "CI": "true",  # OpenVINO tells nobody of conversions, which takes a process for each
    "JAX_ENABLE_X64": "1",
    "TF_USE_LEGACY_KERAS": "0",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
}
#: The worker of plain calls and of variants that import nothing more; others are named by imports.
PLAIN = ""


@dataclass(frozen=True)
class TextRun:
    """What a text gave.

    Args:
        outcome: how it ended.
        arrays: results.
        dtypes: their dtypes, as the library names them.
    """

    outcome: ExecutionOutcome
    arrays: tuple[NDArray[Any], ...] = ()
    dtypes: tuple[str, ...] = ()


#: A text that was not run.
NOT_RUN = TextRun(ExecutionOutcome(0, PLAIN, "run", ERROR))


class PlainRuns(NamedTuple):
    """What a plain call gave.

    Args:
        usual: as it is.
        exact: in float64.
        moved: in float64, with inputs moved by one rounding.
    """

    usual: TextRun
    exact: TextRun = NOT_RUN
    moved: TextRun = NOT_RUN


class CallWorkers(Workers):
    """Workers of one framework's library: each loads what some variants import, or nothing.

    Args:
        framework: whose calls.
        limits: of one text.
        params: tolerances.
    """

    def __init__(self, framework: str, limits: Limits, params: JudgeParams) -> None:
        imports = {VARIANTS[name].imports for name in variants_of(framework)}
        super().__init__(dict.fromkeys({PLAIN, *imports}, framework), limits, _ENVIRONMENT)
        self.params = params
        self._served: Counter[str] = Counter()

    def run(self, text: str, result: str, worker: str = PLAIN) -> TextRun:
        """Run a text.

        Args:
            text: with all that it imports.
            result: the name that holds its results.
            worker: which runs it.

        Raises:
            UserError: it does not start.
        """
        self._served[worker] += 1
        if self._served[worker] % _LIFE == 0:
            self.renew([worker])
        target = self.scratch / "results.npz"
        request = {"step": "text", "backend": worker, "text": text, "result": result}
        answer = self.ask(worker, request | {"target": str(target)})
        outcome = outcome_of(0, worker, answer)
        if outcome.status == "blocked":
            raise UserError(f"no worker of {self.libraries[worker]} starts: {outcome.message}")
        if outcome.status != "ok":
            return TextRun(outcome)
        stored = read_arrays(target)
        arrays = tuple(stored[f"arr_{at}"] for at in range(len(stored)))
        return TextRun(outcome, arrays, tuple(answer["dtypes"]))

    def plain(self, program: CallProgram) -> PlainRuns:
        """What the plain call of a program gives."""
        plain = self.run(program.plain, "expected")
        floating = any("float" in given.dtype for given in program.call.inputs)
        if not plain.outcome.ran or not floating:
            return PlainRuns(plain)
        more = (self.run(program.in_float64(moved), "expected") for moved in (False, True))
        return PlainRuns(plain, *more)

    def indirect(self, program: CallProgram) -> TextRun:
        """What the variant of a program gives."""
        return self.run(program.indirect, "actual", program.variant.imports)
