"""Crafted files, each the shortest form of an attack; every reader whose file it can be gets it."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import h5py
import numpy as np

from hostile_text import MARK
from reader_fuzzing.bait import OUTSIDE
from reader_fuzzing.examples import Content, Example, Odd
from reader_fuzzing.mutators.archives import members, zipped
from reader_fuzzing.mutators.litert_files import TOO_MUCH, declaring, edited, texts_of
from reader_fuzzing.mutators.text import TOKENS
from reader_fuzzing.table import Reader

_Attack = Callable[[bytes], Content]
_BY_SUFFIX: dict[str, dict[str, _Attack]] = {}


def attacks_on(reader: Reader, examples: Sequence[Example]) -> list[Callable[[], Example]]:
    """All attacks on a reader: of what lies in a file's place, of its format, and its own.

    Some take a while to make, and memory: they come as functions.
    """
    whole = examples[0]
    found: list[Callable[[], Example]] = []
    for name in _files(whole):
        for told, odd in _IN_PLACE.items():
            found.append(partial(whole.change, name, odd, f"{name}: {told}"))
        suffix = name.rpartition(".")[2]
        for told, attack in _BY_SUFFIX.get(suffix, {}).items():
            found.append(partial(_carried_out, attack, whole, name, told))
    for told, example in _own(reader.name, examples):
        found.append(partial(replace, example, origin=told))
    return found


def _carried_out(attack: _Attack, whole: Example, name: str, told: str) -> Example:
    content = whole.files[name]
    assert isinstance(content, bytes)
    return whole.change(name, attack(content), f"{name}: {told}")


def _files(example: Example) -> list[str]:
    """Some of an example's files: the main one, and one of each other suffix."""
    names: dict[str, str] = {}
    for name in sorted(example.files):
        names.setdefault(name.rpartition(".")[2], name)
    chosen = set(names.values()) | ({example.main} & example.files.keys())
    return sorted(chosen)


_IN_PLACE: dict[str, Content | None] = {
    "missing": None,
    "empty": b"",
    "one byte": b"\0",
    "a folder": Odd("folder"),
    "a FIFO": Odd("fifo"),
    "an endless device": Odd("link", "/dev/zero"),
    "an empty device": Odd("link", "/dev/null"),
    "a link to itself": Odd("link", "."),
    "a link to nothing": Odd("link", "absent"),
    "40 GB of zeros": Odd("sparse", size=40 << 30),
}


def _attack(*suffixes: str, name: str) -> Callable[[_Attack], _Attack]:
    def added(attack: _Attack) -> _Attack:
        for suffix in suffixes:
            _BY_SUFFIX.setdefault(suffix, {})[name] = attack
        return attack

    return added


class _Stranger:
    """Pickled, it calls a function when it is unpickled."""

    def __reduce__(self) -> Any:
        import os

        return os.system, (f"touch {OUTSIDE}/ran",)


def _npy(header: str, body: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x02\0" + len(text).to_bytes(4, "little") + text + body


def _array(description: str, shape: str) -> bytes:
    head = f"{{'descr': {description}, 'fortran_order': False, 'shape': {shape}, }}"
    return _npy(head, b"\0" * 64)


_ARRAYS = {
    "64 GB declared": _array("'<f4'", "(16000000000,)"),
    "more than an integer holds": _array("'<f4'", "(9223372036854775807, 9)"),
    "a negative size": _array("'<f4'", "(-5,)"),
    "objects": _array("'|O'", "(1,)") + pickle.dumps([_Stranger()]),
    "a header of 100,000 brackets": _npy("(" * 100_000),
    "a header that calls": _npy("__import__('os').system('true')"),
    "a long string type": _array("'<U268435455'", "(9,)"),
    "a type of 100,000 fields": _array(str([(f"f{i}", "<i4") for i in range(100_000)]), "(1,)"),
    "a million dimensions of one": _array("'<f4'", "(" + "1," * 1_000_000 + ")"),
}
for _name, _bytes in _ARRAYS.items():
    _attack("npy", name=_name)(lambda _whole, data=_bytes: data)
    _attack("npz", name=_name)(
        lambda whole, data=_bytes: zipped([(members(whole)[0][0], data), *members(whole)[1:]])
    )


@_attack("npz", "npy", "json", "yaml", "csv", name="a pickle")
def _pickle(_whole: bytes) -> bytes:
    return pickle.dumps(_Stranger())


@_attack("npz", "keras", "pt2", name="a bomb: 4 GB of zeros in 4 MB")
def _bomb(whole: bytes) -> bytes:
    """The first member inflates to 4 GB, and the headers say so."""
    name, content = members(whole)[0]
    block = 1 << 24
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(content) + packer.flush(zlib.Z_FULL_FLUSH)
    zeros = packer.compress(bytes(block)) + packer.flush(zlib.Z_FULL_FLUSH)
    data = start + zeros * 255 + packer.flush()
    sizes = struct.pack("<III", 0, len(data), len(content) + 255 * block)
    facts = struct.pack("<HHHHH", 20, 0, 8, 0, 33) + sizes
    lengths = struct.pack("<HH", len(name.encode()), 0)
    local = b"PK\x03\x04" + facts + lengths + name.encode() + data
    entry = b"PK\x01\x02" + struct.pack("<H", 20) + facts + lengths
    entry += struct.pack("<HHHII", 0, 0, 0, 0, 0) + name.encode()
    ending = struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(local), 0)
    return local + entry + b"PK\x05\x06" + ending


