"""The compressed lane on the page: where do a model and its compressed version part ways?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib.figure import Figure
from scipy.stats import wilcoxon

from asterism.core.files.artifacts import read_arrays, read_json, read_table
from asterism.core.files.user_files import resolve_inside
from asterism.core.parameters.params import ParameterSection as Params
from asterism.core.parameters.params import read_params
from asterism.report.base.document import ranged, render_body, renderer
from asterism.report.base.pictures import png, svg
from asterism.report.base.section import (
    FrontPageAnswer,
    KeyFigure,
    ReportSection,
    parameters_of,
    percent,
)
from asterism.report.lanes import SECTIONS
from asterism.report.lanes.compressed_answer import (
    PairResults,
    RepairResults,
    answer_difference,
    answer_repair,
)

_render = renderer("asterism.report.lanes")

#: Triggering inputs of each pair in the gallery.
_SHOWN = 6

#: Groups of parameters that shape these results.
GROUPS = ("seed", "data", "classifier", "compression", "pairs", "trigger", "repair")


class _Shown(Params):
    """What the page is about; results of earlier pairs and models may lie beside theirs."""

    pairs: dict[str, Any]
    compression: dict[str, Any]


@SECTIONS.register("compressed")
def compressed_section(workspace: Path) -> ReportSection | None:
    """The section, or None when no pair has been searched."""
    if not any(workspace.glob("artifacts/trigger/*/summary.json")):
        return None
    shown = read_params(_Shown, workspace / "params.yaml")
    searches = _summaries(workspace / "artifacts/trigger", shown.pairs)
    if not searches:
        return None
    repairs = _summaries(workspace / "artifacts/repair", shown.pairs)
    made = _summaries(workspace / "artifacts/compress", shown.compression)
    folders = [workspace / "artifacts/trigger" / name for name in searches]
    first = _first_search(searches)
    for folder in folders:
        resolve_inside(folder, first, str(folder / "summary.json"))
    models = {
        f.name: made.get(_made_by(shown.pairs[f.name])) or _taken(f, repairs.get(f.name, {}))
        for f in folders
    }
    tests = _wilcoxon_tests(folders)
    body, contents = render_body(
        _render,
        "compressed.html.j2",
        "compressed",
        models=models,
        searches=searches,
        repairs=repairs,
        ratios=_ratios(searches),
        tests=tests,
        histogram=_histogram(folders, first),
        confusions={f.name: _confusion(f / first) for f in folders if (f / first).is_dir()},
        galleries={f.name: _gallery(f, first) for f in folders if (f / first).is_dir()},
        notes=_notes(folders),
        first=first,
        settings=parameters_of(workspace, GROUPS),
    )
    return ReportSection(
        order=20,
        anchor="compressed",
        title="Compressed models",
        question="Where does my compressed model disagree with its original, how hard are such "
        "inputs to find, and can I repair them without retraining?",
        headline=_headline(searches, repairs, first),
        body=body,
        contents=contents,
        answers=_answers(models, searches, repairs, first, {t["pair"]: t["p"] for t in tests}),
    )


def _answers(
    models: dict[str, Any],
    searches: dict[str, Any],
    repairs: dict[str, Any],
    first: str,
    chance: dict[str, float | None],
) -> tuple[FrontPageAnswer, ...]:
    """What the front page says of these results."""
    pairs = []
    for name, model in models.items():
        search = searches[name].get(first, {})
        pairs.append(
            PairResults(
                name=name,
                deviating=model["deviating_test_images"],
                agreement=model["agreement"],
                accuracy=model["accuracy"],
                original_accuracy=model["original_accuracy"],
                size=_share(model["bytes"], model["original_bytes"]),
                deflated_size=_share(model["deflated_bytes"], model["original_deflated_bytes"]),
                seeds=search.get("seeds", 0) - search.get("deviates_already", 0),
                triggered=search.get("triggered", 0),
                unfinished=search.get("out_of_time", 0) + search.get("failed", 0),
                queries=search.get("mean_queries"),
                chance=chance.get(name),
            )
        )
    found = [_repaired(name, facts) for name, facts in repairs.items() if "chosen" in facts]
    unrepaired = [name for name, facts in repairs.items() if "chosen" not in facts]
    return (
        (answer_difference(pairs), answer_repair(found, unrepaired))
        if found
        else (answer_difference(pairs),)
    )


def _share(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None


def _repaired(name: str, facts: dict[str, Any]) -> RepairResults:
    chosen = facts["repairers"][facts["chosen"]]
    return RepairResults(
        name=name,
        status=facts["status"],
        repaired=chosen["improvement_ratio"],
        images=chosen["test_images"],
        before=chosen["test_agreement_before"],
        after=chosen["test_agreement_after"],
        success_before=facts["search_before"]["success_rate"],
        success_after=facts["search_after"]["success_rate"],
    )


def _summaries(folder: Path, names: Iterable[str]) -> dict[str, Any]:
    """The summaries of those of these results that are there."""
    paths = {name: folder / name / "summary.json" for name in sorted(names)}
    return {name: read_json(path) for name, path in paths.items() if path.is_file()}


def _made_by(pair: dict[str, str]) -> str:
    """The compression that made a pair's compressed model of the classifier; else nothing."""
    if pair.get("original") != "artifacts/train_classifier/model.keras":
        return ""
    folder = Path(pair["compressed"]).parent
    return folder.name if folder.parent == Path("artifacts/compress") else ""


