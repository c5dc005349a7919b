"""The text of a call and a variant, and running it in a library's worker, which may crash or hang.

What a worker runs is what a script holds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays
from asterism.core.messages.errors import UserError
from asterism.core.workers.worker import WorkerLimits
from asterism.differential.engine.tasks import ExecutionOutcome, read_outcome
from asterism.differential.engine.workers import Workers
from asterism.differential.oracle.finding import ERROR
from asterism.differential.params import JudgeParams
from collection.calls.call import (
    FRAMEWORKS,
    NAMES,
    VARIANTS,
    Call,
    ExecutionVariant,
    Framework,
    Input,
    variants_of,
)

#: What inputs of float64 are multiplied by, to move them by one rounding of float32.
_SHIFT = "1 + 2.0**-23 * np.random.default_rng(0).choice([-1.0, 1.0], tuple(x.shape))"

#: How inputs are filled, the simplest first; the last one is what a campaign looks with.
FILLS = ("zeros", "ones", "ramp", "normal")


@dataclass(frozen=True)
class CallProgram:
    """A call by a variant.

    Args:
        call: of a function.
        variant: how it is run.
        fill: how its inputs are filled, one of :data:`FILLS`.
    """

    call: Call
    variant: ExecutionVariant
    fill: str = FILLS[-1]

    @property
    def framework(self) -> Framework:
        """Whose function is called."""
        return FRAMEWORKS[self.call.framework]

    @property
    def imports(self) -> str:
        """The lines at the top."""
        lines = [*self.framework.imports.split("\n"), *self.variant.imports.split("\n")]
        text = (
            f"{self.call.setup} {self.call.expression} {self.variant.expected} {self.variant.lines}"
        )
        plain = sorted(
            {n for n in lines if n.startswith("import ") and (" as F" not in n or "F." in text)}
        )
        other = sorted({line for line in lines if line.startswith("from ")})
        calls = [f"\n{line}" for line in lines if line.endswith(")")]
        return "\n".join([*plain, *other, *calls])

    def function(self, dtype: str | None = None) -> str:
        """The lines that make inputs and the function.

        Args:
            dtype: in place of that of inputs of floating point.
        """
        given = [
            Input(i.shape, dtype, i.values) if dtype and "float" in i.dtype else i
            for i in self.call.inputs
        ]
        tensors = [tensor_text(self.call.framework, i, self.fill, at) for at, i in enumerate(given)]
        names = ", ".join(NAMES[: len(given)])
        setup = f"{self.call.setup}\n" if self.call.setup else ""
        if dtype and setup:
            setup += f"{self.framework.in_float64}\n"
        whole = f"inputs = [{', '.join(tensors)}]"
        if len(whole) > 100:
            whole = "inputs = [\n" + "".join(f"    {t},\n" for t in tensors) + "]"
        return f"{setup}{whole}\n\ndef f({names}):\n    return {self.call.expression}\n\n"

    @property
    def plain(self) -> str:
        """The text that computes ``expected``."""
        return f"{self._plainly}{self.function()}{self.variant.expected}\n"

    @property
    def indirect(self) -> str:
        """The text that computes ``actual``."""
        first = f"{self.imports}\n{self.framework.afresh}\n"
        return f"{first}{self.function()}{self._helpers}{self.variant.lines}\n"

    def in_float64(self, moved: bool) -> str:
        """The text that computes ``expected`` in float64, perhaps of inputs that are moved."""
        move = f"{self.framework.moved}\n".replace("SHIFT", f"({_SHIFT})") if moved else ""
        return f"{self._plainly}{self.function('float64')}{move}{self.variant.expected}\n"

    @property
    def _plainly(self) -> str:
        """The lines that a plain text begins with, in a worker that loads no variant's library."""
        return f"{self.framework.imports}\n{self.framework.afresh}\n"

    @property
    def _helpers(self) -> str:
        """Functions of the plain text that the indirect one uses too."""
        text = self.variant.expected
        return text[: text.rindex("\nexpected") + 1] if text.startswith("def ") else ""


def tensor_text(framework: str, given: Input, fill: str, at: int) -> str:
    """The Python text of a tensor.

    Args:
        framework: whose tensor.
        given: its shape, dtype and values.
        fill: one of :data:`FILLS`.
        at: number of the input, which is the seed.
    """
    half = given.dtype == "bfloat16"
    text = array_text(
        Input(given.shape, "float32" if half else given.dtype, given.values), fill, at
    )
    known = FRAMEWORKS[framework]
    return (known.bfloat16 if half else known.tensor).format(text)


def array_text(given: Input, fill: str, at: int) -> str:
    """The NumPy text of an input."""
    shape, dtype, size = given.shape, given.dtype, prod(given.shape)
    if fill == "zeros" and given.values in ("positive", "unit"):
        fill = "ones"  # zeros are no such values
    if fill == "ones" and given.values == "unit":
        fill = "ramp"
    if not size or fill == "zeros":
        return f"np.zeros({shape}, {dtype!r})"
    if fill == "ones":
        return f"np.ones({shape}, {dtype!r})"
    if given.values.startswith("below "):
        top = int(given.values.removeprefix("below "))
        if fill == "ramp":
            return f"(np.arange({size}).reshape({shape}) % {top}).astype({dtype!r})"
        return f"np.random.default_rng({at}).integers(0, {top}, {shape}).astype({dtype!r})"
    if dtype == "bool":
        return f"(np.arange({size}).reshape({shape}) % 2 == {at % 2})"
    if "int" in dtype:
        low = 0 if dtype.startswith("u") or given.values == "positive" else -9
        if fill == "ramp":
            return f"np.arange({low}, {low + size}).reshape({shape}).astype({dtype!r})"
        return f"np.random.default_rng({at}).integers({low}, 10, {shape}).astype({dtype!r})"
    low_end = {"positive": "0.5", "unit": "0.05"}.get(given.values, "-1")
    high = {"positive": "2", "unit": "0.95"}.get(given.values, "1")
    if fill == "ramp":
        text = f"np.linspace({low_end}, {high}, {size}).reshape({shape})"
    elif given.values in ("positive", "unit"):
        text = f"np.random.default_rng({at}).uniform({low_end}, {high}, {shape})"
    else:
        text = f"np.random.default_rng({at}).normal(size={shape})"
    if "complex" in dtype:
        text = f"({text} * (1 + 2j))"
    return f"{text}.astype({dtype!r})"


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

    def __init__(self, framework: str, limits: WorkerLimits, params: JudgeParams) -> None:
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
        outcome = read_outcome(0, worker, answer)
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