@_attack("npz", "keras", "pt2", name="100,000 members")
def _many(whole: bytes) -> bytes:
    return zipped([*members(whole), *((f"m{i}.npy", b"") for i in range(100_000))])


@_attack("npz", "keras", "pt2", name="members that leave the folder")
def _slip(whole: bytes) -> bytes:
    many = members(whole)
    return zipped([*many, (f"{OUTSIDE}/ran", b"x"), ("/tmp/asterism-ran", b"x"), ("../x", b"x")])


@_attack("npz", "keras", "pt2", name="sizes that lie")
def _lie(whole: bytes) -> bytes:
    changed = bytearray(whole)
    at = changed.find(b"PK\x01\x02")
    changed[at + 24 : at + 28] = b"\xff\xff\xff\x7f"
    return bytes(changed)


_JSON = {
    "100,000 lists deep": b"[" * 100_000 + b"]" * 100_000,
    "1,500 mappings deep": b'{"a":' * 1_500 + b"1" + b"}" * 1_500,
    "300 mappings deep": b'{"a":' * 300 + b"1" + b"}" * 300,
    "a number of 100,000 digits": b"[" + b"9" * 100_000 + b"]",
    "an exponent": b'{"a": 1e999999999}',
    "NaN": b'{"a": NaN, "b": -Infinity}',
    "a lone surrogate": b'{"a": "\\ud800"}',
    "bytes that are no text": b'{"a": "\xff\xfe"}',
    "a key twice": b'{"a": 1, "a": 2}',
    "null": b"null",
    "a list of null": b"[null]",
    "a mapping of null": b'{"": null}',
    "a string": b'"x"',
}
for _name, _bytes in _JSON.items():
    _attack("json", name=_name)(lambda _whole, data=_bytes: data)


@_attack("json", name="50 MB of lists")
def _wide(_whole: bytes) -> bytes:
    return b"[" + b"[]," * 17_000_000 + b"[]]"


def _laughs(base: int, levels: int) -> bytes:
    lines = [f"a0: &a0 [{', '.join(['lol'] * base)}]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * base)}]")
    return "\n".join(lines).encode()


_YAML = {
    "a billion laughs": _laughs(10, 9),
    "laughs by merging": b"a: &a {x: 1}\n" + b"".join(
        b"b%d: &b%d {<<: [%s]}\n" % (i, i, b", ".join([b"*b%d" % (i - 1) if i else b"*a"] * 9))
        for i in range(9)
    ),
    "an alias of itself": b"a: &a [*a]\n",
    "a mapping of itself": b"&a {a: *a}\n",
    "a command": b"!!python/object/apply:os.system ['touch ../../outside/ran']\n",
    "a name": b"a: !!python/name:os.system\n",
    "100,000 lists deep": b"[" * 100_000,
    "3,000 lists deep": b"a: " + b"[" * 3_000 + b"]" * 3_000,
    "a list as a key": b"? [1, 2]\n: 3\n",
    "numbers as keys": b"1: 2\n2.5: 3\nnull: 4\ntrue: 5\n",
    "a date": b"data: 2001-01-01\n",
    "an impossible date": b"data: 2001-99-99\n",
    "a number of 100,000 digits": b"seed: " + b"9" * 100_000,
    "a sexagesimal number": b"seed: " + b"9:59" * 20_000,
    "two documents": b"a: 1\n---\nb: 2\n",
    "no text": b"\xff\xfe\x00\x01",
    "control characters": b"a: \x07\x08\n",
    "a scalar": b"x",
    "a list": b"- 1\n",
}  # fmt: skip
for _name, _bytes in _YAML.items():
    _attack("yaml", "lock", name=_name)(lambda _whole, data=_bytes: data)


