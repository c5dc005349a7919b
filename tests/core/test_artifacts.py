import errno
import os
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from scipy import sparse

from asterism.core.files import artifacts
from asterism.core.files.artifacts import read_json, replacing, write_json
from asterism.core.files.limits import open_zip, parse_json
from asterism.core.files.os_errors import report_os_errors
from asterism.core.messages.errors import UserError
from asterism.core.settings.yaml_files import parse_yaml
from asterism.core.svg import svg_text, write_svg


def test_same_content_gives_same_bytes(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {"a": rng.normal(size=(5, 3)), "b": np.arange(7)}
    matrix = sparse.random_array((20, 20), density=0.2, rng=0, format="csr")
    for name in ("first", "second"):
        folder = tmp_path / name
        artifacts.write_arrays(folder / "x.npz", **arrays)
        artifacts.write_json(folder / "x.json", {"b": 1, "a": [0.1, 2]})
        artifacts.write_sparse(folder / "s.npz", matrix)
        artifacts.write_table(folder / "t.csv", {"a": [1, 2], "b": ["x", "y"]})
    for file in (tmp_path / "first").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes(), file.name


def test_round_trips(tmp_path):
    artifacts.write_arrays(tmp_path / "x.npz", a=np.arange(3, dtype=np.uint8))
    assert artifacts.read_arrays(tmp_path / "x.npz")["a"].dtype == np.uint8
    matrix = sparse.csr_array(np.eye(3, dtype=np.int64))
    artifacts.write_sparse(tmp_path / "s.npz", matrix)
    assert (artifacts.read_sparse(tmp_path / "s.npz") != matrix).nnz == 0
    frame = pl.DataFrame({"a": [1.5], "b": ["x"]})
    artifacts.write_table(tmp_path / "t.csv", frame)
    assert artifacts.read_table(tmp_path / "t.csv").equals(frame)


def test_rows_are_written_as_their_columns_are(tmp_path):
    rows = [{"late": None if n < 200 else n / 2, "name": str(n)} for n in range(300)]
    columns = {name: [row[name] for row in rows] for name in ("late", "name")}
    for table, name in ((rows, "rows"), (columns, "columns")):
        artifacts.write_table(tmp_path / f"{name}.csv", table)
    written = {(tmp_path / f"{name}.csv").read_bytes() for name in ("rows", "columns")}
    assert len(written) == 1


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "x.json"
    artifacts.write_json(path, {"good": 1})
    with pytest.raises(ValueError, match="JSON compliant"):
        artifacts.write_json(path, {"bad": float("nan")})
    with pytest.raises(RuntimeError), artifacts.replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert artifacts.read_json(path) == {"good": 1}
    assert list(tmp_path.glob(".*")) == []


def test_object_arrays_are_neither_written_nor_read(tmp_path):
    with pytest.raises(TypeError, match="pickle"):
        artifacts.write_arrays(tmp_path / "x.npz", a=np.array([{}], dtype=object))
    np.savez(tmp_path / "evil.npz", a=np.array([{}], dtype=object))
    with pytest.raises(UserError, match=r"evil\.npz"):
        artifacts.read_arrays(tmp_path / "evil.npz")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_bytes(b""), "it is damaged, or is no .npz file"),
        (lambda path: path.write_bytes(b"PK\x03\x04 half"), "it is damaged, or is no .npz file"),
        (lambda path: path.write_bytes(b"\x93NUMPY\x01"), "it is damaged, or is no .npz file"),
        (lambda path: path.write_text("images\n"), "it is damaged, or is no .npz file"),
        (lambda path: path.mkdir(), "is a folder, no .npz file"),
        (lambda path: None, "there is no .npz file"),
    ],
)
def test_what_is_no_archive_is_never_called_a_pickle_to_trust(tmp_path, make, message):
    path = tmp_path / "notes.npz"
    make(path)
    with pytest.raises(UserError, match=r"notes\.npz") as error:
        artifacts.read_arrays(path)
    assert message in str(error.value)
    assert "pickle" not in str(error.value) and "\n" not in str(error.value)


