"""The stateful lane on the page: DeepStellar's model, coverage, campaigns and crashes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib.figure import Figure

from asterism.core.files.artifacts import read_json, read_table
from asterism.deepstellar.criteria import criteria_in_order
from asterism.deepstellar.fuzzing.guidance import GUIDING
from asterism.deepstellar.model.trace_model import TraceModel
from asterism.deepstellar.seeds import SeedInputs
from asterism.report.base.document import render_body, renderer
from asterism.report.base.pictures import svg, svg_file
from asterism.report.base.section import KeyFigure, ReportSection, parameters_of, percent
from asterism.report.lanes import SECTIONS
from asterism.report.lanes.stateful_answer import Campaign, RecurrentResults, answer_stateful
from asterism.report.lanes.stateful_campaigns import (
    CampaignSummary,
    crash_galleries,
    curve_style,
    distinct_crashes,
    guide_position,
    guide_title,
    load_campaigns,
)

_render = renderer("asterism.report.lanes")

#: What the curves show, and its heading.
CURVES = {
    "basic_state": "states",
    "basic_transition": "transitions",
    "n_step_state_boundary": "boundary states",
}

#: Groups of parameters that shape these results.
GROUPS = ("seed", "data", "rnn", "abstraction", "coverage", "seeds", "fuzz")


@SECTIONS.register("stateful")
def stateful_section(workspace: Path) -> ReportSection | None:
    """The lane's section, None before ``measure_coverage`` has run."""
    metrics = workspace / "metrics"
    if not (metrics / "measure_coverage.json").exists():
        return None
    coverage = read_json(metrics / "measure_coverage.json")
    trained = metrics / "train_rnn.json"  # not there where nobody knows the right answers
    training = read_json(trained) if trained.exists() else {}
    chain = read_json(metrics / "build_dtmc.json")
    campaigns = load_campaigns(workspace, coverage)
    guides = [campaign.guide for campaign in campaigns]
    body, contents = render_body(
        _render,
        "stateful.html.j2",
        "stateful",
        training=training,
        profile=read_json(metrics / "profile_states.json"),
        chain=chain,
        graph=svg_file(
            workspace / "plots/build_dtmc/graph.svg",
            "The most visited states of the Markov chain as discs in a plane of the first two "
            "principal components, coloured by class, with arrows for their likeliest steps.",
            "states",
            _states(workspace / "artifacts/build_dtmc"),
            title="most visited states",
            source="artifacts/build_dtmc/dtmc.npz: codes, class_visits",
        ),
        criteria=criteria_in_order(),
        coverage=[(_set_title(name), coverage[name]) for name in sorted(coverage, key=_place)],
        guides=[
            (guide_title(guide), criterion.replace("_", " "))
            for guide in guides
            if (criterion := GUIDING[guide]) is not None
        ],
        campaigns=[(guide_title(c.guide), c.metrics) for c in campaigns],
        finding=conclude_on_guidance(campaigns),
        **(_crashes(workspace, campaigns, coverage) if campaigns else {}),
        settings=parameters_of(workspace, GROUPS),
    )
    return ReportSection(
        anchor="stateful",
        title="Recurrent network",
        question="Which internal states and transitions do the tests exercise, and which inputs "
        "reach new ones or break the network?",
        headline=(
            *_accuracy(training),
            KeyFigure(
                "abstract states",
                f"{chain['states']:,}",
                sources=("metrics/build_dtmc.json: states",),
            ),
            KeyFigure(
                "states that the test set covers",
                percent(coverage["test"]["basic_state"]),
                sources=("metrics/measure_coverage.json: test.basic_state",),
            ),
            *_different(campaigns),
        ),
        body=body,
        order=10,
        contents=contents,
        answers=(answer_stateful(_results(training, chain, coverage, campaigns)),),
    )


def _accuracy(training: Any) -> Iterator[KeyFigure]:
    if training:
        accuracy = percent(training["test_accuracy"])
        source = "metrics/train_rnn.json: test_accuracy"
        yield KeyFigure("test accuracy", accuracy, sources=(source,))


def _different(campaigns: Sequence[CampaignSummary]) -> Iterator[KeyFigure]:
    if campaigns:
        count = f"{distinct_crashes(campaigns):,}"
        source = "artifacts/fuzz/CAMPAIGN/crashes.npz: images"
        yield KeyFigure("different crashes, all campaigns together", count, sources=(source,))


def _crashes(
    workspace: Path, campaigns: list[CampaignSummary], coverage: dict[str, Any]
) -> dict[str, Any]:
    """What the page shows of campaigns."""
    seeds = SeedInputs.load(workspace / "artifacts/select_seeds").images
    names = [guide_title(campaign.guide) for campaign in campaigns]
    return {
        "growth": [(title, _growth(campaigns, name)) for name, title in CURVES.items()],
        "galleries": list(zip(names, crash_galleries(campaigns, seeds), strict=False)),
        "roc": _roc(read_table(workspace / "plots/measure_coverage/roc.csv"), coverage),
    }


def _results(
    training: Any,
    chain: Any,
    coverage: Any,
    campaigns: Sequence[CampaignSummary],
) -> RecurrentResults:
    """What the front page says of these results."""
    return RecurrentResults(
        train_accuracy=training.get("train_accuracy"),
        test_accuracy=training.get("test_accuracy"),
        inputs=coverage["test"]["inputs"],
        states=chain["states"],
        transitions=chain["transitions"],
        covered_states=coverage["test"]["basic_state"],
        covered_transitions=coverage["test"]["basic_transition"],
        variance=chain["explained_variance"],
        seeds=coverage["seeds"]["inputs"] if campaigns else 0,
        broken_seeds=max((c.metrics["seeds_with_crashes"] for c in campaigns), default=0),
        campaigns=tuple(
            Campaign(
                guide_title(c.guide),
                c.guide,
                c.metrics["crash_groups"],
                coverage[f"{c.guide}_queue"]["basic_transition"],
            )
            for c in campaigns
        ),
        same_mutants=are_alike(campaigns),
    )


