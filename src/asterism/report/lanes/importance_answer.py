"""Rules of the answer about important neurons: whether the tests exercise what matters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asterism.core.messages.escaping import pluralise
from asterism.report.base.section import FrontPageAnswer, KeyFigure, Level, Step, listed, percent

QUESTION = "Do the tests exercise the neurons that matter to the decisions?"
#: From this share of the combinations on, tests exercise them well; below the other, badly.
WELL, BADLY = 0.9, 0.3
#: So much of an attack's success is lost by rounding its inputs to grey levels.
LOST_BY_ROUNDING = 0.25
#: Fewer inputs of an augmentation say little.
FEW = 10


@dataclass(frozen=True)
class AddedInputs:
    """Inputs that were added to the tests.

    Attributes:
        title: what they are.
        inputs: how many.
        success: share that is classified wrongly; None where that was not measured.
        success_rounded: the same of inputs rounded to grey levels.
        new: combinations that they reach first.
        is_above_controls: whether these are more than both controls reach; None without a verdict.
    """

    title: str
    inputs: int
    success: float | None
    success_rounded: float | None
    new: int
    is_above_controls: bool | None


@dataclass(frozen=True)
class ImportanceResults:
    """What the answer is made of, for the fewest important neurons that were asked for.

    Attributes:
        layer: the subject layer.
        idc: key of the coverage, ``idc_6``.
        neurons: important neurons.
        combinations: of their clusters.
        covered: share that the test set exercises.
        inputs: of the test set.
        all_covered: share that all tests exercise.
        all_inputs: of all tests.
        subset: inputs that keep the test set's coverage.
        spread: the largest deviation of a control's draws, as a share of the combinations; None
            for a single draw.
        draws: of the controls.
        added: what was added.
        files: folder of the chosen inputs, nothing where they are in no file.
    """

    layer: str
    idc: str
    neurons: int
    combinations: int
    covered: float
    inputs: int
    all_covered: float
    all_inputs: int
    subset: int
    spread: float | None
    draws: int
    added: tuple[AddedInputs, ...]
    files: str = ""


def answer_importance(found: ImportanceResults) -> FrontPageAnswer:
    """Do the tests exercise the neurons that matter?"""
    file = "metrics/measure_importance.json"
    level, verdict = _level(found.covered)
    return FrontPageAnswer(
        question=QUESTION,
        level=level,
        sentence=f"{verdict}: the test set exercises {percent(found.covered)} of the "
        f"{pluralise(found.combinations, 'combination')} of the {found.neurons} most important "
        f"neurons of the layer {found.layer}.",
        figures=(
            KeyFigure(
                f"combinations that {pluralise(found.inputs, 'test input')} exercise",
                percent(found.covered),
                "exact",
                (f"{file}: test_set.{found.idc}", f"{file}: combinations.{found.idc}"),
            ),
            KeyFigure(
                f"combinations that all {pluralise(found.all_inputs, 'test')} exercise",
                percent(found.all_covered),
                "exact",
                (f"{file}: all_tests.{found.idc}",),
            ),
            KeyFigure(
                "test inputs that suffice for the same coverage",
                f"{found.subset} of {found.inputs}",
                "greedy choice, so fewer may do",
                (f"{file}: smallest_subset.{found.idc}",),
            ),
        ),
        certainty=f"Coverage is exact for these inputs and this network. {_spread(found)}".rstrip(),
        unusual=tuple(_unusual(found)),
        steps=tuple(_steps(found)),
    )


def answer_without_idc(why: str, criteria: tuple[KeyFigure, ...]) -> FrontPageAnswer:
    """The same question, where relevance does not say which neurons matter.

    Args:
        why: why relevance has no way, such as the operation that it cannot pass.
        criteria: those that need activations alone, of the test set.
    """
    return FrontPageAnswer(
        question=QUESTION,
        level=Level.LOOK,
        sentence=f"Not shown: {why}, so importance-driven coverage (IDC) is left out. Other "
        "criteria, which need activations alone, are measured.",
        figures=criteria,
        certainty="The criteria are exact for these inputs and this network.",
        steps=(
            Step(
                "For IDC, name a layer behind such an operation, if any (importance.layer); of an "
                "ONNX file, give the model of Keras or PyTorch that it was exported from."
            ),
        ),
    )


def _spread(found: ImportanceResults) -> str:
    """How much the controls vary; nothing where nothing was added."""
    if not found.added:
        return ""
    if found.spread is None:
        return "The controls were drawn once, so their spread is unknown."
    draws = pluralise(found.draws, "time")
    return f"Controls were drawn {draws} and deviate by up to {100 * found.spread:.1f} points."


def _level(covered: float) -> tuple[Level, str]:
    if covered >= WELL:
        return Level.GOOD, "Yes"
    return (Level.ACT, "Hardly") if covered < BADLY else (Level.LOOK, "In part")


def _unusual(found: ImportanceResults) -> Iterator[str]:
    judged = [a for a in found.added if a.is_above_controls is not None]
    above = [a for a in judged if a.is_above_controls]
    if judged and not above:
        yield (
            "No inputs that were added raise the coverage more than clean or random inputs of the "
            "same number do."
        )
    elif above and len(above) < len(judged):
        yield (
            f"Of {len(judged)} kinds of added inputs only {listed([a.title for a in above])} can "
            "raise the coverage more than clean or random inputs of the same number do."
        )
    for added in found.added:
        success, rounded = added.success, added.success_rounded
        if success is not None and rounded is not None and success - rounded > LOST_BY_ROUNDING:
            yield (
                f"{added.title}: {percent(success)} of the inputs are classified wrongly, but "
                f"{percent(rounded)} once they are rounded to grey levels."
            )
        if added.inputs < FEW:
            yield f"{added.title}: {pluralise(added.inputs, 'input')} only, which say little."


def _steps(found: ImportanceResults) -> Iterator[Step]:
    above = [a for a in found.added if a.is_above_controls]
    if above and found.covered < 1:
        best = max(above, key=lambda a: a.new)
        yield Step(
            f"Add inputs as {best.title} makes them: {pluralise(best.new, 'new combination')}.",
            _file(found, "new_combinations.npz"),
        )
    elif found.covered < min(WELL, found.all_covered):
        yield Step(
            "Add natural inputs: the rest of the test inputs exercises "
            f"{percent(found.all_covered)} together with these."
        )
    if found.subset < found.inputs:
        yield Step(
            "Where labels are dear, begin with the smallest subset of the same coverage: "
            f"{pluralise(found.subset, 'input')}.",
            _file(found, "smallest_subset.npz"),
        )


def _file(found: ImportanceResults, name: str) -> str:
    return f"{found.files}/{name}" if found.files else ""
