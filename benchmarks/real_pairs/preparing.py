"""Making a real pair ready: both model files and the inputs, kept below ``state.root``."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from asterism.asking.question import settle
from asterism.asking.request import VetRequest
from asterism.core.files.artifacts import read_json, write_arrays, write_json
from asterism.core.messages.errors import prefix_errors
from asterism.core.parameters.construction import options_of
from asterism.core.randomness.random_streams import stream
from asterism.core.resuming import saved_folders
from asterism.models.runtimes.runtime import Tensors
from asterism.models.signatures.reading import read_signature
from asterism.models.tensor_models.feeding import Feed
from asterism.vetting.params import VetParams
from real_pairs.entry import InputRecipe, ModelRecipe, PackagedFile, RealPair, packages
from real_pairs.inputs import INPUT_MAKERS, MadeInputs
from real_pairs.making import MAKERS, Material
from real_pairs.wheels import packaged_file

#: Libraries that decide what the made files are.
_LIBRARIES = ("numpy", "onnx", "onnxruntime", "pillow", "tensorflow")
#: Of all that is drawn for inputs.
_SEED = 0
#: What made files are made by, and their names.
_MADE = "made.json"


@dataclass(frozen=True)
class PreparedPair:
    """Files that can be vetted.

    Attributes:
        overrides: Hydra's, for vetting them.
        said: what was guessed of the files, one line each.
        params: the parameters that the overrides lead to.
    """

    overrides: tuple[str, ...]
    said: tuple[str, ...]
    params: VetParams


def prepare(name: str, pair: RealPair, conf: Path) -> PreparedPair:
    """Make what is not there yet.

    Args:
        name: the pair's.
        pair: one that can be vetted.
        conf: the project's tree of configuration.

    Raises:
        UserError: a wheel, a package of Debian or a library is missing, or a file is not the one
            that the registry knows.
    """
    folder, key = saved_folders.place("pairs", "made", name), _key(pair)

    def make(temporary: Path) -> None:
        made = _make(name, pair, conf, temporary)
        write_json(temporary / _MADE, {"key": key, "files": made})

    with prefix_errors(f"pair {name}"):
        if not folder.exists() or _made_by(key, folder) is None:
            saved_folders.write(folder, make)
        files = _made_by(key, folder)
        assert files is not None
        found = settle(_request(pair, files), conf)
    assert found.params is not None, "nothing is open"
    return PreparedPair(tuple(found.overrides), tuple(found.said), found.params)


def _made_by(key: str, folder: Path) -> list[Path] | None:
    """The files of a folder that is whole, if they were made by this key."""

    def read(folder: Path) -> list[Path] | None:
        facts = read_json(folder / _MADE)
        names = map(saved_folders.checked_name, facts["files"])
        return [folder / name for name in names] if facts["key"] == key else None

    try:
        return saved_folders.read(folder, read)
    except saved_folders.DamagedError:  # it can be made again
        return None


def _make(name: str, pair: RealPair, conf: Path, folder: Path) -> list[str]:
    """Write original, compressed model and inputs; their names in this order."""
    assert pair.original is not None and pair.compressed is not None and pair.inputs is not None
    with tempfile.TemporaryDirectory() as scratch:
        find = partial(packaged_file, folder=Path(scratch))

        def none_yet() -> Sequence[Tensors]:
            raise ValueError("the original cannot be made of its own inputs")

        original = _made(
            pair.original, None, folder / name, Path(scratch), Material(none_yet, find)
        )
        inputs, calibration = _inputs(name, pair.inputs, folder, find)
        feeds = partial(_feeds, pair, original, inputs, calibration, conf)
        stem = folder / f"{name}-compressed"
        material = Material(feeds, find)
        compressed = _made(pair.compressed, original, stem, Path(scratch), material)
    return [original.name, compressed.name, inputs.name]


def _made(
    recipe: ModelRecipe, original: Path | None, stem: Path, scratch: Path, material: Material
) -> Path:
    """A model file by its recipe."""
    source = original if recipe.file is None else material.find(recipe.file)
    assert source is not None
    for number, step in enumerate(recipe.steps):
        maker = MAKERS[step.make]
        target = scratch / f"{stem.name}-{number}{maker.suffix or source.suffix}"
        maker.make(source, target, options_of(MAKERS, step.make, step.options), material)
        source = target
    result = stem.with_name(stem.name + source.suffix)
    shutil.copyfile(source, result)
    return result


def _inputs(
    name: str, recipe: InputRecipe, folder: Path, find: Callable[[PackagedFile], Path]
) -> tuple[Path, MadeInputs]:
    """The file of inputs, and the further ones for calibration."""
    made = make_inputs(name, recipe, find)
    count, path = recipe.count, folder / "inputs.npz"
    arrays = {"inputs": made.items[:count]}
    if made.labels is not None:
        arrays["labels"] = made.labels[:count]
    write_arrays(path, **arrays)
    return path, MadeInputs(made.items[count:])


def make_inputs(name: str, recipe: InputRecipe, find: Callable[[PackagedFile], Path]) -> MadeInputs:
    """The inputs of a pair, those for calibration last."""
    options = options_of(INPUT_MAKERS, recipe.make, recipe.options)
    rng = stream(_SEED, "pairs", name)
    return INPUT_MAKERS[recipe.make].make(recipe.count + recipe.calibration, options, rng, find)


def _feeds(
    pair: RealPair, original: Path, inputs: Path, calibration: MadeInputs, conf: Path
) -> list[Tensors]:
    """Inputs for calibration, as the original takes them, one at a time."""
    found = settle(_request(pair, [original, original, inputs]), conf)
    assert pair.vet is not None and found.params is not None
    feed = Feed(read_signature(original), found.params.feeding, pair.vet.kind == "images")
    return [feed.inputs(item[np.newaxis]) for item in calibration.items]


def _request(pair: RealPair, files: Sequence[Path]) -> VetRequest:
    assert pair.vet is not None
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
