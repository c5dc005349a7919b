"""What searches of a recogniser find, and whether it can be repaired: figures of one subject."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import yaml
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_json, replacing, write_json
from asterism.dflare import outcome
from asterism.dflare.comparisons import build_comparison
from asterism.dflare.comparisons.sequences import SequenceComparison, edits
from asterism.dflare.domains import build_domain
from asterism.dflare.lockstep import PairUnderTest
from asterism.dflare.outcome import Findings
from asterism.dflare.pair import ModelPair
from asterism.dflare.params import ComparisonParams, DomainParams, SearchParams, TriggerParams
from asterism.dflare.trigger import SearchSeeds, budget_of, draw_seeds, search_pair, summarise
from asterism.localisation.quantised_nodes import match
from asterism.localisation.reading import open_pair
from asterism.localisation.repair import RepairedFile, repair_curve
from asterism.localisation.running import batches
from asterism.models.signatures.reading import read_signature
from asterism.models.tensor_models.answers import ComparedOutputs
from asterism.models.tensor_models.isolated import IsolatedFileModel
from asterism.vetting.statistics import share_of
from speaking.subjects import Subject, feed

ROOT = Path(__file__).resolve().parents[2]

#: The operators that the paper names for speech (section 6.1).
OPERATORS = ("time_stretch", "pitch_shift", "time_shift", "gain")
#: Seeds that are searched together, after which what was found is kept.
_TOGETHER = 25
_CONFIDENCE = 0.95
#: Of a repair: runs of candidate graphs, deviating clips to judge by, most nodes in float.
_EVALUATIONS, _CASES, _FLOAT_SHARE, _GONE = 200, 60, 0.1, 0.9
#: Held-out seeds from which a repaired file is searched: where it is good, that takes long.
_AGAIN = 75


@dataclass(frozen=True)
class Searches:
    """How long is searched.

    Attributes:
        seeds: clips to start from, at most.
        queries: mutants of a seed, at most.
        chased: the first seeds, which DiffChaser gets too.
        population: of DiffChaser; its mean of 223 queries in the paper is about one generation.
    """

    seeds: int = 500
    queries: int = 2000
    chased: int = 100
    population: int = 200


def trigger_params(subject: Subject, searches: Searches) -> TriggerParams:
    """The parameters of both searches: those of ``conf/trigger/sound.yaml`` but for the paper's."""
    text = (ROOT / "conf/trigger/sound.yaml").read_text(encoding="utf-8")
    document: dict[str, Any] = yaml.safe_load(text)
    document["seeds"], document["queries"] = searches.seeds, searches.queries
    document["minimise_queries"] = 0
    document["domain"] = DomainParams(kind="sound", options={"rate": subject.rate})
    options = subject.reading.model_dump()
    document["comparison"] = ComparisonParams(kind="sequence", options=options)
    document["operators"] = {name: document["operators"][name] for name in OPERATORS}
    chosen = {name: SearchParams(**document["searches"][name]) for name in ("dflare", "diffchaser")}
    chosen["diffchaser"].options["population"] = searches.population
    return TriggerParams(**document | {"searches": chosen})


@contextmanager
def opened(
    subject: Subject, compressed: Path, params: TriggerParams
) -> Iterator[tuple[PairUnderTest, SequenceComparison]]:
    """The original and a compressed file, each in a process of its own."""
    some = subject.clips.waves[:16]
    with (
        IsolatedFileModel(subject.original, subject.feeding, False, some) as f,
        IsolatedFileModel(compressed, subject.feeding, False, some) as g,
    ):
        (shape,) = f.shapes.values()
        comparison = build_comparison(params.comparison, shape)
        assert isinstance(comparison, SequenceComparison)
        domain = build_domain(params.domain, params.operators)
        domain.prepare(subject.clips.waves)
        yield PairUnderTest(ModelPair(f, g), domain, comparison), comparison


