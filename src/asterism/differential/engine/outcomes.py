"""How one step of one model ended in one library, also where it failed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from asterism.core.files.records import ShortText, record_from
from asterism.core.messages.errors import UserError

#: How a step can end. Everything from ``error`` on is a failure of the library.
STATUSES = ("ok", "unsupported", "blocked", "error", "crash", "hang", "memory")

#: Where a step can end.
STAGES = ("build", "convert", "compile", "run")

#: Those that reports call otherwise.
_WORDS = {"blocked": "no file to read"}


@dataclass(frozen=True)
class ExecutionOutcome:
    """The end of one step.

    Args:
        model: index of the model.
        backend: ``library:option``, or a converter's name.
        stage: where it ended: ``build``, ``convert``, ``compile`` or ``run``.
        status: one of :data:`STATUSES`; ``blocked`` where the file it reads was not made.
        exception: type of the exception, with its module; empty where there was none.
        message: of the exception, or the last log lines of a worker that died.
        frame: ``file:function`` of the innermost frame inside the libraries.
        warned: the library's own warning that it does not compute what the model says.
    """

    model: int
    backend: ShortText
    stage: ShortText
    status: ShortText
    exception: ShortText = ""
    message: ShortText = ""
    frame: ShortText = ""
    warned: ShortText = ""

    @property
    def failed(self) -> bool:
        """Whether the library did what it must not."""
        return self.status in STATUSES[3:]

    @property
    def ran(self) -> bool:
        """Whether it gave outputs; a converter, which only writes a file, has none."""
        return self.status == "ok" and self.stage == "run"

    @property
    def killed(self) -> bool:
        """Whether the process died, or had to be ended."""
        return self.status in STATUSES[4:]

    @property
    def words(self) -> str:
        """The status as reports call it."""
        return _WORDS.get(self.status, self.status)

    def to_json(self) -> dict[str, Any]:
        """A JSON value that :meth:`from_json` reads."""
        return asdict(self)

    @staticmethod
    def from_json(value: Any) -> ExecutionOutcome:
        """An outcome as :meth:`to_json` writes it, checked.

        Raises:
            UserError: a field has a wrong type, or is no known status or stage.
        """
        outcome = record_from(ExecutionOutcome, value)
        if outcome.status not in STATUSES or outcome.stage not in STAGES:
            raise UserError(f"there is no status {outcome.status!r} of a stage {outcome.stage!r}")
        return outcome
