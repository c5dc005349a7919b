"""Makers of speech, whose programs are replaced: what they speak, and how sounds are cut."""

import subprocess
import sys
import types
import wave
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from making_inputs import make

from asterism.core.messages.errors import UserError
from asterism.pairs.inputs import speech, wake_words, words

RATE = 8000


def test_noise_has_any_level_up_to_the_largest():
    sound = np.linspace(-1, 1, 4000).astype(np.float32)
    assert np.array_equal(speech.noisy(sound, 0.0, np.random.default_rng(0)), sound)
    middle = slice(1000, 3000)
    levels = []
    for seed in range(40):
        found = speech.noisy(sound, 0.1, np.random.default_rng(seed))
        assert found.dtype == np.float32 and np.abs(found).max() <= 1
        levels.append(float((found - sound)[middle].std()))
    assert min(levels) < 0.02 and 0.08 < max(levels) < 0.105
    assert np.mean(levels) == pytest.approx(0.05, abs=0.015)


def write_sound(path, level, samples, rate=RATE):
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(np.full(samples, level * 32768, "<i2").tobytes())
    return path


@pytest.fixture
def prompts(tmp_path, monkeypatch):
    """Two prompts of 800 samples, silence, and what another person speaks."""
    voice = tmp_path / "en_US_f_Allison"
    write_sound(voice / "a.wav", 0.25, 800)
    write_sound(voice / "digits/b.wav", 0.5, 800)
    write_sound(voice / "silence/1.wav", -0.5, 800)
    write_sound(tmp_path / "fr/c.wav", -0.25, 800)
    monkeypatch.setattr(speech, "PROMPTS", tmp_path)


def runs(values):
    """Each value with how often it comes in a row."""
    places = np.flatnonzero(np.diff(values)) + 1
    return [(float(part[0]), len(part)) for part in np.split(values, places)]


def test_prompts_follow_each_other_after_a_pause(prompts):
    made = make("prompts", 12, rate=RATE, samples=12_000, noise=0.0)
    assert made.items.shape == (12, 12_000) and made.labels is None
    inner = [run for item in made.items for run in runs(item)[1:-1]]
    assert {value for value, _ in inner} == {0.0, 0.25, 0.5}
    assert {length for value, length in inner if value} <= {800, 1600}
    pauses = [length for value, length in inner if not value]
    assert 800 <= min(pauses) < 1300 and 3500 < max(pauses) < 4000


def test_a_prompt_of_the_right_length_is_taken_whole_and_a_longer_one_anywhere(prompts):
    whole = make("prompts", 10, rate=RATE, samples=800, noise=0.0).items
    assert {tuple(runs(item)) for item in whole} == {((0.25, 800),), ((0.5, 800),)}
    cuts = make("prompts", 30, rate=RATE, samples=801, noise=0.0).items
    assert {len(runs(item)) for item in cuts} == {1, 2}, "a pause or its end or beginning"
    assert {runs(item)[0][0] for item in cuts} == {0.0, 0.25, 0.5}
    noisy = make("prompts", 2, rate=RATE, samples=800, noise=0.1).items
    assert (np.abs(noisy - whole[:2]).std(axis=1) > 0).all()


class Speaker:
    """Takes the place of espeak-ng.

    Attributes:
        commands: what it was called with.
        lengths: samples of the sounds, one after the other.
        rate: samples a second.
        status: how it ends.
        writes: whether it writes its file.
    """

    def __init__(self):
        self.commands, self.lengths, self.status, self.writes = [], [3200], 0, True
        self.rate = 16_000

    def run(self, command, **options):
        assert options == {"capture_output": True, "text": True, "check": False}
        self.commands.append(command)
        if self.writes:
            length = self.lengths[(len(self.commands) - 1) % len(self.lengths)]
            write_sound(Path(command[command.index("-w") + 1]), 0.5, length, self.rate)
        return subprocess.CompletedProcess(command, self.status, "", "no such voice\n")


