"""Making a real pair ready: both model files and the inputs, kept below ``state.root``."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.asking.question import ResolvedQuestion, resolve_question
from asterism.asking.request import VetRequest
from asterism.core.files.artifacts import read_json, write_arrays, write_json
from asterism.core.messages.errors import prefix_errors, reading
from asterism.core.random_streams import stream
from asterism.core.resuming import saved_folders
from asterism.models.formats import Tensors
from asterism.models.signatures.reading import read_signature
from asterism.models.tensor_models.feeding import Feed
from real_pairs.entry import ModelRecipe, RealPair, packages, with_options
from real_pairs.inputs import INPUT_MAKERS
from real_pairs.making import MAKERS, SUFFIXES, Material
from real_pairs.wheels import packaged_file

#: Libraries that decide what the made files are.
_LIBRARIES = ("numpy", "onnx", "onnxruntime", "pillow", "tensorflow")
#: Of all that is drawn for inputs.
_SEED = 0
#: What made files are made by, and their names.
_MADE = "made.json"


def prepare(name: str, pair: RealPair, conf: Path) -> ResolvedQuestion:
    """Make what is not there yet; what vetting it comes to.

    Args:
        name: the pair's.
        pair: the pair.
        conf: the project's tree of configuration.

    Raises:
        UserError: a wheel, a package of Debian or a library is missing, or a file is not the one
            that the registry knows.
    """
    folder, key = saved_folders.place("pairs", "made", name), _key(pair)

    def make(temporary: Path) -> None:
        made = [path.name for path in _make(name, pair, conf, temporary)]
        write_json(temporary / _MADE, {"key": key, "files": made})

    with prefix_errors(f"pair {name}"):
        files = _made_by(key, folder)
        if files is None:
            saved_folders.write(folder, make)
            files = _made_by(key, folder)
        assert files is not None
        return resolve_question(_request(pair, files), conf)


def _made_by(key: str, folder: Path) -> list[Path] | None:
    """The files of a folder that is whole, if they were made by this key."""

    def read(folder: Path) -> list[Path] | None:
        facts = read_json(folder / _MADE)
        names = map(saved_folders.checked_name, facts["files"])
        return [folder / name for name in names] if facts["key"] == key else None

    try:
        return saved_folders.read(folder, read) if folder.exists() else None
    except saved_folders.DamagedError:  # it can be made again
        return None


def _make(name: str, pair: RealPair, conf: Path, folder: Path) -> list[Path]:
    """Write original, compressed model and inputs."""
    with tempfile.TemporaryDirectory() as scratch:
        find = partial(packaged_file, folder=Path(scratch))
        original = _made(pair.original, folder / name, Path(scratch), Material(list, find))
        recipe, count = pair.inputs, pair.inputs.count
        make = with_options(INPUT_MAKERS, recipe.make, recipe.options)
        made = make(count + recipe.calibration, stream(_SEED, "pairs", name), find)
        labels = {} if made.labels is None else {"labels": made.labels[:count]}
        inputs = folder / "inputs.npz"
        write_arrays(inputs, inputs=made.items[:count], **labels)
        feeds = partial(_feeds, pair, original, inputs, made.items[count:], conf)
        stem = folder / f"{name}-compressed"
        material = Material(feeds, find)
        compressed = _made(pair.compressed, stem, Path(scratch), material, original)
    return [original, compressed, inputs]


def _made(
    recipe: ModelRecipe, stem: Path, scratch: Path, material: Material, original: Path | None = None
) -> Path:
    """A model file by its recipe."""
    source = original if recipe.file is None else material.find(recipe.file)
    assert source is not None
    for number, step in enumerate(recipe.steps):
        target = scratch / f"{stem.name}-{number}{SUFFIXES.get(step.make, source.suffix)}"
        with reading(str(source)):
            with_options(MAKERS, step.make, step.options)(source, target, material)
        source = target
    result = stem.with_name(stem.name + source.suffix)
    shutil.copyfile(source, result)
    return result


def _feeds(
    pair: RealPair, original: Path, inputs: Path, items: NDArray[Any], conf: Path
) -> list[Tensors]:
    """Inputs for calibration, as the original takes them, one at a time."""
    found = resolve_question(_request(pair, [original, original, inputs]), conf)
    assert found.params is not None, "nothing is open"
    feed = Feed(read_signature(original), found.params.feeding, pair.vet.kind == "images")
    return [feed.inputs(item[np.newaxis]) for item in items]


def _request(pair: RealPair, files: Sequence[Path]) -> VetRequest:
    return VetRequest(
        original=files[0],
        compressed=files[1],
        inputs=files[2],
        kind=pair.vet.kind,
        comparison=pair.vet.comparison.kind,
        preprocessing=pair.vet.preprocessing,
        constants=pair.vet.constants,
        options=pair.vet.comparison.options,
        overrides=pair.vet.overrides,
    )


def _key(pair: RealPair) -> str:
    """Tells whether made files are still those that would be made."""
    facts: dict[str, Any] = {
        "pair": pair.model_dump(mode="json"),
        "packages": {name: package.sha256 for name, package in packages().items()},
        "versions": {name: version(name) for name in _LIBRARIES},
    }
    whole = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for folder in ("making", "inputs"):
        for file in sorted((Path(__file__).parent / folder).glob("*.py")):
            whole.update(file.read_bytes())
    return whole.hexdigest()
