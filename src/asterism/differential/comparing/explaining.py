"""Looking for the nodes to blame for changes and faults, with a script for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asterism.core.messages.console import progress
from asterism.differential.adapters.environments import interpreter_of
from asterism.differential.comparing.blaming import Blame, Part
from asterism.differential.comparing.comparing import Change
from asterism.differential.comparing.page import Explained
from asterism.differential.comparing.scripts import write_part
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.report.confirming import exit_statuses
from asterism.differential.subjects.going_on import NotCompared, going_on
from asterism.differential.subjects.model_files import Arrays, ModelFile


@dataclass(frozen=True)
class Asked:
    """A change whose nodes are looked for.

    Args:
        change: of the whole model.
        words: name its script's folder.
        libraries: whose environments the script runs in, by the name on the page.
        title: what the script is about, one line, by the part that is found.
    """

    change: Change
    words: str
    libraries: Mapping[str, str]
    title: Callable[[Part], str]


def explain(
    asked: Sequence[Asked],
    subjects: Mapping[str, ModelFile],
    inputs: Callable[[ModelFile], Mapping[str, Arrays]],
    blame: Blame,
    params: JudgeParams,
    folder: Path,
    rejected: NotCompared,
) -> list[Explained]:
    """The smallest part of a model for each change, with a script that ran in each library.

    Args:
        asked: the changes, the worst first.
        subjects: the models by name.
        inputs: what each runs on, by the name of the inputs.
        blame: finds the parts.
        params: the oracle's tolerances.
        folder: for the scripts.
        rejected: where is noted what could not be looked for.
    """
    found = []
    for number, one in enumerate(progress(asked, label="blame", unit="change"), 1):
        change = one.change
        with going_on(f"the nodes of {change.subject} to blame, {change.culprit}", rejected):
            subject = subjects[change.subject]
            part = blame.smallest(subject, inputs(subject)[change.distribution], change)
            words = f"{number:02d} {one.words} {change.subject}"
            script = write_part(part, folder, words, one.title(part), params)
            statuses = tuple(
                (name, exit_statuses(script, 1, interpreter_of(library))[0])
                for name, library in one.libraries.items()
            )
            found.append(Explained(change, part, script.parent.name, statuses))
    return found
