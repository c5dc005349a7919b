"""All crafted files of a reader: in its files' places, of their formats, and its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any

import yaml

from readers import crafted_networks  # noqa: F401 (registers its attacks)
from readers.crafted import ATTACKS, PICTURES, UNDECLARED, YAML, matrices
from readers.crafted_keras import CONFIGS, NAMES, edited_config
from readers.examples import Example, Odd
from readers.surroundings import OUTSIDE
from readers.table import Reader

#: An attack's name, what makes it, and what has to come of it: see :class:`Attack`.
Made = tuple[str, Callable[[], Example], str]


def attacks_on(reader: Reader, whole: Sequence[Example]) -> list[Made]:
    """Everything that is crafted for a reader; some takes a while to make, and memory."""
    first = whole[0]
    found: list[Made] = [("whole", partial(lambda one: one, one), "") for one in whole]
    for name in _files(first):
        suffix = PurePath(name).suffix.removeprefix(".")
        for attack in (*ATTACKS[""], *ATTACKS.get(suffix, ())):
            due = name == reader.main and reader.name not in _LENIENT
            told = attack.told if due else ""
            make = partial(lambda name, make: first.change(name, make(first.files[name])), name)
            found.append((f"{name}: {attack.name}", partial(make, attack.make), told))
    for name, example in _OWN.get(reader.name, lambda _: ())(first):
        told = "rejected" if reader.name in _REJECTING else ""
        found.append((name, partial(lambda one: one, example), told))
    return found


def _files(example: Example) -> list[str]:
    """Some of an example's files: the main one, and one of each other suffix."""
    names: dict[str, str] = {}
    for name in sorted(example.files, key=lambda name: (name != example.main, name)):
        names.setdefault(PurePath(name).suffix, name)
    return [*names.values()]


Own = Iterator[tuple[str, Example]]


def _state(whole: Example) -> Own:
    """What can lie in a state's folder, and in its place."""
    digests = next(name for name in sorted(whole.files) if name.endswith("digests.json"))
    folder = digests.rpartition("/")[0]
    above, _, name = folder.rpartition("/")
    up = "../" * (folder.count("/") + 2)  # from a link's place to the folder of the example
    nothing = Example(whole.main, {})
    without = Example(
        whole.main, {n: c for n, c in whole.files.items() if not n.startswith(f"{folder}/")}
    )
    for target in (f"{up}../outside/kept", f"{up}../outside", "/tmp", "..", "."):
        link = Odd("link", target)
        yield f"a state that is a link to {target}", without.change(folder, link)
        yield f"a later state: {target}", whole.change(f"{above}/99999999", link)
        yield f"a file that is a link: {target}", whole.change(f"{folder}/a.json", link)
        yield f"something set aside: {target}", whole.change(f"{above}/{name}.damaged-0", link)
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


def _cache_entries(whole: Example) -> Own:
    (name,) = whole.files
    entry = yaml.safe_load(whole.files[name])  # type: ignore[arg-type]
    paths = (
        "src/yaml.py", "../outside/x", "/tmp/x", "dvc.yaml", ".git/hooks/post-checkout", "", ".",
        "artifacts/../src/x.py", "artifacts/./x", "artifacts//x", None, 7,
    )  # fmt: skip
    changes = (
        *({"path": path} for path in paths), {"md5": "../../x"}, {"files": []}, {"remote": "x"},
        {"cache": False}, {"md5": 1}, {"hash": "sha"}, {"md5": "0" * 32 + ".dir.dir"},
    )  # fmt: skip
    for change in changes:
        changed = {**entry, "outs": [{**entry["outs"][0], **change}]}
        yield f"an output with {change!r}", whole.change(name, yaml.safe_dump(changed).encode())
    for told, data in YAML.items():
        yield told, whole.change(name, data(b"") if callable(data) else data)


def _driving(whole: Example) -> Own:
    images = (
        f"{OUTSIDE}/secret.png", "/etc/hostname", "../example/../../outside/secret.png",
        "/dev/zero", ".", "", "a\0b", "x" * 5000, "log.csv",
    )  # fmt: skip
    rows = [(image, 1) for image in images]
    rows += [("0.png", angle) for angle in ("nan", "inf", "1e999", "", "0x10", "1_0", "٣")]
    for image, angle in rows:
        table = f"image,angle\n{image},{angle}\n1.png,2\n".encode()
        yield f"a row of {image[:40]!r}, {angle!r}", whole.change("log.csv", table)
    for told, picture in PICTURES.items():
        yield told, whole.change("0.png", picture)


def _sparse(whole: Example) -> Own:
    for told, content in matrices():
        yield told, whole.change(whole.main, content)


def _undeclared(whole: Example) -> Own:
    yield "values that nobody declares", whole.change(whole.main, UNDECLARED)


def _labels(whole: Example) -> Own:
    labels = f"[{'9' * 30}, 1]".encode()
    yield "a label of many digits", whole.change("inputs.labels", labels)


def _folders(whole: Example) -> Own:
    holes = {f"{number}.bin": Odd("sparse", size=10**9) for number in range(4)}
    yield "files of 1 GB that take no place", Example(".", holes)
    short = {f"{number}": b"" for number in range(1000)}
    yield "one long file and many short ones", Example(".", {"long": bytes(10**7), **short})


def _sweep(whole: Example) -> Own:
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


def _graphs(whole: Example) -> Own:
    name = next(iter(whole.files))
    text: Any = whole.files[name]
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
        changed = json.loads(text)
        for node in changed[0]["nodes"]:
            if node["type"] != "InputLayer":
                change(node)
        yield told, whole.change(name, json.dumps(changed).encode())
    for value in ("../../outside/x", ["a"]):
        changed = json.loads(text)
        changed[0]["name"] = value
        yield f"a name of {value!r}", whole.change(name, json.dumps(changed).encode())
    for size in (2**40, -1, 0, "x", None, 1.5):
        changed = json.loads(text)
        changed[0]["nodes"][0]["config"]["shape"] = [size, size]
        yield f"an input of {size!r}", whole.change(name, json.dumps(changed).encode())
    chain = json.loads(text)[:1]
    chain[0]["nodes"] = [chain[0]["nodes"][0]] + [
        {"id": i, "type": "ReLU", "config": {"dtype": "float32"}, "inputs": [i - 1], "seed": 0}
        for i in range(1, 20_000)
    ]
    yield "a chain of 20,000 layers", whole.change(name, json.dumps(chain).encode())


def _configs(whole: Example) -> Own:
    content: Any = whole.files[whole.main]
    for told, change in {**CONFIGS, **NAMES}.items():
        yield told, whole.change(whole.main, edited_config(change, content))


_OWN: dict[str, Callable[[Example], Any]] = {
    **dict.fromkeys(("checkpoint", "parts", "state"), _state),
    "run-cache entry": _cache_entries,
    "driving": _driving,
    "sparse": _sparse,
    "inputs .npy": _undeclared,
    "inputs and labels": _labels,
    "inputs, a folder": _folders,
    "sweep": _sweep,
    "models.json": _graphs,
    **dict.fromkeys(("keras 2 .json", "architecture .json"), _configs),
}
#: Readers that have to reject all that is crafted for them alone.
_REJECTING = ("sparse", "inputs .npy", "inputs and labels", "inputs, a folder")
#: Readers that look at a part of a file alone, and so may give a value where others reject it.
_LENIENT = ("signature .keras", "signature .h5", "signature .onnx", "libraries .onnx")