@pytest.fixture
def speaker(monkeypatch):
    """espeak-ng, replaced."""
    found = Speaker()
    monkeypatch.setattr(speech.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(speech.subprocess, "run", found.run)
    return found


def test_each_sentence_is_spoken_in_a_voice_of_its_own(speaker):
    speaker.lengths = [3200, 1600]
    texts = [f"-{number} sheep" for number in range(40)]
    waves = speech.spoken(texts, RATE, np.random.default_rng(0))
    assert [len(found) for found in waves] == [1600, 800] * 20, "at the rate that was asked for"
    said = [dict(zip(c[1:-2:2], c[2:-2:2], strict=True)) for c in speaker.commands]
    assert [command[-2:] for command in speaker.commands] == [["--", text] for text in texts]
    assert {command[0] for command in speaker.commands} == {"espeak-ng"}
    voices = [options["-v"].split("+") for options in said]
    assert {accent for accent, _ in voices} == set(speech._ACCENTS)
    assert {variant for _, variant in voices} <= set(speech._VARIANTS)
    assert len({variant for _, variant in voices}) > 6
    speeds, pitches = ([int(options[key]) for options in said] for key in ("-s", "-p"))
    assert 120 <= min(speeds) < 130 and 180 < max(speeds) < 190
    assert 20 <= min(pitches) < 30 and 70 < max(pitches) < 80


@pytest.mark.parametrize(("status", "writes"), [(1, True), (0, False), (1, False)])
def test_what_is_not_spoken_is_one_line(speaker, status, writes):
    speaker.status, speaker.writes = status, writes
    with pytest.raises(UserError, match=r"espeak-ng did not speak as en-.*: no such voice$"):
        speech.spoken(["a"], RATE, np.random.default_rng(0))


def test_a_sound_that_stays_from_before_is_not_taken_for_another(speaker):
    first = speaker.run

    def run(command, **options):
        speaker.writes = not speaker.commands
        return first(command, **options)

    speech.subprocess.run = run  # the fixture puts the real one back
    with pytest.raises(UserError, match="did not speak"):
        speech.spoken(["a", "b"], RATE, np.random.default_rng(0))


def test_spoken_sentences_are_cut_or_end_in_silence(speaker):
    speaker.lengths, speaker.rate = [800, 2000, 1000], RATE
    made = make("spoken", 6, rate=RATE, samples=1000, noise=0.0)
    assert made.items.dtype == np.float32 and made.labels is None
    short, long = [(0.5, 800), (0.0, 200)], [(0.5, 1000)]
    assert [runs(item) for item in made.items] == [short, long, long] * 2
    assert {command[-1] for command in speaker.commands} <= set(words.sentences())
    assert len({command[-1] for command in speaker.commands}) > 3
    noisy = make("spoken", 3, rate=RATE, samples=1000, noise=0.1).items
    assert (noisy[0, 800:] != 0).any(), "there is noise in silence too"


class FrontEnd:
    """Takes the place of the front end: after three chunks it has features of each."""

    heard: ClassVar[list[bytes]] = []

    def __init__(self):
        FrontEnd.heard.append(b"")

    def process_samples(self, chunk):
        assert len(chunk) == 320
        read = 160 if len(FrontEnd.heard[-1]) % 960 else 80  # some chunks are read in part
        FrontEnd.heard[-1] += chunk[: 2 * read]
        features = [float(len(FrontEnd.heard[-1]))] * 40 if len(FrontEnd.heard[-1]) > 700 else []
        return types.SimpleNamespace(samples_read=read, features=features)


@pytest.fixture
def front_end(monkeypatch):
    """The front end and espeak-ng, replaced; what was asked to be spoken."""
    FrontEnd.heard, asked = [], []

    def spoken(texts, rate, rng):
        assert rate == 16_000
        asked.extend(texts)
        return [np.full(1600 if n % 2 else 8000, 0.5, np.float32) for n in range(len(texts))]

    def noisy(heard, largest, rng):
        assert largest == 0.01
        return heard

    monkeypatch.setitem(
        sys.modules, "pymicro_features", types.SimpleNamespace(MicroFrontend=FrontEnd)
    )
    monkeypatch.setattr(wake_words, "spoken", spoken)
    monkeypatch.setattr(wake_words, "noisy", noisy)
    return asked


def test_half_of_the_items_end_with_the_wake_word(front_end):
    made = make("wake_words", 7, phrase="okay", frames=20)
    assert made.items.shape == (7, 20, 40) and made.items.dtype == np.float32
    assert front_end.count("okay") == 3
    others = [text for text in front_end if text != "okay"]
    assert {len(text.split()) for text in others} == {4}
    assert all(any(s.split()[:4] == t.split() for s in words.sentences()) for t in others)
    again = list(front_end)
    make("wake_words", 7, 1, phrase="okay", frames=20)
    assert [text == "okay" for text in again] != [text == "okay" for text in front_end[7:]]


def test_features_are_those_of_the_end_after_enough_silence(front_end):
    made = make("wake_words", 2, phrase="okay", frames=20)
    for item, heard, samples in zip(made.items, FrontEnd.heard, (8000, 1600), strict=True):
        values = np.frombuffer(heard, "<i2")
        silence = max(0, 25 * 160 - samples)
        assert not values[:silence].any() and (values[silence:] == 16384).all()
        assert samples + silence - len(values) < 160, "all that fills a chunk is heard"
        assert item[-1, 0] == len(heard)
        assert (np.diff(item[:, 0]) > 0).all()


def test_without_the_front_end_it_is_one_line(front_end, monkeypatch):
    monkeypatch.setitem(sys.modules, "pymicro_features", None)
    with pytest.raises(UserError, match=r"pip install 'asterism\[pairs\]'"):
        make("wake_words", 2, phrase="okay", frames=20)
