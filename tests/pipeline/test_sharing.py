"""One person pushes, another pulls: through a folder, and through a real S3 server."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_pipeline import Project
from workspace import commit

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}


def call(project, *command, folder=None, check=True, **environment):
    result = subprocess.run(
        [str(part) for part in command],
        cwd=folder or project.root,
        env=project.environment | KEYS | environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert not check or result.returncode == 0, result.stdout[-4000:]
    return result.stdout if check else (result.returncode, result.stdout)


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
    """Address of a real S3 server on loopback that checks who asks."""
    import boto3
    import requests

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
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
        yield address, boto3
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.slow)])
def remote(request, project, tmp_path):
    """A remote that the project has been given, and a function that damages its objects."""
    if request.param == "folder":
        store = tmp_path / "store"

        def damage():
            for path in store.rglob("*"):
                if path.is_file() and "runs" not in path.parts:
                    mode = path.stat().st_mode
                    path.chmod(0o644)
                    path.write_bytes(b"damaged" + path.read_bytes())
                    path.chmod(mode)

        add_remote(project, store)
        return damage
    address, boto3 = request.getfixturevalue("server")
    bucket = f"bucket-{tmp_path.name.replace('_', '-')[-30:].lower().strip('-[]')}"
    bucket = "".join(c for c in bucket if c.isalnum() or c == "-")
    client = boto3.client(
        "s3",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    )
    client.create_bucket(Bucket=bucket)

    def damage():
        for found in client.list_objects_v2(Bucket=bucket)["Contents"]:
            if "/runs/" not in found["Key"]:
                body = client.get_object(Bucket=bucket, Key=found["Key"])["Body"].read()
                client.put_object(Bucket=bucket, Key=found["Key"], Body=b"damaged" + body)

    add_remote(project, f"s3://{bucket}/store", endpointurl=address)
    return damage


def add_remote(project, url, **settings):
    call(project, *make("remote"), f"URL={url}")
    for key, value in settings.items():
        call(project, "dvc", "remote", "modify", "store", key, value)
    commit(project.root, "remote")


def make(target):
    """A Make target without the installation that it depends on: this environment is installed."""
    return ["make", "-o", ".venv/.installed", target]


def clone(project, tmp_path):
    target = tmp_path / "clone"
    call(project, "git", "clone", "-q", project.root, target)
    return target


def test_who_pulls_runs_nothing_and_what_they_change_runs_alone(project, remote, tmp_path):
    call(project, *make("push"))
    other = clone(project, tmp_path)
    call(project, *make("pull"), folder=other)
    project.ran()
    assert "up to date" in call(project, "dvc", "repro", folder=other)
    assert call(project, "git", "status", "--porcelain", folder=other) == ""
    assert project.ran() == []

    params = other / "params.yaml"
    params.write_text(params.read_text().replace("mutants: 20000", "mutants: 7"))
    call(project, "dvc", "repro", folder=other)
    assert project.ran() == ["end", "right"]


def test_the_run_cache_comes_too(project, remote, tmp_path):
    """Results of experiments that dvc.lock does not name are restored by it."""
    params = project.root / "params.yaml"
    before = params.read_text()
    params.write_text(before.replace("mutants: 20000", "mutants: 7"))
    call(project, "dvc", "repro", "-q")
    call(project, *make("push"))
    call(project, "git", "checkout", "--", ".")
    call(project, "dvc", "repro", "-q")
    call(project, *make("push"))

    other = clone(project, tmp_path)
    call(project, *make("pull"), folder=other)
    (other / "params.yaml").write_text(before.replace("mutants: 20000", "mutants: 7"))
    project.ran()
    call(project, "dvc", "repro", "--pull", folder=other)
    assert project.ran() == []


def test_a_damaged_object_is_detected_and_never_used(project, remote, tmp_path):
    call(project, *make("push"))
    remote()
    other = clone(project, tmp_path)
    status, output = call(project, *make("pull"), folder=other, check=False)
    assert status != 0
    assert "ERROR" in output or "error" in output
    found = [p for p in other.rglob("*") if p.is_file() and ".git" not in p.parts]
    assert not any(p.read_bytes().startswith(b"damaged") for p in found)
    project.ran()
    call(project, "dvc", "repro", folder=other)
    assert project.ran() == ["base", "end", "left", "right"]
    assert call(project, "git", "status", "--porcelain", folder=other) == ""


@pytest.mark.slow
def test_wrong_credentials_and_an_unreachable_server(project, server):
    address, boto3 = server
    import requests

    client = boto3.client(
        "s3",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    )
    client.create_bucket(Bucket="guarded")
    add_remote(project, "s3://guarded/store", endpointurl=address)
    requests.post(f"{address}/moto-api/reset-auth", data="0", timeout=10)
    try:
        status, output = call(project, *make("push"), check=False)
    finally:
        requests.post(f"{address}/moto-api/reset-auth", data="1000000", timeout=10)
    assert status != 0
    assert "InvalidAccessKeyId" in output or "does not exist in our records" in output, output
    assert "Traceback" not in output
    assert "up to date" in call(project, "dvc", "status")
    call(project, *make("push"))

    call(project, "dvc", "remote", "modify", "store", "endpointurl", "http://127.0.0.1:9")
    status, output = call(project, *make("push"), check=False)
    assert status != 0
    assert "127.0.0.1:9" in output
    assert "Traceback" not in output


@pytest.mark.slow
def test_a_killed_push_is_finished_by_the_next(project, tmp_path):
    many = project.root / "many"
    many.mkdir(parents=True)
    for number in range(3000):
        (many / str(number)).write_text(str(number))
    call(project, "dvc", "add", "-q", many)
    commit(project.root, "data")
    add_remote(project, tmp_path / "store")
    push = subprocess.Popen(
        make("push"),
        cwd=project.root,
        env=project.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    files = tmp_path / "store" / "files"
    begun = time.monotonic()
    while sum(1 for _ in files.rglob("*")) < 200:
        assert push.poll() is None and time.monotonic() - begun < 60
        time.sleep(0.01)
    os.killpg(push.pid, signal.SIGKILL)
    push.wait()
    assert sum(p.is_file() for p in files.rglob("*")) < 3000
    call(project, *make("push"))
    other = clone(project, tmp_path)
    call(project, *make("pull"), folder=other)
    pulled = {p.name: p.read_text() for p in (other / "many").iterdir()}
    assert pulled == {str(n): str(n) for n in range(3000)}


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a small file system")
def test_a_full_disk_loses_nothing(project, tmp_path):
    large = project.root / "large"
    large.write_bytes(os.urandom(3_000_000))
    call(project, "dvc", "add", "-q", large)
    commit(project.root, "data")
    store = tmp_path / "store"
    store.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", store], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this machine does not let root mount a file system")
    try:
        add_remote(project, store)
        status, output = call(project, *make("push"), check=False)
        assert status != 0
        assert "No space left on device" in output
        subprocess.run(["mount", "-o", "remount,size=16m", store], check=True)
        call(project, *make("push"))
        other = clone(project, tmp_path)
        call(project, *make("pull"), folder=other)
        assert (other / "large").read_bytes() == large.read_bytes()
    finally:
        subprocess.run(["umount", store], check=True)
