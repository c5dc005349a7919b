"""Rules of the answer about the recurrent network: how well its tests exercise it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asterism.core.messages.escaping import pluralise
from asterism.report.base.section import (
    INTERVALS,
    FrontPageAnswer,
    KeyFigure,
    Level,
    Step,
    format_share,
    percent,
)

#: From these shares on, tests exercise states and transitions well; below the third, badly.
STATES, TRANSITIONS, FEW_STATES = 0.9, 0.8, 0.5
#: A network that is right on so much more of the training inputs has learnt them by heart.
GAP = 0.05
#: Below this share of the variance, states that differ may count as one.
VARIANCE = 0.5
#: From this share of seeds on, a network breaks easily.
BREAKS = 0.1


@dataclass(frozen=True)
class Campaign:
    """A campaign: what guides it in words and as a file's name, and what it found.

    Attributes:
        guide: in words.
        folder: below ``artifacts/fuzz``.
        groups: of crashes.
        transitions: share of transitions that its queue exercises.
    """

    guide: str
    folder: str
    groups: int
    transitions: float

    @property
    def is_guided(self) -> bool:
        """Whether anything guides it."""
        return self.folder != "none"


@dataclass(frozen=True)
class RecurrentResults:
    """What the answer is made of.

    Attributes:
        train_accuracy: on the training inputs; None where their classes are not known.
        test_accuracy: on the test inputs; None with it.
        inputs: test inputs.
        states: abstract states of the model.
        transitions: its transitions.
        covered_states: share that the test inputs exercise.
        covered_transitions: share that they exercise.
        variance: share of the hidden states' variance that the abstraction keeps.
        seeds: that campaigns started from.
        broken_seeds: seeds that a mutant broke, in the campaign that broke most of them.
        campaigns: all of them.
        same_mutants: whether all of them ran the same mutants.
    """

    train_accuracy: float | None
    test_accuracy: float | None
    inputs: int
    states: int
    transitions: int
    covered_states: float
    covered_transitions: float
    variance: float
    seeds: int
    broken_seeds: int
    campaigns: tuple[Campaign, ...]
    same_mutants: bool

    @property
    def breaks(self) -> float:
        """Share of the seeds that a mutant broke."""
        return self.broken_seeds / self.seeds if self.seeds else 0.0


def answer_stateful(found: RecurrentResults) -> FrontPageAnswer:
    """How well do the tests exercise the recurrent network?"""
    coverage = "metrics/measure_coverage.json: test"
    figures = []
    if found.test_accuracy is not None:
        right = round(found.test_accuracy * found.inputs)
        figures.append(
            KeyFigure(
                "test accuracy",
                percent(found.test_accuracy),
                format_share(right, found.inputs, "input"),
                ("metrics/train_rnn.json: test_accuracy", f"{coverage}.inputs"),
            )
        )
    figures += [
        KeyFigure(
            "states that the tests exercise",
            percent(found.covered_states),
            f"exact, of {found.states:,}",
            (f"{coverage}.basic_state", "metrics/build_dtmc.json: states"),
        ),
        KeyFigure(
            "transitions that they exercise",
            percent(found.covered_transitions),
            f"exact, of {found.transitions:,}",
            (f"{coverage}.basic_transition", "metrics/build_dtmc.json: transitions"),
        ),
    ]
    if found.campaigns:
        figures.append(
            KeyFigure(
                "seeds that small changes break",
                percent(found.breaks),
                format_share(found.broken_seeds, found.seeds, "seed"),
                ("metrics/fuzz-CAMPAIGN.json: seeds_with_crashes (the largest)",),
            )
        )
    level, verdict = _level(found)
    return FrontPageAnswer(
        question="How well do the tests exercise the recurrent network?",
        level=level,
        sentence=f"{verdict}: the test set visits {percent(found.covered_states)} of its "
        f"{pluralise(found.states, 'abstract state')} and {percent(found.covered_transitions)} of "
        f"its {pluralise(found.transitions, 'transition')}.",
        figures=tuple(figures),
        certainty="Coverage is exact for these test inputs and this trained network, which is one "
        f"of many that training can give. {INTERVALS}",
        unusual=tuple(_unusual(found)),
        steps=tuple(_steps(found)),
    )


def _level(found: RecurrentResults) -> tuple[Level, str]:
    if found.covered_states < FEW_STATES:
        return Level.ACT, "Badly"
    if found.covered_states >= STATES and found.covered_transitions >= TRANSITIONS:
        return Level.GOOD, "Well"
    return Level.LOOK, "In part"


def _unusual(found: RecurrentResults) -> Iterator[str]:
    guided = [c for c in found.campaigns if c.is_guided]
    unguided = [c for c in found.campaigns if not c.is_guided]
    known, new = found.train_accuracy, found.test_accuracy
    if known is not None and new is not None and known - new > GAP:
        yield (
            f"The network is right on {percent(known)} of the training inputs and "
            f"on {percent(new)} of the test inputs: it may know them by heart."
        )
    if found.variance < VARIANCE:
        yield (
            f"The abstraction keeps {percent(found.variance)} of the hidden states' variance, so "
            "states that differ may count as one."
        )
    if found.same_mutants:
        yield "All campaigns ran the same mutants, so they say nothing of guidance."
    elif guided and unguided:
        most = max(c.groups for c in guided)
        if unguided[0].groups > most:
            yield (
                f"The unguided campaign found {pluralise(unguided[0].groups, 'group')} of crashes, "
                f"more than each guided one ({most} at most)."
            )
    if found.campaigns and found.broken_seeds == 0:
        yield "No campaign broke any seed."


def _steps(found: RecurrentResults) -> Iterator[Step]:
    best = max(found.campaigns, key=lambda c: c.transitions, default=None)
    if best is not None and best.transitions > found.covered_transitions:
        yield Step(
            f"Add the queue of the campaign guided by {best.guide} to the tests: it exercises "
            f"{percent(best.transitions)} of the transitions.",
            f"artifacts/fuzz/{best.folder}/queue.npz",
        )
    if found.campaigns and found.breaks >= BREAKS:
        yield Step("Look at the crashes, and decide which changes the network has to withstand.")
    if found.variance < VARIANCE:
        yield Step("Try finer abstractions:", "asterism sweep abstraction.k=3,5,8")
    if found.same_mutants:
        yield Step("Give campaigns more mutants:", "dvc exp run -S fuzz.mutants=40000")
