"""The page about a vetted pair, and its certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib.figure import Figure

from asterism.core.files.artifacts import (
    read_arrays,
    read_json,
    read_table,
    replacing,
    write_json,
)
from asterism.core.files.records import record_as_json, record_from
from asterism.core.messages.errors import reading
from asterism.core.messages.escaping import pluralise
from asterism.report.base.document import render_body, renderer, write_document
from asterism.report.base.pictures import png, svg
from asterism.report.base.section import ReportSection, flatten_parameters, percent
from asterism.report.vetted.answer import answer_vetting
from asterism.vetting.agreement import Agreement
from asterism.vetting.certificate import VettedNumbers, compute_verdict, make_certificate
from asterism.vetting.params import CERTIFICATE, REPAIRED, REPAIRED_PROGRAM, VetParams
from asterism.vetting.verdict import Verdict

_render = renderer("asterism.report.vetted")

#: Triggering inputs, nodes and points of the curve that the page shows.
_TRIGGERS, _NODES = 12, 15


def write_vet_page(
    params: VetParams,
    seed: int,
    workspace: Path,
    folder: Path,
    sha256: Mapping[str, str],
) -> Verdict:
    """Write ``index.html``, ``certificate.json`` and, where there is one, the repaired file.

    Args:
        params: the pair and what was asked.
        seed: the run's seed.
        workspace: the project with the results of the stages before.
        folder: replaced.
        sha256: of models, inputs and labels, see :meth:`.GivenPair.hashes`.

    Returns:
        The verdict.
    """
    numbers = VettedNumbers.read(workspace)
    with reading("the results of vetting"):
        verdict = compute_verdict(params, numbers)
        agreement = record_from(Agreement, numbers.measured["agreement"])
        told = answer_vetting(params, verdict, agreement, numbers.repair)
        body, contents = _body(params, seed, workspace, verdict, numbers)
    section = ReportSection(
        anchor="vet",
        title=f"{Path(params.compressed).name} beside {Path(params.original).name}",
        question="Does the compressed model do what the original does, on inputs like these?",
        headline=(),
        body=body,
        order=0,
        contents=contents,
        answers=(told,),
    )
    with replacing(folder) as temporary:
        temporary.mkdir()
        title = f"Asterism: {Path(params.compressed).name}"
        write_document(temporary / "index.html", [section], "", title)
        write_json(
            temporary / CERTIFICATE,
            record_as_json(make_certificate(params, seed, numbers, sha256)),
        )
        for name in (REPAIRED, REPAIRED_PROGRAM):
            repaired = workspace / "artifacts/vet_repair" / name
            if repaired.exists():
                (temporary / name).write_bytes(repaired.read_bytes())
    return verdict


def _body(
    params: VetParams, seed: int, workspace: Path, verdict: Verdict, numbers: VettedNumbers
) -> tuple[Markup, tuple[tuple[str, str], ...]]:
    measured, repair = numbers.measured, numbers.repair
    agreement = measured["agreement"]
    facts = read_json(workspace / "artifacts/vet_measure/inputs.json")
    tables = workspace / "artifacts/vet_repair"
    names = (Path(params.original).name, Path(params.compressed).name)
    bound = params.search.bound
    return render_body(
        _render,
        "vet.html.j2",
        "vet",
        verdict=verdict,
        commands=params.commands(),
        settled=params.settled,
        left_out="" if params.budget is None else params.budget.left_out,
        tried=params.tried,
        symptoms=measured["symptoms"],
        device=measured["device"],
        confidence=params.confidence,
        agreement=agreement,
        original=names[0],
        compressed=names[1],
        accuracies=list(zip(names, agreement["accuracy"], strict=False)),
        cells=_cells,
        interval=_interval,
        quantiles=[
            (title, agreement[key])
            for key, title in (
                ("divergence", "Kullback–Leibler divergence, nats"),
                ("margin_lost", "margin lost"),
                ("distance", "distance of the outputs"),
            )
            if agreement[key]
        ],
        classes=_classes(agreement["classes"], facts["classes"]),
        flips=measured["flips"],
        changes=list(dict.fromkeys(name for f in measured["flips"] for name in f["by_change"])),
        triggers=_triggers(workspace / "artifacts/vet_search/triggers.npz", facts),
        pictures=facts["kind"] == "images",
        searches=numbers.searches,
        bound="" if bound is None else f"{bound.measure} {bound.limit:g}",
        ranking=_rows(tables / "ranking.csv", _NODES),
        errors=_errors(tables / "tensors.csv"),
        curve=_rows(tables / "curve.csv", None),
        repair=repair,
        speeds=_rows(tables / "speed.csv", None),
        repaired_flips=[
            (after["strength"], before["share"], after["share"])
            for before, after in zip(measured["flips"], repair.get("flips", ()), strict=False)
        ],
        notes=facts["notes"],
        settings=[("seed", str(seed)), *flatten_parameters(params.model_dump(mode="json"), "vet")],
    )


def _cells(share: Any) -> Markup:
    """Four cells of a table: count, total, share and interval."""
    return Markup("<td>{}</td><td>{}</td><td>{}</td><td>{} to {}</td>").format(
        share["count"],
        share["total"],
        percent(share["share"]),
        percent(share["low"]),
        percent(share["high"]),
    )


def _interval(share: Any) -> Markup:
    """A share, of how many, and its interval."""
    low, high = percent(share["low"]), percent(share["high"])
    told = "{} of {} ({} to {})"
    return Markup(told).format(percent(share["share"]), share["total"], low, high)


def _classes(classes: Any, names: Sequence[str]) -> Markup:
    """Disagreement by class, with intervals; nothing without classes."""
    if not classes:
        return Markup("")
    shown = sorted(classes.items(), key=lambda entry: -entry[1]["share"])[:20]
    titles = [names[int(label)] if int(label) < len(names) else label for label, _ in shown]
    shares = np.array([[s["share"], s["low"], s["high"]] for _, s in shown])
    figure = Figure(figsize=(7, 1 + 0.25 * len(shown)), layout="constrained")
    axes = figure.subplots()
    spread = np.abs(shares[:, 1:].T - shares[:, 0])
    axes.barh(
        titles[::-1], shares[::-1, 0], xerr=spread[:, ::-1], color="#0072b2", ecolor="#777777"
    )
    axes.set_xlabel("share of inputs on which the models differ")
    most = ", ".join(
        f"{title} {percent(share)}" for title, share in zip(titles[:3], shares[:3, 0], strict=False)
    )
    alt = (
        "Bar chart: share of inputs on which the models differ, by class, with intervals. "
        f"Largest: {most}."
    )
    data = pl.DataFrame(
        {
            "class": list(map(str, titles)),
            "share": shares[:, 0],
            "low": shares[:, 1],
            "high": shares[:, 2],
        }
    )
    return svg(
        figure,
        alt,
        "classes",
        data,
        "differences by class",
        "metrics/vet_measure.json: agreement.classes",
    )


def _errors(path: Path) -> Markup:
    """Relative error of each tensor along the graph; nothing where none was measured."""
    if not path.exists():
        return Markup("")
    table = read_table(path)
    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.subplots()
    for column, title, color in (
        ("relative_l2", "as it is in the compressed graph", "#0072b2"),
        ("own_relative_l2", "of the node alone", "#e69f00"),
    ):
        values = np.asarray(table[column].cast(float), np.float64)
        axes.plot(np.where(np.isfinite(values), values, np.nan), ".", color=color, label=title)
    axes.set_yscale("log")
    axes.set_xlabel("tensors, in the order of the graph")
    axes.set_ylabel("relative error")
    axes.legend()
    alt = (
        "Scatter chart on a logarithmic axis: relative error of each of "
        f"{pluralise(len(table), 'tensor')} along the graph, as it is in the compressed graph and "
        "of the node alone."
    )
    return svg(
        figure, alt, "errors", table, "errors along the graph", "artifacts/vet_repair/tensors.csv"
    )


def _rows(path: Path, most: int | None) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    table = read_table(path)
    return (table if most is None else table.head(most)).to_dicts()


def _triggers(path: Path, facts: Any) -> list[dict[str, Any]]:
    arrays = read_arrays(path)
    if "right" not in arrays:
        return []
    found = []
    for row in range(min(_TRIGGERS, len(arrays["items"]))):
        trigger = {
            "name": facts["names"][int(arrays["seeds"][row])],
            "right": float(arrays["right"][row]),
            "wrong": float(arrays["wrong"][row]),
        }
        if facts["kind"] == "images":
            trigger["before"] = png(arrays["references"][row], "the seed")
            trigger["after"] = png(arrays["items"][row], "the triggering input")
        found.append(trigger)
    return found
