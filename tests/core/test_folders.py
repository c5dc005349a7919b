"""Folders that somebody else has made: nothing outside of them is read, and nothing waited for."""

import os

import pytest

from asterism.core.files import folders
from asterism.core.files.folders import files_in
from asterism.core.files.hashes import digest_of
from asterism.core.messages.errors import UserError
from asterism.data.given.reading import files_of
from asterism.differential.reducing.params import ReduceParams
from asterism.differential.reducing.reduction import user_models


@pytest.fixture
def given(tmp_path):
    """A folder with a file, beside one of the user's that it has no business with."""
    (tmp_path / "secret.onnx").write_text("of nobody else")
    (tmp_path / "private").mkdir()
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "a.onnx").write_text("a")
    return folder


LINKS = {
    "a file": "../secret.onnx",
    "a folder": "../private",
    "nothing": "none",
    "a circle": "link.onnx",
    "a device": "/dev/zero",
    "all": "/",
}
READERS = {
    "inputs": files_of,
    "hash": digest_of,
    "seed models": lambda folder: user_models(
        ReduceParams.model_construct(user_model=str(folder), models=[], user_input_shape=None)
    ),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("target", LINKS.values(), ids=LINKS)
def test_a_link_out_of_the_folder_is_rejected_by_name(given, read, target):
    (given / "link.onnx").symlink_to(target)
    with pytest.raises(UserError, match=r"link\.onnx"):
        read(given)


def test_links_within_the_folder_are_files_and_a_circle_of_folders_is_no_matter(given):
    (given / "below").mkdir()
    (given / "below/b").write_text("b")
    (given / "again").symlink_to("a.onnx")
    (given / "below/up").symlink_to("..")
    (given.parent / "named").symlink_to(given)
    found = files_in(given.parent / "named")
    assert [path.relative_to(given.parent / "named").as_posix() for path in found] == [
        "a.onnx",
        "again",
        "below/b",
    ]
    assert [path.name for path in files_in(given, below=False)] == ["a.onnx", "again"]


@pytest.mark.parametrize("read", [files_of, digest_of])
def test_a_pipe_is_not_waited_for(given, read):
    before = read(given)
    os.mkfifo(given / "pipe.png")
    assert read(given) == before


@pytest.mark.parametrize(("limit", "value"), [("_MOST", 3), ("_DEEPEST", 1)])
def test_a_folder_of_any_size_is_given_up(given, monkeypatch, limit, value):
    (given / "1/2/3").mkdir(parents=True)
    (given / "1/2/3/4").write_text("4")
    assert len(files_in(given)) == 2
    monkeypatch.setattr(folders, limit, value)
    with pytest.raises(UserError, match="more than"):
        files_in(given)
