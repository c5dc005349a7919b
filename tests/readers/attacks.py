"""All crafted files of a reader: in its files' places, of their formats, and its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any

from hostile_text import TEXTS
from readers import crafted_networks  # noqa: F401 (registers its attacks)
from readers.crafted import ATTACKS, PICTURES, UNDECLARED, YAML, matrices
from readers.crafted_keras import CONFIGS, NAMES, edited_config
from readers.examples import OUTSIDE, Example, Odd
from readers.formats import texts_in, with_texts
from readers.table import Reader

#: Hostile texts, and such that are hard to write or to show: one for each of a file's.
_STRANGE = (*TEXTS, "'\"\"\"'''", "größe", "def", "", "\\", "x" * 10_000)
#: A file's name, what makes it, and what is due: see :data:`ATTACKS`; of a whole one ``value``.
Made = tuple[str, Callable[[], Example], str]


def attacks_on(reader: Reader, whole: Sequence[Example]) -> list[Made]:
    """Everything that is crafted for a reader; some takes a while to make, and memory."""
    first = whole[0]
    # What is damaged is sound: else nothing but a reader's first check would be tried.
    found: list[Made] = [("whole", partial(lambda one: one, one), "value") for one in whole]
    for name in _files(first):
        suffix = PurePath(name).suffix.removeprefix(".")
        for attack, make, told in (*ATTACKS[""], *ATTACKS.get(suffix, ())):
            due = name == reader.main and reader.name not in _LENIENT
            change = partial(lambda name, make: first.change(name, make(first.files[name])), name)
            found.append((f"{name}: {attack}", partial(change, make), told if due else ""))
    last = whole[-1]
    for name in _files(last):
        if name.endswith((".json", ".keras", ".h5", ".onnx", ".tflite")):
            for number, old in enumerate(texts_in(last.files[name])):  # type: ignore[arg-type]
                make = partial(_with_text, last, name, {old: _STRANGE[number % len(_STRANGE)]})
                found.append((f"{name}: text {number}", make, ""))
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


def _with_text(example: Example, name: str, new: dict[str, str]) -> Example:
    return example.change(name, with_texts(example.files[name], new))  # type: ignore[arg-type]


Own = Iterator[tuple[str, Example]]


def _outside(place: str, name: str = "") -> Odd:
    """A link at a place in the example, to something beside it."""
    return Odd("link", "../" * place.count("/") + f"{OUTSIDE}/{name}")


def _state(whole: Example) -> Own:
    """What can lie in a state's folder, and in its place."""
    digests = next(name for name in sorted(whole.files) if name.endswith("digests.json"))
    folder = digests.rpartition("/")[0]
    above, _, name = folder.rpartition("/")
    nothing = Example(whole.main, {})
    without = Example(
        whole.main, {n: c for n, c in whole.files.items() if not n.startswith(f"{folder}/")}
    )
    for example, place in (
        (without, folder),
        (whole, f"{above}/99999999"),
        (whole, f"{folder}/a.json"),
        (whole, f"{above}/{name}.damaged-0"),
        (nothing, above),
        (nothing, above.partition("/")[0]),
    ):
        links = [_outside(place, name) for name in ("kept", "", "secret.txt")]
        for link in (*links, *(Odd("link", target) for target in ("/tmp", "..", "."))):
            yield f"{place} is a link to {link.target}", example.change(place, link)
    for paths in (["../../a.json"], ["/etc/hostname"], [""], ["a.json", "b"], [None], "a.json", 7):
        facts = dict.fromkeys(map(str, paths), "0" * 64) if isinstance(paths, list) else paths
        yield f"digests of {paths!r}", whole.change(digests, json.dumps(facts).encode())
    yield "a FIFO among the files", whole.change(f"{folder}/b", Odd("fifo"))
    yield "a FIFO for a lock", whole.change(f"{above}/0.lock", Odd("fifo"))
    yield "a link for a lock", whole.change(f"{above}/0.lock", _outside(f"{above}/0.lock", "new"))
    note = f"{above}/finished.json"
    for told in (
        {"workspace": "../../outside", "stage": "x", "outputs": {"../../outside/secret.txt": "0"}},
        {"workspace": None, "stage": [], "outputs": []},
        {"token": {"a": 1}},
        [],
    ):
        yield f"a note of {told!r}", whole.change(note, json.dumps(told).encode())
    yield "a link for a note", whole.change(note, _outside(note, "secret.txt"))


def _cache_entries(whole: Example) -> Own:
    """Entries have no suffix; what may be in them, tests/pipeline/test_cache_files.py says."""
    (name,) = whole.files
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
    yield "a label of many digits", whole.change("inputs.json", labels)


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
    """Graphs that grow; what may be in one, tests/memo/test_strange_graphs.py says."""
    name = next(iter(whole.files))
    changed: Any = json.loads(whole.files[name])  # type: ignore[arg-type]
    for node in changed[0]["nodes"][1:]:
        node["config"].update(units=10**12, filters=10**12)
    yield "units without end", whole.change(name, json.dumps(changed).encode())
    changed[0]["nodes"][1:] = [
        {"id": i, "type": "ReLU", "config": {"dtype": "float32"}, "inputs": [i - 1], "seed": 0}
        for i in range(1, 20_000)
    ]
    yield "a chain of 20,000 layers", whole.change(name, json.dumps(changed[:1]).encode())


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