@_attack("csv", name="a field without an end")
def _quote(_whole: bytes) -> bytes:
    return b'image,angle\n"' + b"x" * 2_000_000


@_attack("csv", name="a million columns")
def _columns(_whole: bytes) -> bytes:
    return b",".join([b"a%d" % i for i in range(200_000)]) + b"\n"


@_attack("csv", name="NUL")
def _nul(_whole: bytes) -> bytes:
    return b"image,angle\n\0,\0\n\0,1\n"


@_attack("csv", name="formulas")
def _formula(whole: bytes) -> bytes:
    return whole + b"=cmd|' /C calc'!A0,1,2,3\n"


@_attack("gz", name="a bomb: 4 GB of zeros")
def _gzip_bomb(_whole: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    start = packer.compress(b"\0\0\x08\x01\xff\xff\xff\xff") + packer.flush(zlib.Z_FULL_FLUSH)
    zeros = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + zeros * 256 + packer.flush()


@_attack("gz", name="a product of sizes that overflows")
def _overflow(_whole: bytes) -> bytes:
    import gzip

    return gzip.compress(b"\0\0\x08\x04" + b"\0\1\0\0" * 4)


# Keras ---------------------------------------------------------------------------------------


def _keras_config(change: Callable[[dict[str, Any]], Any]) -> _Attack:
    """A ``.keras`` or ``.h5`` file, or Keras' JSON, whose configuration was changed."""

    def attack(whole: bytes) -> bytes:
        if whole[:2] == b"PK":
            many = dict(members(whole))
            config = json.loads(many["config.json"])
            many["config.json"] = json.dumps(change(config)).encode()
            return zipped(list(many.items()))
        if whole[:1] == b"{":
            return json.dumps(change(json.loads(whole))).encode()
        file = io.BytesIO(whole)
        with h5py.File(file, "r+") as opened:
            if "model_config" not in opened.attrs:  # weights alone
                return whole
            config = json.loads(opened.attrs["model_config"])
            changed = json.dumps(change(config))
            del opened.attrs["model_config"]
            if len(changed) < 60_000:
                opened.attrs["model_config"] = changed
        return file.getvalue()

    return attack


def _layers(config: dict[str, Any]) -> list[dict[str, Any]]:
    inner = config["config"]
    layers: list[dict[str, Any]] = inner if isinstance(inner, list) else inner["layers"]
    return layers


def _last(**changes: Any) -> Callable[[dict[str, Any]], Any]:
    """The last layer is another."""

    def change(config: dict[str, Any]) -> Any:
        _layers(config)[-1] |= changes
        return config

    return change


def _last_config(**changes: Any) -> Callable[[dict[str, Any]], Any]:
    def change(config: dict[str, Any]) -> Any:
        _layers(config)[-1]["config"] |= changes
        return config

    return change


def _nested(depth: int) -> Callable[[dict[str, Any]], Any]:
    def change(config: dict[str, Any]) -> Any:
        inner = json.dumps(config)
        for _ in range(depth):
            inner = '{"class_name": "Sequential", "config": {"layers": [' + inner + "]}}"
        return json.loads(inner) if depth < 200 else config

    return change


_MARSHALLED = "4wEAAAAAAAAAAAAAAAEAAAABAAAA8wQAAACXAGQAUwApAU6pAHIBAAAA"
_KERAS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a Lambda layer": _last(class_name="Lambda", config={"name": "x", "function": [
        _MARSHALLED, None, None], "function_type": "lambda"}),
    "a Lambda of Keras 3": _last(class_name="Lambda", module="keras.layers", config={
        "name": "x", "function": {"class_name": "__lambda__", "config": {"code": _MARSHALLED}}}),
    "a module that is imported": _last(class_name="x", module="this", registered_name="x"),
    "a module of the example": _last(class_name="x", module="stranger", registered_name="x"),
    "a function of another module": _last_config(activation={
        "class_name": "function", "module": "os", "config": "system", "registered_name": "system"}),
    "a builtin function": _last_config(activation={
        "class_name": "function", "module": "builtins", "config": "eval",
        "registered_name": "function"}),
    "a function of Keras that reads files": _last_config(activation={
        "class_name": "function", "module": "keras.utils", "config": "get_file",
        "registered_name": "get_file"}),
    "a vocabulary in another file": _last(
        class_name="StringLookup", module="keras.layers",
        config={"name": "x", "vocabulary": f"{OUTSIDE}/secret.txt"}),
    "a vocabulary in an absolute file": _last(
        class_name="TextVectorization", module="keras.layers",
        config={"name": "x", "vocabulary": "/etc/passwd"}),
    "a saved model as a layer": _last(
        class_name="TFSMLayer", module="keras.layers",
        config={"name": "x", "filepath": f"{OUTSIDE}/kept"}),
    "a torch module as a layer": _last(
        class_name="TorchModuleWrapper", module="keras.layers",
        config={"name": "x", "module": "gASVAAAA"}),
    "a function that writes arrays": _last_config(activation={
        "class_name": "function", "module": "keras.saving", "config": "save_model",
        "registered_name": "save_model"}),
    "a class attribute": _last(class_name="__class__", module="builtins", registered_name=None),
    "units without end": _last_config(units=2**40, filters=2**40),
    "many units": _last_config(units=60_000_000),
    "a huge input": lambda c: (_layers(c)[0]["config"].update(
        batch_shape=[None, 2**20, 2**20, 64], batch_input_shape=[None, 2**20, 2**20, 64]), c)[1],
    "100,000 layers": lambda c: (_layers(c).extend(
        [json.loads(json.dumps(_layers(c)[-1]))] * 20_000), c)[1],
    "models in models, 100 deep": _nested(100),
    "a name that is code": _last_config(
        name="__import__('os').system('touch ../../outside/ran')"),
    "names of a million letters": _last_config(name="x" * 1_000_000, activation="y" * 1_000_000),
    "a name of two lines": _last_config(name="a\nb"),
    "a name with accents": _last_config(name="größe"),
    "an activation that is code": _last_config(activation="__import__('os').system('true')"),
    "a list for a model": lambda c: [c],
    "null for a model": lambda _: None,
}  # fmt: skip
for _name, _change in _KERAS.items():
    _attack("keras", "h5", name=_name)(_keras_config(_change))


