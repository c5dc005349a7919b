"""The list of the files that take longest names files that there are."""

from pathlib import Path

from longest import LONGEST


def test_every_file_that_is_begun_first_exists():
    assert [name for name in LONGEST if not (Path(__file__).parent / name).is_file()] == []
    assert len(set(LONGEST)) == len(LONGEST)
