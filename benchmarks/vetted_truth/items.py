"""Drawn inputs of five kinds, with what is to be seen or heard in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.io import wavfile

Array = NDArray[Any]

#: Classes that items are drawn of.
CLASSES = 4
PICTURE, SOUND, RATE, TOKENS, BYTES, FEATURES = 32, 4000, 16000, 16, 48, 12
#: Ids of tokens are below this.
VOCABULARY = 64
#: Symbols of a drawn transcript, without the blank, and frames of a sound.
SYMBOLS, FRAMES = 4, 20


@dataclass
class Items:
    """Drawn inputs.

    Attributes:
        kind: a kind of inputs of ``asterism vet``.
        values: ``(N, ...)``, as a file holds them.
        labels: the class of each, int64 ``(N,)``; without classes, another fact.
        facts: what else is known of each, such as ``map``, ``boxes`` and ``symbols``.
    """

    kind: str
    values: Array
    labels: Array
    facts: dict[str, Array] = field(default_factory=dict)

    def __getitem__(self, rows: slice) -> Items:
        facts = {name: value[rows] for name, value in self.facts.items()}
        return Items(self.kind, self.values[rows], self.labels[rows], facts)

    def __len__(self) -> int:
        return len(self.values)


def draw(kind: str, scene: str, count: int, rng: np.random.Generator) -> Items:
    """Items of a kind.

    Args:
        kind: of inputs.
        scene: ``classes`` of one pattern, or what a head needs: ``regions``, ``objects``,
            ``spoken`` (a transcript over frames), ``sentence`` (each token follows from the last).
        count: how many.
        rng: draws all.
    """
    if scene == "spoken":
        return _spoken(kind, count, rng)
    by_kind = {
        "images": _patterns,
        "sound": _tones,
        "tokens": _words,
        "bytes": _contents,
        "tensors": _points,
    }
    scenes = {"regions": _regions, "objects": _objects, "sentence": _sentences}
    return scenes.get(scene, by_kind[kind])(count, rng)


def _background(count: int, rng: np.random.Generator) -> Array:
    shape = (count, PICTURE, PICTURE, 3)
    return rng.integers(40, 110, (count, 1, 1, 3)) + rng.normal(0, 6, shape)


def _as_picture(values: Array) -> Array:
    return np.clip(np.round(values), 0, 255).astype(np.uint8)


def _patterns(count: int, rng: np.random.Generator) -> Items:
    labels = rng.integers(0, CLASSES, count)
    pictures = _background(count, rng)
    light = rng.uniform(60, 130, count)
    y, x = np.mgrid[:PICTURE, :PICTURE]
    stripes = np.stack([y % 4 < 2, x % 4 < 2, (y // 2 + x // 2) % 2 == 0, np.ones_like(x) > 0])
    for i, label in enumerate(labels):
        top, left = rng.integers(0, PICTURE // 3, 2)
        size = int(rng.integers(PICTURE // 2, PICTURE * 2 // 3))
        patch = np.s_[top : top + size, left : left + size]
        pictures[i][patch] += light[i] * stripes[label][patch][..., np.newaxis]
    return Items("images", _as_picture(pictures), labels, {"amount": light[:, np.newaxis] / 100})


def _regions(count: int, rng: np.random.Generator) -> Items:
    pictures = _background(count, rng)
    maps = np.zeros((count, PICTURE, PICTURE), np.int64)
    for i in range(count):
        for label in (1, 2):
            top, left = rng.integers(1, PICTURE - 14, 2)
            height, width = rng.integers(7, 13, 2)
            patch = np.s_[top : top + height, left : left + width]
            pictures[i][patch] = 60
            pictures[i][patch][..., label] += rng.uniform(110, 170)
            maps[i][patch] = label
    larger = (maps == 1).sum((1, 2)) < (maps == 2).sum((1, 2))
    return Items("images", _as_picture(pictures), larger.astype(np.int64), {"map": maps})


def _objects(count: int, rng: np.random.Generator) -> Items:
    """One to three squares; ``boxes``: (cx, cy, w, h), ``classes``: -1 where there is none."""
    pictures = _background(count, rng)
    boxes, classes = np.zeros((count, 3, 4), np.float32), np.full((count, 3), -1)
    for i in range(count):
        corners = rng.permutation(4)[: rng.integers(1, 4)]
        for j, corner in enumerate(corners):
            half, label = int(rng.integers(3, 6)), int(rng.integers(0, 2))
            cy, cx = (corner // 2) * 16 + 8, (corner % 2) * 16 + 8
            cy, cx = cy + int(rng.integers(-2, 3)), cx + int(rng.integers(-2, 3))
            patch = pictures[i, cy - half : cy + half, cx - half : cx + half]
            patch[...] = 40
            patch[..., 2 * label] = rng.uniform(190, 250)
            boxes[i, j], classes[i, j] = (cx, cy, 2 * half, 2 * half), label
    facts = {"boxes": boxes, "classes": classes}
    return Items("images", _as_picture(pictures), (classes >= 0).sum(axis=1) - 1, facts)


def _tones(count: int, rng: np.random.Generator) -> Items:
    labels = rng.integers(0, CLASSES, count)
    loud = rng.uniform(0.15, 0.7, count)
    pitch = 400 * 1.7**labels * rng.uniform(0.97, 1.03, count)
    waves = loud[:, np.newaxis] * np.sin(
        2 * np.pi * pitch[:, np.newaxis] * np.arange(SOUND) / RATE + rng.uniform(0, 6, (count, 1))
    )
    waves += rng.normal(0, 0.01, waves.shape)
    return Items("sound", _as_sound(waves), labels, {"amount": loud[:, np.newaxis]})


def _as_sound(waves: Array) -> Array:
    """What 16 bits hold of it."""
    return (np.clip(np.round(waves * 32767), -32767, 32767) / 32768).astype(np.float32)


def _spoken(kind: str, count: int, rng: np.random.Generator) -> Items:
    """A row of symbols, each some frames long, with pauses; ``frames``: 0 is the pause."""
    frames = np.zeros((count, FRAMES), np.int64)
    for i in range(count):
        at = int(rng.integers(0, 2))
        while at < FRAMES - 2:
            length = int(rng.integers(2, 4))
            frames[i, at : at + length] = rng.integers(1, SYMBOLS + 1)
            at += length + int(rng.integers(1, 3))
    if kind == "tensors":
        shown = np.eye(SYMBOLS + 1)[frames] @ _mixture(SYMBOLS + 1, FEATURES)
        values = (shown + rng.normal(0, 0.2, shown.shape)).astype(np.float32)
    else:
        pitch = np.where(frames > 0, 400 * 1.7 ** (frames - 1.0), 0).repeat(SOUND // FRAMES, axis=1)
        waves = 0.4 * np.sin(2 * np.pi * np.cumsum(pitch, axis=1) / RATE)
        values = _as_sound(waves + rng.normal(0, 0.01, waves.shape))
    paused = (frames == 0).sum(axis=1)
    labels = (paused > np.median(paused)).astype(np.int64)
    return Items(kind, values, labels, {"frames": frames})


def _mixture(rows: int, columns: int) -> Array:
    return np.random.default_rng(7).normal(0, 1.5, (rows, columns))


def _words(count: int, rng: np.random.Generator) -> Items:
    """Each class has ten tokens of its own, of which a text holds some."""
    labels = rng.integers(0, CLASSES, count)
    tokens = rng.integers(4 + 10 * CLASSES, VOCABULARY, (count, TOKENS))
    shown = rng.integers(5, 12, count)
    for i, label in enumerate(labels):
        places = rng.permutation(TOKENS)[: shown[i]]
        tokens[i, places] = 4 + 10 * label + rng.integers(0, 10, len(places))
    return Items("tokens", tokens, labels, {"amount": shown[:, np.newaxis] / 10})


def _sentences(count: int, rng: np.random.Generator) -> Items:
    following = np.random.default_rng(11).permutation(VOCABULARY)
    tokens = np.zeros((count, TOKENS), np.int64)
    tokens[:, 0] = rng.integers(4, VOCABULARY, count)
    for t in range(1, TOKENS):
        strange = rng.random(count) < 0.05
        tokens[:, t] = np.where(
            strange, rng.integers(4, VOCABULARY, count), following[tokens[:, t - 1]]
        )
    return Items("tokens", tokens, tokens[:, 0] % 2, {"following": following[tokens]})


def _contents(count: int, rng: np.random.Generator) -> Items:
    """Digits, letters, signs, and bytes beyond ASCII."""
    ranges = [(48, 58), (97, 123), (33, 48), (128, 256)]
    labels = rng.integers(0, CLASSES, count)
    values = rng.integers(97, 123, (count, BYTES))
    share = rng.uniform(0.5, 0.9, count)
    for i, label in enumerate(labels):
        own = rng.random(BYTES) < share[i]
        low, high = ranges[label]
        values[i, own] = rng.integers(low, high, int(own.sum()))
    return Items("bytes", values.astype(np.uint8), labels, {"amount": share[:, np.newaxis]})


def _points(count: int, rng: np.random.Generator) -> Items:
    labels = rng.integers(0, CLASSES, count)
    centres = _mixture(CLASSES, FEATURES)
    values = centres[labels] + rng.normal(0, 0.5, (count, FEATURES))
    return Items("tensors", values.astype(np.float32), labels, {"amount": values[:, :1] + 3})


def write(items: Items, folder: Path, labelled: bool, as_array: bool) -> Path:
    """Items as a user has them: files, in a folder for each class, or one ``.npz`` file."""
    if as_array or items.kind in ("tokens", "tensors"):
        path = folder / "inputs.npz"
        arrays: dict[str, Any] = {"labels": items.labels} if labelled else {}
        np.savez(path, inputs=items.values, **arrays)
        return path
    root = folder / {"images": "photos", "sound": "sounds", "bytes": "files"}[items.kind]
    suffix = {"images": ".png", "sound": ".wav", "bytes": ".bin"}[items.kind]
    for i, (value, label) in enumerate(zip(items.values, items.labels, strict=True)):
        path = root / (f"class{label}" if labelled else "") / f"{i:04d}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if items.kind == "images":
            Image.fromarray(value).save(path)
        elif items.kind == "sound":
            wavfile.write(path, RATE, np.round(value * 32768).astype("<i2"))
        else:
            path.write_bytes(value.tobytes())
    return root