def _h5(edit: Callable[[h5py.File], None]) -> _Attack:
    def attack(whole: bytes) -> bytes:
        if whole[:2] == b"PK":
            many = dict(members(whole))
            many["model.weights.h5"] = attack(many["model.weights.h5"])  # type: ignore[assignment]
            return zipped(list(many.items()))
        file = io.BytesIO(whole)
        with h5py.File(file, "r+") as opened:
            edit(opened)
        return file.getvalue()

    return attack


def _first_dataset(file: h5py.File) -> str:
    found: list[str] = []
    file.visititems(lambda n, t: found.append(n) if isinstance(t, h5py.Dataset) else None)
    return found[0]


def _replaced(make: Callable[[h5py.File, str, tuple[int, ...]], None]) -> Callable[..., None]:
    def edit(file: h5py.File) -> None:
        name = _first_dataset(file)
        shape = file[name].shape
        del file[name]
        make(file, name, shape)

    return edit


def _virtual(file: h5py.File, name: str, _shape: tuple[int, ...]) -> None:
    layout = h5py.VirtualLayout((64, 64), np.float32)
    layout[:] = h5py.VirtualSource(f"{OUTSIDE}/secret.h5", "weights", (64, 64))
    file.create_virtual_dataset(name, layout)


def _external(file: h5py.File, name: str, shape: tuple[int, ...]) -> None:
    size = int(np.prod(shape)) * 4
    file.create_dataset(name, shape, "<f4", external=[(f"{OUTSIDE}/secret.bin", 0, size)])


def _huge(file: h5py.File, name: str, _shape: tuple[int, ...]) -> None:
    file.create_dataset(name, (200_000, 200_000), "<f4", chunks=(1000, 1000), compression="gzip")


def _all_external(file: h5py.File) -> None:
    for key in list(file):
        del file[key]
        file[key] = h5py.ExternalLink(f"{OUTSIDE}/secret.h5", "/")


def _attributes(file: h5py.File) -> None:
    for number in range(1500):
        file.attrs[f"a{number}"] = number


