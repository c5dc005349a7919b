"""Files that a user names: where they may lie, what they hold, and how errors name them."""

import hashlib
from typing import Annotated

import pytest
from pydantic import TypeAdapter, ValidationError

from asterism.core.files.hashes import digest_of
from asterism.core.files.user_files import NO_FILE, inside, no_file
from asterism.core.messages.errors import UserError, concerning, naming


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def test_the_digest_of_a_file_is_that_of_sha256sum(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    assert digest_of(tmp_path / "file") == sha256(b"content")
    with pytest.raises(UserError, match="none"):
        digest_of(tmp_path / "none")


def test_the_digest_of_a_folder_is_of_names_and_contents(tmp_path):
    for name in ("b", "a/x", "a/y"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    listed = [f"{name}\0{sha256(name.encode())}\0" for name in ("a/x", "a/y", "b")]
    found = digest_of(tmp_path)
    assert found == sha256("".join(listed).encode())
    (tmp_path / "empty").mkdir()
    assert digest_of(tmp_path) == found
    (tmp_path / "b").rename(tmp_path / "c")
    assert digest_of(tmp_path) != found


@pytest.mark.parametrize("name", ["a.png", "below/a.png", "not there", "./a.png"])
def test_a_name_leads_into_its_folder(tmp_path, name):
    (tmp_path / "set").mkdir()
    assert inside(tmp_path / "set", name, "the list") == tmp_path / "set" / name


@pytest.mark.parametrize(
    "name",
    [
        "../a.png",
        "/etc/passwd",
        "C:\\a.png",
        "x/../a.png",
        "../set/a.png",
        "link/a.png",
        "circle/a",
        "a\0b",
    ],
)
def test_a_name_that_leads_out_is_rejected(tmp_path, name):
    folder = tmp_path / "set"
    folder.mkdir()
    (tmp_path / "other").mkdir()
    (folder / "link").symlink_to(tmp_path / "other")
    (folder / "circle").symlink_to(folder / "circle")
    with pytest.raises(UserError, match="which is not in"):
        inside(folder, name, "the list")


def test_a_folder_may_itself_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "set").symlink_to(tmp_path / "real")
    assert inside(tmp_path / "set", "a.png", "the list") == tmp_path / "set/a.png"


def test_a_file_that_nobody_reads_is_the_placeholder():
    adapter = TypeAdapter(Annotated[str, no_file("rnn=file")])
    assert adapter.validate_python(NO_FILE) == NO_FILE
    with pytest.raises(ValidationError, match="rnn=file"):
        adapter.validate_python("mine.h5")


def test_errors_name_the_file_once_and_the_parameter_first(tmp_path):
    def told(manager, message):
        with pytest.raises(UserError) as error, manager:
            raise UserError(message)
        return str(error.value)

    assert told(naming(tmp_path), "it is empty") == f"{tmp_path}: it is empty"
    assert told(naming(tmp_path), f"{tmp_path}/a is empty") == f"{tmp_path}/a is empty"
    assert told(concerning("rnn.file"), "it is empty") == "rnn.file: it is empty"
