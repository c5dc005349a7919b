"""Keras files of attacks: what HDF5 can lead elsewhere, and configurations that run or grow."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from readers.crafted import add, attack
from readers.examples import OUTSIDE
from readers.formats import h5_edited, h5_things, members, zipped

# HDF5: each edit is given a file and the name of a data set of it -----------------------------

Edit = Callable[[h5py.File, str], object]


def _replaced(make: Callable[[h5py.File, str, tuple[int, ...]], object]) -> Edit:
    """The data set by another thing of its name."""

    def edit(file: h5py.File, name: str) -> None:
        shape = file[name].shape
        del file[name]
        make(file, name, shape)

    return edit


def _virtual(file: h5py.File, name: str, _shape: tuple[int, ...]) -> None:
    layout = h5py.VirtualLayout((64, 64), np.float32)
    layout[:] = h5py.VirtualSource(f"{OUTSIDE}/secret.h5", "weights", (64, 64))
    file.create_virtual_dataset(name, layout)


def _stored_outside(file: h5py.File, name: str, shape: tuple[int, ...]) -> None:
    place = [(f"{OUTSIDE}/secret.bin", 0, int(np.prod(shape)) * 4)]
    file.create_dataset(name, shape, "<f4", external=place)


def _filtered(file: h5py.File, name: str, shape: tuple[int, ...]) -> None:
    created = h5p.create(h5p.DATASET_CREATE)
    created.set_chunk(shape)
    created.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, ())
    h5d.create(file.id, name.encode(), h5t.IEEE_F32LE, h5s.create_simple(shape), created)


def _elsewhere(file: h5py.File, name: str) -> None:
    file.move(name, "elsewhere")
    file[name] = h5py.SoftLink("/elsewhere")


def _all_outside(file: h5py.File, _name: str) -> None:
    for key in [*file]:
        del file[key]
        file[key] = h5py.ExternalLink(f"{OUTSIDE}/secret.h5", "/")


def _layer_outside(file: h5py.File, name: str) -> None:
    layer = name.rpartition("/")[0]
    del file[layer]
    file[layer] = h5py.ExternalLink(f"{OUTSIDE}/secret.h5", "/")


def _large(shape: tuple[int, ...], **options: Any) -> Edit:
    return lambda file, _name: file.create_dataset("large", shape, "f4", **options)


#: Each is named in the message, with what it is.
HDF5: dict[str, Edit] = {
    "a link to another file": _replaced(
        lambda f, n, _: f.__setitem__(n, h5py.ExternalLink(f"{OUTSIDE}/secret.h5", "/weights"))
    ),
    "groups that are links to another file": _all_outside,
    "a layer that is a link to another file": _layer_outside,
    "a link within the file": _elsewhere,
    "a link to the root": _replaced(lambda f, n, _: f.__setitem__(n, h5py.SoftLink("/"))),
    "a virtual data set": _replaced(_virtual),
    "external storage": _replaced(_stored_outside),
    "a reference": lambda f, n: f.__setitem__("r", np.asarray(f[n].ref, dtype=h5py.ref_dtype)),
    "a reference as an attribute": lambda f, n: f.attrs.create(
        "pointer", f[n].ref, dtype=h5py.ref_dtype
    ),
    "a group in itself": lambda f, _: f.__setitem__("again", f["/"]),
    "a second name": lambda f, n: f.__setitem__("again", f[n]),
    "a filter of a plug-in": _replaced(_filtered),
    "64 GB in chunks that are not there": _large((16 * 10**9,), chunks=(1000,)),
    "a chunk of 3 GB": _large((1,), chunks=(75 * 10**7,), maxshape=(None,)),
    "attributes by the thousand": lambda f, _: f.attrs.update({f"a{n}": n for n in range(1001)}),
    "a data set of texts": lambda f, n: f.create_dataset(
        f"{n}s", data=["x"], dtype=h5py.string_dtype()
    ),
    "a data set of pairs": lambda f, n: f.create_dataset(
        f"{n}s", data=np.zeros(2, [("a", "f4"), ("b", "i4")])
    ),
    "a named type": lambda f, n: f.__setitem__(f"{n}s", np.dtype("f4")),
}


def kernel(file: h5py.File) -> str:
    """The data set with the most values."""
    return max(h5_things(file, h5py.Dataset), key=lambda name: np.size(file[name]))


def _edit(edit: Edit, whole: bytes) -> bytes:
    return h5_edited(whole, lambda file: edit(file, kernel(file)))


add(("keras", "h5"), {name: partial(_edit, edit) for name, edit in HDF5.items()})


@attack("keras", "h5")
def groups_in_a_circle(whole: bytes) -> bytes:
    """The nodes of a group's tree are each their own neighbour: HDF5 visits them for ever."""
    if whole[:2] == b"PK":
        many = dict(members(whole))
        many["model.weights.h5"] = groups_in_a_circle(many["model.weights.h5"])
        return zipped([*many.items()])
    changed = bytearray(
        h5_edited(whole, lambda f: [f.create_group(f"x{n:04}") for n in range(999)])
    )
    at = changed.find(b"TREE")
    while at >= 0:
        changed[at + 8 : at + 24] = 2 * at.to_bytes(8, "little")
        at = changed.find(b"TREE", at + 4)
    return bytes(changed)


