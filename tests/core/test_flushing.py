"""What is written is on the disk before it has its name, and its name after that."""

import errno
import os
from pathlib import Path

import pytest

from asterism.core.files.artifacts import read_json, replacing, write_json
from asterism.core.files.os_errors import rejections_told
from asterism.core.messages.errors import UserError


@pytest.fixture
def events(monkeypatch):
    """What is flushed and moved, in order: names without the random part of scratch folders."""
    noted = []
    fsync, replace = os.fsync, Path.replace

    def flushed(descriptor):
        noted.append(("flush", Path(f"/proc/self/fd/{descriptor}").readlink().name))
        fsync(descriptor)

    def moved(path, target):
        noted.append(("move", Path(target).name))
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "replace", moved)
    return noted


def test_a_file_is_flushed_then_moved_then_its_folder_is_flushed(tmp_path, events):
    write_json(tmp_path / "folder/x.json", 1)
    assert events == [("flush", "x.json"), ("move", "x.json"), ("flush", "folder")]


def test_every_file_of_a_folder_is_flushed_once_before_the_folder_is_moved(tmp_path, events):
    with replacing(tmp_path / "whole") as folder:
        (folder / "below").mkdir(parents=True)
        (folder / "below/plain").write_text("x")
        (folder / "link").symlink_to(tmp_path)
        write_json(folder / "below/x.json", 1)
    assert events == [
        ("move", "x.json"),  # inside of a folder that is not there yet
        ("flush", "plain"),
        ("flush", "x.json"),
        ("flush", "below"),
        ("flush", "whole"),
        ("move", "whole"),
        ("flush", tmp_path.name),
    ]


def test_a_file_elsewhere_is_flushed_although_a_folder_is_being_written(tmp_path, events):
    with replacing(tmp_path / "whole") as folder:
        folder.mkdir()
        write_json(tmp_path / "other/x.json", 1)
        assert events == [("flush", "x.json"), ("move", "x.json"), ("flush", "other")]
    write_json(tmp_path / "y.json", 1)
    assert events[-3] == ("flush", "y.json")


def test_a_disk_that_says_only_now_that_it_is_full_leaves_the_old_file(tmp_path, monkeypatch):
    """As NFS does, which writes when a file is flushed."""
    write_json(tmp_path / "x.json", "old")

    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=rf"{tmp_path}.*make room there"), rejections_told():
        write_json(tmp_path / "x.json", "new")
    assert read_json(tmp_path / "x.json") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP, errno.EIO])
def test_a_file_system_that_flushes_no_folders_is_good_enough(tmp_path, monkeypatch, number):
    fsync = os.fsync

    def of_files_only(descriptor):
        if Path(f"/proc/self/fd/{descriptor}").is_dir():
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", of_files_only)
    if number == errno.EIO:
        with pytest.raises(OSError, match="Input/output"):
            write_json(tmp_path / "x.json", 1)
    else:
        write_json(tmp_path / "x.json", 1)
        assert read_json(tmp_path / "x.json") == 1
