"""A pair in a folder: both files, inputs like a user's, further inputs, and the truth."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from scipy.stats import binomtest

from vetted_truth import lite
from vetted_truth.answers import Answer, answers, one_by_one
from vetted_truth.compressing import OF_A_NODE, OF_WEIGHTS, compressed, damage, silenced
from vetted_truth.counting import ROLES, by_role
from vetted_truth.heads import HEADS
from vetted_truth.items import Items, write
from vetted_truth.networks import Array
from vetted_truth.originals import CLASSIFIERS, Asked, Original, drawn, original_of

#: Inputs that are given, and as many that are not.
GIVEN, PROBED = 260, 60
_EVERY = ("images", "sound", "tokens", "bytes", "tensors")
#: Kinds of output, with the kinds of inputs that they are made for.
KINDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("softmax", "logits", "sigmoids", "sigmoid", "embedding"), _EVERY),
    **dict.fromkeys(("number", "numbers", "several outputs"), ("images", "sound", "tensors")),
    "label map": ("images",),
    "ctc": ("sound", "tensors"),
    "detections": ("images",),
    "detections found": ("images",),
    "detections apart": ("images",),
    "decoder": ("tokens",),
}
_LEAST = 0.98
#: Items that ONNX' reference evaluator answers, which computes in half precision.
_SLOW = 24


def plan(seed: int) -> Iterator[Asked]:
    """What pairs are made of, without end: every kind of output alike often, the rest drawn."""
    rng = np.random.default_rng([seed, 0])
    while True:
        for kind in rng.permutation(list(KINDS)):
            yield _asked(str(kind), rng)


def _asked(kind: str, rng: np.random.Generator) -> Asked:
    inputs = str(rng.choice(KINDS[kind]))
    forms = ["qdq", "qdq", "qoperator", "dynamic", "half"]
    if kind in lite.KINDS and inputs in lite.INPUTS:
        forms += list(lite.FORMS)
    form = str(rng.choice(forms))
    if form in lite.FORMS:
        kinds = list(lite.DAMAGE)
    else:
        kinds = ["none", "NaN on some", *OF_A_NODE]
        if form == "dynamic":
            kinds.remove("saturated")
        if form == "half":
            kinds = ["none", "NaN on some", *OF_WEIGHTS]
            if HEADS.get(kind, (None, ""))[1] == "classes" and inputs != "tensors":
                kinds.append("half-precision overflow")
    if kind == "decoder":  # which is given one token at a time, all of which are faint
        kinds.remove("NaN on some")
    return Asked(kind, inputs, form, "none" if rng.random() < 0.2 else str(rng.choice(kinds)))


@dataclass
class Made:
    """Files of a pair before they are judged."""

    original: Original
    paths: tuple[Path, Path]
    node: str


def make(folder: Path, asked: Asked, seed: int, number: int) -> dict[str, Any]:
    """Make a pair in a folder, which is replaced; the truth is in ``truth.json`` there."""
    rng = np.random.default_rng([seed, 1, number])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = (_lite if asked.form in lite.FORMS else _onnx)(folder, asked, rng)
    original = made.original
    sets = {name: drawn(asked, GIVEN, rng) for name in ("given", "fresh")}
    for items in sets.values() if asked.kind == "sigmoid" else ():  # which tells two classes apart
        items.labels = (items.labels < 2).astype(np.int64)
    if asked.damage == "NaN on some":
        _silence(made, sets["given"], rng)
    as_array = bool(rng.random() < 0.3) or asked.inputs in ("tokens", "tensors")
    inputs = write(sets["given"], folder, original.labelled, as_array)
    truth = _counted(asked, made, sets["given"])
    truth |= {
        "original": made.paths[0].name,
        "compressed": made.paths[1].name,
        "inputs": inputs.name,
        "seed": [seed, number],
    }
    for name, items in sets.items():
        np.savez(folder / f"{name}.npz", **_feed(made, items))  # type: ignore[arg-type]
    (folder / "truth.json").write_text(json.dumps(truth, indent=1))
    return truth


def _feed(made: Made, items: Items) -> dict[str, Array]:
    if made.paths[0].suffix == ".onnx":
        return made.original.feed(items)
    return {made.original.input: lite.lite_feed(items, made.original.preprocessing)}


def _onnx(folder: Path, asked: Asked, rng: np.random.Generator) -> Made:
    original = original_of(asked, rng)
    paths = folder / "model.onnx", folder / f"model-{asked.form}.onnx"
    onnx.save(original.model, paths[0])
    good = compressed(original.model, asked.form, original.feed(original.items), rng)
    made = Made(original, paths, "")
    if asked.damage not in OF_A_NODE:
        onnx.save(good, paths[1])
        return made
    probes = drawn(asked, PROBED, rng)
    f = answers(paths[0], original.feed(probes))
    for bad, node in damage(good, original.model, asked.damage, rng):
        onnx.save(bad, paths[1])
        made.node = node
        g = answers(paths[1], original.feed(probes))
        if by_role(original.roles(), f, g).clearly_differs.mean() > 0.1:
            break
    if not made.node:
        raise ValueError(f"{asked}: no node can have this damage")
    return made


def _lite(folder: Path, asked: Asked, rng: np.random.Generator) -> Made:
    original = lite.lite_original(asked, rng)
    rows = lite.lite_feed(original.items, original.preprocessing)
    suffix = ".keras" if rng.random() < 0.6 else ".tflite"
    paths = folder / f"model{suffix}", folder / "model-int8.tflite"
    lite.write_original(original.model, paths[0], rows)
    model, node, whole = original.model, "", bool(rng.random() < 0.4)
    if asked.damage in OF_WEIGHTS:
        model, node = lite.damaged_layer(model, asked.damage, rng)
    content = lite.converted(model, asked.form, rows, whole)
    if asked.damage in ("scale", "zero point"):
        content, node = lite.damaged_file(content, asked.damage, rng)
    paths[1].write_bytes(content)
    return Made(original, paths, node)


def _silence(made: Made, items: Items, rng: np.random.Generator) -> None:
    """Make the compressed model answer NaN on the faintest of the items."""
    values = made.original.feed(items)[made.original.input]
    sums = (values.reshape(len(values), -1).astype(np.float64) ** 2).sum(axis=1)
    limit = float(np.quantile(sums, rng.uniform(0.04, 0.3)))
    output = made.original.outputs[0]
    rank = len(output.sizes) + output.batched
    axis = output.axis if output.batched else rank
    onnx.save(silenced(onnx.load(made.paths[1]), limit, rank, axis), made.paths[1])


def _counted(asked: Asked, made: Made, items: Items) -> dict[str, Any]:
    """The truth, by the files' own runtimes."""
    original, feed = made.original, _feed(made, items)
    f, g = (answers(path, feed) for path in made.paths)
    roles = original.roles()
    counts = counted(roles, f, g)
    accuracy = None
    if original.labelled and asked.kind in CLASSIFIERS:
        accuracy = [right_answers(original.outputs[0].role, side, items.labels) for side in (f, g)]
    beyond = lost = 0
    if asked.form == "half" and asked.damage in ("none", "half-precision overflow"):
        beyond = _beyond_half(original.model, feed)
        lost = _lost_in_half(made.paths[1], feed) if beyond else 0
    return {
        "kind": asked.kind,
        "input_kind": asked.inputs,
        "form": asked.form,
        "damage": asked.damage,
        "node": made.node,
        "roles": roles,
        "labelled": original.labelled,
        "preprocessing": original.preprocessing if asked.inputs == "images" else None,
        "comparisons": {name: ROLES[role] for name, role in roles.items() if role in ROLES},
        **counts,
        "accuracy": accuracy,
        "beyond_half_precision": beyond,
        "lost_in_half": lost,
        "must_not_ship": counts["count_decides"] or 4 * lost > _SLOW,
        "must_not_reject": counts["must_not_reject"] and not beyond,
    }


