"""Workers that the tests of a file share."""

import pytest

from libraries.small_runs import working


@pytest.fixture(scope="module")
def worker_pool(request):
    """Workers for the file's ``POOL``, with the variables of its ``ENVIRONMENT``, if any."""
    environment = getattr(request.module, "ENVIRONMENT", None)
    with working(request.module.POOL, environment=environment) as made:
        yield made
