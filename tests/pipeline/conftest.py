"""Fixtures of the tests that share results: a project that has run, and a server to share by."""

import sys
from pathlib import Path

import pytest
from sharing import call, free_port, served
from small_pipeline import Project
from workspace import commit


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A project whose pipeline has run and is committed, in pristine form."""
    project = Project(tmp_path_factory.mktemp("finished"))
    call(project, "dvc", "repro", "-q")
    commit(project.root, "results")
    return project


@pytest.fixture
def project(finished, tmp_path):
    """A copy of it, to change at will."""
    return Project(tmp_path, copied=finished)


@pytest.fixture(scope="module")
def server():
    """Address of a real S3 server on loopback that checks who asks, and a client of it."""
    import boto3

    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [Path(sys.executable).parent / "moto_server", "-H", "127.0.0.1", "-p", port]
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    with served(command, port, INITIAL_NO_AUTH_ACTION_COUNT="1000000"):
        yield address, boto3.client("s3", endpoint_url=address, region_name="us-east-1", **keys)
