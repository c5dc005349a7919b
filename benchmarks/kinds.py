"""What a search takes beyond inference on each kind of inputs, with small real models.

    python benchmarks/kinds.py [sound|tokens|bytes|tensors] [--seeds 200] [--queries 150]
    python benchmarks/kinds.py mutators [--write]

The models are trained here for a few seconds: a one-dimensional convolution over a second of sound
at 16 kHz, classifiers of 64 tokens and of 256 bytes by an embedding and convolutions, and one of
tensors of 50 steps of 16 features. The original runs in ONNX Runtime, the compressed model is the
LiteRT file with 8-bit weights (dynamic range), both in this process, in batches of up to 64. So
inference is cheaper than with models in processes of their own, and overhead shows more.
Overhead is measured as in ``compressed.py``: the same batches are asked again by themselves. Where
other work shares the machine, compare seconds of a processor, which are printed too. Then the
sound mutators by themselves, in milliseconds of a processor for a second of sound; ``mutators``
is these alone, and ``--write`` puts them into docs/measurements/kinds.md.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime as ort  # noqa: E402
import tensorflow as tf  # noqa: E402
import yaml  # noqa: E402
from ai_edge_litert.interpreter import Interpreter  # noqa: E402
from figures import write_figures  # noqa: E402
from keras import layers  # noqa: E402
from recorded import RecordedPair, measured  # noqa: E402

from asterism.dflare.comparisons import build_comparison  # noqa: E402
from asterism.dflare.domains import build_domain  # noqa: E402
from asterism.dflare.lockstep import LockstepSearch, PairUnderTest, SeedBudget  # noqa: E402
from asterism.dflare.outcome import Findings  # noqa: E402
from asterism.dflare.params import ComparisonParams, DomainParams  # noqa: E402
from asterism.dflare.searches import SEARCHES  # noqa: E402
from asterism.dflare.trigger import draw_seeds  # noqa: E402
from asterism.search.batched_random_streams import BatchedStreams  # noqa: E402
from asterism.sound import SOUND_MUTATORS  # noqa: E402

RATE, CLASSES, BATCH = 16_000, 6, 64


def sound(count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """A second of tones of six pitches in noise."""
    labels = rng.integers(0, CLASSES, count)
    pitch = 200 * 1.5**labels * rng.uniform(0.9, 1.1, count)
    waves = np.sin(2 * np.pi * pitch[:, np.newaxis] * np.arange(RATE) / RATE)
    waves = waves * rng.uniform(0.05, 0.6, (count, 1)) + rng.normal(0, 0.05, waves.shape)
    return np.clip(waves, -1, 1).astype(np.float32), labels


def symbols(count: int, rng: np.random.Generator, length: int, low: int, high: int) -> Any:
    """Rows whose label is the range that most of their symbols come from."""
    labels = rng.integers(0, CLASSES, count)
    width = (high - low) // CLASSES
    own = low + width * labels[:, np.newaxis] + rng.integers(0, width, (count, length))
    mixed = np.where(rng.random((count, length)) < 0.3, own, rng.integers(low, high, own.shape))
    ends = rng.integers(length // 2, length + 1, (count, 1))
    return np.where(np.arange(length) < ends, mixed, -1), labels


def tokens(count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """64 tokens of a vocabulary of 1000, padded with 0."""
    rows, labels = symbols(count, rng, 64, 3, 1000)
    return np.where(rows < 0, 0, rows).astype(np.int32), labels


def some_bytes(count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """256 printable bytes, padded with 256."""
    rows, labels = symbols(count, rng, 256, 33, 127)
    return np.where(rows < 0, 256, rows).astype(np.int32), labels


def tensors(count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """50 steps of 16 features, of which one is larger."""
    labels = rng.integers(0, CLASSES, count)
    items = rng.normal(0, 1, (count, 50, 16))
    items[np.arange(count), :, labels] += 0.4
    return items.astype(np.float32), labels


DATA = {"sound": sound, "tokens": tokens, "bytes": some_bytes, "tensors": tensors}


def network(kind: str, items: Any) -> Any:
    """An untrained classifier of these items."""
    inputs = keras.Input(items.shape[1:], dtype=str(items.dtype))
    if kind == "sound":
        body = [layers.Reshape((RATE, 1)), layers.Conv1D(16, 64, 8, activation="relu")]
        body += [layers.Conv1D(32, 16, 4, activation="relu")]
    elif kind == "tensors":
        body = [layers.Conv1D(64, 5, activation="relu")]
    else:
        body = [layers.Embedding(1000, 64), layers.Conv1D(64, 5, activation="relu")]
    body += [layers.Conv1D(64, 5, activation="relu"), layers.GlobalAveragePooling1D()]
    outputs = inputs
    for layer in [*body, layers.Dense(CLASSES, activation="softmax")]:
        outputs = layer(outputs)
    return keras.Model(inputs, outputs)


class OnnxModel:
    """A model as ONNX Runtime runs it on one processor."""

    def __init__(self, path: Path) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.name, self.classes = "onnx", CLASSES
        self._input = self._session.get_inputs()[0].name

    def predict(self, items: Any) -> Any:
        """See :meth:`asterism.dflare.pair.Model.predict`."""
        parts = [
            self._session.run(None, {self._input: items[start : start + BATCH]})[0]
            for start in range(0, len(items), BATCH)
        ]
        return np.concatenate([np.empty((0, CLASSES), np.float32), *parts])


class LiteModel:
    """A model as LiteRT runs it on one processor, in batches of some sizes."""

    def __init__(self, content: bytes) -> None:
        self.name, self.classes, self._interpreters = "litert", CLASSES, {}
        for size in (1, 8, BATCH):
            interpreter = Interpreter(model_content=content, num_threads=1)
            given = interpreter.get_input_details()[0]
            interpreter.resize_tensor_input(given["index"], [size, *given["shape"][1:]])
            interpreter.allocate_tensors()
            self._interpreters[size] = interpreter

    def predict(self, items: Any) -> Any:
        """See :meth:`asterism.dflare.pair.Model.predict`."""
        parts, start = [np.empty((0, CLASSES), np.float32)], 0
        while start < len(items):
            size = max(s for s in self._interpreters if s <= len(items) - start)
            interpreter = self._interpreters[size]
            interpreter.set_tensor(
                interpreter.get_input_details()[0]["index"], items[start : start + size]
            )
            interpreter.invoke()
            parts.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
            start += size
        return np.concatenate(parts)


def models(kind: str, folder: Path) -> tuple[OnnxModel, LiteModel]:
    """A trained classifier, and the same with 8-bit weights."""
    keras.utils.set_random_seed(0)
    items, labels = DATA[kind](1500, np.random.default_rng(1))
    model = network(kind, items)
    model.compile(keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy")
    model.fit(items, labels, batch_size=32, epochs=4, verbose=0)
    model.export(folder / f"{kind}.onnx", format="onnx", verbose=False)
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    return OnnxModel(folder / f"{kind}.onnx"), LiteModel(converter.convert())


def searched(begin: Callable[[], LockstepSearch[Any]]) -> Findings:
    """What a search finds that is begun now."""
    return begin().run()


def run(kind: str, count: int, queries: int) -> None:
    """Search one kind and print what that takes."""
    document = yaml.safe_load((ROOT / f"conf/trigger/{kind}.yaml").read_text(encoding="utf-8"))
    chosen = DomainParams.model_validate(document["domain"])
    if kind == "tokens":
        chosen = DomainParams(
            kind=kind, options={"vocabulary": 1000, "padding": 0, "protected": [1, 2]}
        )
    items, labels = DATA[kind](max(count, 500), np.random.default_rng(2))
    domain = build_domain(chosen, document["operators"])
    domain.prepare(items)
    comparison = build_comparison(
        ComparisonParams.model_validate(document["comparison"]), (CLASSES,)
    )
    with tempfile.TemporaryDirectory() as folder:
        pair = RecordedPair(*models(kind, Path(folder)))
        answers = pair.ask(items[:500])
        accuracy = [(out.argmax(1) == labels[:500]).mean() for out in (answers.f, answers.g)]
        print(f"{kind}: accuracy {accuracy[0]:.3f} and {accuracy[1]:.3f}")
        seeds = draw_seeds(items, count, 0)
        under_test = PairUnderTest(pair, domain, comparison)
        for name in ("dflare", "diffchaser"):
            search = SEARCHES[name]
            options = search.Options(**document["searches"][name]["options"])
            start = (seeds.items, seeds.numbers.tolist(), 0, name, options)
            begin = partial(search, under_test, SeedBudget(queries), *start)
            times = measured(pair, partial(searched, begin), turns=3)
            asked = sum(record.queries for record in times.findings.seeds)
            success = sum(record.outcome == "triggered" for record in times.findings.seeds)
            print(f"  {name}: success {success}/{count}, {asked} queries, {times}", flush=True)


def sound_mutators() -> dict[str, str]:
    """Milliseconds that each mutator of sound takes for a second of sound, 32 at a time."""
    found = {}
    waves, _ = sound(32, np.random.default_rng(0))
    streams = BatchedStreams(np.arange(32, dtype=np.uint64))
    for name in SOUND_MUTATORS:
        mutator, best = SOUND_MUTATORS[name](), float("inf")
        for _ in range(5):
            started = time.process_time()
            mutator.apply(waves, mutator.draw(streams.of(np.arange(32)), (32, RATE), RATE))
            best = min(best, time.process_time() - started)
        found[name] = f"{1e3 * best / 32:.3f}"
        print(f"  {name:13} {found[name]} ms a second of sound")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "kinds", nargs="*", default=list(DATA), choices=[*DATA, "mutators"], metavar="kind"
    )
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--write", action="store_true", help="write the mutators' into the manual")
    arguments = parser.parse_args()
    for chosen_kind in arguments.kinds:
        if chosen_kind != "mutators":
            run(chosen_kind, arguments.seeds, arguments.queries)
    milliseconds = sound_mutators()
    if arguments.write:
        header = ("mutator", "ms of a processor for a second of sound, 32 sounds at a time")
        write_figures("kinds", "mutators of sound", header, list(milliseconds.items()))
