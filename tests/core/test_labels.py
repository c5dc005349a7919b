"""Names that reach commands, paths and pages are inert in all of them."""

import html
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from asterism.core.files.user_files import File
from asterism.core.parameters.labels import LONGEST, Label, is_label, require_label

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