@attack("h5")
def texts_of_one_place(_whole: bytes, count: int = 160_000, size: int = 100_000) -> bytes:
    """Texts of an attribute that are all the same 100 kB of the file: 16 GB."""
    target = io.BytesIO()
    with h5py.File(target, "w", libver="latest") as file:
        file.attrs["model_config"] = "{}"
        texts = ["y" * size] + ["x"] * (count - 1)
        file.attrs.create("layer_names", texts, dtype=h5py.string_dtype())
    content = bytearray(target.getvalue())
    long, short = size.to_bytes(4, "little"), (1).to_bytes(4, "little")
    at = content.find(long)
    while content[at + 16 : at + 20] != short or content[at + 32 : at + 36] != short:
        at = content.find(long, at + 1)
        assert at > 0, "a reference is the length, the place of a heap and a number in it"
    content[at : at + 16 * count] = content[at : at + 16] * count
    return bytes(content)


# Configurations ------------------------------------------------------------------------------

Config = Any


def edited_config(change: Callable[[Config], Any], whole: bytes) -> bytes:
    """A ``.keras`` or ``.h5`` file, or Keras' JSON, whose configuration was changed."""
    if whole[:2] == b"PK":
        many = dict(members(whole))
        many["config.json"] = edited_config(change, many["config.json"])
        return zipped([*many.items()])
    if whole[:1] == b"{":
        return json.dumps(change(json.loads(whole))).encode()

    def edit(file: h5py.File) -> None:
        if "model_config" in file.attrs:  # else they are weights alone
            text = json.dumps(change(json.loads(file.attrs["model_config"])))
            file.attrs["model_config"] = text if len(text) < 60_000 else "[]"

    return h5_edited(whole, edit)


def _layers(config: Config) -> list[Config]:
    inner = config["config"]
    layers: list[Config] = inner if isinstance(inner, list) else inner["layers"]
    return layers


def _last(kind: str, module: str | None = "keras.layers", **options: Any) -> Callable[..., Any]:
    """The last layer is another."""

    def change(config: Config) -> Any:
        _layers(config)[-1].update(
            class_name=kind, module=module, config={"name": "x", **options}, registered_name=None
        )
        return config

    return change


def _option(**options: Any) -> Callable[[Config], Any]:
    """Each layer that has one of the options has another, and the last layer has all."""

    def change(config: Config) -> Any:
        for layer in _layers(config):
            known = {k: v for k, v in options.items() if k in layer["config"]}
            layer["config"] |= options if layer is _layers(config)[-1] else known
        return config

    return change


def _activation(module: str, name: str) -> Callable[[Config], Any]:
    """A function of a module in the place of an activation."""
    function = {"class_name": "function", "module": module, "config": name}
    return _option(activation=function | {"registered_name": name})


