"""One person pushes, another pulls: through a folder, and through real servers on loopback."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest
import yaml
from sharing import add_remote, call, clone, free_port, make, served, set_remote
from small_pipeline import asterism
from workspace import commit

pytestmark = pytest.mark.slow


@pytest.fixture
def webdav(tmp_path):
    """A real WebDAV server on loopback over a folder: its address, the folder and a password."""
    if importlib.util.find_spec("wsgidav") is None:
        pytest.skip("wsgidav, a WebDAV server, is not installed")
    folder, port, settings = tmp_path / "shared", free_port(), tmp_path / "wsgidav.json"
    folder.mkdir()
    settings.write_text(
        json.dumps(
            {
                "host": "127.0.0.1",
                "port": port,
                "provider_mapping": {"/": str(folder)},
                "simple_dc": {"user_mapping": {"*": {"me": {"password": "secret"}}}},
                "http_authenticator": {"accept_basic": True, "accept_digest": False},
            }
        )
    )
    command = [sys.executable, "-m", "wsgidav.server.server_cli", "--config", settings]
    with served(command, port):
        yield f"webdav://127.0.0.1:{port}", folder, {"user": "me", "password": "secret"}


@pytest.fixture
def ssh(tmp_path):
    """A real SSH server on loopback: its address, a folder and a key file."""
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
    if sshd is None or os.geteuid() != 0:
        pytest.skip("an SSH server of one's own needs sshd and root")
    for name in ("host", "key"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name]
        subprocess.run(command, check=True)
    shutil.copy(tmp_path / "key.pub", tmp_path / "authorized")
    folder, port, settings = tmp_path / "shared", free_port(), tmp_path / "sshd_config"
    folder.mkdir()
    Path("/run/sshd").mkdir(exist_ok=True)
    settings.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nStrictModes no\n"
        f"AuthorizedKeysFile {tmp_path}/authorized\nPermitRootLogin yes\nUsePAM no\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        f"PidFile {tmp_path}/sshd.pid\nSubsystem sftp internal-sftp\n"
    )
    with served([sshd, "-D", "-e", "-f", settings], port):
        address = f"ssh://root@127.0.0.1:{port}{folder}"
        yield address, folder, {"keyfile": str(tmp_path / "key"), "allow_agent": "false"}


@pytest.fixture(params=["folder", "s3", "ssh", "webdav"])
def remote(request, project, tmp_path):
    """A remote that the project has been given, and a function that damages its objects."""
    if request.param == "s3":
        return s3_remote(project, tmp_path, *request.getfixturevalue("server"))
    if request.param == "folder":
        store, address, settings = tmp_path / "store", tmp_path / "store", {}
    else:
        address, store, settings = request.getfixturevalue(request.param)
    add_remote(project, address, **settings)

    def damage():
        for path in store.rglob("*"):
            if path.is_file() and "runs" not in path.parts:
                mode = path.stat().st_mode
                path.chmod(0o644)
                path.write_bytes(b"damaged" + path.read_bytes())
                path.chmod(mode)

    return damage


def s3_remote(project, tmp_path, address, client):
    name = "".join(c for c in tmp_path.name.lower().replace("_", "-") if c.isalnum() or c == "-")
    bucket = f"bucket-{name[-30:].strip('-')}"
    client.create_bucket(Bucket=bucket)

    def damage():
        for found in client.list_objects_v2(Bucket=bucket)["Contents"]:
            if "/runs/" not in found["Key"]:
                body = client.get_object(Bucket=bucket, Key=found["Key"])["Body"].read()
                client.put_object(Bucket=bucket, Key=found["Key"], Body=b"damaged" + body)

    add_remote(project, f"s3://{bucket}/store", endpointurl=address)
    return damage


def test_who_pulls_runs_nothing_and_what_they_change_runs_alone(project, remote, tmp_path):
    """Results of experiments, which dvc.lock does not name, come by the run cache."""
    project.set_mutants(7)
    call(project, "dvc", "repro", "-q")
    call(project, *make("push"))
    call(project, "git", "checkout", "--", ".")
    call(project, "dvc", "repro", "-q")
    call(project, *make("push"))
    other = clone(project, tmp_path)
    call(project, *make("pull"), folder=other)
    project.ran()
    assert "up to date" in call(project, "dvc", "repro", folder=other)
    assert call(project, "git", "status", "--porcelain", folder=other) == ""
    for mutants, ran in ((7, []), (8, ["end", "right"])):
        call(project, "git", "checkout", "--", ".", folder=other)
        project.set_mutants(mutants, other)
        call(project, "dvc", "repro", "--pull", folder=other)
        assert project.ran() == ran


def test_a_sweep_that_someone_else_has_run_runs_no_stage(project, tmp_path):
    sweep = asterism("sweep", "--name", "s", "abstraction.k=2,3", "fuzz.mutants=5")
    call(project, "git", "init", "-q", "--bare", "-b", "main", tmp_path / "origin")
    call(project, "git", "remote", "add", "origin", tmp_path / "origin")
    add_remote(project, tmp_path / "store")
    call(project, "git", "push", "-q", "origin", "main")
    call(project, *make("push"))
    call(project, *sweep)
    call(project, *make("push"))

    other = clone(project, tmp_path, tmp_path / "origin")
    call(project, *make("pull-experiments"), folder=other)
    assert "s-" in call(project, "dvc", "exp", "list", "--names-only", folder=other)
    project.ran()
    call(project, *sweep, folder=other)
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


def test_a_damaged_object_is_replaced_by_deleting_it_and_pushing_again(project, tmp_path):
    store = tmp_path / "the store"
    add_remote(project, store)
    call(project, *make("push"))
    lock = yaml.safe_load((project.root / "dvc.lock").read_text())
    (out,) = lock["stages"]["left"]["outs"]
    damaged = store / "files/md5" / out["md5"][:2] / out["md5"][2:]
    damaged.chmod(0o644)
    damaged.write_text("damaged")
    other = clone(project, tmp_path)
    assert call(project, *make("pull"), folder=other, check=False)[0] != 0
    project.ran()
    call(project, "dvc", "repro", folder=other)
    assert project.ran() == ["left"]
    damaged.unlink(missing_ok=True)  # DVC has done so, where it may
    call(project, *make("push"), folder=other)
    third = clone(project, tmp_path / "third")
    call(project, *make("pull"), folder=third)
    assert "up to date" in call(project, "dvc", "repro", folder=third)
    assert project.ran() == []


def fails(project, target, folder, *messages):
    """What a push or a pull says that fails, one of these, and no traceback."""
    status, output = call(project, *make(target), folder=folder, check=False)
    assert status != 0
    assert any(message in output for message in messages), output
    assert "Traceback" not in output


@contextmanager
def no_credentials(address):
    """An S3 server that lets nobody in."""
    import requests

    requests.post(f"{address}/moto-api/reset-auth", data="0", timeout=10)
    try:
        yield
    finally:
        requests.post(f"{address}/moto-api/reset-auth", data="1000000", timeout=10)


def test_wrong_credentials_and_an_unreachable_server(project, server, tmp_path):
    address, client = server
    client.create_bucket(Bucket="guarded")
    add_remote(project, "s3://guarded/store", endpointurl=address)
    with no_credentials(address):
        fails(project, "push", project.root, "InvalidAccessKeyId", "does not exist in our records")
    assert "up to date" in call(project, "dvc", "status")
    call(project, *make("push"))
    other = clone(project, tmp_path)
    with no_credentials(address):
        fails(project, "pull", other, "Forbidden")
    for target, folder in (("push", project.root), ("pull", other)):
        set_remote(project, folder, endpointurl="http://127.0.0.1:9")
        fails(project, target, folder, "127.0.0.1:9")
    set_remote(project, other, endpointurl=address)
    call(project, *make("pull"), folder=other)
    assert "up to date" in call(project, "dvc", "status", folder=other)


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        ("webdav", {"password": "guess"}, "401"),
        ("ssh", {"keyfile": "stranger"}, "Permission denied"),
    ],
)
def test_wrong_credentials_of_other_servers(project, request, tmp_path, kind, wrong, message):
    address, store, settings = request.getfixturevalue(kind)
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "stranger"]
    if kind == "ssh":
        subprocess.run(command, check=True)
        wrong = {"keyfile": str(tmp_path / "stranger")}
    add_remote(project, address, **settings | wrong)
    fails(project, "push", project.root, message)
    assert not list(store.iterdir())
    set_remote(project, project.root, **settings)
    call(project, *make("push"))
    assert list(store.iterdir())

    other = clone(project, tmp_path)  # of the commit with the wrong credentials
    fails(project, "pull", other, message)
    set_remote(project, other, **settings)
    call(project, *make("pull"), folder=other)
    assert "up to date" in call(project, "dvc", "status", folder=other)


@pytest.fixture
def many(project, tmp_path):
    """A project with many files, and a remote for them."""
    folder = project.root / "many"
    folder.mkdir(parents=True)
    for number in range(3000):
        (folder / str(number)).write_text(str(number))
    call(project, "dvc", "add", "-q", folder)
    commit(project.root, "data")
    add_remote(project, tmp_path / "store")
    return project


def kill_when(project, command, folder, arrived, count, working_in=None):
    """Start a command, and kill it when so many files have arrived in a folder."""
    process = subprocess.Popen(
        command,
        cwd=working_in or project.root,
        env=project.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    begun = time.monotonic()
    while sum(1 for _ in islice(folder.rglob(arrived), count)) < count:
        assert process.poll() is None and time.monotonic() - begun < 60
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert sum(p.is_file() for p in folder.rglob("*")) < 3000


def test_a_killed_push_and_a_killed_pull_are_finished_by_the_next(many, tmp_path):
    kill_when(many, make("push"), tmp_path / "store" / "files", "*", 400)
    call(many, *make("push"))
    other = clone(many, tmp_path)
    kill_when(many, make("pull"), other / ".dvc" / "cache" / "files", "*", 400, other)
    call(many, *make("pull"), folder=other)
    pulled = {p.name: p.read_text() for p in (other / "many").iterdir()}
    assert pulled == {str(n): str(n) for n in range(3000)}
    assert "up to date" in call(many, "dvc", "status", folder=other)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a small file system")
def test_a_full_disk_loses_nothing(project, tmp_path):
    large = project.root / "large"
    large.write_bytes(os.urandom(3_000_000))
    call(project, "dvc", "add", "-q", large)
    commit(project.root, "data")
    store = tmp_path / "store"
    add_remote(project, store)
    with small_disk(store) as enlarge:
        fails(project, "push", project.root, "No space left on device")
        enlarge()
        call(project, *make("push"))
        other = clone(project, tmp_path)
        with small_disk(other / ".dvc/cache") as enlarge:
            fails(project, "pull", other, "No space left on device")
            enlarge()
            call(project, *make("pull"), folder=other)
            assert (other / "large").read_bytes() == large.read_bytes()
            assert "up to date" in call(project, "dvc", "status", folder=other)


@contextmanager
def small_disk(folder):
    """A file system of 1 MB of its own in a folder, and a function that enlarges it."""
    folder.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this machine does not let root mount a file system")
    try:
        yield lambda: subprocess.run(["mount", "-o", "remount,size=16m", folder], check=True)
    finally:
        subprocess.run(["umount", folder], check=True)
