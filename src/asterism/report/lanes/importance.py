"""The importance lane on the page: relevance, important neurons, coverage and its controls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asterism.core.files.artifacts import read_arrays, read_json
from asterism.core.parameters.params import ParameterSection as Params
from asterism.core.parameters.params import read_params
from asterism.report.base.document import render_body, renderer
from asterism.report.base.section import KeyFigure, ReportSection, parameters_of
from asterism.report.lanes import SECTIONS
from asterism.report.lanes.importance_answer import (
    AddedInputs,
    ImportanceResults,
    answer_importance,
    answer_without_idc,
)
from asterism.report.lanes.importance_drawings import (
    CONTROLS,
    augmentation_title,
    criterion_title,
    draw_heatmaps,
    draw_histograms,
    draw_rises,
)

_render = renderer("asterism.report.lanes")

#: A gain counts as more than the control's when it lies so many deviations above its mean.
DEVIATIONS = 2

#: Augmentations that no attack made of test inputs.
NATURAL = ("semantic", "own")
#: What a rise is called, by whether it is above that of the clean and of the random control.
VERDICTS = {
    (True, True): "above both",
    (True, False): "above clean only",
    (False, True): "above random only",
    (False, False): "above neither",
}
#: One draw of a control has no spread to compare with.
NO_VERDICT = "one draw: no verdict"

#: Differences of shares of combinations are off by less.
_ROUNDING = 1e-12

NOT_CHECKED = "Nothing was added to check it, or too much for two draws of its controls."
CANNOT_RISE = "Here it cannot rise: the test set exercises every combination already."

#: Groups of parameters that shape these results.
GROUPS = ("seed", "data", "classifier", "attack", "importance", "criteria", "driving")


class _Named(Params):
    """What was asked for by name; the page keeps its order."""

    attack: dict[str, Any]
    criteria: dict[str, Any]


@SECTIONS.register("importance")
def importance_section(workspace: Path) -> ReportSection | None:
    """The lane's section, None before ``measure_importance`` has run."""
    metrics_file = workspace / "metrics/measure_importance.json"
    if not metrics_file.exists():
        return None
    metrics = read_json(metrics_file)
    folder = workspace / "artifacts/measure_importance"
    learnt = read_json(folder / "neurons.json")
    named = read_params(_Named, workspace / "params.yaml")
    attacks, criteria = named.attack["names"], named.criteria["names"]
    alone, augmentations = metrics["test_set"], _in_order(metrics["augmentations"], attacks)
    attacked = _in_order(read_json(workspace / "metrics/attack.json"), attacks)
    idc, others = _idc(alone), _others(alone, criteria)
    rising = [name for name in idc if alone[name] < 1]
    steps = {name: 1 / metrics["combinations"][name] for name in idc}
    rnn = workspace / "metrics/attack_rnn.json"
    pictures = folder / "heatmaps.npz"
    body, contents = render_body(
        _render,
        "importance.html.j2",
        "importance",
        layer=learnt["layer"],
        target_class=learnt["target_class"],
        notes=learnt["notes"],
        heatmaps=draw_heatmaps(read_arrays(pictures)) if pictures.exists() else [],
        histograms=draw_histograms(learnt["neurons"]) if idc else "",
        neurons=learnt["neurons"],
        attacks=attacked,
        idc=idc,
        rising=rising,
        combinations=metrics["combinations"],
        subset=metrics["smallest_subset"],
        alone=alone,
        together=metrics["all_tests"],
        augmentations=augmentations,
        criteria=[*idc, *others],
        gains={
            criterion_title(name): draw_rises(alone, augmentations, name) for name in rising[:1]
        },
        verdict=_verdict,
        control=_control,
        steps=steps,
        finding=_finding(augmentations, {m: steps[m] for m in rising}) if rising else CANNOT_RISE,
        rnn=_in_order(_attacked(read_json(rnn)), attacks) if rnn.exists() else {},
        driving=_driving(workspace / "metrics/measure_driving.json", attacks, criteria),
        spoken=criterion_title,
        title=augmentation_title,
        number=_number,
        settings=parameters_of(workspace, GROUPS),
    )
    if idc:
        chosen = Path("artifacts/measure_importance", idc[0])
        files = chosen.as_posix() if (workspace / chosen).is_dir() else ""
        results = _results(learnt, metrics, augmentations, attacked, idc[0], files)
        answer, figures = answer_importance(results), _figures(metrics, idc[0])
    else:
        figures = tuple(
            _key(criterion_title(name), _number(alone[name]), "test_set", name) for name in others
        )
        answer = answer_without_idc("; ".join(learnt["notes"]), figures)
    return ReportSection(
        anchor="importance",
        title="Important neurons",
        question="Do the tests exercise the neurons that matter to the decisions, and does adding "
        "inputs make the tests better?",
        headline=(
            KeyFigure(
                "subject layer",
                learnt["layer"],
                sources=("artifacts/measure_importance/neurons.json: layer",),
            ),
            *figures,
        ),
        body=body,
        order=30,
        contents=contents,
        answers=(answer,),
    )


def _figures(metrics: Any, idc: str) -> tuple[KeyFigure, ...]:
    """A coverage of the test set in numbers."""
    neurons, covered = criterion_title(idc)[4:], _number(metrics["test_set"][idc])
    combinations, subset = (f"{metrics[key][idc]:,}" for key in ("combinations", "smallest_subset"))
    return (
        _key(f"IDC of the test set, {neurons} neurons", covered, "test_set", idc),
        _key("combinations to exercise", combinations, "combinations", idc),
        _key("inputs that keep this IDC", subset, "smallest_subset", idc),
    )