def _taken(folder: Path, repair: dict[str, Any]) -> dict[str, Any]:
    """What is known of files from elsewhere, as far as these stages have run, as of made ones."""
    original, compressed = (model["bytes"] for model in read_json(folder / "models.json"))
    return {
        "method": "a file of yours",
        "bytes": compressed,
        "original_bytes": original,
        **dict.fromkeys(("deflated_bytes", "original_deflated_bytes")),
        **dict.fromkeys(("accuracy", "original_accuracy", "agreement", "deviating_test_images")),
        **repair.get("test_set", {}),
    }


def _first_search(searches: dict[str, Any]) -> str:
    names = {name for summary in searches.values() for name in summary}
    return "dflare" if "dflare" in names else min(names)


def _headline(
    searches: dict[str, Any], repairs: dict[str, Any], first: str
) -> tuple[KeyFigure, ...]:
    found = [s[first] for s in searches.values() if first in s]
    seeds = sum(s["seeds"] - s["deviates_already"] for s in found)
    triggered = sum(s["triggered"] for s in found)
    queries = [s["mean_queries"] for s in found if s["mean_queries"] is not None]
    summary = f"artifacts/trigger/PAIR/summary.json: {first}"
    facts = [
        KeyFigure(
            f"pair{'s' if len(searches) > 1 else ''} searched",
            str(len(searches)),
            sources=("params.yaml: pairs",),
        ),
        KeyFigure(
            "seeds with a triggering input",
            percent(triggered / seeds if seeds else None),
            sources=(f"{summary}.triggered, seeds, deviates_already",),
        ),
    ]
    if queries:
        told = ranged([f"{q:.0f}" for q in sorted(queries)])
        facts.append(
            KeyFigure("mean queries to find one", told, sources=(f"{summary}.mean_queries",))
        )
    best = [
        r["repairers"][r["chosen"]]["improvement_ratio"] for r in repairs.values() if "chosen" in r
    ]
    if best:
        source = "artifacts/repair/PAIR/summary.json: repairers.CHOSEN.improvement_ratio"
        told = ranged([percent(b) for b in sorted(best)])
        facts.append(KeyFigure("deviations repaired, net", told, sources=(source,)))
    return tuple(facts)


def _notes(folders: list[Path]) -> list[str]:
    """What is to know about the models' files, the same fact once for all that share it."""
    pairs: dict[str, list[str]] = {}
    for folder in folders:
        for model in read_json(folder / "models.json"):
            for note in model["notes"]:
                pairs.setdefault(f"{model['name']}, {note}", []).append(folder.name)
    return [f"{fact} ({', '.join(dict.fromkeys(names))})" for fact, names in pairs.items()]


def _ratios(searches: dict[str, Any]) -> dict[str, dict[str, float | None]]:
    """Dflare's mean queries as a share of those of each other search, by pair and search."""
    ratios: dict[str, dict[str, float | None]] = {}
    for pair, summary in searches.items():
        own = summary.get("dflare", {}).get("mean_queries")
        ratios[pair] = {
            name: own / other["mean_queries"] if own and other["mean_queries"] else None
            for name, other in summary.items()
        }
    return ratios


def _wilcoxon_tests(folders: list[Path]) -> list[dict[str, Any]]:
    """Dflare against Dflare_R: one-sided Wilcoxon signed-rank test on queries, seed by seed.

    Compared are the queries until a seed's first triggering input. A seed that ended without one,
    by its budget or its time, counts with the most queries that any seed of the two searches had;
    one on which a model failed is left out.
    """
    rows = []
    for folder in folders:
        if not all((folder / name / "seeds.csv").is_file() for name in ("dflare", "dflare_r")):
            continue
        searched = [_first_queries(folder / name) for name in ("dflare", "dflare_r")]
        most = int(np.concatenate([t["queries"].to_numpy() for t in searched]).max(initial=0))
        guided, uniform = (
            table.with_columns(pl.col("first").fill_null(most)) for table in searched
        )
        both = guided.join(uniform, on="seed", suffix="_uniform").sort("seed")
        a, b = both["first"].to_numpy(), both["first_uniform"].to_numpy()
        p = float(wilcoxon(a, b, alternative="less").pvalue) if np.any(a != b) else None
        rows.append(
            {
                "pair": folder.name,
                "seeds": len(both),
                "dflare": float(np.median(a)) if len(a) else None,
                "dflare_r": float(np.median(b)) if len(b) else None,
                "p": p,
            }
        )
    return rows


