import gzip
import hashlib
import http.server
import io
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import requests

from asterism.core.messages.errors import UserError
from asterism.data import DataParams, load
from asterism.data.sources import downloaded

DIGITS_MEAN = 79.597  # of the training images


def params(name, **changes):
    return DataParams(
        **{"name": name, "path": "conf/no_file", "train": None, "test": None} | changes
    )


def test_digits_need_nothing_and_never_change():
    data = load(params("digits"))
    assert data.train_images.shape == (1437, 28, 28, 1)
    assert data.test_images.shape == (360, 28, 28, 1)
    assert data.train_images.dtype == np.uint8
    assert data.train_images.max() == 255
    assert sorted(set(data.test_labels.tolist())) == list(range(10))
    assert np.array_equal(load(params("digits")).train_images, data.train_images)


def test_digits_keep_their_grey_levels():
    """White stays white, and the mean is that of the 17 levels stretched to 0 to 255."""
    images = load(params("digits")).train_images
    assert images.mean() == pytest.approx(DIGITS_MEAN, abs=0.05)


def test_a_part_of_the_data():
    data = load(params("digits", train=50, test=7))
    assert len(data.train_images) == len(data.train_labels) == 50
    assert len(data.test_images) == 7
    with pytest.raises(UserError, match=r"9999 images.* 1437"):
        load(params("digits", train=9999))


def test_an_unknown_data_set():
    with pytest.raises(UserError, match="did you mean 'mnist'"):
        load(params("mnists"))


def test_a_file_that_the_source_does_not_read():
    with pytest.raises(UserError, match=r"path is 'mine\.npz'.* digits"):
        load(params("digits", path="mine.npz"))


@pytest.mark.parametrize(("name", "mean"), [("mnist", 33.3184), ("fashion_mnist", 72.9404)])
def test_idx_files(shared_data, name, mean):
    data = load(params(name))
    assert data.train_images.shape == (60_000, 28, 28, 1)
    assert data.test_labels.shape == (10_000,)
    assert data.train_images.mean() == pytest.approx(mean, abs=1e-3)


def test_cifar10_reads_the_files_that_it_needs(shared_data):
    data = load(params("cifar10", train=20_000, test=100))
    assert data.train_images.shape == (20_000, 32, 32, 3)
    assert np.bincount(data.train_labels).sum() == 20_000


def write_idx(path, array):
    header = bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(header + array.tobytes()))


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (2, 1, 3, 2)])
def test_an_idx_file_holds_an_array_row_by_row(tmp_path, shape):
    array = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    write_idx(tmp_path / "a.gz", array)
    np.testing.assert_array_equal(downloaded.read_idx(tmp_path / "a.gz"), array)


@pytest.mark.parametrize(
    ("name", "folder", "checksums"),
    [("mnist", "mnist", "_MNIST"), ("fashion_mnist", "fashion-mnist", "_FASHION_MNIST")],
)
def test_the_four_files_of_a_set_go_to_their_places(root, monkeypatch, name, folder, checksums):
    rng, arrays, sums = np.random.default_rng(0), {}, {}
    for part, file in downloaded._FILES.items():
        count = 12 if part.startswith("train") else 5
        shape = (count, 28, 28) if part.endswith("images") else (count,)
        arrays[part] = rng.integers(0, 10, shape, np.uint8)
        write_idx(root / folder / file, arrays[part])
        sums[part] = hashlib.sha256((root / folder / file).read_bytes()).hexdigest()
    monkeypatch.setattr(downloaded, checksums, sums)
    found = load(params(name))
    assert found.classes == 10
    for part, array in arrays.items():
        expected = array[..., None] if part.endswith("images") else array
        np.testing.assert_array_equal(getattr(found, part), expected)
    assert found.train_images.dtype == np.uint8
    assert found.test_labels.dtype == np.int64


def test_a_record_of_cifar10_is_a_label_and_three_planes(tmp_path):
    content = np.random.default_rng(0).integers(0, 256, (3, 3073), np.uint8)
    (tmp_path / "batch.bin").write_bytes(content.tobytes())
    images, labels = downloaded.read_batch(tmp_path / "batch.bin")
    assert images.shape == (3, 32, 32, 3)
    assert labels.tolist() == content[:, 0].tolist()
    for number, row, column, colour in [(0, 0, 0, 0), (1, 3, 7, 1), (2, 31, 30, 2), (2, 0, 31, 1)]:
        place = 1 + colour * 1024 + row * 32 + column
        assert images[number, row, column, colour] == content[number, place]


