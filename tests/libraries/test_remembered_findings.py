"""Triage that is cut off and goes on: by a kill, by a ceiling of time, by a budget of steps."""

import json
from itertools import count

import pytest

from asterism.core.parameters.params import validate
from asterism.core.resuming.checkpoints import Checkpoint, SavedFacts, read_facts
from asterism.core.resuming.state import RunState
from asterism.core.settings.yaml_files import read_yaml
from asterism.differential.params import TriageSettings
from asterism.differential.shrinking.reducer import NO_CEILING, TriageBudget, TriageDeadline
from asterism.differential.shrinking.shrink import shrink_model
from asterism.differential.shrinking.unique_finding import UniqueFinding
from asterism.differential.triage.shrink_cache import (
    ShrunkFindings,
    open_shrunk_findings,
    triage_run,
)
from asterism.differential.triage.triage import Triage
from asterism.memo.graphs.store import write_weights
from libraries.small_results import Showing, made_finding, straight, triage_params, types
from places import ROOT

GRAPH = straight(["Dense", "ReLU", "LeakyReLU", "Softmax"])
FINDING, SECOND, THIRD = (
    made_finding("error", model=model, exception=name)
    for model, name in enumerate(("SIGABRT", "ValueError", "KeyError"))
)


class Killed(BaseException):
    """The process ends here."""


class Workers(Showing):
    """Workers in which every model with a LeakyReLU shows a finding."""

    def __init__(self, killed_at=None, dies=False):
        super().__init__(lambda graph, *_: "LeakyReLU" in types(graph))
        self.asked, self.deaths, self.killed_at, self.dies = 0, 0, killed_at, dies

    def look(self, graph, finding, **options):
        if self.asked == self.killed_at:
            raise Killed
        self.asked += 1
        self.deaths += self.dies
        return super().look(graph, finding, **options)


@pytest.fixture
def path(state_root):
    return RunState("triage_findings", "0" * 32).checkpoint("findings")


