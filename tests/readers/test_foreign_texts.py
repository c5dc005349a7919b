"""Hostile texts in each place of a model file where one stands: it works, or one line says why."""

import json
import zipfile

import pytest
from crafted_arrays import archive
from crafted_models import classifier
from hostile_models import run_on_zeros

from asterism.core.messages.errors import UserError
from asterism.models.signatures.reading import read_signature
from hostile_text import MARK, watched
from models.small_litert import lite_streaming
from reader_fuzzing.mutators.litert_files import edited, texts_of
from thinning import every

CODE = f"__import__('pathlib').Path('{MARK}').touch()"
TEXTS = [CODE, "'\"\"\"'''", "größe", "def", "", "a\nb", "\u202ea", "\x1b[31m", "\\", "x" * 10**6]


def used(path):
    """What a stage does with a model: None, or the line that says why it is rejected."""
    with watched() as seen:
        try:
            read_signature(path)
            run_on_zeros(path)
            why = None
        except UserError as error:
            assert path.name in str(error) and "\n" not in str(error)
            why = str(error)
    assert seen == []
    return why


@pytest.mark.parametrize("text", every(5, TEXTS))
def test_each_text_of_a_litert_file_is_data(text, tmp_path):
    whole = lite_streaming(tmp_path / "whole.tflite").read_bytes()
    places = []
    edited(whole, lambda model: places.extend(texts_of(model)))
    assert len(places) > 8
    for place in range(len(places)):
        path = tmp_path / f"{place}.tflite"

        def edit(model, place=place):
            part, name = texts_of(model)[place]
            setattr(part, name, text.encode())

        path.write_bytes(edited(whole, edit))
        why = used(path)
        if text in (CODE, "größe", "def"):
            assert why is None, "plain text, whatever it means elsewhere"


def texts_in(tree, path=()):
    if isinstance(tree, str):
        yield path
    elif isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from texts_in(value, (*path, key))


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS)
def test_each_text_of_a_keras_file_is_data(text, tmp_path, monkeypatch):
    monkeypatch.setenv("ASTERISM_STATE_ROOT", str(tmp_path / "state"))
    classifier().save(tmp_path / "whole.keras")
    with zipfile.ZipFile(tmp_path / "whole.keras") as file:
        members = {name: file.read(name) for name in file.namelist()}
    places = [*texts_in(json.loads(members["config.json"]))]
    assert len(places) > 30
    for number, place in enumerate(places):
        config = json.loads(members["config.json"])
        holder = config
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = text
        path = tmp_path / f"{number}.keras"
        archive(path, (members | {"config.json": json.dumps(config).encode()}).items())
        used(path)