@pytest.mark.parametrize(("wanted", "files"), [(1, 1), (10_000, 1), (10_001, 2), (None, 5)])
def test_so_many_files_of_cifar10_are_read_as_are_needed(monkeypatch, wanted, files):
    asked = []

    def read(names):
        asked.append(list(names))
        return np.zeros((50_000, 1, 1, 1), np.uint8), np.zeros(50_000, np.int64)

    monkeypatch.setattr(downloaded, "_read", read)
    load(params("cifar10", train=wanted))
    load(params("cifar10_swapped", test=wanted))
    assert asked == 2 * [list(downloaded._TRAIN)[:files], list(downloaded._TEST)]


def cifar_archive(root, monkeypatch):
    """A small archive in place of the published one, and a count of its unpackings."""
    root.mkdir(parents=True)
    record = bytes([7]) + bytes(3072)
    contents = {
        name: record * n for n, name in enumerate([*downloaded._TRAIN, *downloaded._TEST], 1)
    }
    with tarfile.open(root / downloaded._ARCHIVE, "w:gz") as archive:
        for name, content in contents.items():
            entry = tarfile.TarInfo(f"{downloaded._FOLDER}/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    packed = (root / downloaded._ARCHIVE).read_bytes()
    monkeypatch.setattr(downloaded, "_ARCHIVE_SHA256", hashlib.sha256(packed).hexdigest())
    for part in ("_TRAIN", "_TEST"):
        names = getattr(downloaded, part)
        known = {name: hashlib.sha256(contents[name]).hexdigest() for name in names}
        monkeypatch.setattr(downloaded, part, known)


def test_cifar10_comes_out_of_its_archive_file_by_file(root, monkeypatch):
    cifar_archive(root, monkeypatch)
    data = load(params("cifar10"))
    assert (len(data.train_images), len(data.test_images)) == (15, 6)
    assert set(data.train_labels.tolist()) == {7}
    kept = sorted(p.name for p in root.iterdir())
    assert kept == [".cifar10.lock", downloaded._FOLDER, downloaded._ARCHIVE]
    assert len(list((root / downloaded._FOLDER).iterdir())) == 6


def test_stages_that_unpack_cifar10_at_once_do_not_disturb_each_other(root, monkeypatch):
    cifar_archive(root, monkeypatch)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: load(params("cifar10")), range(8)))
    assert all(len(data.train_images) == 15 for data in found)


def test_unpacking_that_breaks_off_leaves_no_half_file(root, monkeypatch):
    cifar_archive(root, monkeypatch)

    def cut(source, target):
        target.write(source.read(100))
        raise OSError("no space left")

    monkeypatch.setattr(downloaded.shutil, "copyfileobj", cut)
    with pytest.raises(UserError, match=r"data_batch_1\.bin .*no space left"):
        load(params("cifar10"))
    assert list((root / downloaded._FOLDER).iterdir()) == []


# ---- the user's own npz ------------------------------------------------------------------------

GOOD = {
    "train_images": np.zeros((4, 5, 6), np.uint8),
    "train_labels": np.array([0, 1, 2, 1]),
    "test_images": np.zeros((2, 5, 6, 1), np.uint8),
    "test_labels": np.array([0, 2], np.int32),
}


def write(path, **changes):
    arrays = {k: v for k, v in (GOOD | changes).items() if v is not None}
    np.savez(path, **arrays)
    return params("npz", path=str(path))


def test_npz(tmp_path):
    data = load(write(tmp_path / "own.npz"))
    assert data.train_images.shape == (4, 5, 6, 1)
    assert data.classes == 3
    assert data.test_labels.dtype == np.int64


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_images": None}, "lacks train_images"),
        ({"train_images": np.zeros((4, 5, 6))}, "must be uint8 in .0, 255., not float64"),
        ({"train_images": np.zeros((4, 5), np.uint8)}, r"not \(4, 5\)"),
        ({"train_images": np.zeros((4, 5, 6, 2), np.uint8)}, r"not \(4, 5, 6, 2\)"),
        ({"train_images": np.zeros((0, 5, 6), np.uint8)}, "at least one image"),
        ({"test_images": np.zeros((2, 6, 6), np.uint8)}, "must agree"),
        ({"train_labels": np.array([0, 1])}, r"must have the shape \(4,\)"),
        ({"train_labels": np.array([0.0, 1, 2, 1])}, "must be integers, not float64"),
        ({"train_labels": np.array([0, -1, 2, 1])}, "at least 0, but hold -1"),
        ({"train_labels": np.array([0, 0, 0, 0])}, "one class only"),
        ({"train_labels": np.array([0, 1, 2**40, 1])}, "no training image has the label 2"),
        ({"train_labels": np.array([1, 3, 2, 1])}, "no training image has the label 0"),
        ({"test_labels": np.array([0, 3])}, "go up to 3, train_labels only to 2"),
        ({"test_labels": np.array([0, 2**63], np.uint64)}, "go up to 9223372036854775808"),
        ({"train_labels": np.array([0, "x", 2, None], object)}, "cannot read arrays"),
    ],
)
def test_a_wrong_npz_is_explained_in_one_line(tmp_path, changes, message):
    with pytest.raises(UserError, match=message) as error:
        load(write(tmp_path / "own.npz", **changes))
    assert "\n" not in str(error.value)


