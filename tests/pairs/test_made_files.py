"""Files of many types: each is what its name says, and long enough for what is seen of it."""

import ast
import bz2
import configparser
import csv
import gzip
import html.parser
import importlib.util
import io
import json
import lzma
import marshal
import sqlite3
import subprocess
import tarfile
import types
import wave
import xml.etree.ElementTree
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image
from small_model_files import FILE

from asterism.core.messages.errors import UserError
from asterism.pairs.inputs import file_types
from asterism.pairs.inputs.file_types import TYPES, FileTypes
from asterism.pairs.inputs.text_pictures import fonts
from asterism.pairs.inputs.words import sentences, words


@cache
def lower():
    """All words, without capitals."""
    return frozenset(word.lower() for word in words())


@cache
def known():
    """All sentences."""
    return frozenset(sentences())


def made(name, seed=0):
    """The content of a file of a type; skipped where its program is not installed."""
    try:
        return TYPES[name](np.random.default_rng(seed))
    except UserError as missing:
        if "apt-get install" not in str(missing):
            raise
        pytest.skip(str(missing))


def are_sentences(text, count):
    lines = text.decode() if isinstance(text, bytes) else text
    return len(lines.split("\n")) == count and set(lines.split("\n")) <= known()


def is_row(values):
    """Two words and four numbers with at most three digits behind the point."""
    numbers = [float(value) for value in values[2:]]
    names = set(values[:2]) <= lower()
    return len(values) == 6 and names and numbers == [round(number, 3) for number in numbers]


@pytest.mark.parametrize("form", ["bmp", "gif", "jpeg", "png", "tiff", "webp"])
def test_pictures_are_of_their_form(form):
    image = Image.open(io.BytesIO(made(form)))
    assert (image.format, image.size) == (form.upper(), (160, 120))
    _, counts = np.unique(
        np.asarray(image.convert("RGB")).reshape(-1, 3), axis=0, return_counts=True
    )
    assert counts.max() > 160 * 120 / 3, "the ground"
    assert len(counts) > 5, "what is written on it"


@pytest.mark.parametrize(
    ("name", "opened", "count"),
    [
        ("bzip", bz2.decompress, 400),
        ("gzip", gzip.decompress, 200),
        ("xz", lzma.decompress, 400),
        ("txt", bytes, 80),
    ],
)
def test_texts_hold_sentences(name, opened, count):
    assert are_sentences(opened(made(name)), count)


def test_archives_hold_three_texts_and_no_time():
    assert made("gzip")[4:8] == bytes(4)
    with zipfile.ZipFile(io.BytesIO(made("zip"))) as archive:
        entries = archive.infolist()
        texts = [archive.read(entry) for entry in entries]
        assert {entry.date_time[0] for entry in entries} == {1980}
        assert all(entry.filename.removesuffix(".txt") in lower() for entry in entries)
        assert len(texts) == 3 and all(are_sentences(text, 60) for text in texts)
    content = made("tar")
    assert content.endswith(bytes(1024)) and content[-1025] != 0
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        entries = archive.getmembers()
        assert [entry.mtime for entry in entries] == [0, 0, 0]
        assert all(entry.name.removesuffix(".txt") in lower() for entry in entries)
        texts = [archive.extractfile(entry).read() for entry in entries]
        assert all(are_sentences(text, 60) for text in texts)


def test_tables_have_rows_of_words_and_numbers():
    head, *rows = csv.reader(io.StringIO(made("csv").decode()))
    assert len(head) == 6 and set(head) <= lower()
    assert len(rows) == 80 and all(map(is_row, rows))
    with sqlite3.connect(":memory:") as database:
        database.deserialize(made("sqlite"))
        rows = [list(row) for row in database.execute("select * from rows")]
    assert len(rows) == 80 and all(map(is_row, rows))


def test_mappings_have_values_by_words():
    found = json.loads(made("json"))
    assert len(found) == 80 and {len(row) for row in found} <= {4, 5, 6}
    assert any(is_row(list(row.values())) for row in found)
    parser = configparser.ConfigParser()
    parser.read_string(made("ini").decode())
    sections = {name: parser[name] for name in parser.sections()}
    for values in (yaml.safe_load(made("yaml")), sections):
        assert 70 < len(values) <= 80 and set(values) <= lower()
        assert {len(row) for row in values.values()} <= {4, 5, 6}


def test_mappings_are_indented_or_not(monkeypatch):
    monkeypatch.setattr(file_types, "_table", lambda rng: [["a", "b", "1", "2", "3", "4"]])
    indents = {made("json", seed).split(b"{")[0] for seed in range(20)}
    assert indents == {b"["} | {b"[\n" + b" " * n for n in (1, 2, 3)}


def test_marked_up_texts_can_be_parsed():
    class Parser(html.parser.HTMLParser):
        tags, classes, texts, title = Counter(), [], [], ""

        def handle_starttag(self, tag, attributes):
            self.tags[tag] += 1
            self.classes += [value for name, value in attributes if name == "class"]

        def handle_data(self, data):
            if self.lasttag == "p" and data.strip():
                self.texts.append(data)
            elif self.lasttag == "title" and data.strip():
                self.title = data

    page = made("html").decode()
    parser = Parser()
    parser.feed(page)
    assert page.startswith("<!DOCTYPE html>\n") and page.endswith("</body></html>\n")
    assert parser.tags == {"html": 1, "head": 1, "title": 1, "body": 1, "p": 40}
    assert len(parser.classes) == 40 and set(parser.classes) <= lower()
    assert len(parser.title.split()) == 3 and set(parser.title.split()) <= lower()
    assert all(are_sentences(text, 2) for text in parser.texts) and len(parser.texts) == 40
    root = xml.etree.ElementTree.fromstring(made("xml").decode())
    assert (root.tag, len(root)) == ("list", 60)
    assert all(item.get("id") in lower() and are_sentences(item.text, 1) for item in root)