def test_a_flipped_byte_raises_nothing_but_one_line(tmp_path):
    path = tmp_path / "x.npz"
    matrix = sparse.csr_array(np.eye(9, dtype=np.int64))
    for write, read in (
        (lambda: artifacts.write_arrays(path, a=np.arange(50) // 3), artifacts.read_arrays),
        (lambda: artifacts.write_sparse(path, matrix), artifacts.read_sparse),
    ):
        write()
        content = path.read_bytes()
        errors = 0
        for place in range(0, len(content), 7):
            flipped = bytearray(content)
            flipped[place] ^= 0xFF
            path.write_bytes(flipped)
            try:
                read(path)
            except UserError as error:
                errors += 1
                assert "x.npz" in str(error)
        assert errors > 10


def test_another_kind_of_file_is_none_of_named_arrays(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(5))
    (tmp_path / "x.npy").rename(tmp_path / "x.npz")
    artifacts.write_arrays(tmp_path / "y.npz", a=np.arange(5))
    for read, name in (
        (artifacts.read_arrays, "x.npz"),
        (artifacts.read_sparse, "x.npz"),
        (artifacts.read_sparse, "y.npz"),
        (artifacts.map_array, "y.npz"),
    ):
        with pytest.raises(UserError, match=rf"cannot read .*{name}"):
            read(tmp_path / name)


def test_a_directory_replaces_a_directory(tmp_path):
    target = tmp_path / "folder"
    for content in ("old", "new"):
        with artifacts.replacing(target) as temporary:
            temporary.mkdir()
            (temporary / content).touch()
    assert [p.name for p in target.iterdir()] == ["new"]


def test_a_small_archive_is_written_as_every_release_of_python_writes_it(tmp_path):
    artifacts.write_arrays(tmp_path / "a.npz", a=np.arange(3), b=np.zeros((2, 2)))
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert [entry.filename for entry in archive.infolist()] == ["a.npy", "b.npy"]
        assert {entry.extract_version for entry in archive.infolist()} == {20}, "no 64-bit sizes"


def test_indices_of_a_sparse_matrix_are_written_in_order(tmp_path):
    ordered = sparse.csr_array(np.array([[0, 1, 2], [3, 0, 4]]))
    places = (np.array([2, 1, 2, 0], np.int32), np.array([0, 2, 4], np.int32))
    unordered = sparse.csr_array((np.array([2, 1, 4, 3]), *places), shape=(2, 3))
    assert not unordered.has_sorted_indices
    artifacts.write_sparse(tmp_path / "a.npz", ordered)
    artifacts.write_sparse(tmp_path / "b.npz", unordered)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert artifacts.read_sparse(tmp_path / "b.npz").has_sorted_indices


def test_a_table_has_at_most_ten_thousand_columns(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{n}" for n in range(10_000)) + "\n")
    assert artifacts.read_table(path).width == 10_000
    path.write_text(",".join(f"c{n}" for n in range(10_001)) + "\n")
    with pytest.raises(UserError, match=r"wide\.csv.* 10,000 columns"):
        artifacts.read_table(path)


def test_a_table_of_empty_cells_takes_no_more_memory_than_is_allowed(tmp_path, monkeypatch):
    path = tmp_path / "empty.csv"
    path.write_text(",".join(f"c{n}" for n in range(100)) + "\n" + ("," * 99 + "\n") * 2_000)
    monkeypatch.setenv("ASTERISM_LIMITS_TEXT_MB", "2")
    assert artifacts.read_table(path).shape == (2_000, 100)
    monkeypatch.setenv("ASTERISM_LIMITS_TEXT_MB", "1")
    with pytest.raises(UserError, match=r"empty\.csv .*limits\.text_mb"):
        artifacts.read_table(path)


@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a":', "}")])
def test_json_of_200_levels_is_read_and_of_more_is_not(tmp_path, begin, end):
    for depth in (199, 200):
        (tmp_path / "x.json").write_text(begin * depth + "1" + end * depth)
        assert len(str(artifacts.read_json(tmp_path / "x.json"))) > depth
    (tmp_path / "x.json").write_text(begin * 201 + "1" + end * 201)
    with pytest.raises(UserError, match=r"x\.json"):
        artifacts.read_json(tmp_path / "x.json")


def test_yaml_of_100_levels_is_read_and_of_more_is_not():
    for levels in (99, 100):
        assert str(parse_yaml("[" * levels + "1" + "]" * levels, "x")).count("[") == levels
    with pytest.raises(UserError, match="cannot read x"):
        parse_yaml("[" * 101 + "1" + "]" * 101, "x")


def test_json_is_text_or_its_bytes_in_utf_8():
    text = '{"ä": [1]}'
    assert parse_json(text, "x") == parse_json(text.encode(), "x") == {"ä": [1]}
    with pytest.raises(UserError, match="cannot read x"):
        parse_json(text.encode("utf-16"), "x")


def figure(height):
    made = Figure(figsize=(2, 1))
    axes = made.subplots()
    axes.plot([0, 1], [0, height])
    axes.set_title("a & b")
    return made


def test_a_figure_s_file_holds_its_text_and_is_the_same_every_time(tmp_path):
    write_svg(tmp_path / "f.svg", figure(3))
    text = (tmp_path / "f.svg").read_text(encoding="utf-8")
    assert text == svg_text(figure(3)) != svg_text(figure(4))
    assert "<svg" in text and "a &amp; b" in text
    assert [path.name for path in tmp_path.iterdir()] == ["f.svg"]


@pytest.fixture
def events(monkeypatch):
    """What is flushed and moved, in order: names without the random part of scratch folders."""
    noted = []
    fsync, replace = os.fsync, Path.replace

    def flushed(descriptor):
        noted.append(("flush", Path(f"/proc/self/fd/{descriptor}").readlink().name))
        fsync(descriptor)

    def moved(path, target):
        noted.append(("move", Path(target).name))
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "replace", moved)
    return noted


def test_a_file_is_flushed_then_moved_then_its_folder_is_flushed(tmp_path, events):
    write_json(tmp_path / "folder/x.json", 1)
    assert events == [("flush", "x.json"), ("move", "x.json"), ("flush", "folder")]


def test_every_file_of_a_folder_is_flushed_once_before_the_folder_is_moved(tmp_path, events):
    with replacing(tmp_path / "whole") as folder:
        (folder / "below").mkdir(parents=True)
        (folder / "below/plain").write_text("x")
        (folder / "link").symlink_to(tmp_path)
        write_json(folder / "below/x.json", 1)
    assert events == [
        ("move", "x.json"),  # inside of a folder that is not there yet
        ("flush", "plain"),
        ("flush", "x.json"),
        ("flush", "below"),
        ("flush", "whole"),
        ("move", "whole"),
        ("flush", tmp_path.name),
    ]


def test_a_file_elsewhere_is_flushed_although_a_folder_is_being_written(tmp_path, events):
    with replacing(tmp_path / "whole") as folder:
        folder.mkdir()
        write_json(tmp_path / "other/x.json", 1)
        assert events == [("flush", "x.json"), ("move", "x.json"), ("flush", "other")]
    write_json(tmp_path / "y.json", 1)
    assert events[-3] == ("flush", "y.json")


def test_a_disk_that_says_only_now_that_it_is_full_leaves_the_old_file(tmp_path, monkeypatch):
    """As NFS does, which writes when a file is flushed."""
    write_json(tmp_path / "x.json", "old")

    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=rf"{tmp_path}.*make room there"), report_os_errors():
        write_json(tmp_path / "x.json", "new")
    assert read_json(tmp_path / "x.json") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP, errno.EIO])
