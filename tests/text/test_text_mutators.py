"""Mutators of tokens and bytes, edit by edit on plain lists."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.core.messages.errors import UserError
from asterism.core.random_streams import stream
from asterism.text import TEXT_MUTATORS, Alphabet, build_text_mutators, has_room
from asterism.text.edits import LOOK_ALIKES

PADDING, PROTECTED, SIZE, WIDTH = 0, (1, 2), 12, 9
ALPHABET = Alphabet(SIZE, PADDING, PROTECTED)
FREE = [s for s in range(SIZE) if s != PADDING and s not in PROTECTED]

rows = st.lists(st.integers(1, SIZE - 1), min_size=0, max_size=WIDTH)
chances = st.floats(0, 1, exclude_max=True)


def filled(row):
    return np.array([[*row, *[PADDING] * (WIDTH - len(row))]], np.int32)


def plain(sequences):
    (row,) = sequences.tolist()
    while row and row[-1] == PADDING:
        row.pop()
    return row


def drawn(chance):
    return FREE[int(chance * len(FREE))]


def slow_edit(name, row, place_chance, chance):
    """One edit of a list."""
    row = list(row)
    free = [p for p, symbol in enumerate(row) if symbol in FREE]
    if name == "delete" and len(free) < 2:
        free = []
    if name == "swap":
        free = [p for p in free if p + 1 < len(row) and row[p + 1] in FREE]
    if name == "repeat" and len(row) == WIDTH:
        free = []
    if not free:
        return row
    place = free[int(place_chance * len(free))]
    if name == "insert" and len(row) < WIDTH:
        row.insert(place, drawn(chance))
    elif name in ("insert", "replace"):
        row[place] = drawn(chance)
    elif name == "delete":
        del row[place]
    elif name == "swap":
        row[place], row[place + 1] = row[place + 1], row[place]
    elif name == "repeat":
        row.insert(place, row[place])
    return row


@pytest.mark.parametrize("name", ["insert", "delete", "swap", "replace", "repeat"])
@given(
    row=rows,
    draws=st.lists(st.tuples(chances, chances), min_size=3, max_size=3),
    count=st.integers(1, 3),
)
def test_edits_are_those_of_lists(name, row, draws, count):
    given_ = {
        "count": np.array([count]),
        "places": np.array([[p for p, _ in draws]]),
        "symbols": np.array([[c for _, c in draws]]),
    }
    expected = row
    for place, chance in draws[:count]:
        expected = slow_edit(name, expected, place, chance)
    found = TEXT_MUTATORS[name]().apply(filled(row), given_, ALPHABET)
    assert plain(found) == expected
    kept = [symbol for symbol in expected if symbol in PROTECTED]
    assert kept == [symbol for symbol in row if symbol in PROTECTED]


@given(row=rows, share=st.floats(0, 0.9))
def test_truncation_drops_the_last_that_may_be_changed(row, share):
    free = [p for p, symbol in enumerate(row) if symbol in FREE]
    kept = max(1, len(free) - round(share * len(free)))
    gone = set(free[kept:])
    found = TEXT_MUTATORS["truncate"]().apply(filled(row), {"share": np.array([share])}, ALPHABET)
    assert plain(found) == [symbol for p, symbol in enumerate(row) if p not in gone]


def as_bytes(text, width=40):
    row = np.full((1, width), 256, np.int16)
    encoded = list(text.encode())
    row[0, : len(encoded)] = encoded
    return row


def as_text(sequences):
    return bytes(symbol for symbol in sequences[0].tolist() if symbol < 256).decode()


def apply_to(name, text, seed, width=40):
    mutator, alphabet = TEXT_MUTATORS[name](), Alphabet(256, 256)
    draws = mutator.draw(stream(seed), (1, width))
    return as_text(mutator.apply(as_bytes(text, width), draws, alphabet)), int(draws["count"][0])


@pytest.mark.parametrize("seed", range(20))
def test_change_of_case_changes_letters_alone(seed):
    text = "Ab 1[{@`~ z\u00e9"
    found, count = apply_to("change_case", text, seed)
    assert found.lower() == text.lower()
    changed = sum(a != b for a, b in zip(found, text, strict=True))
    assert changed <= count
    assert (count - changed) % 2 == 0  # the same letter twice is as it was


@pytest.mark.parametrize("seed", range(20))
def test_look_alikes_are_two_bytes_of_valid_utf8(seed):
    found, count = apply_to("look_alike", "apple PIE 12", seed)
    changed = [(a, b) for a, b in zip("apple PIE 12", found, strict=True) if a != b]
    assert len(changed) == count
    assert all(new in LOOK_ALIKES[old] for old, new in changed)


def test_look_alikes_are_letters_of_other_scripts_that_keep_their_case():
    for letter, alike in LOOK_ALIKES.items():
        for other in alike:
            name = unicodedata.name(other)
            assert len(other.encode()) == 2
            assert name.split()[0] in ("CYRILLIC", "GREEK", "ARMENIAN")
            assert ("CAPITAL" in name) == letter.isupper()


def test_a_full_row_takes_no_look_alike():
    assert apply_to("look_alike", "apple", 0, width=5)[0] == "apple"


def test_lengths_and_free_symbols():
    rows_ = np.array([[1, 5, 0, 7, 0], [0, 0, 0, 0, 0], [3, 3, 3, 3, 3]])
    assert ALPHABET.lengths(rows_).tolist() == [4, 0, 5]
    assert ALPHABET.free.tolist() == FREE
    assert ALPHABET.editable(rows_)[0].tolist() == [False, True, False, True, False]


def test_mutators_are_built_by_name_with_their_fields():
    made = build_text_mutators({"insert": {"high": 7}, "truncate": {}})
    assert list(made) == ["insert", "truncate"]
    assert (made["insert"].low, made["insert"].high) == (1, 7)
    assert isinstance(made["truncate"], TEXT_MUTATORS["truncate"])
    edge = build_text_mutators({"swap": {"low": 100, "high": 100}, "truncate": {"high": 0.999}})
    assert (edge["swap"].low, edge["truncate"].high) == (100, 0.999)


@pytest.mark.parametrize("name", sorted(TEXT_MUTATORS))
def test_tokens_take_the_mutators_that_are_not_of_bytes(name):
    of_bytes = name in ("change_case", "look_alike")
    assert isinstance(build_text_mutators({name: {}})[name], TEXT_MUTATORS[name])
    if not of_bytes:
        assert list(build_text_mutators({name: {}}, of_bytes=False)) == [name]
        return
    tokens = "delete, insert, repeat, replace, swap, truncate"
    with pytest.raises(UserError, match=f"{name} changes bytes.*{tokens}"):
        build_text_mutators({name: {}}, of_bytes=False)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("insert", {"low": 0}),
        ("insert", {"high": 101}),
        ("insert", {"low": 4, "high": 3}),
        ("truncate", {"low": -0.01}),
        ("truncate", {"high": 1.0}),
        ("truncate", {"low": 0.5, "high": 0.4}),
        ("truncate", {"share": 0.4}),
        ("trunkate", {}),
    ],
)
def test_impossible_ranges_are_rejected(name, fields):
    for of_bytes in (True, False):
        with pytest.raises(UserError, match=name):
            build_text_mutators({name: fields}, of_bytes)


def test_draws_lie_in_their_ranges():
    shares = TEXT_MUTATORS["truncate"](0.1, 0.4).draw(stream(0), (900, 5))["share"]
    assert shares.shape == (900,)
    assert 0.1 <= shares.min() < 0.11 < 0.39 < shares.max() < 0.4
    draws = TEXT_MUTATORS["insert"](2, 5).draw(stream(0), (900, 40))
    assert set(draws["count"].tolist()) == {2, 3, 4, 5}
    for values in (draws["places"], draws["symbols"]):
        assert values.shape == (900, 5)
        assert 0 <= values.min() < 0.01 < 0.99 < values.max() < 1


def test_every_look_alike_of_a_letter_can_be_drawn():
    for letter, alike in LOOK_ALIKES.items():
        chances = (np.arange(len(alike)) + 0.5) / len(alike)
        draws = {
            "count": np.ones(len(alike), np.int64),
            "places": np.full((len(alike), 3), 0.5),
            "symbols": np.repeat(chances[:, np.newaxis], 3, axis=1),
        }
        rows_ = np.repeat(as_bytes(f"1{letter}2", 6), len(alike), axis=0)
        found = TEXT_MUTATORS["look_alike"]().apply(rows_, draws, Alphabet(256, 256))
        assert [as_text(row[np.newaxis]) for row in found] == [f"1{other}2" for other in alike]


def test_symbols_are_drawn_among_the_free_ones():
    chances = (np.arange(len(FREE)) + 0.5) / len(FREE)
    assert ALPHABET.drawn(chances).tolist() == FREE
    assert ALPHABET.drawn(np.array([0, 1 - 1e-12])).tolist() == [FREE[0], FREE[-1]]


def test_a_row_has_room_before_its_padding_is_used_up():
    rows_ = np.array([[5, 5, 5, 5], [5, 5, 5, 0], [5, 0, 0, 0], [0, 0, 0, 0]])
    assert has_room(rows_, ALPHABET).tolist() == [False, True, True, True]
