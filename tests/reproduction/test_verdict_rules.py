"""Quantities, intervals and the rules by which claims get verdicts."""

import math

import numpy as np
import pytest
from recorded_runs import recorded_point, recorded_run

from asterism.core.parameters.construction import configure
from asterism.reproduction.claims import read_claims
from asterism.reproduction.records import Quantity, estimate
from asterism.reproduction.rules import RULES, Outcome, four_digits
from places import ROOT

#: The quantile 0.975 of Student's t, by the degrees of freedom, from a printed table.
STUDENT = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262}


def point(metrics, seconds=None, **values):
    return recorded_point(metrics, values, processor_seconds_of_searches=seconds or {})


def recorded(*points, scale="small", experiment="one"):
    return {experiment: recorded_run(points, experiment, scale)}


@pytest.mark.parametrize("degrees", STUDENT)
def test_the_interval_is_students(degrees):
    sample = np.random.default_rng(degrees).normal(5, 2, degrees + 1)
    mean = math.fsum(sample) / len(sample)
    variance = math.fsum((value - mean) ** 2 for value in sample) / degrees
    half = STUDENT[degrees] * math.sqrt(variance / len(sample))
    found = estimate(sample)
    assert found.mean == pytest.approx(mean)
    assert (found.low, found.high) == pytest.approx((mean - half, mean + half), rel=1e-3)


def test_one_run_has_no_interval_and_equal_runs_have_one_without_width():
    assert (estimate([3.0]).low, estimate([3.0]).high) == (3.0, 3.0)
    assert (estimate([3.0, 3.0]).low, estimate([3.0, 3.0]).high) == (3.0, 3.0)


def test_a_quantity_is_taken_of_the_points_that_are_meant():
    runs = recorded(
        point({"a:x": 6.0, "a:y": 2.0}, {"a:s": 9.0}, seed="0", net="big"),
        point({"a:x": 8.0, "a:y": 4.0}, {"a:s": 1.0}, seed="1", net="big"),
        point({"a:x": 1.0}, seed="0", net="small"),
    )

    def sample(**facts):
        return Quantity(experiment="one", **facts).sample(runs)

    assert sample(value="a:x") == [6.0, 8.0, 1.0]
    assert sample(value="a:x", where={"net": "big"}) == [6.0, 8.0]
    assert sample(value="a:x", over="a:y", times=100) == [300.0, 200.0]
    assert sample(value="a:x", minus="a:y") == [4.0, 4.0]
    assert sample(value="processor_seconds:a:s") == [9.0, 1.0]
    assert sample(value="parameter:seed") == [0.0, 1.0, 0.0]
    assert sample(value="a:z") == []
    assert Quantity(experiment="other", value="a:x").sample(runs) == []


def test_points_that_failed_do_not_count():
    failed = recorded_point({"a:x": 1.0}, {}, status="failed")
    assert Quantity(experiment="one", value="a:x").sample(recorded(failed)) == []


