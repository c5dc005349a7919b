"""Mutators of sound, sample by sample or by what one hears."""

import numpy as np
import pytest

from asterism.core.messages.errors import UserError
from asterism.core.random_streams import stream
from asterism.sound import SOUND_MUTATORS, build_sound_mutators, wave_power
from asterism.sound.timing import _read_at, stretch_waves

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


def test_a_room_is_a_convolution_with_its_response():
    waves = tones([300, 700], 0.05)
    mutator = SOUND_MUTATORS["room"]()
    draws = mutator.draw(stream(0), waves.shape, RATE)
    found = mutator.apply(waves, draws)
    for wave, original, response in zip(found, waves, draws["response"], strict=True):
        echoing = np.convolve(original.astype(float), response.astype(float))[: len(original)]
        echoing *= np.abs(original).max() / np.abs(echoing).max()
        assert wave == pytest.approx(echoing, abs=1e-5)
    long = mutator.draw(stream(1), (200, RATE), RATE)["response"]
    energy = np.square(long[:, 1:], dtype=np.float64).sum(axis=1)
    assert energy.min() >= 0.05 - 1e-3 and energy.max() <= 0.5 + 1e-3


@pytest.mark.parametrize("pace", [0.8, 0.95, 1.0, 1.25])
def test_a_stretched_tone_keeps_its_pitch_and_its_loudness(pace):
    waves = tones([440, 1000, 3000])
    found = stretch_waves(waves, np.full((3, 1), pace, np.float32), RATE)
    heard = slice(1000, int(RATE / pace) - 2000 if pace > 1 else RATE - 1000)
    for wave, expected in zip(found, (440, 1000, 3000), strict=True):
        assert pitch(wave[heard]) == pytest.approx(expected, rel=0.005)
        assert wave[heard].std() == pytest.approx(0.4 / np.sqrt(2), rel=0.15)
    if pace > 1:
        assert np.abs(found[:, int(RATE / pace) + 1000 :]).max() < 0.01
    if pace == 1:
        assert found[:, 600:-600] == pytest.approx(waves[:, 600:-600], abs=1e-4)


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


def built(name, **fields):
    return build_sound_mutators({name: fields})[name]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        *((name, {"low": 0.5, "high": 0.4}) for name in sorted(SOUND_MUTATORS)),
        ("clipping", {"low": 0.0}),
        ("clipping", {"high": 1.001}),
        ("room", {"low": 0.0}),
        ("room", {"echo_low": -0.01}),
        ("room", {"echo_low": 0.3, "echo_high": 0.2}),
        ("time_shift", {"low": -1.01}),
        ("time_shift", {"high": 1.01}),
        ("time_stretch", {"low": 0.0}),
        ("pitch_shift", {"low": -24.1}),
        ("pitch_shift", {"high": 24.1}),
        ("gain", {"lowest": 1.0}),
    ],
)
def test_impossible_ranges_are_rejected(name, fields):
    with pytest.raises(UserError, match=name):
        built(name, **fields)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("clipping", 1.0, 1.0),
        ("time_shift", -1.0, -1.0),
        ("time_shift", 1.0, 1.0),
        ("pitch_shift", -24.0, 24.0),
        ("gain", 0.0, 0.0),
        ("noise", 3.0, 3.0),
    ],
)
def test_ranges_may_reach_their_limits_and_hold_one_value(name, low, high):
    mutator = built(name, low=low, high=high)
    assert isinstance(mutator, SOUND_MUTATORS[name]) and (mutator.low, mutator.high) == (low, high)
    assert built("room", echo_low=0.0, echo_high=0.0).echo_high == 0


@pytest.mark.parametrize(
    ("name", "draw", "drawn", "places"),
    [
        ("time_stretch", "pace", [[0.5], [1.25]], [4040, 1616]),
        ("pitch_shift", "semitones", [[-4.0], [4.0]], [2020, 2020]),
    ],
)
def test_a_click_comes_at_the_drawn_pace_and_a_higher_one_when_it_was(name, draw, drawn, places):
    waves = np.zeros((2, 8000), np.float32)
    waves[:, 2000:2040] = 0.9
    found = SOUND_MUTATORS[name]().apply(waves, {draw: np.array(drawn, np.float32)})
    energy = np.square(found, dtype=np.float64)
    centres = (energy * np.arange(8000)).sum(axis=1) / energy.sum(axis=1)
    assert centres == pytest.approx(places, abs=250)  # spread over half a frame


def test_noise_goes_by_each_wave_and_also_into_silence():
    waves = np.concatenate([tones([300, 300]), np.zeros((1, RATE), np.float32)])
    waves[1] *= 0.01
    mutator = SOUND_MUTATORS["noise"]()
    draws = mutator.draw(stream(0), waves.shape, RATE) | {"ratio": np.full((3, 1), 20.0)}
    noise = mutator.apply(waves, draws).astype(float) - waves
    powers = [0.08 / 100, 0.08e-4 / 100, 1e-10 / 100]
    assert np.square(noise).mean(axis=1) == pytest.approx(powers, rel=0.05)
    assert wave_power(waves)[:, 0] == pytest.approx([0.08, 0.08e-4, 0], rel=1e-3)


def test_a_room_s_echoes_have_the_drawn_energy_and_decay():
    room = built("room", low=0.2, high=0.2, echo_low=0.25, echo_high=0.25)
    response = room.draw(stream(5), (300, RATE), RATE)["response"].astype(float)
    assert response.shape == (300, int(0.2 * RATE))
    assert response.dtype == np.float64 and (response[:, 0] == 1).all()
    assert np.square(response[:, 1:]).sum(axis=1) == pytest.approx(np.full(300, 0.25), rel=1e-4)
    step = RATE // 20
    means = [np.square(response[:, 1 + n * step :][:, :400]).mean() for n in range(3)]
    fallen = 10 * np.log10(means[0] / np.array(means[1:]))
    assert fallen == pytest.approx([15, 30], abs=0.3)  # 60 dB in 0.2 s, so 15 in 0.05 s
    short = room.draw(stream(5), (2, 100), RATE)["response"]
    assert short.shape == (2, 100)
    assert (
        built("room", low=1e-4, high=1e-4).draw(stream(5), (1, 9), 8000)["response"].shape[1] == 2
    )


def test_values_between_samples_are_cubic():
    def slow(wave, place):
        at = [wave[n] if 0 <= n < len(wave) else 0.0 for n in range(-1, len(wave) + 4)]
        whole, t = int(place), place - int(place)
        p0, p1, p2, p3 = at[whole : whole + 4]
        slope, next_slope = (p2 - p0) / 2, (p3 - p1) / 2
        return (
            (2 * t**3 - 3 * t**2 + 1) * p1
            + (t**3 - 2 * t**2 + t) * slope
            + (3 * t**2 - 2 * t**3) * p2
            + (t**3 - t**2) * next_slope
        )

    waves = np.random.default_rng(0).normal(size=(2, 9)).astype(np.float32)
    places = np.array([[0.0, 0.25, 1.5, 3.75, 7.9, 8.0, 8.5, 9.0, 30.2]] * 2)
    found = _read_at(waves, places)
    for wave, read in zip(waves.tolist(), found, strict=True):
        expected = [slow(wave, p) if p < 9 else 0.0 for p in places[0].tolist()]
        assert read.tolist() == pytest.approx(expected, abs=1e-5)
