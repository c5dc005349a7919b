"""What candidates have shown while findings were shrunk, remembered from one run to the next.

An answer is remembered under all that it depends on: what is the same for a whole run is in the
key of the run's folder, see :mod:`.remembering`; the finding and the candidate are in its own.
A remembered answer counts as a step like any other. So a run that takes up where another was cut
off tries the same candidates, and ends with the same bytes.

**What is safe to remember.** Answers come from workers that live long. Two sorts of them may say
something about the worker rather than about the candidate:

- A worker died, hung, grew too large, was killed from outside or could not be started. Then
  ``gone`` may only mean that nobody could tell. It is not remembered, and asked again.
- A process that an earlier model has spoilt, or a crash that shows only now and then. Then
  ``shows`` may be wrong. It is remembered, for it is what the run went on from. But the model
  that shrinking ends with is always run again, by workers of the present run. Where it does not
  show there and a remembered answer led to it, the answers are struck out. The finding is then
  shrunk from the start, with answers of this run alone. That is done once for each finding: what
  no model but the whole one shows would otherwise be shrunk from the start in every run.

So no model is reported as one that shows a finding because a saved answer says so.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from asterism.core.messages.console import get_logger
from asterism.core.resuming.checkpoints import SavedFacts
from asterism.differential.triage.ceiling import Ceiling

log = get_logger(__name__)


class Answers:
    """Whether candidates show findings, as earlier runs have told, and as this one tells.

    Args:
        facts: where they are kept.
    """

    def __init__(self, facts: SavedFacts | None = None) -> None:
        self._facts = facts or SavedFacts()
        self._earlier: defaultdict[str, dict[str, bool]] = defaultdict(dict)
        self._struck_out: set[str] = set()
        for line in self._facts.known:
            match line:
                case [str(finding), str(candidate), bool(shows)]:
                    self._earlier[finding].setdefault(candidate, shows)
                case [str(finding)]:
                    self._earlier.pop(finding, None)
                    self._struck_out.add(finding)
        if count := sum(map(len, self._earlier.values())):
            log.info("goes on", stage="triage", remembered_candidates=count)

    def earlier(self, finding: str, candidate: str) -> bool | None:
        """What an earlier run was told; None where none was.

        Args:
            finding: key of a finding.
            candidate: key of a candidate.
        """
        return self._earlier.get(finding, {}).get(candidate)

    def add(self, finding: str, candidate: str, shows: bool) -> None:
        """Remember what this run was told, for those after it."""
        self._facts.add([finding, candidate, shows])

    def strike_out(self, finding: str) -> bool:
        """Forget what was remembered of a finding; whether that was not done before."""
        if finding in self._struck_out:
            return False
        self._struck_out.add(finding)
        self._earlier.pop(finding, None)
        self._facts.add([finding])
        self._facts.save()
        return True


class Questions:
    """Asks about the candidates of one finding: memory first, workers otherwise.

    Args:
        answers: of earlier runs and this one.
        finding: all that an answer depends on beside the candidate, JSON values.
        deaths: how many workers have died, or could not be started, up to now.
        ceiling: is told when something new was asked.

    Attributes:
        recalled: how many answers came from memory.
    """

    def __init__(
        self, answers: Answers, finding: Any, deaths: Callable[[], int], ceiling: Ceiling
    ) -> None:
        self.recalled = 0
        self._answers, self._finding = answers, key_of(finding)
        self._deaths, self._ceiling = deaths, ceiling

    def ask(self, candidate: Any, run: Callable[[], bool]) -> bool:
        """Whether a candidate shows the finding.

        Args:
            candidate: what it is, JSON values.
            run: asks the workers.
        """
        key = key_of(candidate)
        earlier = self._answers.earlier(self._finding, key)
        if earlier is not None:
            self.recalled += 1
            return earlier
        before = self._deaths()
        shows = run()
        if shows or self._deaths() == before:
            self._answers.add(self._finding, key, shows)
            self._ceiling.advanced()
        return shows

    def strike_out(self) -> bool:
        """Forget what led to a model that does not show the finding; whether there is another try.

        There is none where memory had no part in it, nor a second time.
        """
        return self.recalled > 0 and self._answers.strike_out(self._finding)


def key_of(facts: Any) -> str:
    """A short name of JSON values, the same in every run."""
    text = json.dumps(facts, sort_keys=True).encode()
    return hashlib.sha256(text).hexdigest()[:32]