CLOSE = {"within": 0.1, "partly": 0.5}
EXACT, EFFECT = CLOSE | {"exact": True}, CLOSE | {"no_effect": 1}
LEAST = {"bound": 100, "partly": 99}
EACH = {"bound": -0.5, "partly": -1, "each": True}
ALPHA = {"alpha": 0.05}
SIZE, MEANS = {"bound": 0.9}, {"bound": 0.9, "averaged": True}
RISING, WILD = [1, 2, 3, 4, 5], [3, 1, 4, 1, 5]
LONG, ROUGH = [1, 2, 3, 4, 5, 6, 7, 8], [1, 3, 2, 5, 3, 7, 5, 6]
CASES = [
    ("close", EXACT, 10, [10.5], [], "reproduced"),
    ("close", EXACT, 10, [12.0], [], "partly"),
    ("close", EXACT, -0.9, [-0.95], [], "reproduced"),
    ("close", CLOSE, 10, [10.5], [], "not decided"),  # one run of something that is drawn
    ("close", CLOSE, 10, [10.5, 10.4, 10.6], [], "reproduced"),
    ("close", CLOSE, 10, [9.0, 12.0, 15.0], [], "not decided"),  # the interval is wide
    ("close", CLOSE, 10, [40.0, 50.0, 60.0], [], "not reproduced"),  # wide, but far from 10
    ("close", CLOSE, 10, [10.0, 11.5, 13.0], [], "partly"),  # that it holds 10 is no reproduction
    ("close", CLOSE, 10, [12.0, 12.1, 11.9], [], "partly"),
    ("close", CLOSE, 10, [20.0, 20.1, 19.9], [], "not reproduced"),
    ("close", CLOSE, 10, [14.0, 16.0, 18.0], [], "not decided"),  # part of it is near enough
    ("close", CLOSE, None, [1.0], [], "not comparable"),
    ("close", EFFECT, 1.07, [1.06, 1.07, 1.08], [], "reproduced"),
    ("close", EFFECT, 1.07, [0.95, 1.07, 1.19], [], "not decided"),  # it holds 1, no effect
    ("close", EFFECT, 1.07, [0.99, 1.0, 1.01], [], "not reproduced"),  # and 1.07 lies beyond it
    ("close", EFFECT, 6.7, [0.9, 1.0, 1.1], [], "not reproduced"),
    ("close", EFFECT, 1.2, [0.89, 0.92, 0.95], [], "not reproduced"),  # all of it is below 1
    ("close", EFFECT, 0.8, [1.05, 1.08, 1.11], [], "not reproduced"),
    ("close", EFFECT, 1, [0.97, 0.971, 0.972], [], "reproduced"),  # no effect has no contrary
    ("close", EFFECT, 3, [0.7, 1.0, 1.3], [], "not reproduced"),  # though its end is near enough
    ("at_least", LEAST, 100, [100, 100], [], "reproduced"),
    ("at_least", LEAST, 100, [99.5, 99.6], [], "not decided"),
    ("at_least", LEAST, 100, [99.5, 99.5], [], "partly"),
    ("at_least", LEAST, 100, [90, 90.5], [], "not reproduced"),
    ("at_least", LEAST, 100, [100], [], "not decided"),
    ("at_least", LEAST | {"exact": True}, 100, [100], [], "reproduced"),
    ("at_least", EACH, None, [-0.4, -0.1, 0.1, 0.2], [], "reproduced"),
    ("at_least", EACH, None, [-0.6, 0.1, 0.1, 0.2, 0.2, 0.1], [], "partly"),  # one is below
    ("at_least", EACH, None, [-2.6, -2.5, -2.4], [], "not reproduced"),
    ("smaller", ALPHA, None, RISING, [2, 4, 6, 8, 10], "reproduced"),
    ("smaller", ALPHA, None, [2, 4, 6, 8, 10], RISING, "not reproduced"),
    ("smaller", ALPHA, None, [1, 2], [2, 4], "not decided"),
    ("smaller", ALPHA, None, [2, 4], [1, 2], "not decided"),
    ("smaller", ALPHA, None, [2, 4], [2, 4], "not reproduced"),
    ("falls_with", SIZE, None, RISING[::-1], RISING, "reproduced"),
    ("falls_with", SIZE, None, ROUGH[::-1], LONG, "partly"),
    ("falls_with", SIZE, None, RISING, RISING, "not reproduced"),
    ("falls_with", SIZE, None, WILD, RISING, "not decided"),
    ("rises_with", SIZE, None, RISING, RISING, "reproduced"),
    ("rises_with", SIZE, None, ROUGH, LONG, "partly"),
    ("rises_with", SIZE, None, RISING[::-1], RISING, "not reproduced"),
    ("rises_with", SIZE, None, WILD, RISING, "not decided"),
    ("rises_with", SIZE, None, RISING[:4], RISING[:4], "not decided"),  # four points are too few
    ("rises_with", SIZE, None, LONG, [0, 0, 0, 0, 0, 0, 1, 2], "not decided"),  # two points decide
    ("rises_with", MEANS, None, [0, 2, *RISING[1:]], [1, 1, *RISING[1:]], "reproduced"),
    ("rises_with", MEANS, None, RISING, [1, 1, 2, 3, 4], "not decided"),  # four places
    ("falls_with", SIZE, None, [1, 1, 1, 1, 1], RISING, "not decided"),
]


@pytest.mark.parametrize(("rule", "options", "paper", "sample", "other", "word"), CASES)
def test_a_rule_gives_its_verdict_with_a_reason(rule, options, paper, sample, other, word):
    judged_by = configure(RULES, rule, options)
    verdict = judged_by.judge(paper, sample, other)
    assert verdict.outcome == word
    assert verdict.reason
    assert judged_by.takes_two == bool(other)
    assert judged_by.words().startswith("reproduced where")


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_that_claims_use_gives_one_verdict_whatever_the_order_of_the_runs(rule):
    claims = [c for own in read_claims(ROOT / "results/claims").values() for c in own]
    used = [claim for claim in claims if claim.rule == rule]
    assert used, "no claim uses it"
    for claim in used:
        kind = claim.judged_by
        sample = [0.2, 5.0, 40.0, 99.0, 100.0]
        other = [0.1, 9.0, 30.0, 120.0, 50.0] if kind.takes_two else []
        verdict = kind.judge(claim.paper, sample, other)
        assert verdict.outcome in Outcome
        assert verdict.reason and "\n" not in verdict.reason
        turned = kind.judge(claim.paper, sample[::-1], other[::-1])
        assert turned.outcome == verdict.outcome


def test_numbers_have_four_digits():
    assert [four_digits(value) for value in (0.18612, 83.97, 5812.47, 59543.0)] == [
        "0.1861", "83.97", "5,812", "59,543",
    ]  # fmt: skip