def test_a_diff_takes_some_lines_away(monkeypatch, tmp_path):
    source = tmp_path / "source.py"
    source.write_text("".join(f"line {number}\n" for number in range(4000)))
    monkeypatch.setattr(file_types, "_source", lambda rng: source)
    head, *lines = made("diff").decode().splitlines()
    assert (head, lines[0]) == ("--- a/module.py", "+++ b/module.py")
    changed = Counter(line[0] for line in lines[1:])
    assert set(changed) == {"@", " ", "-"}
    assert 120 < changed["-"] < 280, "a twentieth"


def test_modules_of_python_are_long():
    contents = {made("python", seed) for seed in range(60)}
    assert len(contents) > 20
    assert all(len(content) > 2 * 4096 for content in contents)
    ast.parse(contents.pop())
    content = made("pythonbytecode")
    assert content.startswith(importlib.util.MAGIC_NUMBER + bytes(12))
    code = marshal.loads(content[16:])
    assert isinstance(code, types.CodeType) and code.co_filename == "module.py"


def test_a_sound_has_one_channel_of_16_bits():
    rates = set()
    for seed in range(20):
        with wave.open(io.BytesIO(made("wav", seed))) as sound:
            assert (sound.getnchannels(), sound.getsampwidth(), sound.getnframes()) == (1, 2, 4000)
            rates.add(sound.getframerate())
            samples = np.frombuffer(sound.readframes(4000), "<i2")
        assert 8900 < np.abs(samples.astype(int)).max() <= 9000
    assert rates == {8000, 16000, 44100}


def test_a_font_is_one_of_the_machine():
    contents = {made("ttf", seed) for seed in range(12)}
    assert contents <= {path.read_bytes() for path in fonts()} and len(contents) > 3


def test_a_program_is_compiled():
    source = made("c").decode()
    assert source.startswith("/* ") and source.count("static int f_") == 30
    assert "int main(void)" in source
    listing, content = made("asm").decode(), made("elf")
    assert "main:" in listing and listing.count(".globl\tf_") == 30
    assert content.startswith(b"\x7fELF") and content[16] == 1, "relocatable"


def test_without_a_compiler_it_is_one_line(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="there is no gcc: `apt-get install gcc`"):
        TYPES["elf"](np.random.default_rng(0))


#: 10,000 bytes that are no white space, between white space.
BODY = bytes(np.random.default_rng(5).integers(97, 123, 10_000).astype(np.uint8))
CONTENT = b" \n" * 1000 + BODY + b"\t\n " * 1000


def items_of(monkeypatch, tmp_path, makers, count):
    """What is made of these types, the labels of which are in another order."""
    space = tmp_path / "labels.json"
    space.write_text(json.dumps({"target_labels_space": ["other", *sorted(makers, reverse=True)]}))
    monkeypatch.setattr(file_types, "TYPES", makers)
    options = FileTypes.Options.model_validate({"labels": FILE})
    found = FileTypes.make(count, options, np.random.default_rng(0), lambda file: space)
    return found.items, found.labels.tolist()


def test_the_beginning_and_the_end_of_files_are_seen(monkeypatch, tmp_path):
    makers = {name: lambda rng, add=n: CONTENT.replace(BODY[:1], bytes([65 + add]))
              for n, name in enumerate("abc")}  # fmt: skip
    items, labels = items_of(monkeypatch, tmp_path, makers, 8)
    assert items.shape == (8, 2048) and items.dtype == np.int32
    assert sorted(Counter(labels).values()) == [2, 3, 3], "types come in turn"
    assert labels != sorted(labels)
    for item, label in zip(items, labels, strict=True):
        body = BODY.replace(BODY[:1], bytes([65 + 3 - label]))
        assert bytes(item.astype(np.uint8)) == body[:1024] + body[-1024:]


@pytest.mark.parametrize("seen", [1023, 1024])
@pytest.mark.parametrize("at_the_end", [False, True])
def test_files_with_too_little_to_see_are_made_again(monkeypatch, tmp_path, seen, at_the_end):
    blank = b" " * (4096 - seen)
    short = BODY + blank if at_the_end else blank + BODY
    tries = []

    def make(rng):
        tries.append(1)
        return short if len(tries) < 20 else BODY

    items, _ = items_of(monkeypatch, tmp_path, {"a": make}, 1)
    assert len(tries) == (20 if seen < 1024 else 1)
    if seen < 1024:
        assert bytes(items[0].astype(np.uint8)) == BODY[:1024] + BODY[-1024:]


def test_a_maker_of_short_files_is_named(monkeypatch, tmp_path):
    def short_file(rng):
        return b"a" * 1023

    with pytest.raises(ValueError, match="short_file makes files that are too short"):
        items_of(monkeypatch, tmp_path, {"a": short_file}, 1)


def test_labels_that_are_missing_are_one_line(tmp_path):
    space = tmp_path / "labels.json"
    space.write_text("{}")
    options = FileTypes.Options.model_validate({"labels": FILE})
    with pytest.raises(UserError, match=r"labels\.json"):
        FileTypes.make(1, options, np.random.default_rng(0), lambda file: Path(space))


def test_a_compiler_that_fails_is_no_file(tmp_path, monkeypatch):
    compiler = tmp_path / "gcc"
    compiler.write_text("#!/bin/sh\nwhile [ $1 != -o ]; do shift; done; echo half > $2; exit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(subprocess.CalledProcessError):
        TYPES["asm"](np.random.default_rng(0))