def measured(subject: Subject, searches: Searches, folder: Path) -> dict[str, Any]:
    """All figures of a subject; what was found before is taken from the folder.

    Args:
        subject: the recogniser.
        searches: how long is searched.
        folder: keeps what was found.
    """
    params = trigger_params(subject, searches)
    with opened(subject, subject.compressed, params) as (under_test, comparison):
        clips, agreed = _on_clips(subject, under_test, comparison)
        drawn = draw_seeds(subject.clips.waves[agreed], min(searches.seeds, len(agreed)), 0)
        seeds = SearchSeeds(drawn.items, agreed[drawn.numbers])
        found = {}
        for name, count in (("dflare", searches.seeds), ("diffchaser", searches.chased)):
            some = SearchSeeds(seeds.items[:count], seeds.numbers[:count])
            found[name] = _searched(name, params, under_test, some, folder / "search")
    repaired = _repaired(subject, params, seeds, found["dflare"][0], folder)
    return {
        "subject": subject.name,
        "bytes": [subject.original.stat().st_size, subject.compressed.stat().st_size],
        "seconds_of_a_clip": subject.clips.waves.shape[1] / subject.rate,
        "clips": clips,
        "population": searches.population,
        "searches": {name: figures for name, (_, figures) in found.items()},
        "repair": repaired,
    }


def _on_clips(
    subject: Subject, under_test: PairUnderTest, comparison: SequenceComparison
) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """How both files do on the clips as they are, and the clips whose transcripts agree."""
    clips = subject.clips
    answers = under_test.pair.ask(clips.waves)
    deviates = comparison.deviates(answers.f, answers.g)
    share = share_of(int(deviates.sum()), len(clips.texts), _CONFIDENCE)
    facts: dict[str, Any] = {"count": len(clips.texts), "differ": share.to_json()}
    if subject.said:
        facts["word_error_rates"] = [
            word_error_rate(transcripts(comparison, outputs), clips.texts)
            for outputs in (answers.f, answers.g)
        ]
    return facts, np.flatnonzero(~deviates)


def transcripts(comparison: SequenceComparison, outputs: NDArray[np.float32]) -> list[list[str]]:
    """The words that outputs stand for, of each row."""
    labels = comparison.unfolded(outputs).argmax(axis=2)
    return [comparison.transcript(row) for row in labels]


def word_error_rate(found: Sequence[Sequence[str]], texts: Sequence[str]) -> float:
    """Word errors of all transcripts over the words of all texts."""
    right = [text.split() for text in texts]
    errors = sum(edits(a, b) for a, b in zip(right, found, strict=True))
    return errors / sum(len(text) for text in right)


def _searched(
    name: str,
    params: TriggerParams,
    under_test: PairUnderTest,
    seeds: SearchSeeds,
    folder: Path,
) -> tuple[Findings, dict[str, Any]]:
    """What a search finds, group of seeds by group of seeds, and its figures."""
    alone = params.model_copy(update={"searches": {name: params.searches[name]}})
    settings = _digest(alone.model_dump_json(exclude={"seeds"}).encode())
    parts, times = [], []
    for number, group in enumerate(seeds.in_groups(_TOGETHER)):
        kept = folder / f"{name}-{settings}-{number}-{len(group.numbers)}"
        if not kept.exists():
            with replacing(kept) as temporary:
                temporary.mkdir(parents=True)
                clock, work = time.perf_counter(), processor_seconds()
                findings = search_pair(alone.searches, under_test, group, budget_of(alone), 0)[name]
                spent = {
                    "seconds": time.perf_counter() - clock,
                    "processor_seconds": processor_seconds() - work,
                }
                findings.save(temporary)
                write_json(temporary / "times.json", spent)
        parts.append(Findings.load(kept))
        times.append(read_json(kept / "times.json"))
        print(f"  {name}: {sum(len(part.seeds) for part in parts)} seeds", flush=True)
    findings = Findings.merged(parts)
    return findings, summarise(findings) | _times(findings, times)


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:8]


