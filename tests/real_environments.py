"""Environments of other versions, made from a package index as users make them."""

import pytest

from asterism.comparing.environment_making import make_environment
from asterism.core.messages.errors import UserError
from asterism.differential.adapters.environments import read_environment


def make_or_skip(name):
    """Make an environment; the test is skipped where no package index is reached."""
    try:
        make_environment(read_environment(name), print)
    except UserError as error:
        pytest.skip(f"no package index is reached: {error}")
