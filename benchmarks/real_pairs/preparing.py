"""Making a real pair ready: both model files and the inputs, kept below ``state.root``."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.asking.question import ResolvedQuestion, resolve_question
from asterism.asking.request import VetRequest
from asterism.core.files.artifacts import replacing, write_arrays
from asterism.core.messages.errors import prefix_errors, reading
from asterism.core.random_streams import stream
from asterism.core.resuming import saved_folders
from asterism.models.formats import Tensors
from asterism.models.signatures.reading import read_signature
from asterism.models.tensor_models.feeding import Feed
from real_pairs.entry import ModelRecipe, RealPair, with_options
from real_pairs.inputs import INPUT_MAKERS
from real_pairs.making import MAKERS, Material
from real_pairs.wheels import packaged_file

#: Of all that is drawn for inputs.
_SEED = 0
#: More than any pair takes: its counts are the recipe's, on a slow machine too.
_MINUTES = 24 * 60


def prepare(name: str, pair: RealPair, conf: Path) -> ResolvedQuestion:
    """Make the files; what vetting them comes to.

    Equal recipes make equal files, so that nothing is vetted again because of them.

    Args:
        name: the pair's.
        pair: the pair.
        conf: the project's tree of configuration.

    Raises:
        UserError: a wheel, a package of Debian or a library is missing, or a file is not the one
            that the registry knows.
    """
    folder = saved_folders.place("pairs", "made", name)
    with prefix_errors(f"pair {name}"):
        with replacing(folder) as temporary:
            temporary.mkdir()
            made = [folder / path.name for path in _make(name, pair, conf, temporary)]
        return resolve_question(_request(pair, made), conf)


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
        target = scratch / f"{stem.name}-{number}{source.suffix}"
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
        minutes=_MINUTES,
        options=pair.vet.comparison.options,
        overrides=pair.vet.overrides,
    )