def test_a_file_system_that_flushes_no_folders_is_good_enough(tmp_path, monkeypatch, number):
    fsync = os.fsync

    def of_files_only(descriptor):
        if Path(f"/proc/self/fd/{descriptor}").is_dir():
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", of_files_only)
    if number == errno.EIO:
        with pytest.raises(OSError, match="Input/output"):
            write_json(tmp_path / "x.json", 1)
    else:
        write_json(tmp_path / "x.json", 1)
        assert read_json(tmp_path / "x.json") == 1


#: The most bytes that deflate packs into one (RFC 1951: 258 bytes into two bits).
RATIO = 1032


def declare(path, size):
    """Write into the list of an archive of one member that it has so many bytes."""
    content = bytearray(path.read_bytes())
    at = content.rfind(b"PK\x01\x02") + 24
    content[at : at + 4] = size.to_bytes(4, "little")
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("method", "ratio"), [(zipfile.ZIP_STORED, 1), (zipfile.ZIP_DEFLATED, RATIO)]
)
def test_a_member_declares_no_more_than_its_bytes_can_hold(tmp_path, method, ratio):
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("member", b"text" * 100)
    with zipfile.ZipFile(path) as archive:
        held = archive.getinfo("member").compress_size * ratio
    declare(path, held)
    with open_zip(path, "limits.array_mb") as archive:
        assert archive.getinfo("member").file_size == held
    declare(path, held + 1)
    with (
        pytest.raises(UserError, match=f"declares {held + 1:,} bytes of member, which takes only"),
        open_zip(path, "limits.array_mb"),
    ):
        pass


@pytest.mark.parametrize("more", [0, 1])
def test_all_members_together_meet_the_limit_by_the_byte(tmp_path, monkeypatch, more):
    monkeypatch.setenv("ASTERISM_LIMITS_ARRAY_MB", "1")
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("one", bytes(600_000))
        archive.writestr("two", bytes(400_000 + more))
    if not more:
        with open_zip(path, "limits.array_mb") as archive:
            assert archive.namelist() == ["one", "two"]
        return
    with (
        pytest.raises(UserError, match=r"archive\.zip .*1 MB"),
        open_zip(path, "limits.array_mb"),
    ):
        pass