def _odd_names(file: h5py.File) -> None:
    for name in ("a\nb", "__import__('os')", "\u202e", "x" * 10_000, "größe"):
        file.attrs[name] = name
        file.create_group(name)


def _circle(whole: bytes) -> bytes:
    """Nodes of trees that are their own neighbours, in which HDF5 goes on for ever."""
    if whole[:2] == b"PK":
        many = dict(members(whole))
        return zipped(
            list((many | {"model.weights.h5": _circle(many["model.weights.h5"])}).items())
        )
    changed = bytearray(
        _h5(lambda file: [file.create_group(f"x{n:04}") for n in range(999)])(whole)
    )
    at = changed.find(b"TREE")
    while at >= 0:
        changed[at + 8 : at + 24] = 2 * at.to_bytes(8, "little")
        at = changed.find(b"TREE", at + 4)
    return bytes(changed)


_attack("keras", "h5", name="groups in a circle")(_circle)
_H5: dict[str, Callable[[h5py.File], None]] = {
    "a link to another file": _replaced(
        lambda f, n, _: f.__setitem__(n, h5py.ExternalLink(f"{OUTSIDE}/secret.h5", "/weights"))
    ),
    "groups that are links to another file": _all_external,
    "attributes by the thousand": _attributes,
    "odd names of groups and attributes": _odd_names,
    "a link to the root": _replaced(lambda f, n, _: f.__setitem__(n, h5py.SoftLink("/"))),
    "a virtual data set": _replaced(_virtual),
    "external storage": _replaced(_external),
    "160 GB in chunks that are not there": _replaced(_huge),
}
for _name, _edit in _H5.items():
    _attack("keras", "h5", name=_name)(_h5(_edit))


# LiteRT --------------------------------------------------------------------------------------


def _all_texts(text: str, whole: bytes) -> bytes:
    def edit(model: Any) -> None:
        for part, name in texts_of(model):
            setattr(part, name, text.encode("utf-8", "surrogatepass"))

    return edited(whole, edit)


for _many in TOO_MUCH:
    _attack("tflite", name=f"more than it holds: {_many}")(
        lambda _whole, many=_many: declaring(**many)
    )
for _token in TOKENS:
    _attack("tflite", name=f"texts that are {_token[:40]!r}")(partial(_all_texts, _token))


# .pt2 ----------------------------------------------------------------------------------------


def _pt2(change: Callable[[dict[str, bytes], str], None]) -> _Attack:
    def attack(whole: bytes) -> bytes:
        many = dict(members(whole))
        change(many, next(iter(many)).partition("/")[0])
        return zipped(list(many.items()))

    return attack


def _text(find: bytes, put: bytes) -> Callable[[dict[str, bytes], str], None]:
    def change(many: dict[str, bytes], _folder: str) -> None:
        for name, content in many.items():
            if name.endswith(".json"):
                many[name] = content.replace(find, put)

    return change


def _everywhere(find: str, put: str) -> Callable[[dict[str, bytes], str], None]:
    """A name replaced wherever it stands alone, so that the program is whole."""
    return _text(json.dumps(find).encode(), json.dumps(put).encode())


def _program(*place: str | int, value: object) -> Callable[[dict[str, bytes], str], None]:
    """Another value at a place of the program's document."""

    def change(many: dict[str, bytes], folder: str) -> None:
        document = json.loads(many[f"{folder}/models/model.json"])
        *outer, last = place
        at = document
        for key in outer:
            at = at[key]
        at[last] = value
        many[f"{folder}/models/model.json"] = json.dumps(document).encode()

    return change


def _inputs_pickled(many: dict[str, bytes], folder: str) -> None:
    many[f"{folder}/data/sample_inputs/model.pt"] = pickle.dumps(_Stranger())


def _weights_pickled(many: dict[str, bytes], folder: str) -> None:
    many[f"{folder}/data/weights/model.pt"] = pickle.dumps(_Stranger())