def _first_queries(folder: Path) -> pl.DataFrame:
    """The seeds that were searched to their end.

    Columns ``seed``, ``queries`` (all of them) and ``first``: the queries until the first
    triggering input, null where there is none.
    """
    ended = pl.col("outcome").is_in(["triggered", "exhausted", "out_of_time"])
    numbers = pl.col("seed", "queries").cast(pl.Int64)  # a table without rows has no types
    seeds = read_table(folder / "seeds.csv").filter(ended).select(numbers)
    triggers = read_table(folder / "triggers.csv").select(numbers)
    first = triggers.group_by("seed").agg(pl.col("queries").min().alias("first"))
    return seeds.join(first, on="seed", how="left")


def _histogram(folders: list[Path], first: str) -> Markup:
    counts = {}
    for folder in folders:
        if (folder / first / "seeds.csv").is_file():
            found = _first_queries(folder / first)["first"].drop_nulls()
            counts[folder.name] = found.to_numpy()
    largest = max((int(c.max()) for c in counts.values() if len(c)), default=1)
    edges = np.unique(np.geomspace(1, largest + 1, 25).astype(np.int64))
    figure = Figure(figsize=(7, 0.8 + 1.1 * len(counts)), layout="constrained")
    panels = figure.subplots(len(counts), sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, (pair, queries) in zip(panels, counts.items(), strict=True):
        axes.hist(queries, bins=list(edges))
        axes.set(xscale="log", ylabel="seeds")
        axes.set_title(pair, fontsize="medium", loc="left")
    panels[-1].set_xlabel(f"queries of {first} until the first triggering input")
    medians = ", ".join(f"{pair} {np.median(q):.0f}" for pair, q in counts.items() if len(q))
    alt = (
        f"Histograms, one for each pair: queries of {first} until the first triggering input of a "
        f"seed, on a logarithmic axis. Medians: {medians or 'none was found'}."
    )
    data = pl.DataFrame(
        [(pair, int(number)) for pair, q in counts.items() for number in q],
        schema={"pair": pl.String, "queries": pl.Int64},
        orient="row",
    )
    return svg(
        figure,
        alt,
        "queries",
        data,
        f"queries of {first}",
        f"artifacts/trigger/PAIR/{first}/triggers.csv: queries",
    )


def _confusion(folder: Path) -> list[dict[str, Any]]:
    table = read_table(folder / "confusion.csv")
    return table.sort("inputs", "original", "compressed", descending=[True, False, False])[
        :8
    ].to_dicts()


def _gallery(folder: Path, first: str) -> list[dict[str, Any]]:
    arrays = read_arrays(folder / first / "triggers.npz")
    triggers = read_table(folder / first / "triggers.csv").to_dicts()
    seeds = read_arrays(folder / "seeds.npz")
    minimal = folder / first / "minimal.npz"
    shown = read_arrays(minimal) if minimal.is_file() else arrays
    entries = []
    # The triggers with the fewest changes show best what it takes.
    positions = np.searchsorted(seeds["numbers"], [t["seed"] for t in triggers])
    for row in range(len(triggers)):
        item, seed = shown["items"][row], seeds["items"][positions[row]]
        difference = np.abs(item.astype(np.int64) - seed)
        entries.append((int((difference > 0).any(axis=-1).sum()), row, item, seed, difference))
    entries.sort(key=lambda entry: entry[:2])
    return [
        {
            "seed": png(seed, "seed"),
            "item": png(item, "triggering input"),
            "difference": png(_amplified(difference), "amplified difference"),
            "pixels": changed,
            "original": _top(shown["f"][row]),
            "compressed": _top(shown["g"][row]),
            "queries": triggers[row]["queries"],
        }
        for changed, row, item, seed, difference in entries[:_SHOWN]
    ]


def _amplified(difference: Any) -> Any:
    largest = max(int(difference.max()), 1)
    return (difference * 255 // largest).astype(np.uint8)


def _top(outputs: Any) -> str:
    label = int(outputs.argmax())
    return f"{label} ({outputs[label]:.3f})"
