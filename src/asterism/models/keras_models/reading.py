"""Keras model files: today's and those of Keras 2, read without running their code."""

from __future__ import annotations

import io
import json
import mmap
import os
import re
import tempfile
import textwrap
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import h5py

from asterism.core.files.artifacts import replacing, require_file
from asterism.core.files.limits import (
    open_zip,
    parse_json,
    read_within_limit,
    require_file_within_limit,
    require_size_within_limit,
)
from asterism.core.messages.errors import UserError, reading
from asterism.models.keras_models.configurations import (
    find_code,
    register_activations,
    require_plain_config,
    to_keras_3,
)
from asterism.models.keras_models.limits import (
    WEIGHTS,
    limit_weights,
    require_plain,
    require_readable_hdf5,
    require_small_outputs,
)

if TYPE_CHECKING:
    import keras

#: Of the files that hold a whole Keras model.
KERAS_SUFFIXES = (".keras", ".h5", ".hdf5")

#: What Keras writes into a ``.keras`` archive; other files in it are of layers with vocabularies.
_CONFIG = "config.json"
_MEMBERS = {_CONFIG, WEIGHTS, "metadata.json"}

#: Written into every file in place of the date, so that equal models give equal bytes.
_NO_DATE = (1980, 1, 1, 0, 0, 0)


def load_keras(path: Path) -> keras.Model:
    """A Keras model from ``.keras``, ``.h5`` (Keras 3 or 2) or Keras 2's ``.json`` and weights.

    ``.hdf5`` is another name of ``.h5``. A ``.json`` file's weights lie beside it under the same
    name with the suffix ``.h5``; a whole model in that file will do.
    The model comes uncompiled. Nothing in the file is executed: a Lambda layer with Python code
    inside is rejected, and so is a layer that only the file's author has. Weights come from the
    file alone: links and references to other files are rejected.

    Raises:
        UserError: missing, damaged, of another format, holding code, referring to other files, or
            larger than the limits of the machine.
    """
    require_file(path, "model file")
    register_activations()
    try:
        with limit_weights(path):
            loaders = {
                ".keras": _load_archive,
                ".h5": _load_h5,
                ".hdf5": _load_h5,
                ".json": _load_json,
            }
            if path.suffix in loaders:
                require_readable_hdf5(path)
                model = loaders[path.suffix](path)
                require_small_outputs(model, path)
                return model
    except UserError:
        raise
    except Exception as error:  # whatever a foreign file makes Keras raise
        if unknown := _UNKNOWN.search(_innermost(error)):
            what = f"needs {unknown['name']}, which Keras does not have"
            raise find_code(path, what) from None
        raise UserError(f"Keras cannot read {path}: {_first_sentence(error)}") from error
    raise UserError(f"{path} is no Keras model: the suffix must be .keras, .h5, .hdf5 or .json")


def save_keras(model: keras.Model, path: Path) -> None:
    """Write a ``.keras`` file without optimiser state, the same bytes for the same model."""
    with replacing(path) as temporary, tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / path.name
        with _without_optimizer(model):
            model.save(raw)
        _normalise(raw, temporary)