def test_an_npz_that_is_none(tmp_path):
    with pytest.raises(UserError, match=r"data\.path"):
        load(params("npz", path=str(tmp_path / "missing.npz")))
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(UserError, match="cannot read arrays"):
        load(params("npz", path=str(tmp_path / "text.npz")))


# ---- damaged files and downloads ---------------------------------------------------------------


def test_truncated_files(tmp_path):
    header = b"\x00\x00\x08\x01" + (10).to_bytes(4, "big")
    cases = {"short": gzip.compress(header + b"123"), "cut": gzip.compress(header + b"1" * 10)[:-6]}
    cases["other"] = gzip.compress(b"hello world")
    cases["plain"] = b"not gzip"
    for name, content in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(UserError, match=name):
            downloaded.read_idx(path)
    path = tmp_path / "batch.bin"
    path.write_bytes(b"x" * 3072)
    with pytest.raises(UserError, match="truncated"):
        downloaded.read_batch(path)


@pytest.fixture
def server(tmp_path):
    """A real HTTP server on loopback that fails as often as it is told to."""
    content = b"the published file" * 1000

    class Handler(http.server.BaseHTTPRequestHandler):
        failures = 0
        requests = 0

        def do_GET(self):
            Handler.requests += 1
            if Handler.failures:
                Handler.failures -= 1
                self.send_error(503)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            body = content[:500] if self.path.endswith("cut") else content
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    running.url = f"http://127.0.0.1:{running.server_port}"
    running.handler = Handler
    yield running
    running.shutdown()


@pytest.fixture
def checksum():
    return hashlib.sha256(b"the published file" * 1000).hexdigest()


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("ASTERISM_DATA_ROOT", str(tmp_path / "data"))
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    return tmp_path / "data"


def test_a_download_is_tried_again_checked_and_kept(server, root, checksum):
    server.handler.failures = 2
    path = downloaded.fetch("set", "file.gz", f"{server.url}/file.gz", checksum)
    assert path == root / "set" / "file.gz"
    requests = server.handler.requests
    assert requests == 3
    assert downloaded.fetch("set", "file.gz", f"{server.url}/file.gz", checksum) == path
    assert server.handler.requests == requests


@pytest.mark.parametrize("terminal", [True, False])
def test_a_download_draws_a_bar_in_a_terminal(terminal, server, root, checksum, monkeypatch):
    screen = io.StringIO()
    screen.isatty = lambda: terminal
    monkeypatch.setattr("sys.stderr", screen)
    downloaded.fetch("set", "file.gz", f"{server.url}/file.gz", checksum)
    assert ("file.gz" in screen.getvalue()) is terminal


def left_behind(root):
    return [p for p in root.rglob("*") if p.is_file()]


def test_a_download_with_the_wrong_content_leaves_nothing(server, root):
    with pytest.raises(UserError, match="its SHA-256 is wrong"):
        downloaded.fetch("set", "file.gz", f"{server.url}/file.gz", "0" * 64)
    assert left_behind(root) == []


def test_a_download_that_breaks_off_leaves_nothing(server, root, checksum):
    with pytest.raises(UserError, match="cannot download"):
        downloaded.fetch("set", "file.gz", f"{server.url}/cut", checksum)
    assert left_behind(root) == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (requests.ConnectionError("a long story"), "no connection"),
        (requests.Timeout("it took too long"), "it took too long"),
        (requests.Timeout(), "Timeout"),
    ],
)
def test_why_a_download_failed_is_never_empty(error, told):
    assert downloaded._reason(error) == told


def test_no_network(root, checksum):
    with pytest.raises(UserError, match=r"no connection.* file\.gz") as error:
        downloaded.fetch("set", "file.gz", "http://127.0.0.1:9/file.gz", checksum)
    assert "\n" not in str(error.value)
    assert left_behind(root) == []


def test_a_local_file_that_is_damaged_is_named_and_not_touched(root, checksum):
    path = root / "set" / "file.gz"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(UserError, match="damaged or another file"):
        downloaded.fetch("set", "file.gz", "http://127.0.0.1:9/file.gz", checksum)
    assert path.read_text() == "mine"
