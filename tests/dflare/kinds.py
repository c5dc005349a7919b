"""A domain of each kind with all of its operators, and items of that kind."""

import numpy as np

from asterism.dflare.domains import build_domain
from asterism.dflare.params import DomainParams
from asterism.images import MUTATORS
from asterism.sound import SOUND_MUTATORS
from asterism.tensors import TENSOR_MUTATORS
from asterism.text import TEXT_MUTATORS

RATE, PADDING = 8_000, 0
OPTIONS = {
    "images": {},
    "sound": {"rate": RATE},
    "tokens": {"vocabulary": 50, "padding": PADDING, "protected": [1, 2]},
    "bytes": {"padding": 256},
    "tensors": {"low": None, "high": None},
}
TOKEN_OPERATORS = [name for name in TEXT_MUTATORS if not TEXT_MUTATORS[name].of_bytes]
OPERATORS = {
    "images": list(MUTATORS),
    "sound": list(SOUND_MUTATORS),
    "tokens": TOKEN_OPERATORS,
    "bytes": list(TEXT_MUTATORS),
    "tensors": list(TENSOR_MUTATORS),
}
#: A measure of each kind and a limit that its operators mostly exceed.
BOUNDS = {
    "images": [("linf", 8.0), ("l2", 60.0), ("pixels", 5.0)],
    "sound": [("linf", 0.01), ("snr_db", 25.0)],
    "tokens": [("edits", 1.0), ("hamming", 1.0)],
    "bytes": [("edits", 1.0), ("hamming", 2.0)],
    "tensors": [("linf", 0.01), ("l2", 0.05)],
}


def items_of(kind, count, seed=0):
    """Different items of a kind, small ones."""
    rng = np.random.default_rng(seed)
    if kind == "images":
        return rng.integers(0, 256, (count, 12, 11, 3), dtype=np.uint8)
    if kind == "sound":
        time, pitch = np.arange(1200) / RATE, rng.uniform(200, 1500, (count, 1))
        tone = 0.4 * np.sin(2 * np.pi * pitch * time) + rng.normal(0, 0.02, (count, 1200))
        return tone.astype(np.float32)
    if kind == "tensors":
        return rng.normal(0, [1, 10, 0.1, 3], (count, 5, 4)).astype(np.float32)
    if kind == "tokens":
        items = np.full((count, 16), PADDING, np.int32)
        for row in items:
            length = int(rng.integers(3, 17))
            row[:length] = [1, *rng.integers(3, 50, length - 2), 2]
        return items
    texts = ["Plain text, Apples.", "x", "print('Hello')", "\u00e9t\u00e9 \u4e2d", "AaBbCcDdEe" * 3]
    items = np.full((count, 30), 256, np.int16)
    for number, row in enumerate(items):
        letters = list(texts[number % len(texts)].encode())[:30]
        row[: len(letters)] = letters
    return items


def domain_of(kind, items=None, operators=None):
    """The domain with all of its operators, prepared for the items."""
    chosen = DomainParams(kind=kind, options=OPTIONS[kind])
    names = OPERATORS[kind] if operators is None else operators
    domain = build_domain(chosen, {name: {} for name in names})
    domain.prepare(items_of(kind, 20) if items is None else items)
    return domain


KINDS = sorted(OPTIONS)
CASES = [(kind, name) for kind in KINDS for name in OPERATORS[kind]]