def _states(folder: Path) -> pl.DataFrame | None:
    """The abstract states, the most visited first; None where only their picture is there."""
    if not folder.is_dir():
        return None
    model = TraceModel.load(folder)
    order = np.argsort(-model.dtmc.visits, kind="stable")
    cells = model.abstraction.cells(model.dtmc.codes[order])
    intervals = {f"interval_{k + 1}": cells[:, k] for k in range(cells.shape[1])}
    visits, classes = model.dtmc.visits[order], model.dtmc.class_visits[order].argmax(axis=1)
    return pl.DataFrame({"state": order, "visits": visits, "mostly_ends_in": classes, **intervals})


def _set_title(name: str) -> str:
    """``state_queue`` as ``queue, guided by state``."""
    guide, _, kind = name.rpartition("_")
    return f"{kind}, guided by {guide_title(guide)}" if guide else name


def _place(name: str) -> tuple[int, int]:
    """Test set and seeds first, then queues, then crashes."""
    guide, _, kind = name.rpartition("_")
    return ["test", "seeds", "queue", "crashes"].index(kind), guide_position(guide) if guide else 0


def are_alike(campaigns: Sequence[CampaignSummary]) -> bool:
    """Whether guidance made no difference: all campaigns ran what the unguided one did."""
    unguided = [c for c in campaigns if c.guide == "none"]
    guided = [c for c in campaigns if c.guide != "none"]
    return bool(unguided and guided) and all(c.ran_as(unguided[0]) for c in guided)


def conclude_on_guidance(campaigns: list[CampaignSummary]) -> str | None:
    """What the guided campaigns have over the unguided one, whatever it is."""
    unguided = [c for c in campaigns if c.guide == "none"]
    guided = [c for c in campaigns if c.guide != "none"]
    if not unguided or not guided:
        return None
    if are_alike(campaigns):
        return (
            "All campaigns ran the same mutants: the budget ended before anything that they found "
            "became a parent, so this says nothing of guidance. Raise fuzz.mutants."
        )
    crashes = unguided[0].metrics["crash_groups"]
    more = [guide_title(c.guide) for c in guided if c.metrics["crash_groups"] > crashes]
    which = f"those guided by {', '.join(more)}" if more else "no guided campaign"
    return f"At the same budget, {which} found more groups of crashes than the unguided one."


def _growth(campaigns: list[CampaignSummary], column: str) -> Markup:
    figure = Figure(figsize=(6.4, 3.1))
    axes = figure.subplots()
    for campaign in campaigns:
        axes.plot(
            campaign.history["mutants"],
            100 * campaign.history[column],
            label=guide_title(campaign.guide),
            **curve_style(campaign.guide),
        )
    axes.set_xlabel("mutants run")
    axes.set_ylabel(f"covered {CURVES[column]} (%)")
    axes.legend(title="guided by", frameon=False)
    ends = ", ".join(
        f"{guide_title(c.guide)} {percent(c.history[column][-1])}"
        for c in campaigns
        if len(c.history)
    )
    alt = (
        f"Line chart: coverage of {CURVES[column]} by mutants run, a line for each campaign. "
        f"At the end, by what guides it: {ends}."
    )
    data = pl.concat(
        c.history.select(pl.lit(guide_title(c.guide)).alias("guided by"), "mutants", column)
        for c in campaigns
    )
    return svg(
        figure,
        alt,
        f"coverage-{column}",
        data,
        f"coverage of {CURVES[column]}",
        f"plots/fuzz-CAMPAIGN/history.csv: {column}",
    )


def _roc(curves: pl.DataFrame, coverage: dict[str, Any]) -> Markup | None:
    if curves.is_empty():
        return None
    figure = Figure(figsize=(6.4, 3.7))
    columns = figure.subplots(1, 2, sharey=True)
    areas = []
    for axes, similarity in zip(columns, ("state", "transition"), strict=True):
        axes.plot([0, 1], [0, 1], color="#cccccc", linewidth=0.8)
        chosen = curves.filter(pl.col("similarity") == similarity)
        guides = {name.removesuffix("_crashes") for name in chosen["set"]}
        for guide in sorted(guides, key=guide_position):
            points = chosen.filter(pl.col("set") == f"{guide}_crashes")
            area = coverage[f"{guide}_crashes"][f"{similarity}_similarity_auroc"]
            areas.append(f"{guide_title(guide)} by {similarity} {area:.2f}")
            axes.plot(
                points["false_positive_rate"],
                points["true_positive_rate"],
                label=f"{guide_title(guide)} ({area:.2f})",
                **curve_style(guide),
            )
        axes.set_title(f"by {similarity} similarity")
        axes.set_xlabel("false positive rate")
        axes.set_aspect("equal")
        axes.legend(title="crashes of (AUROC)", frameon=False, fontsize=7, title_fontsize=7)
    columns[0].set_ylabel("true positive rate")
    alt = (
        "Two charts of ROC curves, by state and by transition similarity: how well low similarity "
        f"tells crashes from correctly classified test inputs. Areas: {', '.join(areas)}."
    )
    return svg(figure, alt, "roc", curves, "ROC curves", "plots/measure_coverage/roc.csv")
