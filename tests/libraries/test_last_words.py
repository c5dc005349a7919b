"""What a worker that died said last: the abort's own words, the same on every run."""

import pytest

from asterism.differential.engine.messages import last_words, steady

RETRACING = "WARNING:tensorflow:5 out of the last 5 calls triggered tf.function retracing."
ABORTS = {
    "2026-11-24 01:24:11.123456: F /root/tensor_shape.cc:587] Check failed: size >= 0": (
        "F tensor_shape.cc:587] Check failed: size >= 0"
    ),
    "F0000 00:00:1732411451.123456   12345 tensor_shape.cc:587] Check failed: 0 < 1": (
        "F tensor_shape.cc:587] Check failed: 0 < 1"
    ),
    "free(): invalid pointer": "free(): invalid pointer",
    "double free or corruption (out)": "double free or corruption (out)",
    "LLVM ERROR: out of luck": "LLVM ERROR: out of luck",
    "python: x.cpp:12: int f(): Assertion `n > 0' failed.": (
        "python: x.cpp:12: int f(): Assertion `n > 0' failed."
    ),
}


@pytest.mark.parametrize(("line", "said"), ABORTS.items())
def test_an_abort_is_told_by_its_own_line(line, said):
    lines = [
        RETRACING,
        "W0000 00:00:1732411451.1 12 a.cc:1] slow",
        line,
        RETRACING,
        "    @ 0x7f12 f",
    ]
    told = steady("\n".join(last_words(lines)), end=True)
    assert told.startswith(said) and "retracing" not in told and "slow" not in told


def test_all_lines_of_an_exception_that_ends_a_process_are_told():
    lines = ["x", "terminate called after throwing an instance of 'E'", "  what():  no", "Aborted"]
    assert last_words(lines) == lines[1:]


def test_without_such_words_the_latest_lines_stand_but_no_warnings():
    lines = [RETRACING, *(f"line {n}" for n in range(12)), "x.py:3: UserWarning: no", RETRACING]
    assert last_words(lines) == [f"line {n}" for n in range(4, 12)]
    assert last_words([RETRACING]) == []
