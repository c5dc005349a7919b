"""The page of the docs that sets the papers' figures beside the recorded runs."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from asterism.reproduction.claims import RELEASED_TOOLS, Claim, PaperTable, judge_claim
from asterism.reproduction.figures import FOLDER, Plot
from asterism.reproduction.records import Estimate, RecordedRun
from asterism.reproduction.rules import ClaimVerdict, Outcome, four_digits
from asterism.reproduction.tables import Cell, FilledRow

#: Where the page lies in the project.
PAGE = Path("docs/reproduction.md")

_HEAD = """\
# The papers' experiments, run here

This page compares the figures of four papers with runs of this project. `asterism compare` writes
it from `results/` and the entry conditions of `conf/experiment/`, and `asterism compare --check`
tells whether it is current, so do not edit it.

```sh
make reproduce SCALE=smoke                 # 6 minutes, on digits: shows that all of it runs
make reproduce SCALE=small MODELS=FOLDER   # 3 hours on two cores, 4 of processor time
asterism reproduce dflare_mnist --scale full
asterism compare
```

FOLDER holds the published models that the heads of the experiments' files name.

| scale | what it is |
|---|---|
| `smoke` | a few seeds and inputs of digits: shows that an experiment runs, and is never compared |
| `small` | the paper's data and models as far as minutes allow, with fewer seeds, images and runs |
| `full` | more seeds, images and runs, up to the paper's, as far as two cores go in hours |

Each experiment is a file of `conf/experiment/` and one sweep ([sweeps](sweeps.md)). Stages
that have run before come from the cache, and a run that was killed resumes. `asterism
reproduce` records the numbers of each point in `results/reproduction/`.

## How to read it

