"""Findings, and the names by which the same one is known again."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, FiniteFloat

from asterism.core.files.artifacts import read_json
from asterism.core.files.records import ShortText, record_from
from asterism.core.messages.errors import UserError, prefix_errors
from asterism.differential.adapters.backend_names import product_of
from asterism.differential.adapters.library import CONVERTERS, LIBRARIES
from asterism.differential.adapters.questions import QUESTIONS
from asterism.differential.engine.inputs import DISTRIBUTIONS
from asterism.differential.engine.tasks import Backend, Stage, must_be_known
from asterism.differential.oracle.standard import DIFFERENCES

#: The library to blame for generated models that Keras rejects.
KERAS = "keras"
#: An output lies otherwise in memory than the model run eagerly says.
WRONG_BUFFERS = "wrong buffers"
#: A valid model ends in an exception; a process dies of it, does not end, or takes all memory.
ERROR, CRASH, HANG, MEMORY = "error", "crash", "hang", "memory"
#: Keras rejects a generated model, and nothing runs it.
INVALID_MODEL = "invalid model"
FAILURES = (INVALID_MODEL, ERROR, CRASH, HANG, MEMORY, WRONG_BUFFERS)
#: A float64 reference outside of the majority of references.
ODD_REFERENCE = "reference differs"
#: What is excluded from wrong results: a difference where inputs are special and nothing
#: decides what is right, and one of a library that warns of it.
SPECIAL_VALUES, STATED_LIMIT = "special value handling", "stated limit"
#: Of a configuration just outside of the constraints, excluded too.
SILENT_ACCEPTANCE, INTERNAL_ERROR = "accepts what others reject", "rejects by an internal error"
OUTSIDE_DIFFERS = "differs on an invalid configuration"
EXCLUDED = (SPECIAL_VALUES, STATED_LIMIT, SILENT_ACCEPTANCE, INTERNAL_ERROR, OUTSIDE_DIFFERS)
SYMPTOMS = (*FAILURES, *DIFFERENCES, ODD_REFERENCE, *EXCLUDED)
#: What is a library's fault, the worst first.
FAULTS = (CRASH, HANG, MEMORY, ERROR, WRONG_BUFFERS, *DIFFERENCES)
#: What is none.
RIGHT, UNSUPPORTED = "right", "unsupported"
#: What nothing decides: the outputs differ, and nobody can tell who is right; or nobody else runs
#: the model.
UNRESOLVED, UNCHECKED = "unresolved", "unchecked"
#: What is the model's fault, or that of its inputs: they are not possible, or too large for the
#: type that the model names; or nothing runs it.
INVALID_INPUTS, BEYOND_TYPE, NOTHING_RUNS = "invalid inputs", "beyond its type", "nothing runs it"
#: All that a backend can do with a model, the worst first.
STATUSES = (
    *FAULTS,
    UNRESOLVED,
    UNCHECKED,
    BEYOND_TYPE,
    STATED_LIMIT,
    SPECIAL_VALUES,
    INVALID_INPUTS,
    NOTHING_RUNS,
    UNSUPPORTED,
    RIGHT,
)
SEVERITIES = ("normal", "special")

#: An exception with its module, a signal, or an exit status; empty where none is known.
_EXCEPTION = re.compile(r"(exit status -?[0-9]{1,9}|(?!exit status)[^\s\x00-\x1f\x7f]*)")

Kind = Annotated[ShortText, must_be_known(frozenset(DISTRIBUTIONS).__contains__)]
Product = Annotated[
    ShortText, must_be_known(lambda name: product_of(name) in (*LIBRARIES, *CONVERTERS, KERAS))
]


@dataclass(frozen=True)
class EarlierModel:
    """A model that a worker ran before another one.

    Args:
        model: its index.
        distributions: kinds of inputs that it was run with.
    """

    model: int
    distributions: tuple[Kind, ...]


@dataclass(frozen=True)
class Finding:
    """Something that a library did wrong with one model.

    Args:
        model: index of the model.
        symptom: one of :data:`SYMPTOMS`; of one backend by itself any of :data:`STATUSES`.
        stage: where: build, convert, compile or run.
        library: the library or converter to blame.
        backends: its backends that fail so, or all whose values are wrong, the one that is farthest
            off first.
        distributions: inputs that it was run with, or for values those that show it, the one where
            ``backends`` begin farthest off first.
        agreeing: backends that did it right.
        severity: ``normal``, or ``special`` where NaN, infinity or empty inputs are needed.
        exception: type, with module.
        frame: innermost frame inside the libraries.
        message: the message of the exception.
        excess: how far off the worst output of the worst backend is, see :class:`Difference`.
        d_mad: CRADLE's metric between that output and an agreeing backend's, for comparison.
        before: what the worker of the first backend had run before, the latest last.
    """

    model: int
    symptom: Annotated[ShortText, must_be_known(SYMPTOMS.__contains__)]
    stage: Stage
    library: Product
    backends: Annotated[tuple[Backend, ...], Field(min_length=1)]
    distributions: tuple[Kind, ...] = ()
    agreeing: tuple[Backend, ...] = ()
    severity: Annotated[ShortText, must_be_known(SEVERITIES.__contains__)] = "normal"
    exception: Annotated[ShortText, must_be_known(_EXCEPTION.fullmatch)] = ""
    frame: Annotated[ShortText, must_be_known(str.isprintable)] = ""
    message: ShortText = ""
    excess: FiniteFloat = 0.0
    d_mad: FiniteFloat = 0.0
    before: tuple[EarlierModel, ...] = ()

    @property
    def by_values(self) -> bool:
        """Whether outputs differ, rather than something failing."""
        return self.symptom in (*DIFFERENCES, ODD_REFERENCE)

    @property
    def deadly(self) -> bool:
        """Whether a process died, or had to be ended."""
        ends = ("SIG", "exit status")
        return self.symptom in (CRASH, HANG, MEMORY) or self.exception.startswith(ends)

    @property
    def fails(self) -> bool:
        """Whether there are no outputs."""
        return self.symptom in (*FAILURES, UNSUPPORTED, INVALID_INPUTS, NOTHING_RUNS)

    @property
    def said(self) -> str:
        """How a backend that gives no outputs ends, and what it says; else its warning."""
        if not self.fails:
            return self.message
        return f"{self.symptom}: {self.exception} {self.message}".strip()

    @property
    def question(self) -> str:
        """What was compared in place of outputs, such as gradients; empty where outputs were."""
        return next((d for d in self.distributions if d in QUESTIONS), "")

    def to_json(self) -> dict[str, Any]:
        """A JSON value; what others have written is read, and checked, by :func:`record_from`."""
        return {**asdict(self), "excess": round(min(self.excess, 1e30), 2)}


def read_findings(path: Path, models: int) -> list[Finding]:
    """The findings of a file.

    Args:
        path: the file.
        models: number of models, which findings refer to by an index from 0.

    Raises:
        UserError: the file holds something else.
    """
    listed = read_json(path)
    if not isinstance(listed, list):
        raise UserError(f"{path} holds no list of findings")
    findings = []
    for number, value in enumerate(listed):
        with prefix_errors(f"{path}: finding {number}"):
            finding = record_from(Finding, value)
            for model in (finding.model, *(earlier.model for earlier in finding.before)):
                if not 0 <= model < models:
                    raise UserError(f"there is no model {model}")
            findings.append(finding)
    return findings


def defect_signature(finding: Finding, layer: str = "") -> str:
    """A stable name for the defect behind a finding.

    Symptom and library, then the exception and innermost library frame, or the first diverging
    layer with its parameters.
    """
    if finding.by_values:
        question = finding.question.replace("_", " ")
        what = f"{question} of {layer}" if question else layer
        return f"{finding.symptom} | {finding.library} | {what}"
    place = f"{finding.exception} at {finding.frame}" if finding.frame else finding.exception
    # A worker that died leaves log lines, which are no message and differ from death to death.
    words = message_skeleton(finding.message) if finding.frame else ""
    return " | ".join(
        filter(None, (finding.symptom, finding.library, place or finding.stage, words))
    )


def message_skeleton(message: str) -> str:
    """The words of a message without names, numbers and values: what one defect always says.

    Compiled libraries raise all their errors at one Python frame; this tells them apart.
    """
    plain = re.sub(r"""\([^()]*\)|'[^']*'|"[^"]*"|\S*[\d_/:=\[\]{}]\S*""", " ", message)
    return " ".join(re.findall(r"[A-Za-z]{2,}", plain)[:10])


def failed_condition(message: str) -> tuple[str, str]:
    """The innermost condition that OpenVINO says did not hold, and what the message says after it.

    Its messages are a chain of such conditions. The outermost are the same whatever fails, and have
    other words in other versions. Of another library's message: no condition, and all of it.
    """
    _, chained, cause = message.rpartition("Check '")
    condition, _, rest = cause.partition("'")
    return (condition, rest) if chained else ("", message)