def _enlarging(kind: str, **options: Any) -> Callable[[Config], Any]:
    """A layer without weights whose output is a thousand times what fits, behind the input."""

    def change(config: Config) -> Any:
        layers = _layers(config)
        # A Sequential of Keras 2 has its shape in its first layer.
        first = next((x for x in layers if x["class_name"] == "InputLayer"), layers[0])
        made = [
            {"class_name": k, "config": {"name": k, **given}, "module": "keras.layers",
             "registered_name": None}
            for k, given in ((kind, options), ("GlobalAveragePooling2D", {}))
        ]  # fmt: skip
        return {"class_name": "Sequential", "module": "keras", "registered_name": None,
                "config": {"name": "grown", "layers": [first, *made]}}  # fmt: skip

    return change


def _layers_more(count: int) -> Callable[[Config], Any]:
    def change(config: Config) -> Any:
        layers = _layers(config)
        last = layers[-1]
        layers.extend(
            {**last, "name": f"d{n}", "config": {**last["config"], "name": f"d{n}"}}
            for n in range(count)
        )
        return config

    return change


def _nested(config: Config) -> Any:
    for _ in range(90):
        config = {"class_name": "Sequential", "config": {"name": "deeper", "layers": [config]}}
    return config


_MARSHALLED = "4wEAAAAAAAAAAAAAAAEAAAABAAAA8wQAAACXAGQAUwApAU6pAHIBAAAA"
CONFIGS: dict[str, Callable[[Config], Any]] = {
    "a Lambda layer": _last(
        "Lambda", None, function=[_MARSHALLED, None, None], function_type="lambda"),
    "a Lambda of Keras 3": _last(
        "Lambda", function={"class_name": "__lambda__", "config": {"code": _MARSHALLED}}),
    "a module that is imported": _last("x", "this"),
    "a module of the example": _last("x", "stranger"),
    "a function of another module": _activation("os", "system"),
    "a builtin function": _activation("builtins", "eval"),
    "a function of Keras that reads files": _activation("keras.utils", "get_file"),
    "a function that writes arrays": _activation("keras.saving", "save_model"),
    "a vocabulary in another file": _last("StringLookup", vocabulary=f"{OUTSIDE}/secret.txt"),
    "a vocabulary in an absolute file": _last("TextVectorization", vocabulary="/etc/passwd"),
    "a saved model as a layer": _last("TFSMLayer", filepath=f"{OUTSIDE}/kept"),
    "a torch module as a layer": _last("TorchModuleWrapper", module="gASVAAAA"),
    "a class attribute": _last("__class__", "builtins"),
    "units without end": _option(units=2**40, filters=2**40),
    "a billion units": _option(units=10**9, filters=10**9),
    "a huge input": _option(batch_shape=[None, 2**20, 2**20, 64]),
    "an output of UpSampling2D": _enlarging("UpSampling2D", size=[30_000, 30_000]),
    "an output of ZeroPadding2D": _enlarging("ZeroPadding2D", padding=[[10**5, 10**5]] * 2),
    "an output of Resizing": _enlarging("Resizing", height=100_000, width=100_000),
    "20,000 layers": _layers_more(20_000),
    "models in models, 90 deep": _nested,
    "an activation that is code": _option(activation="__import__('os').system('true')"),
    "a list for a model": lambda config: [config],
    "null for a model": lambda _: None,
}  # fmt: skip
NAMES: dict[str, Callable[[Config], Any]] = {
    "a name that is code": _option(name="__import__('os').system('touch ../../outside/ran')"),
    "names of a million letters": _option(name="x" * 1_000_000, activation="y" * 1_000_000),
    "a name of two lines": _option(name="a\nb"),
    "a name with accents": _option(name="größe"),
}
add(("keras", "h5"), {name: partial(edited_config, make) for name, make in CONFIGS.items()})
add(("keras", "h5"), {name: partial(edited_config, make) for name, make in NAMES.items()}, told="")