def _results(
    learnt: Any, metrics: Any, augmentations: dict[str, Any], attacked: Any, idc: str, files: str
) -> ImportanceResults:
    """What the front page says of these results."""
    new = {name: facts["new_combinations"][idc] for name, facts in augmentations.items()}
    spreads = [
        held[f"{control}_std"] / metrics["combinations"][idc]
        for held in new.values()
        for control in CONTROLS
        if held[f"{control}_std"] is not None
    ]
    return ImportanceResults(
        layer=learnt["layer"],
        idc=idc,
        neurons=int(idc.removeprefix("idc_")),
        combinations=metrics["combinations"][idc],
        covered=metrics["test_set"][idc],
        inputs=metrics["test_set"]["inputs"],
        all_covered=metrics["all_tests"][idc],
        all_inputs=metrics["all_tests"]["inputs"],
        subset=metrics["smallest_subset"][idc],
        spread=max(spreads, default=None),
        draws=max((facts["draws"] for facts in augmentations.values()), default=0),
        added=tuple(
            AddedInputs(
                augmentation_title(name),
                facts["inputs"],
                attacked.get(name, {}).get("success"),
                attacked.get(name, {}).get("success_rounded"),
                new[name]["value"],
                _is_above(new[name]),
            )
            for name, facts in augmentations.items()
        ),
        files=files,
    )


def _is_above(held: dict[str, Any]) -> bool | None:
    """Whether new combinations are more than both controls'; None without a verdict."""
    verdict = _verdict(held, 1)
    return None if verdict == NO_VERDICT else verdict == VERDICTS[True, True]


def _key(label: str, value: str, *keys: str) -> KeyFigure:
    """A number out of the stage's metrics."""
    return KeyFigure(label, value, sources=(f"metrics/measure_importance.json: {'.'.join(keys)}",))


def _in_order(found: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """What was found, in the order of these names; what has none of them comes after."""
    places = {name: place for place, name in enumerate(names)}
    return {name: found[name] for name in sorted(found, key=lambda n: places.get(n, len(names)))}


def _idc(facts: Mapping[str, Any]) -> list[str]:
    """The coverages by their numbers of important neurons."""
    names = (name for name in facts if name.startswith("idc_"))
    return sorted(names, key=lambda name: int(name.removeprefix("idc_")))


def _others(facts: Mapping[str, Any], names: list[str]) -> list[str]:
    """The criteria other than IDC that a set has values of."""
    return [name for name in _in_order(facts, names) if name not in ("inputs", *_idc(facts))]


def _attacked(sets: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a recurrent network's input sets that were attacked."""
    return {name: facts for name, facts in sets.items() if "success" in facts}


def _number(value: float | None) -> str:
    """Shares as percent, small ones with three digits that count; counts as they are."""
    if value is None:
        return "–"
    if value > 1:
        return f"{value:,.1f}".removesuffix(".0")
    return f"{100 * value:#.3g}%" if 0 < value < 0.1 else f"{100 * value:.1f}%"


def _control(facts: dict[str, Any], control: str) -> str:
    """Mean of a control's draws, with their deviation where there are several."""
    mean, deviation = facts[f"{control}_mean"], facts[f"{control}_std"]
    return f"{mean:.1f}" if deviation is None else f"{mean:.1f} ± {deviation:.1f}"


def _above(facts: dict[str, float], control: str, step: float) -> bool:
    rise = facts["value"] - facts[f"{control}_mean"]
    return rise > max(DEVIATIONS * facts[f"{control}_std"], step) + _ROUNDING


def _verdict(facts: dict[str, Any], step: float = 0.0) -> str:
    """How an augmentation compares with its controls; ``step`` is what one combination makes.

    A few draws of few inputs may all reach the same number of combinations; one more is nothing.
    """
    if facts["clean_std"] is None:
        return NO_VERDICT
    return VERDICTS[_above(facts, "clean", step), _above(facts, "noise", step)]


def _finding(augmentations: dict[str, Any], steps: dict[str, float]) -> str:
    """What the controls say about the study's claim, by what one combination makes of each IDC."""
    sentences, holds = [], []
    natural = [name for name in augmentations if name in NATURAL]
    adversarial = [name for name in augmentations if name not in (*NATURAL, "noise")]
    for what, names in (("Adversarial", adversarial), ("Semantically different", natural)):
        verdicts = [
            _verdict(augmentations[name][m], step) for name in names for m, step in steps.items()
        ]
        cases = [verdict == VERDICTS[True, True] for verdict in verdicts if verdict != NO_VERDICT]
        if cases:
            holds += cases
            sentences.append(
                f"{what} inputs raised it more than both controls in {sum(cases)} of "
                f"{len(cases)} cases (an augmentation and a number of neurons)."
            )
    how = "holds" if all(holds) else "holds in part" if any(holds) else "does not hold"
    return " ".join([f"Here it {how}.", *sentences]) if holds else NOT_CHECKED


def _driving(file: Path, attacks: list[str], criteria: list[str]) -> dict[str, Any] | None:
    """The regressor's metrics, where there were driving data."""
    found = read_json(file) if file.exists() else {}
    if not found:
        return None
    alone = found["test_set"]
    ordered = {key: _in_order(found[key], attacks) for key in ("attacks", "augmentations")}
    return found | ordered | {"criteria": [*_idc(alone), *_others(alone, criteria)]}
