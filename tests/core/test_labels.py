"""Names and files of the user's that reach commands, paths and pages."""

import hashlib
import html
import shlex
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from asterism.core.files.hashes import hash_path
from asterism.core.files.user_files import NO_FILE, File, no_file, resolve_inside
from asterism.core.messages.errors import UserError, name_file_in_errors, prefix_errors
from asterism.core.parameters.validation import LONGEST, Label, is_label, require_label

GOOD = ["a", "dynamic_range", "int8", "8bit", "A-b_c", "x" * LONGEST]
BAD = [
    *("", " ", "x;touch F", "x y", "x\ty", "x\ny", "x\n", "\nx", "x\0"),
    *("$(x)", "`x`", "${x}", "$x"),
    *("x&y", "x|y", "x>y", "x'y", 'x"y', "x\\y", "x*", "x?", "[x]", "{x}", "~", "~x", "!x", "#x"),
    *(".", "..", "../x", "../../data", "x/y", "/x", "x/..", ".x", "x.y", "a..b", "-x", "--help"),
    *("_x", "<b>", "x&amp;y", "$\\x$", "x%y", "x=y", "x:y", "x@y", "x,y", "x+y", "x^y"),
    *("ä", "\u0430", "x\u200b", "x\u202ey", "\x1b[2J", "\ud800", "\uff11", "x" * (LONGEST + 1)),
]


@pytest.mark.parametrize("name", GOOD)
def test_names_that_are_taken(name):
    assert TypeAdapter(Label).validate_python(name) == name


@pytest.mark.parametrize("name", BAD)
def test_names_that_are_rejected_in_a_line_that_a_terminal_can_show(name):
    with pytest.raises(ValueError, match="cannot be a name") as rejection:
        require_label(name)
    message = str(rejection.value)
    assert message.isascii() and message.isprintable()
    with pytest.raises(ValidationError):
        TypeAdapter(dict[Label, int]).validate_python({name: 1})


TEXTS = st.one_of(
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,70}", fullmatch=True),
    st.text(max_size=70),
    st.text("ab0_-./ ;$'\"\n", max_size=5),
)


@given(TEXTS)
def test_a_name_that_is_taken_is_one_word_one_file_and_plain_text(name):
    if not is_label(name):
        return
    for command in (f"python stages compress {name}", f"python stages compress '{name}'"):
        assert shlex.split(command) == ["python", "stages", "compress", name]
    assert command.splitlines() == [command]
    folder = Path("/project/artifacts/compress")
    assert (folder / name).resolve().parent == folder
    assert len(f"metrics/compress-{name}.json".encode()) < 255
    assert html.escape(name) == name
    assert not set(name) & set("$\\^{}%~#&")  # what mathematics and TeX in a title mean


@pytest.mark.parametrize(
    "path", ["a.npz", "/data/a b.npz", "../x.h5", "conf/no_file", "./a:b.npz", "ä/ö.onnx", "${x}"]
)
def test_paths_that_are_taken(path):
    assert TypeAdapter(File).validate_python(path) == path


@pytest.mark.parametrize(
    "path",
    [
        *("", "s3://bucket/a", "S3://bucket/a", "https://x/a", "remote://store/a", "remote:a"),
        *("ssh://host/a", "file:///etc/passwd", "gs:a", "a\nb", "a\0b", "\x1b[2J", "a\u2028b"),
    ],
)
def test_paths_that_are_rejected(path):
    with pytest.raises(ValidationError):
        TypeAdapter(File).validate_python(path)


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def test_the_digest_of_a_file_is_that_of_sha256sum(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    assert hash_path(tmp_path / "file") == sha256(b"content")
    with pytest.raises(UserError, match="none"):
        hash_path(tmp_path / "none")


def test_the_digest_of_a_folder_is_of_names_and_contents(tmp_path):
    for name in ("b", "a/x", "a/y"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    listed = [f"{name}\0{sha256(name.encode())}\0" for name in ("a/x", "a/y", "b")]
    found = hash_path(tmp_path)
    assert found == sha256("".join(listed).encode())
    (tmp_path / "empty").mkdir()
    assert hash_path(tmp_path) == found
    (tmp_path / "b").rename(tmp_path / "c")
    assert hash_path(tmp_path) != found


@pytest.mark.parametrize("name", ["a.png", "below/a.png", "not there", "./a.png"])
def test_a_name_leads_into_its_folder(tmp_path, name):
    (tmp_path / "set").mkdir()
    assert resolve_inside(tmp_path / "set", name, "the list") == tmp_path / "set" / name


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
        resolve_inside(folder, name, "the list")


def test_a_folder_may_itself_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "set").symlink_to(tmp_path / "real")
    assert resolve_inside(tmp_path / "set", "a.png", "the list") == tmp_path / "set/a.png"


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

    assert told(name_file_in_errors(tmp_path), "it is empty") == f"{tmp_path}: it is empty"
    assert told(name_file_in_errors(tmp_path), f"{tmp_path}/a is empty") == f"{tmp_path}/a is empty"
    assert told(prefix_errors("rnn.file"), "it is empty") == "rnn.file: it is empty"
