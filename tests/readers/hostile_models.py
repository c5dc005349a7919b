"""Keras and LiteRT files with other texts in place of theirs."""

import io
import json
import zipfile

import h5py
import numpy as np
from crafted_arrays import archive

from hostile_text import MARK, TEXTS
from reader_fuzzing.mutators.litert_files import edited, texts_of

#: Hostile texts that TensorFlow takes as names of layers.
NAMES = (MARK, f"{MARK}.x>1-y", f"lambda.{MARK}")
#: Hostile texts that are plain ones of a line.
PLAIN = tuple(text for text in TEXTS if text.isprintable())


def network():
    """A classifier of images 8×8×1 with a layer of each kind that the consumers look at."""
    import keras

    layers = keras.layers
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [
            keras.Input((8, 8, 1), name="pixels"),
            layers.Conv2D(4, 3, activation="relu", name="conv"),
            layers.Flatten(name="flat"),
            layers.Dense(12, activation="relu", name="hidden"),
            layers.Dense(3, activation="softmax", name="scores"),
        ],
        name="network",
    )


def recurrent():
    """A recurrent network of sequences 8×4."""
    import keras

    layers = keras.layers
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [
            keras.Input((8, 4), name="pixels"),
            layers.LSTM(5, name="conv"),
            layers.Dense(3, activation="softmax", name="scores"),
        ],
        name="network",
    )


def run_on_zeros(path):
    """Open a model file as a stage does, and run it once."""
    from asterism.models.runtimes.runtime import open_runtime

    opened = open_runtime(path)
    specs = opened.signature.inputs
    opened.run({s.name: np.zeros([size or 1 for size in s.shape], s.dtype) for s in specs})


# ---- LiteRT -------------------------------------------------------------------------------------


def litert_places(content):
    """How many places of a LiteRT file have a text, or could."""
    places = []
    edited(content, lambda model: places.extend(texts_of(model)))
    return len(places)


def with_litert_texts(content, texts):
    """A LiteRT file with these texts, by the numbers of their places."""

    def edit(model):
        places = texts_of(model)
        for place, text in texts.items():
            part, name = places[place]
            setattr(part, name, text.encode())

    return edited(content, edit)


# ---- Keras: names are references too, so a text changes wherever it stands -----------------------


def _json(value, change):
    """A JSON value after a change of each of its texts, keys as well."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_json(one, change) for one in value]
    if isinstance(value, dict):
        return {change(key): _json(one, change) for key, one in value.items()}
    return value


def _attribute(value, change):
    if isinstance(value, str):
        if value.startswith("{"):
            return json.dumps(_json(json.loads(value), change))
        return _path(value, change)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([_path(one, change) for one in value.tolist()], object)
    return value


def _path(name, change):
    return "/".join(change(part) for part in name.split("/"))


def _hdf5(content, change):
    target = io.BytesIO()
    with h5py.File(io.BytesIO(content)) as old, h5py.File(target, "w") as new:
        parts = [("", old)]
        old.visititems(lambda name, part: parts.append((name, part)))
        for name, part in parts:
            there = _path(name, change)
            if isinstance(part, h5py.Dataset):
                copied = new.create_dataset(there, data=part[()])
            else:
                copied = new.require_group(there) if name else new
            for key, value in part.attrs.items():
                copied.attrs[change(key)] = _attribute(value, change)
    return target.getvalue()


def keras_changed(source, target, change):
    """Write a Keras file after a change of each of its texts."""
    if source.suffix == ".h5":
        target.write_bytes(_hdf5(source.read_bytes(), change))
        return
    with zipfile.ZipFile(source) as file:
        members = {name: file.read(name) for name in file.namelist()}
    for name, content in members.items():
        if name.endswith(".h5"):
            members[name] = _hdf5(content, change)
        else:
            members[name] = json.dumps(_json(json.loads(content), change)).encode()
    archive(target, members.items())


def keras_texts(source, scratch):
    """All different texts of a Keras file, in their order."""
    found = {}

    def see(text):
        found[text] = None
        return text

    keras_changed(source, scratch, see)
    return [*filter(None, found)]