def counted(roles: dict[str, str], f: list[Answer], g: list[Answer]) -> dict[str, Any]:
    """The truth about the answers of both models, and the verdicts that it leaves."""
    judged, n = by_role(roles, f, g), len(f)
    sums = {"clearly_differ": judged.clearly_differs, "clearly_same": judged.clearly_same}
    sums["no_answer"] = ~judged.finite
    counts = {name: int(values.sum()) for name, values in sums.items()}
    decides = bool(_interval(n - counts["clearly_differ"], n).high < _LEAST)
    return {
        "total": n,
        **counts,
        "count_decides": decides,
        "must_not_ship": decides,
        "must_not_reject": bool(_interval(counts["clearly_same"], n).low >= _LEAST),
    }


def right_answers(role: str, side: list[Answer], labels: Array) -> int:
    """How many answers of a model are finite and right."""
    first = [next(iter(answer.values())).reshape(-1) for answer in side]
    given = [a.argmax() if role == "classes" else int(a[0] >= 0.5) for a in first]
    finite = [bool(np.isfinite(a).all()) for a in first]
    return int((np.array(finite) & (np.array(given) == labels)).sum())


def _interval(count: int, total: int) -> Any:
    """Of Clopper and Pearson, 95%."""
    return binomtest(count, total).proportion_ci()


def _lost_in_half(path: Path, feed: dict[str, Array]) -> int:
    """Of the first items, how many have no finite answer in true half precision."""
    from onnx.reference import ReferenceEvaluator
    from onnxruntime.transformers.onnx_model import OnnxModel

    model = onnx.load(path)
    OnnxModel.graph_topological_sort(model.graph)  # the converter leaves it unsorted
    evaluator = ReferenceEvaluator(model)
    halves = {v.name for v in model.graph.input if v.type.tensor_type.elem_type == 10}
    given = {k: v.astype(np.float16) if k in halves else v for k, v in feed.items()}
    with np.errstate(all="ignore"):
        found = [evaluator.run(None, row) for row in one_by_one(given)[:_SLOW]]
    return sum(not all(np.isfinite(v).all() for v in answer) for answer in found)


def _beyond_half(model: Any, feed: dict[str, Array]) -> int:
    """On how many items a tensor of the original exceeds the largest number in half precision."""
    import onnxruntime

    copy = deepcopy(model)
    known = {output.name for output in copy.graph.output}
    copy.graph.output.extend(v for v in model.graph.value_info if v.name not in known)
    session = onnxruntime.InferenceSession(copy.SerializeToString())
    found = [session.run(None, row) for row in one_by_one(feed)]
    return sum(
        any(v.dtype == np.float32 and (np.abs(v) > 65504).any() for v in answer) for answer in found
    )
