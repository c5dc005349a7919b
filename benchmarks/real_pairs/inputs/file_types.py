"""Files of many types, made by the programs that make such files."""

from __future__ import annotations

import bz2
import configparser
import csv
import difflib
import gzip
import html
import io
import json
import lzma
import marshal
import sqlite3
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import yaml
from scipy.io import wavfile

from asterism.core.files.artifacts import read_json
from asterism.core.messages.errors import UserError, reading
from asterism.data.given import ArrayInputs
from real_pairs.entry import PackagedFile
from real_pairs.inputs import INPUT_MAKERS, Find
from real_pairs.inputs.text_pictures import fonts
from real_pairs.inputs.words import sentences, words

#: Bytes that a model sees of a file's beginning and of its end, and those of the blocks there.
_SEEN, _BLOCK = 1024, 4096

Rng = np.random.Generator


@INPUT_MAKERS.register("file_types")
def file_types(count: int, rng: Rng, find: Find, *, labels: PackagedFile) -> ArrayInputs:
    """Files of each type in turn; an item is the first and the last 1,024 bytes, as Magika's are.

    White space before the beginning and behind the end goes. All files are long enough, so that
    nothing is padded.

    Inputs are int32 ``(N, 2048)``.

    Args:
        labels: a JSON file whose target_labels_space names the types.
    """
    path = find(labels)
    with reading(str(path)):
        space = list(read_json(path)["target_labels_space"])
    names = sorted(TYPES)
    chosen = [names[number % len(names)] for number in rng.permutation(count)]
    items = np.stack([_item(TYPES[name], rng) for name in chosen])
    return ArrayInputs(items, np.array([space.index(name) for name in chosen], np.int64))


def _item(make: Callable[[Rng], bytes], rng: Rng) -> np.ndarray:
    for _ in range(20):
        content = make(rng)
        first = content[:_BLOCK].lstrip()[:_SEEN]
        last = content[-_BLOCK:].rstrip()[-_SEEN:]
        if len(first) == len(last) == _SEEN:
            return np.frombuffer(first + last, np.uint8).astype(np.int32)
    raise ValueError("files are too short")


def _text(rng: Rng, count: int = 60) -> str:
    return "\n".join(str(text) for text in rng.choice(sentences(), count))


def _names(rng: Rng, count: int) -> list[str]:
    return [str(word).lower() for word in rng.choice(words(), count)]


def _source(rng: Rng) -> Path:
    """A module of Python's standard library."""
    found = sorted(Path(tempfile.__file__).parent.glob("*.py"))
    large = [path for path in found if path.stat().st_size > 2 * _BLOCK]
    return large[rng.integers(len(large))]


def _table(rng: Rng) -> list[list[str]]:
    numbers = rng.normal(0, 100, (80, 4)).round(3).tolist()
    return [[*_names(rng, 2), *map(str, row)] for row in numbers]


def _csv(rng: Rng) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([_names(rng, 6), *_table(rng)])
    return text.getvalue().encode()


def _json(rng: Rng) -> bytes:
    value = [dict(zip(_names(rng, 6), row, strict=True)) for row in _table(rng)]
    return json.dumps(value, indent=int(rng.integers(0, 4)) or None).encode()


def _yaml(rng: Rng) -> bytes:
    value = {name: dict(zip(_names(rng, 6), row, strict=True)) for name, row in _named(rng)}
    return yaml.safe_dump(value).encode()


def _named(rng: Rng) -> list[tuple[str, list[str]]]:
    return list(zip(_names(rng, 80), _table(rng), strict=True))


def _ini(rng: Rng) -> bytes:
    parser, text = configparser.ConfigParser(), io.StringIO()
    for name, row in _named(rng):
        parser[name] = dict(zip(_names(rng, 6), row, strict=True))
    parser.write(text)
    return text.getvalue().encode()


def _html(rng: Rng) -> bytes:
    parts = [f"<p class='{name}'>{html.escape(_text(rng, 2))}</p>" for name in _names(rng, 40)]
    title = html.escape(" ".join(_names(rng, 3)))
    head = f"<!DOCTYPE html>\n<html><head><title>{title}</title></head>\n<body>\n"
    return (head + "\n".join(parts) + "\n</body></html>\n").encode()


def _xml(rng: Rng) -> bytes:
    rows = [f"  <item id='{name}'>{html.escape(_text(rng, 1))}</item>" for name in _names(rng, 60)]
    return ("<?xml version='1.0'?>\n<list>\n" + "\n".join(rows) + "\n</list>\n").encode()


