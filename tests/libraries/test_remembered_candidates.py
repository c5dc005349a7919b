"""Triage that is cut off and goes on: by a kill, by a ceiling of time, by a budget of steps."""

import random
import shutil
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asterism.core.resuming.checkpoints import saved_facts
from asterism.core.resuming.state import Run
from asterism.differential.oracle.finding import Finding
from asterism.differential.oracle.params import JudgeParams
from asterism.differential.triage.answers import Answers, Questions, key_of
from asterism.differential.triage.ceiling import NO_CEILING, Ceiling
from asterism.differential.triage.reproduction import Reproduced
from asterism.differential.triage.shrink import Shrinker
from asterism.differential.triage.triage import Triage
from libraries.test_shrinking import KINDS, straight, types
from libraries.test_triage import PARAMS, Everything

JUDGE = JudgeParams(ulps=64, conditioning=8)
FINDING = Finding(0, "error", "run", "jax", ("jax:jit",), ("normal",))


class Killed(BaseException):
    """The process ends here."""


class Workers:
    """Answers by a predicate that looks random, and can be killed before one of its answers."""

    def __init__(self, seed, wanted, killed_at=None):
        self.seed, self.wanted, self.killed_at = seed, wanted, killed_at
        self.asked = []

    def __call__(self, graph):
        if len(self.asked) == self.killed_at:
            raise Killed
        self.asked.append(key_of(graph.to_json()))
        has_all = set(self.wanted) <= set(types(graph))
        return has_all and random.Random(f"{self.seed} {self.asked[-1]}").random() < 0.7


@pytest.fixture
def path(state_root):
    return Run("triage_findings", "0" * 32).checkpoint("candidates")


@contextmanager
def kept(path):
    """Answers that are saved when the block ends; without a path nowhere."""
    if path is None:
        yield Answers()
        return
    with saved_facts(path) as facts:
        yield Answers(facts)


def shrunk(path, graph, workers, steps, ceiling=NO_CEILING):
    """A shrinker and its result, in a run of its own; without a path it remembers nothing."""
    with kept(path) as answers:
        questions = Questions(answers, "a finding", lambda: 0, ceiling)
        ask = lambda g: questions.ask(g.to_json(), lambda: workers(g))  # noqa: E731
        shrinker = Shrinker(ask, steps, ceiling)
        return shrinker, shrinker.shrink(graph)


#: Models, what shows it in them, and a budget of steps.
MODELS = st.lists(st.sampled_from(KINDS), min_size=2, max_size=12)
IN_TESTS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


@IN_TESTS
@given(MODELS, st.integers(0, 99), st.integers(0, 60), st.lists(st.integers(0, 12), max_size=4))
def test_a_killed_run_goes_on_to_the_same_result_and_asks_nothing_twice(
    path, kinds, seed, steps, kills
):
    shutil.rmtree(path, ignore_errors=True)
    graph, wanted = straight(kinds), kinds[:1]
    undisturbed = Workers(seed, wanted)
    whole, expected = shrunk(None, graph, undisturbed, steps)
    asked = []
    for killed_at in [*kills, None]:
        workers = Workers(seed, wanted, killed_at)
        try:
            shrinker, found = shrunk(path, graph, workers, steps)
        except Killed:
            assert killed_at is not None
        asked += workers.asked
    assert (found, shrinker.untried) == (expected, whole.untried)
    assert asked == undisturbed.asked


@IN_TESTS
@given(MODELS, st.integers(0, 99), st.integers(0, 40), st.integers(0, 40))
def test_more_steps_go_on_where_fewer_ended(path, kinds, seed, fewer, more):
    shutil.rmtree(path, ignore_errors=True)
    graph, wanted = straight(kinds), kinds[:1]
    undisturbed, first, second = (Workers(seed, wanted) for _ in range(3))
    _, expected = shrunk(None, graph, undisturbed, fewer + more)
    shrunk(path, graph, first, fewer)
    _, found = shrunk(path, graph, second, fewer + more)
    assert found == expected and first.asked + second.asked == undisturbed.asked
    assert not set(first.asked) & set(second.asked)


@IN_TESTS
@given(MODELS, st.integers(0, 99), st.integers(0, 8))
def test_runs_that_time_cuts_off_come_to_the_result_of_a_whole_one(path, kinds, seed, minutes):
    shutil.rmtree(path, ignore_errors=True)
    graph, wanted = straight(kinds), kinds[:1]
    undisturbed = Workers(seed, wanted)
    _, expected = shrunk(None, graph, undisturbed, 300)
    asked = []
    for run in count():
        workers, clock = Workers(seed, wanted), count(step=60)  # each look at it takes a minute
        ceiling = Ceiling(minutes + 1, clock.__next__)
        shrinker, found = shrunk(path, graph, workers, 300, ceiling)
        asked += workers.asked
        if not shrinker.untried:
            break
        assert shrinker.out_of_time and workers.asked, "each run advances"
        assert run <= len(undisturbed.asked)
    assert found == expected and asked == undisturbed.asked


