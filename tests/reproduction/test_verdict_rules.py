"""Quantities, intervals and the rules by which claims get verdicts."""

import math

import numpy as np
import pytest
from recorded_runs import recorded_point, recorded_run

from asterism.core.parameters.construction import options_of
from asterism.reproduction.claims import read_claims
from asterism.reproduction.quantities import Quantity, estimate
from asterism.reproduction.rules import (
    NOT_COMPARABLE,
    NOT_REPRODUCED,
    PARTLY,
    REPRODUCED,
    RULES,
    VERDICTS,
    number,
)
from places import ROOT

#: The quantile 0.975 of Student's t, by the degrees of freedom, from a printed table.
STUDENT = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262}


def point(metrics, seconds=None, **values):
    return recorded_point(metrics, values, seconds_of_searches=seconds or {})


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
    assert (estimate([3.0]).low, estimate([3.0]).high) == (None, None)
    assert not estimate([3.0]).contains(3.0)
    assert (estimate([3.0, 3.0]).low, estimate([3.0, 3.0]).high) == (3.0, 3.0)
    assert estimate([3.0, 3.0]).contains(3.0)


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
    assert sample(value="seconds:a:s") == [9.0, 1.0]
    assert sample(value="parameter:seed") == [0.0, 1.0, 0.0]
    assert sample(value="a:z") == []
    assert Quantity(experiment="other", value="a:x").sample(runs) == []


def test_points_that_failed_do_not_count():
    failed = recorded_point({"a:x": 1.0}, {}, status="failed")
    assert Quantity(experiment="one", value="a:x").sample(recorded(failed)) == []


CLOSE = {"within": 0.1, "partly": 0.5}
CASES = [
    ("close", CLOSE, 10, [10.5], [], REPRODUCED),
    ("close", CLOSE, 10, [12.0], [], PARTLY),
    ("close", CLOSE, 10, [9.0, 12.0, 15.0], [], PARTLY),  # the interval contains 10, and is wide
    ("close", CLOSE, 10, [10.0, 11.5, 13.0], [], REPRODUCED),  # it contains 10, and is narrow
    ("close", CLOSE, 10, [12.0, 12.1, 11.9], [], PARTLY),
    ("close", CLOSE, 10, [1.0, 39.0], [], NOT_REPRODUCED),  # it does too, but 20 is far away
    ("close", CLOSE, -0.9, [-0.95], [], REPRODUCED),
    ("close", CLOSE, None, [1.0], [], NOT_COMPARABLE),
    ("at_least", {"bound": 100, "partly": 99}, 100, [100, 100], [], REPRODUCED),
    ("at_least", {"bound": 100, "partly": 99}, 100, [100, 99], [], PARTLY),
    ("at_least", {"bound": 100, "partly": 99}, 100, [98], [], NOT_REPRODUCED),
    ("at_least", {"bound": 28, "partly": 14}, 28, [20, 90], [], PARTLY),  # the interval is wide
    ("at_most", {"bound": 4, "partly": 8}, 4, [3, 3.1], [], REPRODUCED),
    ("at_most", {"bound": 4, "partly": 8}, 4, [2, 4], [], PARTLY),
    ("at_most", {"bound": 4, "partly": 8}, 4, [8], [], PARTLY),
    ("at_most", {"bound": 4, "partly": 8}, 4, [9], [], NOT_REPRODUCED),
    ("between", {"low": 1, "high": 2}, None, [1.5], [], REPRODUCED),
    ("between", {"low": 1, "high": 2}, None, [1.4, 1.41], [], REPRODUCED),
    ("between", {"low": 1, "high": 2}, None, [1.1, 1.7], [], PARTLY),
    ("between", {"low": 1, "high": 2}, None, [3.0, 3.01, 3.0], [], NOT_REPRODUCED),
    ("smaller", {"alpha": 0.05}, None, [1, 2, 3, 4, 5], [2, 4, 6, 8, 10], REPRODUCED),
    ("smaller", {"alpha": 0.05}, None, [1, 2], [2, 4], PARTLY),
    ("smaller", {"alpha": 0.05}, None, [2, 4], [1, 2], NOT_REPRODUCED),
    ("smaller", {"alpha": 0.05}, None, [2, 4], [2, 4], NOT_REPRODUCED),
    ("falls_with", {"bound": 0.9, "partly": 0.5}, None, [3, 2, 1], [1, 2, 3], REPRODUCED),
    ("falls_with", {"bound": 0.9, "partly": 0.5}, None, [3, 1, 1], [1, 2, 3], PARTLY),
    ("rises_with", {"bound": 0.9, "partly": 0.5}, None, [3, 2, 1], [1, 2, 3], NOT_REPRODUCED),
    ("rises_with", {"bound": 0.9, "partly": 0.5}, None, [1, 1, 3], [1, 2, 3], PARTLY),
    ("rises_with", {"bound": 0.9, "partly": 0.5}, None, [1, 2, 3], [1, 2, 3], REPRODUCED),
    ("rises_with", {"bound": 0.9, "partly": 0.5}, None, [1, 2], [1, 2], NOT_COMPARABLE),
    ("falls_with", {"bound": 0.9, "partly": 0.5}, None, [1, 2, 3], [1, 2, 3], NOT_REPRODUCED),
    ("falls_with", {"bound": 0.9, "partly": 0.5}, None, [1, 2], [2, 1], NOT_COMPARABLE),
    ("falls_with", {"bound": 0.9, "partly": 0.5}, None, [1, 1, 1], [1, 2, 3], NOT_COMPARABLE),
]


@pytest.mark.parametrize(("rule", "options", "paper", "sample", "other", "word"), CASES)
def test_a_rule_gives_its_verdict_with_a_reason(rule, options, paper, sample, other, word):
    kind = RULES[rule]
    verdict = kind.judge(options_of(RULES, rule, options), paper, sample, other)
    assert verdict.word == word
    assert verdict.reason
    assert kind.takes_two == bool(other)


def test_every_rule_has_a_case_for_each_of_its_verdicts_and_says_its_bounds():
    words = {rule: set() for rule in RULES}
    for rule, options, _, _, _, word in CASES:
        words[rule].add(word)
        told = RULES[rule].words(options_of(RULES, rule, options))
        assert told.startswith("reproduced where")
    assert all(found >= {REPRODUCED, PARTLY, NOT_REPRODUCED} for found in words.values())


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_that_claims_use_gives_one_verdict_whatever_the_order_of_the_runs(rule):
    claims = [c for own in read_claims(ROOT / "results/claims").values() for c in own]
    used = [claim for claim in claims if claim.rule == rule]
    assert used, "no claim uses it"
    for claim in used:
        options = options_of(RULES, rule, claim.options)
        kind = RULES[rule]
        sample = [0.2, 5.0, 40.0, 99.0, 100.0]
        other = [0.1, 9.0, 30.0, 120.0, 50.0] if kind.takes_two else []
        verdict = kind.judge(options, claim.paper, sample, other)
        assert verdict.word in VERDICTS
        assert verdict.reason and "\n" not in verdict.reason
        turned = kind.judge(options, claim.paper, sample[::-1], other[::-1])
        assert turned.word == verdict.word
        assert claim.words().startswith("reproduced where")


def test_numbers_have_four_digits():
    assert [number(value) for value in (0.18612, 83.97, 5812.47, 59543.0)] == [
        "0.1861", "83.97", "5,812", "59,543",
    ]  # fmt: skip