def _diff(rng: Rng) -> bytes:
    before = _source(rng).read_text(encoding="utf-8").splitlines(keepends=True)
    after = [line for line in before if rng.random() > 0.05]
    return "".join(difflib.unified_diff(before, after, "a/module.py", "b/module.py")).encode()


def _tar(rng: Rng) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name in _names(rng, 3):
            data = _text(rng).encode()
            entry = tarfile.TarInfo(f"{name}.txt")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return content.getvalue().rstrip(b"\0") + b"\0" * 1024


def _zip(rng: Rng) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in _names(rng, 3):
            archive.writestr(zipfile.ZipInfo(f"{name}.txt"), _text(rng))
    return content.getvalue()


def _picture(rng: Rng, form: str) -> bytes:
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (160, 120), tuple(rng.integers(0, 256, 3).tolist()))
    draw = ImageDraw.Draw(image)
    for _ in range(6):
        font = ImageFont.truetype(str(fonts()[rng.integers(len(fonts()))]), 24)
        place = tuple(rng.integers(0, 100, 2).tolist())
        draw.text(place, _names(rng, 1)[0], tuple(rng.integers(0, 256, 3).tolist()), font)
    content = io.BytesIO()
    image.save(content, form)
    return content.getvalue()


def _wav(rng: Rng) -> bytes:
    content = io.BytesIO()
    rate = int(rng.choice([8000, 16000, 44100]))
    wavfile.write(content, rate, rng.integers(-9000, 9000, 4000).astype("<i2"))
    return content.getvalue()


def _sqlite(rng: Rng) -> bytes:
    with sqlite3.connect(":memory:") as database:
        database.execute("create table rows (a, b, c, d, e, f)")
        database.executemany("insert into rows values (?, ?, ?, ?, ?, ?)", _table(rng))
        database.commit()
        return database.serialize()


def _bytecode(rng: Rng) -> bytes:
    import importlib.util

    code = compile(_source(rng).read_text(encoding="utf-8"), "module.py", "exec")
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def _c(rng: Rng) -> bytes:
    functions = [
        f"static int f_{name}_{n}(int *v_{name}, int count) {{\n    int sum = {n};\n"
        f"    for (int i = 0; i < count; i++)\n        sum += v_{name}[i] * {n};\n"
        "    return sum;\n}\n"
        for n, name in enumerate(_names(rng, 30))
    ]
    head = f"/* {_text(rng, 2)} */\n#include <stdio.h>\n#include <stdlib.h>\n\n"
    end = '\nint main(void) {\n    printf("done\\n");\n    return 0;\n}\n'
    return (head + "\n".join(functions) + end).encode()


def _gcc(rng: Rng, option: str) -> bytes:
    source = _c(rng).replace(b"static int", b"int")
    with tempfile.TemporaryDirectory() as folder:
        command = ["gcc", "-x", "c", "-w", "-O1", option, "-o", f"{folder}/made", "-"]
        try:
            subprocess.run(command, input=source, check=True, capture_output=True)
        except FileNotFoundError:
            raise UserError("there is no gcc: `apt-get install gcc`") from None
        return Path(folder, "made").read_bytes()


#: By the label that Magika gives to a type.
TYPES: dict[str, Callable[[Rng], bytes]] = {
    "asm": partial(_gcc, option="-S"),
    "bmp": partial(_picture, form="BMP"),
    "bzip": lambda rng: bz2.compress(_text(rng, 400).encode()),
    "c": _c,
    "csv": _csv,
    "diff": _diff,
    "elf": partial(_gcc, option="-c"),
    "gif": partial(_picture, form="GIF"),
    "gzip": lambda rng: gzip.compress(_text(rng, 200).encode(), mtime=0),
    "html": _html,
    "ini": _ini,
    "jpeg": partial(_picture, form="JPEG"),
    "json": _json,
    "png": partial(_picture, form="PNG"),
    "python": lambda rng: _source(rng).read_bytes(),
    "pythonbytecode": _bytecode,
    "sqlite": _sqlite,
    "tar": _tar,
    "tiff": partial(_picture, form="TIFF"),
    "ttf": lambda rng: fonts()[rng.integers(len(fonts()))].read_bytes(),
    "txt": lambda rng: _text(rng, 80).encode(),
    "wav": _wav,
    "webp": partial(_picture, form="WEBP"),
    "xml": _xml,
    "xz": lambda rng: lzma.compress(_text(rng, 400).encode()),
    "yaml": _yaml,
    "zip": _zip,
}
