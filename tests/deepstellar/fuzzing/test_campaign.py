"""Whole campaigns on a small real network."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from structlog.testing import capture_logs
from worlds import World, params

from asterism.core.files.artifacts import read_arrays
from asterism.core.messages.errors import UserError
from asterism.core.resuming import checkpoints
from asterism.core.resuming.checkpoints import Checkpoint
from asterism.deepstellar.criteria import TraceCriterion, build_trace_criteria
from asterism.deepstellar.fuzzing import campaign as campaign_module
from asterism.deepstellar.fuzzing import results
from asterism.deepstellar.fuzzing.campaign import FuzzingCampaign
from asterism.deepstellar.fuzzing.fuzz import fuzz, unite_islands
from asterism.deepstellar.fuzzing.guidance import GUIDING, Guidance, count_visits
from asterism.deepstellar.fuzzing.population import Population
from asterism.deepstellar.selections import SELECTIONS
from asterism.models.recurrent import RecurrentModel

TRACE_CRITERIA = ["state", "k_step", "transition", "none"]


def contents(found: Population) -> dict[str, Any]:
    """Everything that a campaign found, to be compared."""
    return {
        **{f"queue {k}": v for k, v in found.queue.rows.arrays().items()},
        **{f"crashes {k}": v for k, v in found.crashes.rows.arrays().items()},
        **{f"visits {k}": v for k, v in found.visits.found.items()},
        "run": np.array(found.run),
    }


def assert_same(one: Population, other: Population) -> None:
    left, right = contents(one), contents(other)
    assert left.keys() == right.keys()
    for name in left:
        assert np.array_equal(left[name], right[name]), name


def run(world: World, criterion: str = "state", **changes: Any) -> Population:
    return fuzz(world.network, world.model, world.seeds, params(**changes), criterion, seed=5)


def campaign(
    world: World, criterion: str = "state", island: int = 0, mutants: int = 1500, **changes: Any
) -> FuzzingCampaign:
    """One island's campaign."""
    subject = (world.network, world.model, world.seeds, params(**changes))
    return FuzzingCampaign(*subject, criterion, 5, island, mutants)


def images_of(found: Population) -> Any:
    return found.crashes.rows["images"]


def codes(world: World, images: Any) -> Any:
    return world.model.abstraction.encode(world.network.run(images)[1])


def covering(world: World, name: str, *sets: Any) -> TraceCriterion:
    """A criterion that has seen some sets of images."""
    criterion = build_trace_criteria(world.model, [name])[name]
    for images in sets:
        criterion.update(codes(world, images))
    return criterion


@pytest.mark.parametrize("criterion", TRACE_CRITERIA)
def test_what_a_campaign_claims_is_true(world: World, criterion: str) -> None:
    found = run(world, criterion)
    queue, crashes = found.queue.rows, found.crashes.rows
    assert found.run == 1500
    # Descent.
    seeds = len(world.seeds)
    assert (queue["parent"][:seeds] == -1).all()
    assert (queue["parent"][seeds:] < np.arange(seeds, len(queue))).all()
    assert np.array_equal(queue["root"][seeds:], queue["root"][queue["parent"][seeds:]])
    assert np.array_equal(crashes["root"], queue["root"][crashes["parent"]])
    assert np.array_equal(queue["label"], world.seeds.labels[queue["root"]])
    # Predictions.
    assert len(crashes) > 20
    predicted = world.network.run(crashes["images"])[0].argmax(axis=1)
    assert np.array_equal(predicted, crashes["predicted"])
    assert (predicted != crashes["label"]).all()
    assert np.array_equal(world.network.run(queue["images"])[0].argmax(axis=1), queue["label"])
    assert len({image.tobytes() for image in crashes["images"]}) == len(crashes)
    # Every entry of the queue was new when it came; together they are all that guidance knows.
    if criterion == "none":
        assert len(queue) == seeds
        return
    assert criterion == "k_step" or len(queue) > seeds + 10
    guide = covering(world, GUIDING[criterion])
    judged = Guidance(len(guide.covered)).judge(
        count_visits(guide.items(codes(world, queue["images"]))), np.ones(len(queue), np.bool_)
    )
    assert judged[seeds:].all()


@pytest.mark.parametrize("name", sorted(filter(None, GUIDING.values())))
def test_first_visits_cover_what_the_kept_inputs_cover(world: World, name: str) -> None:
    found = run(world)
    at_first = covering(world, name, world.seeds.images)
    assert np.array_equal(at_first.covered, found.visits.found[name] == 0)
    assert found.visits.found[name].min() == -1
    assert found.visits.coverage(name, 0) == at_first.value()
    kept = covering(world, name, found.queue.rows["images"], found.crashes.rows["images"])
    assert (found.visits.found[name][kept.covered] >= 0).all()
    assert found.visits.coverage(name, found.run) >= kept.value()


