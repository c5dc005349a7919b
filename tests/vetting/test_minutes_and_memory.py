"""Minutes and memory as counts."""

import pytest
from small_vetting import vet_params

from asterism.asking.budget import InputCost, fit_counts_to_budget

GIVEN, SMALL = 400, 1000


def asked(minutes=5.0, seconds=0.001, size=SMALL, answer=10, settled=(), resumes=True):
    params = vet_params("images")
    cost = InputCost(seconds, size, answer, changing=seconds)
    return fit_counts_to_budget(
        minutes, params, GIVEN, cost, lambda name: name not in settled, resumes
    )


def test_what_is_cheap_is_asked_in_full():
    assert asked(seconds=1e-4) == ({}, "")


def test_a_fuller_answer_is_told_and_its_minutes_suffice():
    smaller, told = asked(seconds=0.05)
    assert 0 < smaller["search__seeds"] < 100 and "memory" not in told.lower()
    minutes = 5 + float(told.rsplit("--minutes ", 1)[1])
    assert asked(minutes, seconds=0.05) == ({}, "")
    assert asked(minutes / 2, seconds=0.05)[0]["search__seeds"] > smaller["search__seeds"]


def test_large_answers_leave_room_in_memory_whatever_the_minutes():
    smaller, told = asked(minutes=1e6, size=3 << 20, answer=8 << 20)
    assert set(smaller) == {"limit", "search__seeds", "repair__inputs"}
    assert "would not fit into memory" in told and "--minutes" not in told
    held = smaller["limit"] * 2 * 4 * (8 << 20)
    assert 0.5e9 < held < 1.5e9


@pytest.mark.parametrize("name", ["limit", "search.queries"])
def test_what_the_command_line_says_stays(name):
    smaller, told = asked(seconds=2.0, settled=(f"vet.{name}",))
    assert name.replace(".", "__") not in smaller and f"{name} " not in told.split(".")[0]
    assert smaller
