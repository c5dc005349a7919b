"""Guidance against a fuzzer that looks at one mutant at a time."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from asterism.deepstellar.fuzzing.guidance import Guidance, bucket_visits, count_visits

ITEMS = 6
traces = arrays(np.int32, st.tuples(st.integers(0, 12), st.integers(1, 20)),
                elements=st.integers(-1, ITEMS - 1))  # fmt: skip


def slow_bucket(count: int) -> int:
    for number, upto in enumerate([0, 1, 2, 3, 7, 15, 31, 127]):
        if count <= upto:
            return number
    return 8


class SlowGuidance:
    def __init__(self) -> None:
        self.highest: dict[int, int] = {}

    def judge(self, trace: list[int]) -> bool:
        new = False
        for item, visits in Counter(trace).items():
            if item >= 0 and slow_bucket(visits) > self.highest.get(item, 0):
                self.highest[item] = slow_bucket(visits)
                new = True
        return new


def test_buckets_are_those_of_afl() -> None:
    counts = np.arange(300)
    assert bucket_visits(counts).tolist() == [slow_bucket(c) for c in counts.tolist()]


@example(items=np.full((5, 4), -1, np.int32))
@given(items=traces)
def test_visits_are_counted_per_trace(items: np.ndarray) -> None:
    visits = count_visits(items)
    got = {
        (int(t), int(i)): int(b)
        for t, i, b in zip(visits.traces, visits.items, visits.buckets, strict=True)
    }
    expected = {
        (number, item): slow_bucket(count)
        for number, trace in enumerate(items.tolist())
        for item, count in Counter(trace).items()
        if item >= 0
    }
    assert got == expected
    assert len(got) == len(visits.traces)


@given(items=traces, data=st.data())
def test_judging_agrees_with_one_at_a_time_in_any_division(
    items: np.ndarray, data: st.DataObject
) -> None:
    among = data.draw(arrays(np.bool_, len(items)))
    slow = SlowGuidance()
    expected = [bool(a) and slow.judge(t) for t, a in zip(items.tolist(), among, strict=True)]
    whole = Guidance(ITEMS)
    assert whole.judge(count_visits(items), among).tolist() == expected
    assert whole.levels.tolist() == [slow.highest.get(i, 0) for i in range(ITEMS)]
    cut = data.draw(st.integers(0, len(items)))
    units = Guidance(ITEMS)
    first = units.judge(count_visits(items[:cut]), among[:cut]).tolist()
    assert first + units.judge(count_visits(items[cut:]), among[cut:]).tolist() == expected


def test_an_unguided_campaign_finds_nothing_new() -> None:
    visits = count_visits(np.empty((5, 0), np.int32))
    assert not Guidance(0).judge(visits, np.ones(5, np.bool_)).any()