def test_coverage_grows_and_guidance_pays(world: World) -> None:
    table = results.history_columns(run(world))
    for name in ("queue", "crashes", "basic_state", "basic_transition"):
        assert np.all(np.diff(table[name]) >= 0)
    assert table["basic_state"][-1] > table["basic_state"][0]
    assert table["mutants"] == list(range(0, 1501, 15))


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_threads_do_not_change_the_result(
    world: World, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RecurrentModel, "workers", property(lambda _: workers))
    monkeypatch.setattr(campaign_module, "CHUNK", 32)
    several = run(world)
    monkeypatch.setattr(RecurrentModel, "workers", property(lambda _: 2))
    assert_same(several, run(world))


@pytest.mark.parametrize("chunk", [1, 32, 50, 128])
def test_every_parent_of_a_plan_is_bred_in_its_turn(
    world: World, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign_module, "CHUNK", chunk)
    task = campaign(world)
    monkeypatch.setattr(task, "_work", lambda plan, number, parents: (number, parents))
    plan = campaign_module.Generation(0, np.arange(128) % 7)
    with ThreadPoolExecutor(1) as threads:
        done = [future.result() for future in task._submit(plan, threads)]
    assert [number for number, _ in done] == list(range(len(done)))
    assert max(len(parents) for _, parents in done) == chunk
    assert np.array_equal(np.concatenate([parents for _, parents in done]), plan.parents)


def test_another_seed_gives_another_result(world: World) -> None:
    one = run(world)
    other = fuzz(world.network, world.model, world.seeds, params(), "state", seed=6)
    assert not np.array_equal(one.crashes.rows["found"], other.crashes.rows["found"])


@pytest.mark.parametrize("budget", [1, 100, 128, 129, 700])
def test_a_larger_budget_begins_like_a_smaller_one(world: World, budget: int) -> None:
    short, long = run(world, mutants=budget), run(world)
    assert short.run == budget
    for table in ("queue", "crashes"):
        early, late = getattr(short, table).rows, getattr(long, table).rows
        for name in ("images", "parent", "root", "mutator", "label"):
            assert np.array_equal(early[name], late[name][: len(early)])


@pytest.mark.parametrize("selection", SELECTIONS.names())
def test_every_selection_strategy_runs(world: World, selection: str) -> None:
    found = run(world, selection={"name": selection, "options": {}}, mutants=400)
    assert found.run == 400
    assert found.queue.rows["chosen"].sum() >= 400 / 4


def test_a_campaign_without_acceptable_mutants_ends_and_says_so(world: World) -> None:
    with pytest.raises(UserError, match="hardly any mutant"):
        run(world, mutators={"gaussian_noise": {"low": 90, "high": 90}}, weights={}, l0_share=0)


def test_only_so_many_fruitless_generations_in_a_row_end_a_campaign(world: World) -> None:
    task = campaign(world)
    for made in ([0] * (campaign_module.PATIENCE - 1) + [1]) * 2:
        task._stop_if_fruitless(made)
    for _ in range(campaign_module.PATIENCE - 1):
        task._stop_if_fruitless(0)
    with pytest.raises(UserError, match="hardly any mutant"):
        task._stop_if_fruitless(0)


class Killed(Exception):  # noqa: N818
    """Stands for the end of the process."""


class FragileCheckpoint(Checkpoint):
    """Dies after so many savings."""

    lives = 0

    def save(self, fill: Any, grows: Any = ()) -> None:
        super().save(fill, grows)
        self.lives -= 1
        if self.lives == 0:
            raise Killed