_CALL = f"__import__('{MARK}')"
_GRAPH = ("graph_module", "graph")
_CALLED = ("graph_module", "module_call_graph", 0, "signature")
_PT2 = {
    "pickled sample inputs": _inputs_pickled,
    "pickled weights": _weights_pickled,
    "weights said to be pickled": _text(b'"use_pickle": false', b'"use_pickle": true'),
    "an operator that writes a file": _text(b"torch.ops.aten.relu.default",
                                            b"torch.ops.aten.save.default"),
    "a function of Python": _text(b"torch.ops.aten.relu.default", b"os.system"),
    "an expression that calls": _text(b"Symbol('s", b"__import__('os').system('true')+Symbol('s"),
    "an input whose name is code": _everywhere("images", f"images={_CALL}"),
    "a value whose name is code": _everywhere("relu", f"relu={_CALL}"),
    "a weight whose name is code": _everywhere("conv.weight", f"x({_CALL})"),
    "arguments whose names are code": _program(*_CALLED, "forward_arg_names", value=[f"x={_CALL}"]),
    "guards that are code": _program("guards_code", value=[_CALL]),
    "a power of powers as a size": _text(b"Symbol('s", b"9**9**9**9+Symbol('s"),
    "a size of 64 powers": _text(b"Symbol('s", b"Pow(Integer(9), Integer(9))+Symbol('s"),
    "a range of 10,000 digits": _program("range_constraints", "s0", value={"min_val": 1,
                                         "max_val": 10**4000}),
    "a million steps": _program(*_GRAPH, "nodes", value=[{}] * 10**6),
    "a name of 10 MB": _everywhere("relu", "x" * 10**7),
    "a custom operator": _text(b"torch.ops.aten.relu.default", b"torch.ops.stranger.relu.default"),
}  # fmt: skip
for _name, _pt2_change in _PT2.items():
    _attack("pt2", name=_name)(_pt2(_pt2_change))


_IMAGES = (
    f"{OUTSIDE}/secret.png", "/etc/hostname", "../example/../../outside/secret.png", "/dev/zero",
    ".", "", "a\0b", "x" * 5000, "log.csv",
)  # fmt: skip

# Attacks on one reader -----------------------------------------------------------------------


def _own(reader: str, examples: Sequence[Example]) -> Iterator[tuple[str, Example]]:
    whole = examples[0]
    if reader in ("checkpoint", "parts", "state"):
        yield from _state(whole)
    if reader == "driving":
        for image in _IMAGES:
            table = f"image,angle\n{image},1\n0.png,2\n".encode()
            yield f"an image at {image[:40]!r}", whole.change("log.csv", table)
        for angle in ("nan", "inf", "1e999", "", "0x10", "1_0", "٣"):
            table = f"image,angle\n0.png,{angle}\n1.png,2\n".encode()
            yield f"an angle of {angle!r}", whole.change("log.csv", table)
        for told, picture in _pictures():
            yield told, whole.change("0.png", picture)
    if reader == "models.json":
        yield from _graphs(whole)
    if reader == "run-cache entry":
        yield from _cache_entries(whole)
    if reader.endswith(".onnx"):
        yield from _onnx(examples)
    if reader == "sweep":
        record = next(name for name in whole.files if name.endswith("0000/record.json"))
        facts = json.loads(whole.files[record])  # type: ignore[arg-type]
        for told, change in {
            "a parameter that leaves the folder": {"overrides": ["../../../../outside/x=1"]},
            "a script as a name": {"experiment": "<script>alert(1)</script>"},
            "mathtext as a parameter": {"overrides": ["$\\x$=1"]},
            "mathtext as a metric": {"metrics": {"metrics/$\\x$.json:$y_$": 1.0}},
            "a metric that is text": {"metrics": {"a:b": "x"}},
            "metrics that are a list": {"metrics": []},
            "no metrics": {"metrics": None},
        }.items():
            yield told, whole.change(record, json.dumps(facts | change).encode())