A cell such as *100 / 99.8 ± 0.1* gives the paper's value, then the mean of the runs, then half the
width of the 95% interval (Student's t over the runs). A dash means that the paper has no value. A
single value is the paper's: nothing has been run. In a table of a paper, the last column names the
experiment, its scale, its runs and the seeds of each run. A run is a point of the sweep. A reason
such as *57.1 (51.5 to 62.8; 5 runs)* gives the mean, its 95% interval and the number of runs. If a
claim is about the mean of several networks, each network counts as one run, with a mean of its own;
if it compares two numbers, each run of each network counts. A verdict follows from a rule, which is
described under each list of claims:

* **reproduced**, **partly** and **not reproduced** are verdicts of the rule;
* **not decided** means that the runs are too few or scatter too much for a verdict, or that their
  interval still holds "no effect" where the statement is an effect. If some of the paper's searches
  fail and none failed here, that is decided only where the paper's share of failures makes it
  improbable (p of at most 0.05);
* **not comparable** means that there is no run yet, that its network misses the experiment's entry
  condition (an accuracy near the paper's), that nothing here measures the same thing, or that the
  number depends on a setting which the paper does not state and which has no usual value, or which
  was not run as in the paper.

There is one claim for each statement of a paper and each network that it is judged on, and one for
each control of this project's own, which is named so. Where a paper does not say which of several
measures it means, the one that serves the claim least is judged. A number of a table is compared
with the number of the same pair, and not with the range over all pairs. Where a claim is partly
reproduced, not reproduced or not decided, the page gives the cause: *ours* (a method of this
project), *scale* (the size of the run), *the paper's*, or *unknown*. [How the rules came
about](decisions/rules-of-claims.md) says which verdicts each rule moved. Known answers of a
released tool are in a list of their own, and are not counted with the claims. What follows from
other claims, such as a mean over the rows of a table, is no claim of its own, and a row of a table
that nothing here can answer is one claim. The tables of DeepStellar and DeepImportance, and the
study's driving data, were not at hand: of these two papers, claims are what their texts state.

Many runs, `full` ones among them, have fewer seeds and images than the paper's. The experiment that
a claim names has its differences from the paper at the head of its file in `conf/experiment/`,
which also has the entry condition. What each run took stands under [The runs](#the-runs).

The papers' numbers are in [`results/papers`](../results/papers/README.md). A claim is an entry in
`results/claims/`, and a rule is a class in `src/asterism/reproduction/rules/`. A table is a file in
`results/tables/`, and a figure is a file in `results/figures/`.
"""


#: Minutes that all experiments of a scale may take on two idle cores.
_MAY_TAKE = {"smoke": 6, "small": 180}


def comparison_page(
    claims: Mapping[str, Sequence[Claim]],
    tables: Sequence[tuple[PaperTable, Sequence[FilledRow]]],
    runs: Mapping[str, RecordedRun],
    recorded: Sequence[RecordedRun],
    plots: Sequence[Plot],
) -> str:
    """The page's text.

    Args:
        claims: of each paper.
        tables: the papers' tables, filled.
        runs: by experiment, what is compared: of each the run of the largest scale.
        recorded: all recorded runs.
        plots: the pictures that belong to it.
    """
    judged = {
        paper: [(claim, judge_claim(claim, runs)) for claim in own] for paper, own in claims.items()
    }
    parts = [_HEAD.rstrip(), "## Verdicts", _counts(judged)]
    for paper, own in claims.items():
        source = "the tool" if paper == RELEASED_TOOLS else "the paper"
        parts += [f"## {paper[:1].upper()}{paper[1:]}", _claims(judged[paper], runs, source)]
        parts += ["Rules:", _rules(own)]
        for table, rows in tables:
            if table.paper == paper:
                parts += [f"### {table.title}", *_filled(table, rows)]
        for plot in plots:
            if plot.paper == paper:
                parts.append(f"![{plot.title}](images/{FOLDER.name}/{plot.name}.svg)")
                parts += [wrapped(plot.note)] if plot.note else []
    parts += ["## The runs", *_runs(recorded)]
    return "\n\n".join(parts) + "\n"


#: Claims, and what is said of each.
_Judged = Sequence[tuple[Claim, ClaimVerdict]]


def _counts(judged: Mapping[str, _Judged]) -> str:
    words = {paper: [verdict.outcome for _, verdict in own] for paper, own in judged.items()}
    tools = words.pop(RELEASED_TOOLS, [])
    words["all"] = [word for own in words.values() for word in own]
    if tools:
        words[RELEASED_TOOLS] = tools
    rows = [
        [paper, str(len(own)), *(str(own.count(word)) for word in Outcome)]
        for paper, own in words.items()
    ]
    return markdown_table(["paper", "claims", *Outcome], rows)


def _claims(judged: _Judged, runs: Mapping[str, RecordedRun], source: str) -> str:
    rules = _numbered([claim for claim, _ in judged])
    rows = []
    for claim, verdict in judged:
        named = sorted({q.experiment for q in claim.runs if q.experiment in runs})
        rows.append(
            [
                f"{claim.text} ({claim.source})",
                claim.quantity,
                "" if claim.paper is None else four_digits(claim.paper),
                f"**{verdict.outcome}**",
                verdict.reason,
                _cause(claim, verdict),
                ", ".join(f"`{name}` ({runs[name].scale})" for name in named),
                str(rules[claim.words()]) if claim.words() else "",
            ]
        )
    return markdown_table(
        ["claim", "quantity", source, "verdict", "reason", "cause", "experiment", "rule"], rows
    )


def _cause(claim: Claim, verdict: ClaimVerdict) -> str:
    """The cause why a claim is not reproduced; empty where it is, or where nothing compares."""
    if claim.cause is None or verdict.outcome in (Outcome.REPRODUCED, Outcome.NOT_COMPARABLE):
        return ""
    whose = "the paper's" if claim.cause == "paper" else claim.cause
    return f"{whose}: {claim.why}"


def _numbered(claims: Sequence[Claim]) -> dict[str, int]:
    """The different rules of claims, in words, with the numbers that the page gives them."""
    words = dict.fromkeys(claim.words() for claim in claims if claim.words())
    return {rule: place for place, rule in enumerate(words, start=1)}


def _rules(claims: Sequence[Claim]) -> str:
    lines = [wrapped(f"{place}. {rule}.") for rule, place in _numbered(claims).items()]
    return "\n".join(lines) if lines else "none; nothing here is judged by a rule."


def _filled(table: PaperTable, rows: Sequence[FilledRow]) -> list[str]:
    head = [*table.keys, *(column.title for column in table.columns), "runs"]
    body = [
        [*row.keys, *(_cell(cell) for cell in row.cells), ", ".join(row.runs) or "no run yet"]
        for row in rows
    ]
    parts = [markdown_table(head, body)]
    left = sum(not row.runs for row in rows)
    if left:
        why = table.not_run[:1].upper() + table.not_run[1:]
        parts.append(wrapped(f"{left} of {len(rows)} rows have no run yet. {why}"))
    if table.note:
        parts.append(wrapped(table.note))
    return parts


def _cell(cell: Cell) -> str:
    paper = "–" if cell.paper is None else four_digits(cell.paper)
    return paper if cell.here is None else f"{paper} / {_estimate(cell.here)}"


def _estimate(found: Estimate) -> str:
    if found.runs == 1:
        return f"{four_digits(found.mean)} (one run)"
    return f"{four_digits(found.mean)} ± {found.high - found.mean:.2g}"


def _runs(recorded: Sequence[RecordedRun]) -> list[str]:
    rows = []
    for run in recorded:
        memory = [point.memory_mb for point in run.points if point.memory_mb is not None]
        processor = run.processor_seconds
        rows.append(
            [
                f"`{run.experiment}`",
                run.scale,
                f"{len(run.finished)} of {len(run.points)}",
                f"{run.seconds:,.0f}" + (" (beside other work)" if run.beside_other_work else ""),
                "not recorded" if processor is None else f"{processor:,.0f}",
                f"{max(memory):,.0f}" if memory else "",
                ", ".join(sorted({point.date for point in run.points})),
                ", ".join(sorted({f"`{point.commit}`" for point in run.points})),
            ]
        )
    head = [
        "experiment", "scale", "points", "seconds", "processor seconds", "peak MB", "date",
        "commit",
    ]  # fmt: skip
    setups = dict.fromkeys(_setup(run) for run in recorded)
    return [
        markdown_table(head, rows),
        *(wrapped(text) for text in _machine_time(recorded)),
        *(wrapped(f"* {setup}") for setup in setups),
    ]


def _machine_time(recorded: Sequence[RecordedRun]) -> list[str]:
    """What all runs took, and those of the scales that have a limit."""
    hours = sum(run.seconds for run in recorded) / 3600
    told = [run for run in recorded if run.processor_seconds is not None]
    texts = [
        f"In all {four_digits(hours)} hours by the clock, added up over points of which two often "
        "ran at a time. Processor seconds are those of all cores together, and are recorded for "
        f"{len(told)} of {len(recorded)} runs: {four_digits(_processor_hours(told))} hours. "
        "Nothing on this page is extrapolated. Seconds beside other work are no timing."
    ]
    return texts + [
        _scale_time(scale, own, minutes)
        for scale, minutes in _MAY_TAKE.items()
        if (own := [run for run in recorded if run.scale == scale])
    ]


def _scale_time(scale: str, runs: Sequence[RecordedRun], minutes: int) -> str:
    """What the runs of a scale took, beside what the whole scale may take."""
    known = [run for run in runs if run.processor_seconds is not None]
    others = [f"`{run.experiment}`" for run in runs if run.processor_seconds is None]
    missing = f" It is not recorded for {', '.join(others)}." if others else ""
    return (
        f"`SCALE={scale}`: the {len(runs)} recorded runs took "
        f"{four_digits(60 * _processor_hours(known))} minutes of processor time.{missing} All "
        f"of it may take {minutes} minutes on two idle cores, which offer {2 * minutes} minutes "
        "of processor time."
    )


def _processor_hours(runs: Sequence[RecordedRun]) -> float:
    return sum(run.processor_seconds or 0.0 for run in runs) / 3600


def _setup(run: RecordedRun) -> str:
    machine = ", ".join(f"{name} {value}" for name, value in sorted(run.machine.items()))
    versions = ", ".join(f"`{name}=={value}`" for name, value in sorted(run.versions.items()))
    return f"Machine: {machine}. Versions: {versions}."


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [" | ".join(head), "|".join("---" for _ in head), *(" | ".join(row) for row in rows)]
    return "\n".join(
        f"|{line}|" if place == 1 else f"| {line} |" for place, line in enumerate(lines)
    )


def wrapped(text: str) -> str:
    """A paragraph in lines of the docs' width."""
    item = re.match(r"(\* |\d+\. )", text)
    hanging = "" if item is None else " " * len(item[0])
    return textwrap.fill(
        text, 119, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
    )
