"""Situations that people report: is what the program says of each right?

Case 08 fetches packages; no other one needs a network.
"""

import pytest
from truths import cases, written_command

from places import SHARED

FOLDER = SHARED / "cases"
NAMES = cases.cases_in(FOLDER) if FOLDER.is_dir() else []


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The command, and where files of cases are made, which some share."""
    return written_command(tmp_path_factory.mktemp("bin")), tmp_path_factory.mktemp("cases")


@pytest.mark.slow
@pytest.mark.skipif(not NAMES, reason="the cases are not on this machine")
@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_of_a_case_is_right(name, places):
    command, work = places
    ran = cases.run_case(FOLDER, name, work, command)
    assert cases.wrong_with(ran) == [], cases.shown(ran)
