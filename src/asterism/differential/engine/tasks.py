"""Models to run, and what they did: also how a step ended that failed in a library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from numpy.typing import NDArray
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from asterism.core.files.records import ShortText
from asterism.differential.adapters.backend_names import is_backend
from asterism.differential.adapters.questions import FORMS, QUESTIONS
from asterism.differential.reference.runs import PROBED, STEP
from asterism.memo.graphs.graph import Graph
from asterism.memo.graphs.store import read_weights
from asterism.memo.graphs.weights import Variable, special_kinds, special_kinds_in
from asterism.memo.universe.tensors import Config

#: How a step can end. Everything from ``error`` on is a failure of the library.
STATUSES = ("ok", "unsupported", "blocked", "error", "crash", "hang", "memory")

#: Where a step can end.
STAGES = ("build", "convert", "compile", "run")

#: Those that reports call otherwise.
_WORDS = {"blocked": "no file to read"}


def must_be_known(is_known: Callable[[str], object]) -> AfterValidator:
    """What makes a field of a record reject texts that name nothing."""

    def checked(text: str) -> str:
        if is_known(text):
            return text
        raise PydanticCustomError("unknown", "Input should be one that exists")

    return AfterValidator(checked)


#: Texts of a record that name something.
Backend = Annotated[ShortText, must_be_known(is_backend)]
Stage = Annotated[ShortText, must_be_known(STAGES.__contains__)]


@dataclass(frozen=True)
class ExecutionOutcome:
    """How one step of a model ended.

    Args:
        model: index of the model.
        backend: ``library:option``, or a converter's name.
        stage: where it ended: ``build``, ``convert``, ``compile`` or ``run``.
        status: one of :data:`STATUSES`; ``blocked`` where the file it reads was not made.
        exception: type of the exception, with its module; empty where there was none.
        message: the message of the exception, or the last log lines of a worker that died.
        frame: ``file:function`` of the innermost frame inside the libraries.
        warned: the library's own warning that it does not compute what the model says.
    """

    model: int
    backend: Backend
    stage: Stage
    status: Annotated[ShortText, must_be_known(STATUSES.__contains__)]
    exception: ShortText = ""
    message: ShortText = ""
    frame: ShortText = ""
    warned: ShortText = ""

    @property
    def failed(self) -> bool:
        """Whether the library did something wrong."""
        return self.status in STATUSES[3:]

    @property
    def ran(self) -> bool:
        """Whether the step gave outputs; a converter only writes a file and has none."""
        return self.status == "ok" and self.stage == "run"

    @property
    def killed(self) -> bool:
        """Whether the process died, or had to be ended."""
        return self.status in STATUSES[4:]

    @property
    def words(self) -> str:
        """The status as reports call it."""
        return _WORDS.get(self.status, self.status)


Outputs = dict[str, list[NDArray[Any]]]


@dataclass(frozen=True)
class GivenFile:
    """A model as a file, which the backends read that are called ``library:file``.

    Args:
        content: the content of the file.
        suffix: the suffix of its name, which says its format.
        quantises: whether some step of it quantises.
    """

    content: bytes
    suffix: str = ".onnx"
    quantises: bool = False


@dataclass(frozen=True)
class Task:
    """A model to run.

    Args:
        index: names it in outcomes.
        graph: the model, or a file that holds one, as it is.
        inputs: a batch for each of its inputs, by distribution.
        outputs: nodes to put out, in place of the graph's own outputs.
        backends: where to run it; None for everywhere.
        seconds: a step that takes longer hangs; None for the worker pool's own limit.
        opset: version of the format that converters write; None for their own.
        weights: file of the arrays that nodes may name; None for the worker pool's own.
        changed: parameters of all layers whose values differ from the graph's; they may be invalid.
    """

    index: int
    graph: Graph | GivenFile
    inputs: dict[str, list[NDArray[Any]]]
    outputs: tuple[int, ...] | None = None
    backends: tuple[str, ...] | None = None
    seconds: float | None = None
    opset: int | None = None
    weights: Path | None = None
    changed: Config = field(default_factory=dict)

    def has_model_of(self, other: Task) -> bool:
        """Whether another task builds, converts and compiles the very same thing."""
        same = self.graph is other.graph and self.seconds == other.seconds
        return same and self.model == other.model

    @property
    def model(self) -> dict[str, Any]:
        """What a worker makes of the graph: arguments of its model under test, as JSON values."""
        return {
            "weights": None if self.weights is None else str(self.weights.resolve()),
            "outputs": self.outputs,
            "opset": self.opset,
            "batch": self.batch,
            "form": self.form,
            "changed": self.changed,
        }

    @property
    def form(self) -> str:
        """The changed form of the model that the inputs ask for; empty for the plain model."""
        return next((d for d in self.inputs if d in FORMS), "")

    @property
    def special(self) -> tuple[str, ...]:
        """The kinds of special numbers in the task's own file of weights; none without a file."""
        if self.weights is None:
            return ()
        stored = read_weights(self.weights)
        return special_kinds_in(array for named in stored.values() for _, array in named)

    @property
    def is_probed(self) -> bool:
        """Whether its inputs or weights hold special numbers, and it asks for outputs."""
        if set(self.inputs) & set(QUESTIONS):
            return False
        weights = isinstance(self.graph, Graph) and special_kinds(self.graph)
        return bool(set(self.inputs) & set(PROBED) or weights or self.special)

    @property
    def dtypes(self) -> set[str]:
        """Dtypes between its layers; of a given file its inputs', and whether it quantises."""
        if isinstance(self.graph, Graph):
            return {tensor.dtype for tensor in self.graph.tensors.values()}
        steps = {STEP} if self.graph.quantises else set()
        return steps | {str(array.dtype) for arrays in self.inputs.values() for array in arrays}

    @property
    def batch(self) -> int | None:
        """Items in a batch, the same in every distribution; None without inputs that have one."""
        arrays = (array for arrays in self.inputs.values() for array in arrays if array.ndim)
        return next(map(len, arrays), None)


@dataclass
class Result:
    """What a model did in every backend.

    ``distributions`` are the inputs it was run with; ``outputs`` holds, by backend and
    distribution, the arrays in the order of the model's outputs. ``special`` are the kinds of
    special numbers among the weights of a task that has a file of its own for them.
    """

    index: int
    distributions: tuple[str, ...] = ()
    outcomes: dict[str, ExecutionOutcome] = field(default_factory=dict)
    outputs: dict[str, Outputs] = field(default_factory=dict)
    special: tuple[str, ...] = ()


@dataclass(frozen=True)
class LayerDescription:
    """Keras' description of a layer.

    Args:
        arguments: what its constructor has to be told, beside Keras' defaults.
        variables: name and shape of each of its weights.
    """

    arguments: Config
    variables: list[Variable]


def read_outcome(index: int, backend: str, answer: Mapping[str, Any]) -> ExecutionOutcome:
    """A worker's answer as the end of a step of a model."""
    names = ("stage", "status", "exception", "message", "frame", "warned")
    facts = {name: answer[name] for name in names if name in answer}
    return ExecutionOutcome(index, backend, **facts)