def _state(whole: Example) -> Iterator[tuple[str, Example]]:
    """What can lie in a state's folder, and in its place."""
    digests = next(name for name in sorted(whole.files) if name.endswith("digests.json"))
    folder = digests.rpartition("/")[0]
    above, _, name = folder.rpartition("/")
    up = "../" * (folder.count("/") + 2)  # from a link's place to the folder of the example
    without = Example(
        whole.main, {n: c for n, c in whole.files.items() if not n.startswith(f"{folder}/")}
    )
    for target in (f"{up}../outside/kept", f"{up}../outside", "/tmp", "..", "."):
        link = Odd("link", target)
        yield f"a state that is a link to {target}", without.change(folder, link)
        yield f"a later state: {target}", whole.change(f"{above}/99999999", link)
        yield f"a file that is a link: {target}", whole.change(f"{folder}/a.json", link)
        aside = whole.change(f"{above}/{name}.damaged-0", link)
        yield f"something set aside: {target}", aside
        nothing = Example(whole.main, {})
        yield f"all state in another folder: {target}", nothing.change(above, link)
        top = above.partition("/")[0]
        yield f"the folder of all state: {target}", nothing.change(top, link)
    for paths in (["../../a.json"], ["/etc/hostname"], [""], ["a.json", "b"], [None], "a.json", 7):
        facts = dict.fromkeys(map(str, paths), "0" * 64) if isinstance(paths, list) else paths
        yield f"digests of {paths!r}", whole.change(digests, json.dumps(facts).encode())
    yield "a FIFO among the files", whole.change(f"{folder}/b", Odd("fifo"))
    yield "a FIFO for a lock", whole.change(f"{above}/0.lock", Odd("fifo"))
    yield "a link for a lock", whole.change(f"{above}/0.lock", Odd("link", f"{up}../outside/new"))
    note = f"{above}/finished.json"
    for told in (
        {"workspace": "../../outside", "stage": "x", "outputs": {"../../outside/secret.txt": "0"}},
        {"workspace": None, "stage": [], "outputs": []},
        {"token": {"a": 1}},
        [],
    ):
        yield f"a note of {told!r}", whole.change(note, json.dumps(told).encode())
    yield "a link for a note", whole.change(note, Odd("link", f"{up}../outside/secret.txt"))


def _cache_entries(whole: Example) -> Iterator[tuple[str, Example]]:
    import yaml

    (name,) = whole.files
    content = whole.files[name]
    assert isinstance(content, bytes)
    entry = yaml.safe_load(content)
    places = (
        "src/yaml.py", "../outside/x", "/tmp/x", "dvc.yaml", ".git/hooks/post-checkout", "", ".",
        "artifacts/../src/x.py", "artifacts/./x", "artifacts//x", None, 7,
    )  # fmt: skip
    for path in places:
        outputs = [{**entry["outs"][0], "path": path}]
        changed = yaml.safe_dump({**entry, "outs": outputs}).encode()
        yield f"an output at {path!r}", whole.change(name, changed)
    for change in ({"md5": "../../x"}, {"files": []}, {"remote": "x"}, {"cache": False}, {"md5": 1},
                   {"hash": "sha"}, {"md5": "0" * 32 + ".dir.dir"}):  # fmt: skip
        outputs = [{**entry["outs"][0], **change}]
        changed = yaml.safe_dump({**entry, "outs": outputs}).encode()
        yield f"an output with {change!r}", whole.change(name, changed)
    for told, data in _YAML.items():
        yield told, whole.change(name, data)


def _pictures() -> Iterator[tuple[str, bytes]]:
    def chunk(kind: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + check

    def png(width: int, height: int, body: bytes) -> bytes:
        head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        data = chunk(b"IDAT", zlib.compress(body, 1))
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + data + chunk(b"IEND", b"")

    yield "a PNG of 60,000 × 60,000", png(60_000, 60_000, b"\0")
    yield "a PNG of 30,000 × 30,000", png(30_000, 30_000, b"\0" * 1_000_000)
    yield "a PNG of no pixels", png(0, 0, b"")
    yield "a PNG of a line", png(1_000_000, 1, b"\0" * 3_000_001)
    yield "a picture of 1,000,000,000 × 1 in PPM", b"P6\n1000000000 1\n255\n"
    yield "a picture in text", b"P3\n2 2\n255\n0 0 0\n"
    yield "an OpenEXR file", b"\x76\x2f\x31\x01" + b"\0" * 100
    yield "an HDR file", b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 99999 +X 99999\n"
    bitmap = b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54, 0, 0, 54, 40, 40_000, 40_000, 1, 24,
                                 0, 0, 0, 0, 0, 0)  # fmt: skip
    yield "a BMP of 40,000 × 40,000", bitmap


