"""Tables by key against a dictionary, over blocks that go to disk."""

import copy
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asterism.criteria import row_file
from asterism.criteria.row_file import KeyTable, RowFile

ENTRIES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 255)), max_size=14)


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_file, "BLOCK", 4)
        yield


def arrays(entries):
    keys, rows = zip(*entries, strict=True) if entries else ((), ())
    return np.array(keys, np.uint64), np.array(rows, np.uint8).reshape(-1, 1)


def content(table):
    keys = np.arange(11, dtype=np.uint64)
    found = defaultdict(list)
    for asked, rows in table.find(keys):
        for at, row in zip(asked, rows[:, 0], strict=True):
            found[int(keys[at])].append(int(row))
    return {key: sorted(rows) for key, rows in found.items()}


@given(st.lists(ENTRIES, max_size=5), st.lists(ENTRIES, max_size=3))
def test_a_table_is_a_multimap_and_its_copies_go_their_own_way(first, second):
    table, expected = KeyTable(1), defaultdict(list)
    for entries in first:
        table.add(*arrays(entries))
        for key, row in entries:
            expected[key].append(row)
    before = {key: sorted(rows) for key, rows in expected.items()}
    twin = copy.deepcopy(table)
    for entries in second:
        twin.add(*arrays(entries))
        for key, row in entries:
            expected[key].append(row)
    assert content(table) == before
    assert content(twin) == {key: sorted(rows) for key, rows in expected.items()}
    assert len(twin) == sum(map(len, expected.values()))
    keys = np.arange(11, dtype=np.uint64)
    assert twin.has(keys).tolist() == [int(key) in expected for key in keys]
    assert sorted(int(v) for rows in table.rows() for v in rows[:, 0]) == sorted(
        row for rows in before.values() for row in rows
    )


@given(st.lists(st.integers(0, 5), max_size=6), st.integers(1, 7))
def test_rows_come_back_from_disk_as_they_went(sizes, chunk):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, 2, 3)).astype(np.float32) for n in sizes]
    file = RowFile((2, 3), np.float32)
    for part in parts:
        file.append(part)
    whole = np.concatenate([np.empty((0, 2, 3), np.float32), *parts])
    assert len(file) == len(whole)
    np.testing.assert_array_equal(file.read(), whole)
    pieces = list(file.chunks(chunk))
    assert [start for start, _ in pieces] == list(range(0, len(whole), chunk))
    for start, piece in pieces:
        np.testing.assert_array_equal(piece, whole[start : start + chunk])


def test_a_row_of_another_length_is_rejected():
    with pytest.raises(ValueError, match="rows of shape"):
        RowFile((2,), np.float32).append(np.zeros((3, 4)))