@pytest.mark.parametrize("criterion", TRACE_CRITERIA)
def test_an_interrupted_campaign_goes_on_to_the_same_result(
    world: World, criterion: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASTERISM_STATE_ROOT", str(tmp_path))
    monkeypatch.setattr(checkpoints, "SAVE_EVERY", 0)
    undisturbed = run(world, criterion)
    store = FragileCheckpoint(tmp_path / "checkpoint")
    for lives in (1, 4, 2):
        store.lives = lives
        with pytest.raises(Killed):
            campaign(world, criterion).run(store)
    store.lives = 1000
    assert_same(campaign(world, criterion).run(store), undisturbed)


# Islands.


@pytest.mark.parametrize(
    ("mutants", "islands", "guided"), [(200, 1, False), (600, 3, False), (600, 1, True)]
)
def test_a_budget_that_leaves_nothing_to_guide_is_one_run_and_said_to_be(
    world: World, mutants: int, islands: int, guided: bool
) -> None:
    found, told = [], []
    for criterion in ("state", "none"):
        with capture_logs() as logs:
            found.append(run(world, criterion, mutants=mutants, islands=islands))
        told.append([entry for entry in logs if entry["log_level"] == "warning"])
    state, none = (images_of(one) for one in found)
    assert np.array_equal(state, none) == (not guided)
    assert told[1] == [], "the unguided campaign is what it shall be"
    assert bool(told[0]) == (not guided)
    for warning in told[0]:
        assert "raise fuzz.mutants" in warning["event"]
        assert warning["well_above"] == 2 * 32 * 4 * islands


def test_islands_are_united_in_their_order(world: World) -> None:
    islands = [campaign(world, island=i, mutants=500, islands=3).run() for i in (2, 0, 1)]
    united = unite_islands([islands[1], islands[2], islands[0]], len(world.seeds))
    assert_same(united, run(world, islands=3))
    assert united.run == 1500
    assert len(united.queue) == 12 + sum(len(i.queue) - 12 for i in islands)
    images = [image.tobytes() for i in islands for image in i.crashes.rows["images"]]
    assert len(united.crashes) == len(set(images)) <= len(images)
    queue = united.queue.rows
    assert np.array_equal(queue["root"][12:], queue["root"][queue["parent"][12:]])
    assert np.array_equal(united.crashes.rows["root"], queue["root"][united.crashes.rows["parent"]])
    assert np.all(np.diff(united.crashes.rows["found"]) >= 0)
    for name, first in united.visits.found.items():
        units = [island.visits.found[name] >= 0 for island in islands]
        assert np.array_equal(first >= 0, np.any(units, axis=0))


@pytest.mark.parametrize("budget", [7, 1000])
def test_nothing_is_found_after_the_last_mutant_of_all_islands(world: World, budget: int) -> None:
    united = run(world, mutants=budget, islands=3)
    moments = [united.queue.rows["found"], united.crashes.rows["found"]]
    assert max(found.max() for found in [*moments, *united.visits.found.values()]) <= united.run
    last = {name: column[-1] for name, column in results.history_columns(united).items()}
    assert last["mutants"] == budget
    assert (last["queue"], last["crashes"]) == (len(united.queue), len(united.crashes))
    for name, found in united.visits.found.items():
        assert last[name] == np.count_nonzero(found >= 0) / len(found)


# Files.


def test_files_and_tables(world: World, tmp_path: Path) -> None:
    found = run(world)
    names = list(params().mutators)
    crashes = results.save_population(found, names, tmp_path)
    queue = pl.read_csv(tmp_path / "queue.csv")
    assert np.array_equal(read_arrays(tmp_path / "queue.npz")["images"], found.queue.rows["images"])
    # Chains, followed by hand.
    rows = {row["id"]: row for row in queue.to_dicts()}
    for row in crashes.to_dicts():
        chain, current = [row["mutator"]], rows[row["parent"]]
        while current["parent"] >= 0:
            chain.insert(0, current["mutator"])
            current = rows[current["parent"]]
        assert row["mutators"] == " > ".join(chain)
        assert current["id"] == row["seed"]
    # Groups, counted by hand.
    groups: dict[tuple[int, int, int], list[int]] = {}
    for row in crashes.to_dicts():
        groups.setdefault((row["label"], row["predicted"], row["seed"]), []).append(row["id"])
    table = pl.read_csv(tmp_path / "crash_groups.csv").to_dicts()
    assert [((g["label"], g["predicted"], g["seed"]), g["crashes"], g["first"]) for g in table] == [
        (kind, len(ids), ids[0]) for kind, ids in groups.items()
    ]
    numbers = results.campaign_metrics(found, crashes)
    assert numbers["crash_groups"] == len(groups)
    assert numbers["crashes"] == len(crashes) == len(found.crashes)
    corpus = results.Corpus.load(tmp_path, "crashes")
    assert np.array_equal(corpus.images, found.crashes.rows["images"])
    assert len(corpus.table) == len(corpus.labels)


def test_a_campaign_without_crashes_leaves_readable_files(world: World, tmp_path: Path) -> None:
    gentle = {"brightness": {"low": 1, "high": 1}}
    found = run(world, mutators=gentle, weights={}, mutants=1)
    found.crashes = type(found.crashes).none_yet(world.seeds.images)
    columns = ("images", "parent", "root", "mutator", "found", "label", "predicted")
    assert {name: len(found.crashes.rows[name]) for name in columns} == dict.fromkeys(columns, 0)
    assert found.crashes.rows["images"].shape == (0, 8, 8, 1)
    assert found.crashes.rows["images"].dtype == np.uint8
    crashes = results.save_population(found, ["brightness"], tmp_path)
    assert results.campaign_metrics(found, crashes)["crash_groups"] == 0
    assert len(results.Corpus.load(tmp_path, "crashes").table) == 0
    assert len(results.Corpus.load(tmp_path, "queue").images) == len(found.queue)
