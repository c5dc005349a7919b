"""Mutators of sound, sample by sample or by what one hears."""

import numpy as np
import pytest

from asterism.core.randomness.random_streams import stream
from asterism.sound import SOUND_MUTATORS
from asterism.sound.timing import stretched

RATE = 16_000


def tones(pitches, seconds=1.0):
    time = np.arange(int(RATE * seconds)) / RATE
    return np.stack([0.4 * np.sin(2 * np.pi * p * time) for p in pitches]).astype(np.float32)


def pitch(wave):
    """The strongest frequency, by the spectrum's peak between bins."""
    size = np.abs(np.fft.rfft(wave * np.hanning(len(wave)), 8 * len(wave)))
    return size.argmax() * RATE / (8 * len(wave))


def apply(name, waves, **draws):
    each = {key: np.array(value) for key, value in draws.items()}
    return SOUND_MUTATORS[name]().apply(waves, each)


def test_the_paper_names_four_and_three_are_added():
    papers = {"time_stretch", "pitch_shift", "time_shift", "gain"}
    assert papers | {"noise", "room", "clipping"} == set(SOUND_MUTATORS)


@pytest.mark.parametrize("name", sorted(SOUND_MUTATORS))
def test_draws_lie_in_their_ranges(name):
    mutator = SOUND_MUTATORS[name]()
    draws = mutator.draw(stream(0, name), (500, 400), RATE)
    assert all(len(values) == 500 for values in draws.values())
    scale = {"time_shift": 400}.get(name, 1)
    for values in draws.values():
        if values.shape == (500, 1):
            assert scale * mutator.low <= values.min() < values.max() <= scale * mutator.high


def test_gain_is_in_decibels_and_clips():
    waves = tones([300, 300])
    louder = apply("gain", waves, decibels=[[-6.0206], [20.0]])
    for wave, original, factor in zip(louder, waves, (0.5, 10), strict=True):
        for sample, before in zip(wave[:200], original[:200], strict=True):
            assert sample == pytest.approx(max(-1, min(1, factor * before)), abs=1e-6)


def test_clipping_cuts_at_a_share_of_the_peak():
    waves = tones([300])
    (cut,) = apply("clipping", waves, share=[[0.25]])
    level = 0.25 * max(abs(sample) for sample in waves[0].tolist())
    for sample, before in zip(cut.tolist(), waves[0].tolist(), strict=True):
        assert sample == pytest.approx(max(-level, min(level, before)), abs=1e-6)


def test_time_shift_moves_samples_and_leaves_silence():
    waves = tones([300, 300], 0.01)
    found = apply("time_shift", waves, samples=[[3], [-5]])
    for wave, original, later in zip(found, waves, (3, -5), strict=True):
        for n, sample in enumerate(wave):
            assert sample == (original[n - later] if 0 <= n - later < len(original) else 0)


def test_noise_has_the_drawn_ratio():
    waves = tones([300, 800])
    mutator = SOUND_MUTATORS["noise"]()
    draws = mutator.draw(stream(0), waves.shape, RATE) | {"ratio": np.array([[10.0], [30.0]])}
    noise = mutator.apply(waves, draws) - waves
    ratio = 10 * np.log10((waves**2).mean(axis=1) / (noise**2).mean(axis=1))
    assert ratio == pytest.approx([10, 30], abs=0.3)


def test_a_room_is_a_convolution_that_decays_by_60_decibels():
    waves = tones([300, 700], 0.05)
    mutator = SOUND_MUTATORS["room"]()
    draws = mutator.draw(stream(0), waves.shape, RATE)
    found = mutator.apply(waves, draws)
    for wave, original, response in zip(found, waves, draws["response"], strict=True):
        echoing = np.convolve(original.astype(float), response.astype(float))[: len(original)]
        echoing *= np.abs(original).max() / np.abs(echoing).max()
        assert wave == pytest.approx(echoing, abs=1e-5)
    long = mutator.draw(stream(1), (200, RATE), RATE)["response"]
    assert (long[:, 0] == 1).all()
    energy = np.square(long[:, 1:], dtype=np.float64).sum(axis=1)
    assert energy.min() >= 0.05 - 1e-3 and energy.max() <= 0.5 + 1e-3
    parts = long[:, 1:400], long[:, -400:]
    early, late = (np.square(part, dtype=np.float64).mean() for part in parts)
    assert 10 * np.log10(early / late) > 40


@pytest.mark.parametrize("pace", [0.8, 0.95, 1.0, 1.25])
def test_a_stretched_tone_keeps_its_pitch_and_its_loudness(pace):
    waves = tones([440, 1000, 3000])
    found = stretched(waves, np.full((3, 1), pace, np.float32), RATE)
    heard = slice(1000, int(RATE / pace) - 2000 if pace > 1 else RATE - 1000)
    for wave, expected in zip(found, (440, 1000, 3000), strict=True):
        assert pitch(wave[heard]) == pytest.approx(expected, rel=0.005)
        assert wave[heard].std() == pytest.approx(0.4 / np.sqrt(2), rel=0.15)
    if pace > 1:
        assert np.abs(found[:, int(RATE / pace) + 1000 :]).max() < 0.01
    if pace == 1:
        assert found[:, 600:-600] == pytest.approx(waves[:, 600:-600], abs=1e-4)


def test_a_stretched_click_comes_later():
    waves = np.zeros((1, RATE), np.float32)
    waves[0, 4000:4040] = 0.9
    found = stretched(waves, np.array([[0.8]], np.float32), RATE)
    centre = (np.square(found[0]) * np.arange(RATE)).sum() / np.square(found[0]).sum()
    assert centre == pytest.approx(4020 / 0.8, abs=150)


@pytest.mark.parametrize("semitones", [-4.0, -1.0, 0.0, 3.0])
def test_a_shifted_tone_has_the_other_pitch_at_the_same_pace(semitones):
    waves = tones([440, 1000])
    found = apply("pitch_shift", waves, semitones=[[semitones]] * 2)
    for wave, before in zip(found, (440, 1000), strict=True):
        assert pitch(wave[1000:-1000]) == pytest.approx(before * 2 ** (semitones / 12), rel=0.005)
        assert wave[1000:-1000].std() == pytest.approx(0.4 / np.sqrt(2), rel=0.15)


@pytest.mark.parametrize("name", sorted(SOUND_MUTATORS))
def test_silence_and_short_waves_are_no_error(name):
    mutator = SOUND_MUTATORS[name]()
    for shape in ((2, 1), (3, 700)):
        waves = np.zeros(shape, np.float32)
        found = mutator.apply(waves, mutator.draw(stream(0), shape, RATE))
        assert found.shape == shape
        assert np.isfinite(found).all()
