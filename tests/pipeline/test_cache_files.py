"""Temporary files that killed DVC processes have left in the cache."""

import os
import secrets
import time

import pytest
from dvc.config import Config

from asterism.dvc_hydra.cache_files import require_plain
from asterism.dvc_hydra.local_settings import use_cache


def temporary(folder, age):
    """A file as DVC names it, last written to so many seconds ago."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".{secrets.token_urlsafe(16)}.tmp"
    path.write_text("half")
    os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.mark.parametrize("place", ["files/md5", "files/md5/0d", "runs/ab/cd"])
def test_left_ones_go_and_those_of_a_running_process_stay(tmp_path, place):
    left, running = temporary(tmp_path / place, 4000), temporary(tmp_path / place, 3000)
    other = tmp_path / place / ".notes.tmp"
    other.write_text("a user's")
    os.utime(other, (0, 0))
    require_plain(tmp_path)
    assert not left.exists()
    assert running.exists()
    assert other.exists()


def test_a_cache_without_any_is_not_written_to(tmp_path):
    (tmp_path / "files").mkdir()
    before = tmp_path.stat().st_mtime_ns
    require_plain(tmp_path)
    assert tmp_path.stat().st_mtime_ns == before


def test_a_workspace_uses_a_cache_and_keeps_what_dvc_writes_for_itself(tmp_path):
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text("[core]\n    analytics = false\n")

    def settings():
        return Config(str(tmp_path / ".dvc")).read("local")

    use_cache(tmp_path, tmp_path / "cache", "hardlink,copy")
    found = settings()
    assert found["cache"] == {"dir": str(tmp_path / "cache"), "type": "hardlink,copy"}
    assert found["core"] == {"site_cache_dir": str(tmp_path / ".dvc/tmp/site")}
    use_cache(tmp_path, tmp_path / "other", "symlink")
    found = settings()["cache"]
    assert found == {"dir": str(tmp_path / "other"), "type": "hardlink,copy"}
