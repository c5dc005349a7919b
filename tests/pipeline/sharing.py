"""Commands of people who share a remote, for tests of push and pull and of a remote's content."""

import socket
import subprocess

from workspace import commit

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


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
