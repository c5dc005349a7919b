"""The fuzzing loop: choose parents, mutate them, run the mutants, keep those that are new or fail.

Mutants are made in generations. While the threads work on one generation, the results of the one
before are judged, so a generation's parents are chosen before the results of the generation in
progress are known. This delay is always the same, and every part of a generation draws from a
stream of its own, so the result depends neither on the number of threads nor on their speed.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from asterism.core.files.artifacts import read_arrays
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError, prefix_errors
from asterism.core.random_streams import stream
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.deepstellar.criteria import build_trace_criteria
from asterism.deepstellar.fuzzing.guidance import GUIDING, Guidance, TraceVisits, count_visits
from asterism.deepstellar.fuzzing.mutants import Lineages, MutantMaker
from asterism.deepstellar.fuzzing.population import (
    GROWING,
    Crashes,
    FirstVisits,
    Population,
    SeedQueue,
)
from asterism.deepstellar.model.trace_model import TraceModel
from asterism.deepstellar.params import FuzzParams
from asterism.deepstellar.seeds import SeedInputs
from asterism.deepstellar.selections import build_selection
from asterism.models.recurrent import RecurrentModel

#: Parents that one thread handles at a time.
CHUNK = 512

#: Generations without a single acceptable mutant after which a campaign gives up.
PATIENCE = 50

#: Generations planned before the first one's results are judged: all their parents are seeds.
UNGUIDED_GENERATIONS = 2


def unguided_mutants(params: FuzzParams) -> int:
    """How many mutants are made before results can guide a campaign."""
    return UNGUIDED_GENERATIONS * params.parents * params.mutants_per_parent


@dataclass(frozen=True)
class Generation:
    """The parents of a generation, one for each mutant to make: int64 ``(M,)``."""

    generation: int
    parents: NDArray[np.int64]


@dataclass(frozen=True)
class _State:
    """Where a campaign goes on: what its checkpoint holds."""

    population: Population
    levels: NDArray[Any]
    last: int
    fruitless: int
    plan: Generation


@dataclass(frozen=True)
class ChunkResult:
    """What the network did on one chunk of mutants.

    Attributes:
        mutants: the mutants.
        parents: int64 ``(M,)``, their parents in the queue.
        mutators: int16 ``(M,)``.
        predicted: int64 ``(M,)``.
        items: by criterion, int32 ``(M, …)``, the items that the mutants visit.
        visits: the visits of the guiding criterion's items.
    """

    mutants: Lineages
    parents: NDArray[np.int64]
    mutators: NDArray[np.int16]
    predicted: NDArray[np.int64]
    items: dict[str, NDArray[np.int32]]
    visits: TraceVisits

    def first(self, count: int) -> ChunkResult:
        """The results of the first ``count`` mutants."""
        v, kept = self.visits, self.visits.traces < count
        return ChunkResult(
            self.mutants.only(slice(count)),
            self.parents[:count],
            self.mutators[:count],
            self.predicted[:count],
            {name: items[:count] for name, items in self.items.items()},
            TraceVisits(v.traces[kept], v.items[kept], v.buckets[kept]),
        )


@dataclass
class FuzzingCampaign:
    """One campaign, guided by one criterion.

    Attributes:
        network: the network under test.
        model: its Markov chain, which says what there is to cover.
        seeds: inputs to begin with, correctly classified.
        params: how to fuzz.
        criterion: name of what guides, a key of :data:`GUIDING`.
        seed: the run's seed.
        island: number of this campaign among those that share the budget.
        budget: mutants to run.
    """

    network: RecurrentModel
    model: TraceModel
    seeds: SeedInputs
    params: FuzzParams
    criterion: str
    seed: int
    island: int
    budget: int
    population: Population = field(init=False)

    def __post_init__(self) -> None:
        self._maker = MutantMaker.configured(self.params, self.seeds.images)
        with prefix_errors("fuzz.selection"):
            self._selection = build_selection(self.params.selection)
        self._criteria = build_trace_criteria(self.model, filter(None, GUIDING.values()))
        sizes = {name: len(criterion.covered) for name, criterion in self._criteria.items()}
        self._guide = GUIDING[self.criterion]
        self._guidance = Guidance(sizes[self._guide] if self._guide else 0)
        self.population = Population(
            SeedQueue.of_seeds(self.seeds),
            Crashes.none_yet(self.seeds.images),
            FirstVisits.never(sizes),
        )
        self._last = -1
        self._fruitless = 0

    def run(self, checkpoint: Checkpoint | None = None) -> Population:
        """Make and run mutants until the budget is spent.

        Args:
            checkpoint: where the state is kept, and found again by the next run.

        Raises:
            UserError: hardly any mutant is acceptable.
        """
        # One BLAS thread for each of ours: more only compete, and change the last bits.
        with (
            threadpool_limits(1, user_api="blas"),
            ThreadPoolExecutor(self.network.workers) as threads,
            progress(total=self.budget, label=f"fuzz {self.criterion}", unit="mutant") as bar,
        ):
            plan = self._begin(checkpoint)
            done = self.population
            working = self._submit(plan, threads)
            bar.update(done.run)
            while done.run < self.budget:
                following = self._plan(plan.generation + 1)
                next_working = self._submit(following, threads)
                before = done.run
                for future in working:
                    self._take_in(future.result())
                self._stop_if_fruitless(done.run - before)
                plan, working = following, next_working
                bar.update(done.run - before)
                bar.set_postfix(self._standing(), refresh=False)
                if checkpoint is not None and checkpoint.is_due():
                    checkpoint.save(self._saver(plan), GROWING)
            for future in working:
                future.cancel()
        return done

    def _begin(self, checkpoint: Checkpoint | None) -> Generation:
        """The first plan, or the one that was in progress when the state was saved."""
        state = checkpoint.restore(self._read) if checkpoint is not None else None
        if state is not None:
            self.population, self._guidance.levels[:] = state.population, state.levels
            self._last, self._fruitless = state.last, state.fruitless
            return state.plan
        outcome = self._observe(
            Lineages(self.seeds.images, self.seeds.images, np.zeros(len(self.seeds), np.bool_)),
            np.arange(len(self.seeds)),
            np.full(len(self.seeds), -1, np.int16),
        )
        for name, items in outcome.items.items():
            self.population.visits.note(name, items, 0)
        self._guidance.judge(outcome.visits, np.ones(len(self.seeds), np.bool_))
        return self._plan(0)

    def _plan(self, generation: int) -> Generation:
        chosen = self.population.queue.rows["chosen"]
        rng = stream(self.seed, "fuzz", self.island, generation, "parents")
        parents = self._selection.choose(chosen, self._last, self.params.parents, rng)
        np.add.at(chosen, parents, 1)
        self._last = int(parents[-1])
        return Generation(generation, np.repeat(parents, self.params.mutants_per_parent))

    def _submit(self, plan: Generation, threads: ThreadPoolExecutor) -> list[Future[ChunkResult]]:
        starts = range(0, len(plan.parents), CHUNK)
        return [
            threads.submit(self._work, plan, number, plan.parents[start : start + CHUNK])
            for number, start in enumerate(starts)
        ]

    def _work(self, plan: Generation, number: int, parents: NDArray[np.int64]) -> ChunkResult:
        """Make and run the mutants of one chunk; in a thread of its own."""
        rng = stream(self.seed, "fuzz", self.island, plan.generation, "chunk", number)
        offspring = self._maker.make(self.population.queue.lineages(parents), rng)
        return self._observe(offspring.lineages, parents[offspring.parents], offspring.mutators)

    def _observe(
        self, mutants: Lineages, parents: NDArray[np.int64], mutators: NDArray[np.int16]
    ) -> ChunkResult:
        probabilities, states = self.network.run_serially(mutants.images)
        codes = self.model.abstraction.encode(states)
        items = {name: criterion.items(codes) for name, criterion in self._criteria.items()}
        guiding = items[self._guide] if self._guide else np.empty((len(mutants), 0), np.int32)
        predicted = probabilities.argmax(axis=1)
        return ChunkResult(mutants, parents, mutators, predicted, items, count_visits(guiding))

    def _take_in(self, outcome: ChunkResult) -> None:
        """Judge a chunk's mutants, in their order."""
        done = self.population
        if len(outcome.parents) > self.budget - done.run:
            outcome = outcome.first(self.budget - done.run)
        done.run += len(outcome.parents)
        for name, items in outcome.items.items():
            done.visits.note(name, items, done.run)
        crashed = outcome.predicted != done.queue.labels(outcome.parents)
        new = self._guidance.judge(outcome.visits, ~crashed)
        descent = done.queue.offspring(outcome.parents, outcome.mutators, done.run)
        if crashed.any():
            found: dict[str, NDArray[Any]] = {
                "images": outcome.mutants.images,
                "predicted": outcome.predicted,
                **descent,
            }
            done.crashes.add({name: column[crashed] for name, column in found.items()})
        if new.any():
            entries = np.flatnonzero(new)
            columns = {name: column[entries] for name, column in descent.items()}
            done.queue.add(outcome.mutants.only(entries), columns)

    def _stop_if_fruitless(self, made: int) -> None:
        self._fruitless = 0 if made else self._fruitless + 1
        if self._fruitless >= PATIENCE:
            raise UserError(
                "hardly any mutant is acceptable: widen fuzz.l0_share or fuzz.linf_share, "
                "or narrow the ranges in fuzz.mutators"
            )

    def _standing(self) -> dict[str, Any]:
        done = self.population
        covered = done.visits.coverage(self._guide or "basic_state", done.run)
        return {
            "queue": len(done.queue),
            "crashes": len(done.crashes),
            "coverage": f"{covered:.1%}",
        }

    def _saver(self, plan: Generation) -> Callable[[Path], None]:
        """Writes everything that the rest of the campaign depends on into a directory."""
        done = self.population
        progress: dict[str, NDArray[Any]] = {
            "levels": self._guidance.levels,
            "numbers": np.array([self._last, self._fruitless, plan.generation]),
            "parents": plan.parents,
        }

        def fill(directory: Path) -> None:
            done.save(directory)
            np.savez(directory / "progress.npz", allow_pickle=False, **progress)

        return fill

    def _read(self, directory: Path) -> _State:
        """What :meth:`_saver` wrote."""
        now = read_arrays(directory / "progress.npz")
        last, fruitless, generation = now["numbers"].tolist()
        return _State(
            Population.load(directory),
            now["levels"].reshape(self._guidance.levels.shape),
            last,
            fruitless,
            Generation(generation, now["parents"]),
        )
