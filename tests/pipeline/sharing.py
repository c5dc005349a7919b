"""Commands of people who share a remote, for tests of push and pull and of a remote's content."""

import os
import socket
import subprocess
from contextlib import contextmanager

from workspace import commit, ended

from marked import wait_until

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def served(command, port, **environment):
    """A server's process, from when it answers at a port of this machine on."""
    process = subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | environment,
    )

    def answers():
        assert process.poll() is None, "the server ended"
        with socket.socket() as asking:
            return asking.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(answers, "the server does not start", 60)
        yield
    finally:
        process.terminate()
        process.wait(20)


def call(project, *command, folder=None, check=True, **environment):
    environment = project.environment | KEYS | environment
    status, output = ended(folder or project.root, *command, environment=environment)
    assert not check or status == 0, output[-4000:]
    return output if check else (status, output)


def add_remote(project, url, **settings):
    call(project, *make("remote"), f"URL={url}")
    set_remote(project, project.root, **settings)
    commit(project.root, "remote")


def set_remote(project, folder, **settings):
    for key, value in settings.items():
        call(project, "dvc", "remote", "modify", "store", key, value, folder=folder)


def make(target):
    """A Make target without the installation that it depends on: this environment is installed."""
    return ["make", "-o", ".venv/.installed", target]


def clone(project, tmp_path, origin=None):
    target = tmp_path / "clone"
    call(project, "git", "clone", "-q", origin or project.root, target)
    return target
