"""Makers of inputs: what they draw, and from which ranges."""

import math
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from making_inputs import make
from small_model_files import FILE

from asterism.core.messages.errors import UserError
from asterism.pairs.inputs import text_pictures, tokens, words

RATE = 8000


class Extreme:
    """Takes the place of random numbers: always the least, or always the largest."""

    def __init__(self, largest):
        self._largest = largest

    def integers(self, low, high, size=None):
        found = high - 1 if self._largest else low
        return found if size is None else np.full(size, found)

    def choice(self, letters, count, p):
        assert sum(p) == 1
        return [letters[self._largest]] * count


@pytest.mark.parametrize(
    ("largest", "middle", "exon", "intron"), [(False, 40, 80, 300), (True, 94, 249, 1999)]
)
@pytest.mark.parametrize("length", [3001, 10_200])
def test_genes_have_exons_and_introns_of_usual_lengths(largest, middle, exon, intron, length):
    made = make("dna", 2, Extreme(largest), length=length)
    assert made.labels is None
    assert made.items.dtype == np.int32 and made.items.shape == (2, length)
    exons = [(length // 2 - middle, length // 2 + middle)]
    while (start := exons[-1][1] + intron) < length - 300:
        exons.append((start, start + exon))
    while (end := exons[0][0] - intron) > 300:
        exons.insert(0, (end - exon, end))
    letters = ["A", "T"][largest]
    expected = list(letters * length)
    pyrimidines = ["C", "T"][largest] * 16
    for start, end in exons:  # an acceptor's G is the exon's first letter, as CAG of a donor's
        for place, site in ((start - 19, pyrimidines + "CAGG"), (end - 3, "CAGGTAAGT")):
            expected[place : place + len(site)] = site
    assert "".join("ACGT"[n] for n in made.items[0]) == "".join(expected[:length])


def test_pyrimidines_are_mostly_t_and_letters_are_all_alike():
    items = make("dna", 40, length=3000).items
    shares = np.bincount(items.ravel(), minlength=4) / items.size
    assert shares == pytest.approx(0.25, abs=0.02)
    text = "".join("ACGT"[n] for n in items.ravel())
    runs = [text[at - 16 : at] for at in range(16, len(text)) if text[at : at + 4] == "CAGG"]
    pure = "".join(run for run in runs if set(run) <= {"C", "T"})
    assert len(pure) > 40 * 16
    assert pure.count("T") / len(pure) == pytest.approx(0.6, abs=0.06)


def notes_by_hand(count, samples, rng):
    """One sample after the other; random numbers are drawn in the same order."""
    waves = []
    for _ in range(count):
        samples_of_wave = [0.0] * samples
        for _ in range(int(rng.integers(1, 5))):
            start = int(rng.integers(0, samples // 2))
            key = int(rng.integers(36, 84))
            decay = float(rng.uniform(0.5, 4))
            shares = []
            for overtone in range(1, 7):
                frequency = 440.0 * math.pow(2, (key - 69) / 12) * overtone
                if frequency < RATE / 2:
                    shares.append((frequency, rng.uniform(0.3, 1) / overtone**1.5))
            for sample in range(start, samples):
                time = (sample - start) / RATE
                value = sum(s * math.sin(2 * math.pi * f * time) for f, s in shares)
                samples_of_wave[sample] += value * math.exp(-decay * time) * min(1, time * 100)
        loudness = rng.uniform(0.2, 0.9) / max(map(abs, samples_of_wave))
        noise = rng.normal(0, rng.uniform(0, 0.005), samples)
        waves.append([v * loudness + n for v, n in zip(samples_of_wave, noise, strict=True)])
    return np.array(waves)


def test_notes_decay_with_their_overtones():
    made = make("notes", 6, 4, rate=RATE, samples=401)
    assert made.items.dtype == np.float32 and made.labels is None
    expected = notes_by_hand(6, 401, np.random.default_rng(4))
    assert made.items == pytest.approx(np.clip(expected, -1, 1), abs=1e-5)


@pytest.fixture
def drawn(monkeypatch):
    """Each picture's ground, and its lines: places, texts, fonts and colours."""
    from PIL import ImageDraw

    found = []

    class Draw:
        def __init__(self, image):
            self.size, self.ground, self.lines = image.size, image.getpixel((0, 0)), []
            found.append(self)

        def text(self, place, text, font, fill):
            self.lines.append((place, text, font, fill, self.size))

    monkeypatch.setattr(ImageDraw, "Draw", Draw)
    return found


def pictures(count, upside_down=False, **options):
    try:
        text_pictures.fonts()
    except UserError as missing:
        pytest.skip(str(missing))
    sizes = {"height": 96, "width": 64, "lines": 3, "words": 4} | options
    return make("text_pictures", count, upside_down=upside_down, **sizes)


def test_lines_are_in_their_places_in_many_sizes(drawn):
    items = pictures(50).items
    assert items.shape == (50, 96, 64, 3) and items.dtype == np.uint8
    assert len(drawn) == 50 and {len(picture.lines) for picture in drawn} == {1, 2, 3}
    shares, counts, lefts, downs = [], set(), set(), []
    for lines in (picture.lines for picture in drawn):
        room = 96 // len(lines)
        for number, ((left, top), text, font, fill, size) in enumerate(lines):
            assert size == (64, 96) and fill == lines[0][3] and 0 <= fill[0] < 110
            assert Path(font.path) in text_pictures.fonts()
            assert set(text.split()) <= set(words.words())
            counts.add(len(text.split()))
            lefts.add(left)
            downs.append((top - room * number) / (room // 6))
            if font.size < 40:
                shares.append(font.size / room)
            assert font.size <= 40
    assert counts == {1, 2, 3, 4} and lefts == set(range(2, 10))
    assert 0 <= min(downs) < 0.1 and 0.7 < max(downs) < 1
    assert 0.45 < min(shares) < 0.55 and 0.75 < max(shares) <= 0.8
    assert len({line[2].path for picture in drawn for line in picture.lines}) > 12
    assert max(picture.lines[0][3][0] for picture in drawn) > 95


def test_grounds_are_light_and_noisy_in_grey(drawn):
    items = pictures(40).items.astype(float)
    assert np.array_equal(items[..., 0], items[..., 1])
    grounds, levels = (
        np.array([picture.ground[0] for picture in drawn]),
        items[:, :, :, 0].std(axis=(1, 2)),
    )
    assert 150 <= grounds.min() < 160 and 245 < grounds.max() <= 255
    dark = grounds < 190  # others are noisy up to white, where noise ends
    away = items[dark].mean(axis=(1, 2, 3)) - grounds[dark]
    assert away.mean() == pytest.approx(-0.5, abs=0.25), "levels are rounded down"
    assert levels.min() < 2 and 15 < levels.max() < 21


def test_half_of_the_pictures_are_upside_down(drawn):
    upright, turned = pictures(9), pictures(9, upside_down=True)
    assert upright.labels is None
    assert sorted(turned.labels.tolist()) == [0] * 5 + [1] * 4
    for before, after, label in zip(upright.items, turned.items, turned.labels, strict=True):
        assert np.array_equal(after, np.rot90(before, 2) if label else before)


def test_fonts_that_are_missing_are_one_line(monkeypatch):
    known = text_pictures._FONTS
    assert set(known) == {"dejavu", "liberation"}
    monkeypatch.setattr(text_pictures, "_FONTS", {"none": ("fonts-none", ("Sans",), ("", "-Bold"))})
    text_pictures.fonts.cache_clear()
    with pytest.raises(UserError, match=r"none/Sans\.ttf: `apt-get install fonts-none`"):
        text_pictures.fonts()
    monkeypatch.setattr(text_pictures, "_FONTS", known)
    try:
        found = text_pictures.fonts()
    except UserError as missing:
        pytest.skip(str(missing))
    assert len(set(found)) == 3 * 2 + 3 * 4


def test_sentences_become_tokens_between_marks(monkeypatch, tmp_path):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "don", "'", "t", "play", "##ing", ",", "##1", "4"]
    (tmp_path / "vocabulary").write_text("\n".join(pieces), encoding="utf-8")
    texts = ("Don't play", "Playing, 41 x", "t t t t t t t t t")
    monkeypatch.setattr(tokens, "sentences", lambda: texts)
    find = {FILE["path"]: tmp_path / "vocabulary"}
    made = make("sentence_tokens", 3, 2, lambda file: find[file.path], vocabulary=FILE, length=9)
    assert made.items.dtype == np.int64 and made.labels is None
    assert sorted(made.items.tolist()) == sorted(
        [
            [2, 4, 5, 6, 7, 3, 0, 0, 0],
            [2, 7, 8, 9, 11, 10, 1, 3, 0],
            [2, 6, 6, 6, 6, 6, 6, 6, 3],
        ]
    )
    with pytest.raises(UserError, match="none"):
        make("sentence_tokens", 3, 2, lambda file: tmp_path / "none", vocabulary=FILE, length=9)


def test_sentences_have_5_to_30_plain_words(monkeypatch):
    said = {
        "one": [
            "One two three four. One two three four five. One two   three\nfour five six!",
            "One two three\n\nfour five six seven eight? Again one two three four five",
            None,
            5,
            "One two three four fivé.",
            ">>> one two three four five",
            "One two three four five.",
        ],
        "two": [" ".join(["word"] * 30), " ".join(["words"] * 31)],
    }
    monkeypatch.setattr(words, "_MODULES", tuple(said))
    monkeypatch.setattr(words, "_documentation", lambda name: said[name])
    found = words.sentences.__wrapped__()
    assert found == (
        "One two three four five.",
        "One two three four five six!",
        "four five six seven eight?",
        "Again one two three four five",
        " ".join(["word"] * 30),
    )
    texts = ("a bb ccc ccc, D1d; abcdefghijklm abcdefghijklmn", "don't ccc")
    monkeypatch.setattr(words, "sentences", lambda: texts)
    assert words.words.__wrapped__() == ("ccc", "D1d", "abcdefghijklm", "don")


def test_the_documentation_of_a_module_is_that_of_what_it_holds(monkeypatch):
    module, inner, other = (types.ModuleType(name) for name in ("made", "made.inner", "made.other"))
    outside = types.ModuleType("madeup", "outside")
    module.__doc__, inner.__doc__, other.__doc__ = "module", "inner", "other"
    module.inner, module.other, module.outside = inner, other, outside
    module._private = type("Private", (), {"__doc__": "private"})
    module.Public = type("Public", (), {"__doc__": "public"})
    for name, found in (("made", module), ("made.inner", inner), ("made.other", other)):
        monkeypatch.setitem(sys.modules, name, found)
    monkeypatch.setitem(words._WITHIN, "made", "inner")
    assert words._documentation("made") == ["module", "public", "inner", "outside"]
    monkeypatch.setitem(words._WITHIN, "made", "inner absent")
    with pytest.raises(ModuleNotFoundError, match="absent"):
        words._documentation("made")