def test_what_was_left_is_counted_without_being_asked():
    graph = straight(["Dense", "ReLU", "Softmax"])
    workers = Workers(0, ["Conv2D"])  # nothing smaller shows it
    Shrinker(workers, 1000).shrink(graph)
    for steps in (0, 3, len(workers.asked) - 1):
        fewer = Workers(0, ["Conv2D"])
        shrinker = Shrinker(fewer, steps)
        shrinker.shrink(graph)
        assert len(fewer.asked) == steps
        assert shrinker.untried == len(workers.asked) - steps


def test_gone_is_not_remembered_of_a_worker_that_died(path):
    deaths = SimpleNamespace(count=0)

    def ask(candidate, shows, dies):
        def run():
            deaths.count += dies
            return shows

        with kept(path) as answers:
            questions = Questions(answers, "a finding", lambda: deaths.count, NO_CEILING)
            return questions.ask(candidate, run), questions.recalled

    assert ask("lives", False, 0) == (False, 0) and ask("lives", True, 0) == (False, 1)
    assert ask("dies", False, 1) == (False, 0) and ask("dies", True, 1) == (True, 0)
    assert ask("dies", False, 0) == (True, 1)


def test_lines_that_are_no_answers_are_passed_over(path):
    with saved_facts(path) as facts:
        for line in ([1, 2, 3], {"a": 1}, None, ["a", "b", 1], ["a", "b", True, False]):
            facts.add(line)
    with kept(path) as answers:
        answers.add("a", "b", True)
    with kept(path) as answers:
        assert answers.earlier("a", "b") is True


class Spoilt(Everything):
    """Workers that one process' history has spoilt: every model shows the finding.

    In fresh ones only those with a LeakyReLU do.
    """

    def __init__(self, spoilt):
        self.spoilt, self.asked = spoilt, 0

    def look(self, graph, finding, *, everywhere=False, **_):
        self.asked += not everywhere
        shows = self.spoilt or "LeakyReLU" in types(graph)
        return Reproduced(finding if shows else None, dict.fromkeys(self.usable(), "ok"))


def triaged(monkeypatch, answers, workers, **budgets):
    triage = Triage(workers, JUDGE, PARAMS.model_copy(update=budgets), 0, answers)
    monkeypatch.setattr(triage, "_show", workers)
    return triage._shrunk(FINDING, straight(["Dense", "ReLU", "LeakyReLU", "Softmax"]), None)


def test_answers_of_spoilt_workers_are_struck_out_and_make_no_wrong_result(monkeypatch, path):
    with kept(path) as answers:
        wrong = triaged(monkeypatch, answers, Spoilt(True))
    assert types(wrong.graph) == ["Dense"]
    expected = triaged(monkeypatch, None, Spoilt(False))
    for run in range(2):
        workers = Spoilt(False)
        with kept(path) as answers:
            found = triaged(monkeypatch, answers, workers)
        assert types(found.graph) == ["LeakyReLU"]
        assert found == expected
        assert (workers.asked > 0) == (run == 0), "afterwards all is remembered"


class OnlyWhole(Spoilt):
    """No smaller model shows it where it runs in all backends."""

    def look(self, graph, finding, *, everywhere=False, **more):
        shown = super().look(graph, finding, everywhere=everywhere, **more)
        return (
            shown if not everywhere or len(graph.layers) == 4 else Reproduced(None, shown.answers)
        )


def test_what_only_the_whole_model_shows_is_shrunk_anew_once_and_not_in_every_run(
    monkeypatch, path
):
    found, asked = [], []
    for _ in range(4):
        workers = OnlyWhole(False)
        with kept(path) as answers:
            found.append(triaged(monkeypatch, answers, workers))
        asked.append(workers.asked)
    assert all(one == found[0] for one in found)
    assert found[0].minimality.startswith("not minimal, of 4 layers as before: none smaller")
    assert asked[0] == asked[1] > 0 and asked[2:] == [0, 0]


def test_a_budget_that_ends_it_says_what_it_would_take(monkeypatch):
    found = triaged(monkeypatch, None, Spoilt(False), max_steps=1)
    assert "stopped by triage.max_steps=1; " in found.minimality
    assert found.minimality.endswith(" smaller models are left to try") and not found.out_of_time


def test_time_leaves_groups_and_names_them(monkeypatch):
    """The most harmful finding is shrunk as far as there is time; the others are left."""
    clock = count(step=60)
    workers = Spoilt(False)
    triage = Triage(workers, JUDGE, PARAMS, 0, None, Ceiling(2, clock.__next__))
    monkeypatch.setattr(triage, "_show", workers)
    monkeypatch.setattr("asterism.differential.triage.triage.ablate", lambda *_: {})
    deadly = Finding(1, "error", "run", "jax", ("jax:jit",), ("normal",), exception="SIGABRT")
    graphs = [straight(["Dense", "ReLU", "LeakyReLU", "Softmax"])] * 2
    (found,), left = triage.run([FINDING, deadly], graphs, ["normal"])
    assert found.finding.exception == "SIGABRT" and found.out_of_time
    assert "stopped by triage.minutes=2; " in found.minimality
    assert found.minimality.endswith("and the next run goes on here")
    assert left.groups == [[FINDING]] and left.out_of_time and left.because == "triage.minutes=2"
