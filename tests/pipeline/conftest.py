"""Fixtures of the tests that share results: a project that has run, and a server to share by."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sharing import call, free_port
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
    copy = Project(tmp_path, copied=finished)
    shutil.copytree(finished.root, copy.root, symlinks=True)
    return copy


@pytest.fixture(scope="module")
def server():
    """Address of a real S3 server on loopback that checks who asks, and a client of it."""
    import boto3
    import requests

    port = free_port()
    process = subprocess.Popen(
        [Path(sys.executable).parent / "moto_server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"INITIAL_NO_AUTH_ACTION_COUNT": "1000000"},
    )
    address = f"http://127.0.0.1:{port}"
    try:
        begun = time.monotonic()
        while True:
            try:
                requests.get(f"{address}/moto-api/", timeout=2)
                break
            except requests.ConnectionError:
                assert time.monotonic() - begun < 60, "moto_server does not start"
                time.sleep(0.2)
        keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
        yield address, boto3.client("s3", endpoint_url=address, region_name="us-east-1", **keys)
    finally:
        process.terminate()
        process.wait(20)