def _graphs(whole: Example) -> Iterator[tuple[str, Example]]:
    name = next(iter(whole.files))
    listed = json.loads(whole.files[name])  # type: ignore[arg-type]

    def changed(change: Callable[[dict[str, Any]], None]) -> Example:
        copy = json.loads(json.dumps(listed))
        for node in copy[0]["nodes"]:
            if node["type"] != "InputLayer":
                change(node)
        return whole.change(name, json.dumps(copy).encode())

    code = "x=__import__('os').system('touch ../../outside/ran')"
    for told, change in {
        "a key that is code": lambda n: n["config"].update({code: 1}),
        "a value that is code": lambda n: n["config"].update(activation=code),
        "a value that is a mapping": lambda n: n["config"].update(activation={"class_name": "x"}),
        "a type that is code": lambda n: n.update(type=code),
        "a type of Python": lambda n: n.update(type="__class__"),
        "units without end": lambda n: n["config"].update(units=10**12, filters=10**12),
        "units of 10 to the 400": lambda n: n["config"].update(units=10**400),
        "a pool of 0": lambda n: n["config"].update(pool_size=[0, 0], strides=[0, 0]),
        "inputs of itself": lambda n: n.update(inputs=[n["id"]]),
        "inputs that are not there": lambda n: n.update(inputs=[99]),
        "inputs that are text": lambda n: n.update(inputs="0"),
        "a seed that is text": lambda n: n.update(seed="x"),
        "an edit that there is not": lambda n: n.update(edits=[["x", 1]]),
        "edits that are a number": lambda n: n.update(edits=7),
        "a dtype that there is not": lambda n: n["config"].update(dtype="x"),
        "a config that is a list": lambda n: n.update(config=[]),
        "weights that are a list": lambda n: n.update(weights=[1]),
    }.items():
        yield told, changed(change)
    for told, value in {
        "a name that leaves the folder": "../../outside/x",
        "a name that is a list": ["a"],
    }.items():
        copy = json.loads(json.dumps(listed))
        copy[0]["name"] = value
        yield told, whole.change(name, json.dumps(copy).encode())
    shape = json.loads(json.dumps(listed))
    for size in (2**40, -1, 0, "x", None, 1.5):
        shape[0]["nodes"][0]["config"]["shape"] = [size, size]
        yield f"an input of {size!r}", whole.change(name, json.dumps(shape).encode())
    chain = json.loads(json.dumps(listed[:1]))
    chain[0]["nodes"] = [chain[0]["nodes"][0]] + [
        {"id": i, "type": "ReLU", "config": {"dtype": "float32"}, "inputs": [i - 1], "seed": 0}
        for i in range(1, 20_000)
    ]
    yield "a chain of 20,000 layers", whole.change(name, json.dumps(chain).encode())


def _onnx(examples: Sequence[Example]) -> Iterator[tuple[str, Example]]:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    whole = examples[0]
    data = whole.files[whole.main]
    assert isinstance(data, bytes)

    def with_node(node: Any, *constants: Any) -> Example:
        model = onnx.ModelProto.FromString(data)
        model.graph.node.insert(0, node)
        model.graph.initializer.extend(constants)
        return whole.change(whole.main, model.SerializeToString())

    floats = TensorProto.FLOAT
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["on"], ["goes_on"]),
            helper.make_node("Neg", ["state"], ["next"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("n", TensorProto.INT64, []),
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("state", floats, None),
        ],
        [
            helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", floats, None),
        ],
    )
    model = onnx.ModelProto.FromString(data)
    model.graph.node[0].input[0] = "looped"  # so that the loop is no dead code
    loop = helper.make_node("Loop", ["often", "", "images"], ["looped"], body=body)
    model.graph.node.insert(0, loop)
    model.graph.initializer.append(numpy_helper.from_array(np.int64(2**62), "often"))
    yield "an endless loop", whole.change(whole.main, model.SerializeToString())
    for size in ((1 << 62,), (100_000, 1_000_000)):
        large = numpy_helper.from_array(np.array(size, np.int64), "large")
        node = helper.make_node("ConstantOfShape", ["large"], ["unused"])
        yield f"a constant of {size}", with_node(node, large)
    for place in ("/etc/passwd", f"{OUTSIDE}/secret.bin", "/dev/zero", "../example/rnn.onnx"):
        model = onnx.ModelProto.FromString(data)
        first = model.graph.initializer[0]
        first.ClearField("raw_data")
        first.data_location = TensorProto.EXTERNAL
        entry = first.external_data.add()
        entry.key, entry.value = "location", place
        yield f"data in {place}", whole.change(whole.main, model.SerializeToString())
    model = onnx.ModelProto.FromString(data)
    for _ in range(10):
        del model.graph.node[:-1]
        outer = helper.make_node("If", ["on"], ["x"], then_branch=model.graph)
        model.graph.node.insert(0, outer)
    yield "graphs in graphs", whole.change(whole.main, model.SerializeToString())
    custom = helper.make_node("Call", ["images"], ["unused"], domain="com.microsoft")
    yield "a foreign operator", with_node(custom)