def _times(findings: Findings, times: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Seconds of a seed that was searched, by the clock and of a processor."""
    searched = sum(record.outcome != outcome.DEVIATES_ALREADY for record in findings.seeds)
    return {
        f"{what}_of_a_seed": sum(part[what] for part in times) / max(1, searched)
        for what in ("seconds", "processor_seconds")
    }


def processor_seconds() -> float:
    """What this process and those that it started have taken of a processor so far."""
    own = psutil.Process()
    total = 0.0
    for process in (own, *own.children(recursive=True)):
        spent = process.cpu_times()
        total += spent.user + spent.system
    return total


def _repaired(
    subject: Subject,
    params: TriggerParams,
    seeds: SearchSeeds,
    findings: Findings,
    folder: Path,
) -> dict[str, Any]:
    """Localisation and a repaired file, judged by seeds that it was not made with."""
    kept = folder / f"repair-{len(seeds.numbers)}-{params.queries}.json"
    if kept.exists():
        facts: dict[str, Any] = read_json(kept)
        return facts
    triggers = findings.triggers
    if not triggers:
        return {"reason": "no clip was found on which the transcripts deviate"}
    own, held = triggers[::2], triggers[1::2]
    chosen, facts = _mended(subject, params, np.stack([t.item for t in own[:_CASES]]))
    if chosen is None:
        return facts
    file = folder / "repaired.onnx"
    chosen.write(file)
    after = folder / f"after-{_digest(chosen.content)}"
    numbers = [trigger.seed for trigger in held[:_AGAIN]]
    unseen = SearchSeeds(seeds.of(numbers), np.array(numbers, np.int64))
    with opened(subject, file, params) as (under_test, comparison):
        again = under_test.pair.ask(np.stack([trigger.item for trigger in held]))
        still = int(comparison.deviates(again.f, again.g).sum())
        facts["gone_held_out"] = share_of(len(held) - still, len(held), _CONFIDENCE).to_json()
        facts["clips"], _ = _on_clips(subject, under_test, comparison)
        _, facts["search"] = _searched("dflare", params, under_test, unseen, after)
    write_json(kept, facts)
    return facts


def _mended(
    subject: Subject, params: TriggerParams, waves: NDArray[np.float32]
) -> tuple[RepairedFile | None, dict[str, Any]]:
    """The best repaired file with few nodes in float, and what localisation says."""
    pair = match(open_pair(subject.original, subject.compressed))
    outputs = ComparedOutputs(
        read_signature(subject.original), subject.feeding.outputs, str(subject.original)
    )

    def deviation(
        wanted: Mapping[str, NDArray[Any]], given: Mapping[str, NDArray[Any]]
    ) -> NDArray[Any]:
        count = len(next(iter(wanted.values())))
        (answer,) = outputs.answers(wanted, count).values()
        comparison = build_comparison(params.comparison, answer.shape[1:])
        f, g = outputs.rows(wanted, count), outputs.rows(given, count)
        return comparison.deviates(f, g).astype(np.float64)

    most = max(1, int(_FLOAT_SHARE * len(pair.nodes)))
    curve = repair_curve(
        pair, batches(feed(subject, waves), 8), deviation, _EVALUATIONS, most, _GONE
    )
    ranking = curve.localisation.ranking[:5]
    facts: dict[str, Any] = {
        "quantised_nodes": len(pair.nodes),
        "evaluations": curve.evaluations,
        "blamed": [{"node": r.node.name, "explained": r.explained} for r in ranking],
        "curve": [
            {
                "nodes_in_float": len(file.floats),
                "nodes_with_finer_scales": len(file.finer),
                "bits": file.bits,
                "bytes": file.size,
                "gone": file.gone,
            }
            for file in curve.files
        ],
    }
    within = [f for f in curve.files if f.float_share <= _FLOAT_SHARE and (f.floats or f.finer)]
    if not within:
        return None, facts | {"reason": "no node can be changed"}
    enough = [file for file in within if file.expected >= _GONE]
    chosen = (
        min(enough, key=lambda file: (len(file.floats), file.size))
        if enough
        else max(within, key=lambda file: file.gone)
    )
    facts["chosen"] = {
        "nodes_in_float": len(chosen.floats),
        "nodes_with_finer_scales": len(chosen.finer),
        "bits": chosen.bits,
        "bytes": chosen.size,
        "gone": chosen.gone,
    }
    return chosen, facts