@pytest.fixture
def triaged(monkeypatch):
    """What a run of triage makes of findings, and what is left of them."""
    monkeypatch.setattr("asterism.differential.triage.triage.ablate", lambda *_: {})

    def run(path, workers, findings=(FINDING, SECOND, THIRD), ceiling=NO_CEILING, **budgets):
        memory = ShrunkFindings(None if path is None else SavedFacts(Checkpoint(path)))
        params = triage_params(**{"max_unique": 5, "max_steps": 50, **budgets})
        triage = Triage(workers, params, memory, ceiling)
        return triage.run(findings, [GRAPH] * 3, ["normal"])

    return run


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.6, 0.9])
def test_a_killed_run_goes_on_and_shrinks_nothing_twice(path, triaged, share):
    undisturbed = Workers()
    expected = triaged(None, undisturbed)
    each, killed_at = undisturbed.asked // 3, int(share * undisturbed.asked)
    with pytest.raises(Killed):
        triaged(path, Workers(killed_at))
    after = Workers()
    assert triaged(path, after) == expected
    assert after.asked == undisturbed.asked - each * (killed_at // each)
    nothing = Workers()
    assert triaged(path, nothing) == expected and nothing.asked == 0


def test_what_was_minimal_serves_every_budget_and_the_rest_its_own(path, triaged):
    cut = triaged(path, Workers(), max_steps=2)
    assert all("stopped by triage.max_steps=2; " in one.minimality for one in cut[0])
    same = Workers()
    assert triaged(path, same, max_steps=2) == cut and same.asked == 0
    more = Workers()
    whole = triaged(path, more, max_steps=50)
    assert whole == triaged(None, Workers(), max_steps=50) and more.asked > 0
    larger = Workers()
    assert triaged(path, larger, max_steps=60) == whole and larger.asked == 0


def test_runs_that_time_cuts_off_come_to_the_result_of_a_whole_one(path, triaged):
    expected = triaged(None, Workers())
    for run in range(1, 4):
        clock = count(step=60)  # each look at it takes a minute
        workers = Workers()
        found, left = triaged(path, workers, ceiling=TriageDeadline(1, clock.__next__))
        assert workers.asked, "each run advances"
        whole = [one for one in found if not one.out_of_time]
        assert len(whole) == run and all(one in expected[0] for one in whole)
        assert len(found) + len(left.groups) == 3 and (run == 3 or left.out_of_time)
    assert (found, left) == expected


def test_time_leaves_groups_and_names_them(triaged):
    """The most harmful findings are shrunk as far as there is time; the others are left."""
    undisturbed = Workers()
    triaged(None, undisturbed)
    minutes, clock = undisturbed.asked // 3 + 4, count(step=60)
    found, left = triaged(None, Workers(), ceiling=TriageDeadline(minutes, clock.__next__))
    whole, cut = sorted(found, key=lambda one: one.out_of_time)
    assert whole.finding.exception == "SIGABRT" and cut.out_of_time and not whole.out_of_time
    assert f"stopped by triage.minutes={minutes}; " in cut.minimality
    assert cut.minimality.endswith("and the next run resumes here")
    assert len(left.groups) == 1 and left.out_of_time
    assert left.because == f"triage.minutes={minutes}"


def test_gone_is_not_remembered_of_a_worker_that_died(path, triaged):
    triaged(path, Workers(dies=True))
    again = Workers()
    triaged(path, again)
    assert again.asked > 0 and len(read_facts(path)) == 3


def test_what_is_remembered_is_whole(path, triaged):
    """A finding by values: its layer, its distance and what it ran after."""
    off = made_finding(kind="gradient", excess=1.2345)
    first = triaged(path, Workers(), [off])
    assert first[0][0].layer is not None and first[0][0].finding.excess == off.excess
    again = triaged(path, Workers(), [off])
    assert again == first
    assert list(again[0][0].ablation) == list(first[0][0].ablation) != sorted(first[0][0].ablation)
    assert json.dumps(read_facts(path))


def test_what_was_left_is_counted_without_being_asked():
    graph, asked = straight(["Dense", "ReLU", "Softmax"]), []

    def shows(smaller):
        asked.append(smaller)
        return False

    shrink_model(graph, shows, TriageBudget(1000))
    whole = len(asked)
    for steps in (0, 3, whole - 1):
        asked.clear()
        budget = TriageBudget(steps)
        shrink_model(graph, shows, budget)
        assert (len(asked), len(budget.untried)) == (steps, whole - steps)


FOUND = UniqueFinding("error | jax", made_finding("error"), straight(["Dense"]), None, {0}, 1)


@pytest.fixture
def given(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    weights = tmp_path / "weights.npz"
    write_weights(weights, {})
    document = read_yaml(ROOT / "params.yaml")
    fields = TriageSettings.model_fields
    return weights, validate(TriageSettings, {key: document[key] for key in fields})


def changed(settings, section, **values):
    """Settings with other values in a section."""
    other = getattr(settings, section).model_copy(update=values)
    return settings.model_copy(update={section: other})


def test_a_larger_budget_finds_what_a_smaller_one_left(given):
    weights, settings = given
    run = triage_run(*given)
    for budget in ({"max_steps": 1}, {"minutes": 1.5}, {"max_unique": 1}):
        assert triage_run(weights, changed(settings, "triage", **budget)) == run
    other = changed(settings, "execute", distributions=["normal"])
    assert triage_run(weights, other) == run, "findings name theirs"


def test_other_workers_seeds_and_tolerances_find_nothing(given, tmp_path, monkeypatch):
    weights, settings = given
    other_weights = tmp_path / "other.npz"
    other_weights.write_bytes(weights.read_bytes() + b"\0")
    fewer = changed(settings, "execute", backends=settings.execute.backends[1:])
    runs = [
        triage_run(*given),
        triage_run(other_weights, *given[1:]),
        triage_run(weights, fewer),
        triage_run(weights, changed(settings, "execute", memory_mb=9)),
        triage_run(weights, changed(settings, "judge", ulps=9)),
        triage_run(weights, changed(settings, "triage", hang_seconds=9)),
        triage_run(weights, settings.model_copy(update={"seed": settings.seed + 1})),
    ]
    named = "asterism.differential.triage.shrink_cache.installed_versions"
    monkeypatch.setattr(named, lambda: {"jax": "0"})
    runs.append(triage_run(*given))
    monkeypatch.undo()
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    runs.append(triage_run(*given))
    assert len({run.key for run in runs}) == len(runs)


def test_nobody_removes_what_is_in_use_and_it_is_there_afterwards(given):
    run = triage_run(*given)
    with open_shrunk_findings(run) as memory:
        assert memory.shrunk(["finding"], 3, lambda: (FOUND, True)) is FOUND
        assert run.is_in_use() and not run.remove()
    with open_shrunk_findings(run) as memory:
        assert memory.shrunk(["finding"], 5, None) == FOUND
    assert run.units() == [] and run.damaged() == [] and run.remove()
