"""What is no plain file is rejected at once by what opens files for the readers, and not opened."""

import os
from pathlib import Path

import psutil
import pytest

from asterism.core.files.hashes import digest_of
from asterism.core.files.limits import read_within, require_size
from asterism.core.messages.errors import UserError
from asterism.core.settings.regular_files import open_regular


@pytest.mark.parametrize("target", ["", "/dev/null", "/dev/zero", "/dev/tty", "/dev/stdin"])
@pytest.mark.parametrize(
    "read",
    [
        open_regular,
        digest_of,
        lambda path: read_within(path, "limits.text_mb"),
        lambda path: require_size(path, "limits.text_mb"),
    ],
    ids=["open", "digest", "within", "size"],
)
def test_no_reader_waits_for_a_pipe_or_opens_a_device(tmp_path, monkeypatch, read, target):
    path = tmp_path / "strange"
    path.symlink_to(target) if target else os.mkfifo(path)
    opened, system_open = [], os.open
    monkeypatch.setattr(os, "open", lambda p, *a, **k: opened.append(p) or system_open(p, *a, **k))
    with pytest.raises((OSError, UserError), match="no plain file"):
        read(path)
    assert path not in map(Path, opened)


def test_what_is_exchanged_after_it_was_looked_at_is_seen(tmp_path, monkeypatch):
    plain, pipe = tmp_path / "plain", tmp_path / "pipe"
    plain.touch()
    os.mkfifo(pipe)
    system_open = os.open
    monkeypatch.setattr(os, "open", lambda path, *given: system_open(pipe, *given))
    before = psutil.Process().num_fds()
    with pytest.raises(OSError, match="no plain file"):
        open_regular(plain)
    monkeypatch.undo()
    assert psutil.Process().num_fds() == before, "the descriptor is closed"
