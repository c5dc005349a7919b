"""Rules of the answers about compressed models: whether they differ, and what repair does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asterism.core.messages.escaping import pluralise
from asterism.report.base.document import ranged
from asterism.report.base.section import (
    INTERVALS,
    FrontPageAnswer,
    KeyFigure,
    Level,
    Step,
    bound_share,
    format_points,
    format_share,
    percent,
    quote_names,
)

#: Less agreement or more lost accuracy matters: the defaults of ``vet.thresholds``.
AGREEMENT, ACCURACY_LOST = 0.98, 0.01
#: Differences of shares are off by less.
_ROUNDING = 1e-9
#: A file this close to its original's size is not compressed.
NOT_SMALLER = 0.95
#: Above this probability of chance, the guided search is not shown to be better.
CHANCE = 0.05
#: From this share of the deviations on, a repair is a good one.
WELL_REPAIRED = 0.5


@dataclass(frozen=True)
class PairResults:
    """What was found about a pair; None for what was not measured.

    Attributes:
        name: the pair's.
        deviating: test inputs on which the models differ.
        agreement: share of the test inputs on which they do not.
        accuracy: of the compressed model.
        original_accuracy: of the original.
        size: the compressed file's bytes as a share of the original's.
        deflated_size: the same of both files deflated.
        seeds: that were searched, without those on which the models differ already.
        triggered: of them, those with a triggering input.
        unfinished: of them, those that ran out of time or on which a model failed.
        queries: mean number to find a triggering input.
        chance: probability that the guided search is no better than the uniform one.
    """

    name: str
    deviating: int | None
    agreement: float | None
    accuracy: float | None
    original_accuracy: float | None
    size: float | None
    deflated_size: float | None
    seeds: int
    triggered: int
    unfinished: int
    queries: float | None
    chance: float | None

    @property
    def images(self) -> int | None:
        """The number of test inputs, which follows from count and share of the deviating ones."""
        if not self.deviating or self.agreement is None:
            return None
        return round(self.deviating / (1 - self.agreement))

    @property
    def gained(self) -> float | None:
        """How much more accurate the compressed model is."""
        if self.accuracy is None or self.original_accuracy is None:
            return None
        return self.accuracy - self.original_accuracy


@dataclass(frozen=True)
class RepairResults:
    """What repair made of a pair.

    Attributes:
        name: the pair's.
        status: ``repaired``, or why not.
        repaired: share of the deviations that are repaired, net.
        images: test inputs that were no seeds.
        before: agreement with the original on them; None where there are none.
        after: the same of the repaired model.
        success_before: share of seeds from which a search finds a triggering input.
        success_after: the same of the repaired model.
    """

    name: str
    status: str
    repaired: float
    images: int
    before: float | None
    after: float | None
    success_before: float | None
    success_after: float | None

    @property
    def is_worse(self) -> bool:
        """Whether the repair loses agreement, on seeds or on other test inputs."""
        fell = self.before is not None and self.after is not None and self.after < self.before
        return fell or self.status != "repaired" or self.repaired <= 0


def answer_difference(pairs: Sequence[PairResults]) -> FrontPageAnswer:
    """Do the compressed models differ, and does it matter?"""
    measured = [pair for pair in pairs if pair.agreement is not None]
    worst = min(measured, key=lambda p: p.agreement or 0.0, default=None)
    level, sentence = _difference(pairs, measured)
    figures = []
    if worst is not None and worst.agreement is not None:
        known = worst.deviating is not None and worst.images is not None
        summary = f"artifacts/compress/{worst.name}/summary.json"
        figures.append(
            KeyFigure(
                f"test images that “{worst.name}” answers otherwise, the most of all pairs",
                percent(1 - worst.agreement),
                format_share(worst.deviating or 0, worst.images or 0, "image") if known else "",
                (f"{summary}: agreement, deviating_test_images",),
            )
        )
    gains = sorted(pair.gained for pair in pairs if pair.gained is not None)
    if gains:
        figures.append(
            KeyFigure(
                "change of accuracy, points",
                ranged([format_points(gain) for gain in gains]),
                "exact, on the same test images",
                ("artifacts/compress/PAIR/summary.json: accuracy, original_accuracy",),
            )
        )
    seeds, triggered = sum(p.seeds for p in pairs), sum(p.triggered for p in pairs)
    if seeds:
        figures.append(
            KeyFigure(
                "seeds that a small change makes differ",
                percent(triggered / seeds),
                format_share(triggered, seeds, "seed"),
                ("artifacts/trigger/PAIR/summary.json: SEARCH.triggered, seeds",),
            )
        )
    queries = sorted(pair.queries for pair in pairs if pair.queries is not None)
    if queries:
        figures.append(
            KeyFigure(
                "mean queries to find such a change",
                ranged([f"{value:.0f}" for value in queries]),
                pluralise(len(queries), "pair"),
                ("artifacts/trigger/PAIR/summary.json: SEARCH.mean_queries",),
            )
        )
    steps = [
        Step(
            "Vet the compressed model on inputs like yours:",
            "asterism vet ORIGINAL COMPRESSED --inputs FOLDER",
        )
    ]
    return FrontPageAnswer(
        question="Do the compressed models differ from their originals, and does it matter?",
        level=level,
        sentence=sentence,
        figures=tuple(figures),
        certainty=f"{INTERVALS} Searches were run once for each seed.",
        unusual=tuple(_unusual(pairs)),
        steps=tuple(steps) if level is not Level.GOOD else (),
    )


def _difference(pairs: Sequence[PairResults], measured: Sequence[PairResults]) -> tuple[Level, str]:
    """The level, and the sentence."""
    shares = sorted(1 - pair.agreement for pair in measured if pair.agreement is not None)
    bad = [pair.name for pair in measured if _matters(pair)]
    doubtful = [pair.name for pair in measured if _may_matter(pair) and not _matters(pair)]
    searched = any(pair.triggered for pair in pairs)
    small = "small changes of test images make the models differ"
    if not shares:
        if searched:
            return Level.LOOK, f"Yes: {small}. Agreement on test images was not measured."
        return Level.GOOD, "No difference was found; agreement on test images was not measured."
    told = ranged([percent(share) for share in shares])
    if bad or doubtful:
        gains = sorted(pair.gained for pair in measured if pair.gained is not None)
        moved = f", and accuracy moves by {ranged([format_points(g) for g in gains])} points"
        how = (
            f"it matters for {quote_names(bad)}"
            if bad
            else f"perhaps too much for {quote_names(doubtful)}"
        )
        return Level.ACT if bad else Level.LOOK, (
            f"Yes, and {how}: {told} of the test images are answered "
            f"otherwise{moved if gains else ''}."
        )
    if shares[-1] > 0 or searched:
        little = f"Yes, but little on the test images: {told} of them are answered otherwise"
        return Level.LOOK, f"{little}{f', while {small}' if searched else ''}."
    return Level.GOOD, "No: they answer every test image alike, and no change was found to differ."


def _may_matter(pair: PairResults) -> bool:
    """Whether fewer test images are answered alike than should be."""
    return pair.agreement is not None and pair.agreement < AGREEMENT


def _matters(pair: PairResults) -> bool:
    """Whether agreement is too low with its whole interval, or too much accuracy is lost."""
    lost = pair.gained is not None and -pair.gained > ACCURACY_LOST + _ROUNDING
    low, _ = bound_share(pair.deviating or 0, pair.images or 0)
    return lost or (_may_matter(pair) and 1 - low < AGREEMENT)


def _unusual(pairs: Sequence[PairResults]) -> Iterator[str]:
    for pair in pairs:
        if (
            _may_matter(pair)
            and 1 - bound_share(pair.deviating or 0, pair.images or 0)[0] >= AGREEMENT
        ):
            yield (
                f"“{pair.name}” agrees on less than {percent(AGREEMENT)} of the test images, "
                "but the interval reaches above: more images would decide."
            )
        if pair.size is not None and pair.size > NOT_SMALLER:
            deflated = f", {percent(pair.deflated_size)} deflated" if pair.deflated_size else ""
            yield f"The file of “{pair.name}” is {percent(pair.size)} of its original's{deflated}."
        if pair.unfinished:
            yield (
                f"For “{pair.name}”, {pluralise(pair.unfinished, 'seed')} ran out of time, or a "
                "model failed on them."
            )
    better = [pair.name for pair in pairs if pair.gained is not None and pair.gained > 0]
    if better:
        yield f"More accurate than the original on these images: {quote_names(better)}."
    alike = [pair.name for pair in pairs if pair.chance is not None and pair.chance >= CHANCE]
    if alike:
        yield (
            "The guided search was not shown to need fewer queries than the uniform one for "
            f"{quote_names(alike)} (Wilcoxon, p ≥ {CHANCE})."
        )


def answer_repair(found: Sequence[RepairResults], unrepaired: Sequence[str]) -> FrontPageAnswer:
    """Can the compressed models be repaired without retraining?

    Args:
        found: the pairs that a repairer was chosen for, at least one.
        unrepaired: those that none could be trained for.
    """
    ratios = sorted(pair.repaired for pair in found)
    worse = [pair.name for pair in found if pair.is_worse]
    told = ranged([percent(ratio) for ratio in ratios])
    if len(worse) == len(found):
        level, verdict = Level.LOOK, "No, since agreement falls elsewhere"
    elif worse:
        level, verdict = Level.LOOK, f"In part, and not for {quote_names(worse)}"
    elif ratios[0] >= WELL_REPAIRED and not unrepaired:
        level, verdict = Level.GOOD, "Yes"
    else:
        level, verdict = Level.LOOK, "In part"
    figures = [
        KeyFigure(
            "deviations repaired, net",
            told,
            "cross-validated, on inputs that the repairer has not seen",
            ("artifacts/repair/PAIR/summary.json: repairers.CHOSEN.improvement_ratio",),
        )
    ]
    for pair in found:
        if pair.before is not None and pair.after is not None:
            figures.append(
                KeyFigure(
                    f"agreement of “{pair.name}” on other test images",
                    f"{percent(pair.before)} → {percent(pair.after)}",
                    "after: " + format_share(round(pair.after * pair.images), pair.images, "image"),
                    (
                        f"artifacts/repair/{pair.name}/summary.json: "
                        "repairers.CHOSEN.test_agreement_before, test_agreement_after",
                    ),
                )
            )
    return FrontPageAnswer(
        question="Can the compressed models be repaired without retraining?",
        level=level,
        sentence=f"{verdict}: {told} of the deviations go away on inputs that the repair has "
        "not seen.",
        figures=tuple(figures),
        certainty=f"{INTERVALS} Shares of repaired deviations are means of repeated "
        "cross-validation.",
        unusual=tuple(_odd_repairs(found, unrepaired)),
        steps=tuple(
            Step(f"Leave “{pair.name}” as it is: its repair loses agreement.")
            if pair.is_worse
            else Step(f"Try the repaired “{pair.name}”:", f"artifacts/repair/{pair.name}/")
            for pair in found
        ),
    )


def _odd_repairs(found: Sequence[RepairResults], unrepaired: Sequence[str]) -> Iterator[str]:
    as_easy = [
        pair.name
        for pair in found
        if pair.success_before is not None
        and pair.success_after is not None
        and pair.success_after >= pair.success_before > 0
    ]
    if as_easy:
        yield (
            "A new search finds a triggering input as often as before the repair: "
            f"{quote_names(as_easy)}."
        )
    if unrepaired:
        yield f"No repairer could be trained for {quote_names(list(unrepaired))}."
