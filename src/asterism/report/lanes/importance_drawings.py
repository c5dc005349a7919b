"""Figures of the importance lane: relevance of pixels, activations and rises of coverage."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from asterism.core.messages.escaping import pluralise
from asterism.core.svg import PALETTE
from asterism.report.base.pictures import png, svg

#: Controls beside which an augmentation is seen, and what they are.
CONTROLS = {"clean": "as many other clean inputs", "noise": "as many inputs changed at random"}
#: Augmentations whose names are not plain words.
TITLES = {
    "fgsm": "FGSM",
    "bim": "BIM",
    "carlini_wagner": "Carlini–Wagner",
    "jsma": "JSMA",
    "noise": "Gaussian noise",
    "semantic": "natural, most different",
    "own": "natural, your own",
}
#: Up to here the histograms' counts are drawn linearly, from here on logarithmically.
LINEAR_UP_TO = 10


def criterion_title(name: str) -> str:
    """``idc_6`` as ``IDC 6``, ``k_multisection`` as ``k multisection``."""
    return name.replace("idc", "IDC").replace("_", " ")


def augmentation_title(name: str) -> str:
    """What an augmentation is called on the page."""
    return TITLES.get(name, criterion_title(name))


def draw_heatmaps(arrays: dict[str, NDArray[Any]]) -> list[tuple[int, list[tuple[Markup, Markup]]]]:
    """Images and the relevance of their pixels, by class."""
    rows = []
    for label in np.unique(arrays["labels"]):
        pairs = []
        for at in np.flatnonzero(arrays["labels"] == label):
            colours = diverging_colours(arrays["relevance"][at])
            pairs.append(
                (
                    png(arrays["images"][at], f"an input of class {label}", 56),
                    png(colours, f"relevance of its pixels for class {label}", 56),
                )
            )
        rows.append((int(label), pairs))
    return rows


def diverging_colours(relevance: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Red for positive, blue for negative relevance, white for none; ``(H, W, 3)``."""
    largest = float(np.abs(relevance).max()) or 1.0
    share = np.abs(relevance)[..., None] / largest
    red, blue = np.array([178, 24, 43]), np.array([33, 102, 172])
    end = np.where(relevance[..., None] > 0, red, blue)
    return np.round(255 + (end - 255) * np.sqrt(share)).astype(np.uint8)


def draw_histograms(neurons: list[dict[str, Any]]) -> Markup:
    """Each important neuron's activations over the training inputs, with its centroids."""
    columns = min(3, len(neurons))
    rows = -(-len(neurons) // columns)
    figure = Figure(figsize=(6.4, 1.7 * rows))
    grid = np.ravel(figure.subplots(rows, columns, squeeze=False))
    for axes, neuron in zip(grid, neurons, strict=False):
        edges = neuron["edges"]
        axes.stairs(neuron["histogram"], edges, fill=True, color=PALETTE[4])
        for centroid in neuron["centroids"]:
            axes.axvline(centroid, color=PALETTE[5], linewidth=1.2)
        if max(neuron["histogram"]) > LINEAR_UP_TO:
            axes.set_yscale("symlog", linthresh=LINEAR_UP_TO)
        else:
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        clusters = pluralise(len(neuron["centroids"]), "cluster")
        axes.set_title(f"neuron {neuron['neuron']}: {clusters}", fontsize=8)
    for axes in grid[len(neurons) :]:
        axes.set_axis_off()
    figure.supxlabel("activation over the training inputs", fontsize=8)
    told = ", ".join(
        f"neuron {n['neuron']} has {pluralise(len(n['centroids']), 'cluster')}" for n in neurons
    )
    alt = (
        "Histograms of the important neurons' activations over the training inputs, with a line "
        f"at each cluster's centroid: {told}."
    )
    data = pl.DataFrame(
        [
            (n["neuron"], low, high, count)
            for n in neurons
            for low, high, count in zip(n["edges"], n["edges"][1:], n["histogram"], strict=False)
        ],
        schema={"neuron": pl.Int64, "from": pl.Float64, "to": pl.Float64, "inputs": pl.Int64},
        orient="row",
    )
    return svg(
        figure,
        alt,
        "activations",
        data,
        "activations of important neurons",
        source="artifacts/measure_importance/neurons.json: neurons.histogram, edges, centroids",
    )


def draw_rises(alone: dict[str, float], augmentations: dict[str, Any], idc: str) -> Markup:
    """The rise of a coverage by each augmentation, beside its two controls.

    Args:
        alone: the test set's values by criterion.
        augmentations: values with each augmentation and with its controls, by its name.
        idc: the coverage.
    """
    figure = Figure(figsize=(6.4, 3.2))
    axes = figure.subplots()
    places = np.arange(len(augmentations))
    kinds = [("value", "the augmentation"), *((f"{c}_mean", what) for c, what in CONTROLS.items())]
    for offset, ((key, label), colour) in enumerate(zip(kinds, PALETTE, strict=False)):
        heights = [100 * (facts[idc][key] - alone[idc]) for facts in augmentations.values()]
        spread = key.replace("_mean", "_std")
        errors = [
            100 * (facts[idc][spread] or 0) if key != "value" else 0
            for facts in augmentations.values()
        ]
        axes.bar(
            places + 0.27 * (offset - 1), heights, 0.25, yerr=errors, label=label, color=colour
        )
    labels = [textwrap.fill(augmentation_title(name), 14) for name in augmentations]
    axes.set_xticks(places, labels, fontsize=8)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("rise of IDC (points)")
    axes.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    columns = [key for key, _ in kinds]
    rises = {
        name: [100 * (facts[idc][key] - alone[idc]) for key in columns]
        for name, facts in augmentations.items()
    }
    told = "; ".join(
        f"{augmentation_title(name)} {own:.1f} beside {clean:.1f} and {noise:.1f}"
        for name, (own, clean, noise) in rises.items()
    )
    alt = (
        f"Bar chart: rise of {criterion_title(idc)} in points by each augmentation, beside its "
        f"clean and its random control: {told}."
    )
    data = pl.DataFrame(
        [(name, *values) for name, values in rises.items()],
        schema={"augmentation": pl.String, **dict.fromkeys(columns, pl.Float64)},
        orient="row",
    )
    return svg(
        figure,
        alt,
        f"rise-{idc}",
        data,
        f"rise of {criterion_title(idc)}",
        source=f"metrics/measure_importance.json: augmentations.AUGMENTATION.{idc}",
    )
