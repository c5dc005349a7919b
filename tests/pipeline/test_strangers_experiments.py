"""An experiment from a stranger is fetched, and nothing that it says is done."""

import socket
import textwrap

import pytest
from sharing import add_remote, call, clone, make
from workspace import commit

#: Settings of a remote by which DVC runs a command, to get a password.
COMMAND = """
[core]
    remote = store
['remote "store"']
    url = webdav://127.0.0.1:9/x
    bearer_token_command = touch {mark}
"""

ADDRESS = """
[core]
    remote = store
['remote "store"']
    url = http://127.0.0.1:{port}/x
"""

#: A file of another repository's; the address has to be asked for it.
IMPORT = """
deps:
- path: x
  repo:
    url: http://127.0.0.1:{port}/x.git
    rev_lock: abcdef6789012345678901234567890123456789
outs:
- path: x
  md5: abcdef67890123456789012345678901
"""

IMPORT_WITH_SETTINGS = """
deps:
- path: artifacts/left
  repo:
    url: {origin}
    rev_lock: {head}
    config:
      core: {{remote: theirs}}
      remote:
        theirs: {{url: 'webdav://127.0.0.1:9/x', bearer_token_command: touch {mark}}}
outs:
- path: x
  md5: abcdef67890123456789012345678901
"""

OUTPUT = """
outs:
- path: http://127.0.0.1:{port}/x
  md5: abcdef67890123456789012345678901
"""


@pytest.fixture
def listener():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0)
        yield server


@pytest.mark.parametrize(
    ("file", "content"),
    [
        (".dvc/config", COMMAND),
        (".dvc/config", ADDRESS),
        ("x.dvc", IMPORT),
        ("x.dvc", IMPORT_WITH_SETTINGS),
        ("x.dvc", OUTPUT),
    ],
    ids=["a command", "an address", "an import", "an import with a command", "an output"],
)
@pytest.mark.slow
def test_what_an_experiment_says_of_addresses_is_not_done(
    project, tmp_path, file, content, listener
):
    mark, origin = project.notes / "owned", tmp_path / "origin"
    add_remote(project, tmp_path / "store")
    call(project, *make("push"))
    call(project, "git", "clone", "-q", "--bare", project.root, origin)
    stranger = clone(project, tmp_path / "stranger", origin)
    head = call(project, "git", "rev-parse", "HEAD").strip()
    port = listener.getsockname()[1]
    text = textwrap.dedent(content).format(mark=mark, port=port, origin=origin, head=head)
    (stranger / file).write_text(text)
    lock = stranger / "dvc.lock"  # an object that nobody has yet
    lock.write_text(lock.read_text().replace("md5: ", "md5: 0123", 1))
    commit(stranger, "an experiment")
    ref = f"HEAD:refs/exps/{head[:2]}/{head[2:]}/mine"
    call(project, "git", "push", "-q", origin, ref, folder=stranger)
    other = clone(project, tmp_path, origin)
    _, output = call(project, *make("pull-experiments"), folder=other, check=False)
    assert "mine" in call(project, "dvc", "exp", "list", "--all-commits", folder=other), output
    assert not mark.exists(), output
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert "Traceback" not in output
