"""Arrays, documents, tables and pictures that ask for too much: one line, and no memory."""

import crafted_arrays as crafted
import pytest
from bounded import ROOM, answers

#: Reader, suffix of its files, the crafted ones, and modules that it loads late.
READERS = {
    "arrays": ("asterism.core.files.artifacts:read_arrays", "npz", crafted.ARRAYS, ()),
    "array": ("reading_settings:given_array", "npy", crafted.ARRAY, ()),
    "labels": ("reading_settings:given_labels", "npz", crafted.LABELS, ()),
    "folders": ("reading_settings:given_bytes", "folder", crafted.FOLDERS, ()),
    "sounds": (
        "reading_settings:given_sound",
        "wav",
        crafted.SOUNDS,
        ("scipy.io.wavfile", "scipy.signal"),
    ),
    "matrices": (
        "asterism.core.files.artifacts:read_sparse",
        "npz",
        crafted.MATRICES,
        ("scipy.sparse",),
    ),
    "documents": ("asterism.core.files.artifacts:read_json", "json", crafted.DOCUMENTS, ()),
    "tables": ("asterism.core.files.artifacts:read_table", "csv", crafted.TABLES, ("polars",)),
    "parameters": ("reading_settings:parameters", "yaml", crafted.SETTINGS, ()),
    "machine": ("reading_settings:machine_file", "yaml", crafted.SETTINGS, ()),
    "known issues": ("reading_settings:known_issues", "yaml", crafted.SETTINGS, ()),
    "pictures": ("reading_settings:driving_image", "png", crafted.PICTURES, ()),
}
CASES = [
    pytest.param(kind, craft.__name__, id=f"{kind}: {craft.__name__}")
    for kind, (_, _, many, _) in READERS.items()
    for craft in many
]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """One process reads them all: they take seconds to load, and no memory that stays."""
    cases, readers = {}, []
    for kind, (reader, suffix, many, imports) in READERS.items():
        folder = tmp_path_factory.mktemp("crafted")
        paths = [folder / f"{craft.__name__}.{suffix}" for craft in many]
        for craft, path in zip(many, paths, strict=True):
            craft(path)
            cases[path] = (kind, craft.__name__)
        readers.append((reader, paths, imports))
    return {cases[path]: answer for path, answer in answers(readers).items()}


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_crafted_file_is_one_line_and_takes_no_memory(told, kind, name):
    answer, taken = told[kind, name]
    assert answer.startswith("UserError: "), answer
    assert name in answer, "the file is named"
    assert "\n" not in answer
    within_the_limit = name == "zeros_of_1_gb"
    assert within_the_limit or "not enough memory" not in answer, "its size was looked at before"
    assert taken < ROOM / 2, "MB"