@contextmanager
def _without_optimizer(model: keras.Model) -> Iterator[None]:
    """Keras writes the optimiser's state into every ``.keras`` file, two thirds of it with Adam."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        yield
        return
    model.optimizer = None
    try:
        yield
    finally:
        model.optimizer = optimizer


def _normalise(source: Path, target: Path) -> None:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in sorted(old.namelist()):
            content = old.read(name)
            if name == "metadata.json":
                facts = json.loads(content) | {"date_saved": "1980-01-01@00:00:00"}
                content = json.dumps(facts, sort_keys=True).encode()
            elif name == "config.json":
                content = json.dumps(_renumbered(json.loads(content), {}), sort_keys=True).encode()
            entry = zipfile.ZipInfo(name, date_time=_NO_DATE)
            new.writestr(entry, content, compress_type=zipfile.ZIP_STORED)


def _renumbered(config: Any, numbers: dict[int, int]) -> Any:
    """The config with shared objects, which Keras names by memory address, counted from 0."""
    if isinstance(config, list):
        return [_renumbered(item, numbers) for item in config]
    if not isinstance(config, dict):
        return config
    counted = {key: _renumbered(value, numbers) for key, value in config.items()}
    if "shared_object_id" in config:
        counted["shared_object_id"] = numbers.setdefault(config["shared_object_id"], len(numbers))
    return counted


def read_keras_config(path: Path) -> dict[str, Any]:
    """The configuration of a Keras model file, read without Keras; nothing in it is executed.

    Args:
        path: a ``.keras``, ``.h5`` or ``.hdf5`` file.

    Raises:
        UserError: missing, damaged, holding code, referring to other files, or too large.
    """
    require_file(path, "model file")
    with reading(str(path)):
        require_readable_hdf5(path)
        if path.suffix == ".keras":
            return _config_of_archive(path)
        return _config_of_h5(path)


def _load_archive(path: Path) -> keras.Model:
    import keras

    _config_of_archive(path)
    return keras.saving.load_model(path, compile=False, safe_mode=True)


def _config_of_archive(path: Path) -> dict[str, Any]:
    """The configuration in a ``.keras`` file, all members of which have been checked."""
    if not zipfile.is_zipfile(path):  # Keras would call it missing
        raise UserError(f"{path} is damaged, or is no .keras file")
    with open_zip(path, "limits.model_mb") as archive:
        if others := sorted({*archive.namelist()} - _MEMBERS):
            raise UserError(
                f"{path} holds {others[0]}: only {', '.join(sorted(_MEMBERS))} are read"
            )
        require_size_within_limit(
            archive.getinfo(_CONFIG).file_size, "limits.text_mb", f"{path} declares a configuration"
        )
        config = archive.read(_CONFIG)
        content = archive.read(WEIGHTS)
        with h5py.File(io.BytesIO(content)) as weights:
            require_plain(weights, content, path)
    found: dict[str, Any] = parse_json(config, str(path))
    require_plain_config(found, path)
    return found


def _load_h5(path: Path) -> keras.Model:
    return _load_legacy(_config_of_h5(path), path, path)


def _config_of_h5(path: Path) -> dict[str, Any]:
    """The configuration in an HDF5 file, with Keras' version."""
    with _opened_plain(path) as file:
        text = file.attrs.get("model_config")
        version = file.attrs.get("keras_version", "2")
    if text is None:
        raise UserError(f"{path} holds weights only: give the whole model, or its .json beside it")
    require_size_within_limit(len(text), "limits.text_mb", f"{path} holds a configuration")
    version = version.decode() if isinstance(version, bytes) else str(version)
    config = {"keras_version": version, **parse_json(text, str(path))}
    require_plain_config(config, path)
    return config


@contextmanager
def _opened_plain(path: Path) -> Iterator[h5py.File]:
    """An HDF5 file that holds nothing but plain data of its own."""
    require_file_within_limit(path, "limits.model_mb")
    try:
        file = h5py.File(path)
    except OSError as error:
        raise UserError(
            f"{path} is no HDF5 file, or is damaged: {_first_sentence(error)}"
        ) from None
    with file:
        with path.open("rb") as raw, mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as content:
            require_plain(file, content, path)
        yield file


def _load_json(path: Path) -> keras.Model:
    import keras

    weights = path.with_suffix(".h5")
    if not weights.exists():
        raise UserError(f"the weights of {path} are missing: put them beside it as {weights.name}")
    config = parse_json(read_within_limit(path, "limits.text_mb"), str(path))
    require_plain_config(config, path)
    if "module" not in config:
        return _load_legacy(config, path, weights)
    with _opened_plain(weights):
        model = keras.models.model_from_json(json.dumps(config))
        model.load_weights(weights)
    return model


def _load_legacy(config: dict[str, Any], path: Path, weights: Path) -> keras.Model:
    """A model from a config in the old form and the weights of an HDF5 file.

    The file holds them at its root, or below ``model_weights`` where it holds a whole model.
    """
    import keras

    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "model.h5"
        with _opened_plain(weights) as source, h5py.File(whole, "w") as target:
            target.attrs["model_config"] = json.dumps(to_keras_3(config, path))
            target.attrs["keras_version"] = "2.0.0"
            target.attrs["backend"] = "tensorflow"
            copied = target.create_group("model_weights")
            at_root = "layer_names" in source.attrs
            saved = source if at_root else source.get("model_weights", source)
            for name, value in saved.attrs.items():
                copied.attrs[name] = value
            for name in saved:
                source.copy(saved[name], copied, name)
        return keras.saving.load_model(whole, compile=False)


#: How Keras says that it does not know a class or a function, without the package's name.
_UNKNOWN = re.compile(r"(Could not locate (class|function)|Unknown [\w ]+:) '(\w+>)?(?P<name>\w+)'")


def _innermost(error: Exception) -> str:
    """Keras says what it was reading, from the whole model on, and in the end what is wrong."""
    return str(error).rpartition("Exception encountered: ")[2]


def _first_sentence(error: Exception) -> str:
    said = " ".join(_innermost(error).split()) or type(error).__name__
    first = re.split(r"(?<=[.!?]) ", said, maxsplit=1)[0]
    return textwrap.shorten(first, 300, placeholder=" …")
