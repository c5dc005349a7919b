"""Small files that ask the readers of arrays, documents, tables and pictures for too much."""

import struct
import zipfile
import zlib

import numpy as np

HUGE = (8_000_000_000,)


def header(shape, descr="<f8", version=b"\x01\x00"):
    """A ``.npy`` file without its values."""
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    length = struct.pack("<H" if version == b"\x01\x00" else "<I", len(text))
    return b"\x93NUMPY" + version + length + text


def archive(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in members:
            file.writestr(name, content)


def shape_of_64_gb(path):
    archive(path, [("a.npy", header(HUGE) + bytes(64))])


def shape_below_zero(path):
    archive(path, [("a.npy", header((-8,)) + bytes(64))])


def shape_of_no_width(path):
    archive(path, [("a.npy", header((10**12,), descr="|S0"))])


def header_of_brackets(path):
    archive(path, [("a.npy", header("(" * 4000))])


def header_of_16_mb(path):
    archive(path, [("a.npy", header(" " * 16_000_000, version=b"\x02\x00"))])


def declares_64_gb(path):
    """The list of members says 64 GB of a member that has 100 bytes."""
    archive(path, [("a.npy", header((1,)) + bytes(8))])
    content = bytearray(path.read_bytes())
    at = content.rfind(b"PK\x01\x02")
    extra = struct.pack("<HHQ", 1, 8, 64 * 10**9)
    name = struct.unpack("<H", content[at + 28 : at + 30])[0]
    content[at + 24 : at + 28] = b"\xff" * 4
    content[at + 30 : at + 32] = struct.pack("<H", len(extra))
    content[at + 46 + name : at + 46 + name] = extra
    end = content.rfind(b"PK\x05\x06")
    size = struct.unpack("<L", content[end + 12 : end + 16])[0]
    content[end + 12 : end + 16] = struct.pack("<L", size + len(extra))
    path.write_bytes(content)


def zeros_of_1_gb(path):
    """1 GB of zeros, deflated a thousandfold: more than the process may take."""
    entry = zipfile.ZipInfo("a.npy")
    entry.compress_type, entry._compresslevel = zipfile.ZIP_DEFLATED, 1
    with zipfile.ZipFile(path, "w") as file, file.open(entry, "w", force_zip64=True) as member:
        member.write(header((10**9,), descr="|u1"))
        for _ in range(100):
            member.write(bytes(10**7))


def many_names_of_one_place(path):
    """Each of 300 members is the same 10 MB of the file."""
    archive(path, [("a.npy", header((10**7,), descr="|u1") + bytes(10**7))])
    content = path.read_bytes()
    start, end = content.rfind(b"PK\x01\x02"), content.rfind(b"PK\x05\x06")
    entry = content[start:end]
    entries = b"".join(entry.replace(b"a.npy", b"%05d" % number) for number in range(300))
    tail = bytearray(content[end:])
    tail[8:12] = struct.pack("<HH", 300, 300)
    tail[12:16] = struct.pack("<L", len(entries))
    path.write_bytes(content[:start] + entries + tail)


def two_of_one_name(path):
    content = header((1,)) + bytes(8)
    archive(path, [("a.npy", content), ("a.npy", content)])


def packed_by_bzip2(path):
    """Python's bzip2 unpacks a block whole, whatever is asked for."""
    archive(path, [("a.npy", header(HUGE) + bytes(10**7))], zipfile.ZIP_BZIP2)


def objects(path):
    np.savez(path, a=np.array([{}], dtype=object))


def a_million_members(path):
    """A list of members of 60 MB, which Python would read whole and hold ten times over."""
    entry = struct.pack(
        "<4s4B4HL2L5H2L", b"PK\x01\x02", 20, 0, 20, 0, *[0] * 4, *[0] * 3, 6, *[0] * 4, 0, 0
    )
    listed = b"".join(entry + b"%06d" % number for number in range(10**6))
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65535, 65535, len(listed), 0, 0)
    path.write_bytes(listed + end)


ARRAYS = [
    shape_of_64_gb,
    shape_below_zero,
    shape_of_no_width,
    header_of_brackets,
    header_of_16_mb,
    declares_64_gb,
    zeros_of_1_gb,
    many_names_of_one_place,
    two_of_one_name,
    packed_by_bzip2,
    objects,
    a_million_members,
]


def _npy(path, shape, size):
    """A ``.npy`` file of zeros that take no place on the disk."""
    with path.open("wb") as file:
        file.write(header(shape))
        file.truncate(size)


def hole_of_19_gb(path):
    _npy(path, (2_400_000_000,), 19_200_000_000)


def values_of_19_gb(path):
    _npy(path, (2_400_000_000,), 5000)


def values_that_nobody_declares(path):
    _npy(path, (1, 8), 2_000_000_000)


def objects_alone(path):
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)


ARRAY = [hole_of_19_gb, values_of_19_gb, values_that_nobody_declares, objects_alone]


def matrix(path, **changes):
    parts = {
        "format": np.asarray(b"csr"),
        "shape": np.asarray((2, 2)),
        "data": np.ones(2),
        "indices": np.arange(2),
        "indptr": np.arange(3),
    }
    np.savez(path, **parts | changes)


def index_beyond_the_columns(path):
    matrix(path, indices=np.asarray([0, 10**9]))


def rows_that_go_back(path):
    matrix(path, indptr=np.asarray([0, 9, 2]))


def columns_without_end(path):
    matrix(path, shape=np.asarray((2, 2**62)))


MATRICES = [index_beyond_the_columns, rows_that_go_back, columns_without_end]


def lists_in_lists(path):
    path.write_text("[" * 100_000)


def lists_in_lists_that_end(path):
    path.write_text("[" * 900 + "]" * 900)


def text_of_200_mb(path):
    with path.open("wb") as file:
        file.write(b"[0]")
        file.truncate(200 * 10**6)


def digits_without_end(path):
    path.write_text("9" * 100_000)


def bytes_of_no_text(path):
    path.write_bytes(b'"\xff\xfe"')


def mappings_by_the_million(path):
    path.write_text("[" + "{}," * 10_000_000 + "{}]")


def texts_by_the_million(path):
    path.write_text("[" + '"ab",' * 19_000_000 + "0]")


DOCUMENTS = [
    mappings_by_the_million,
    texts_by_the_million,
    lists_in_lists,
    lists_in_lists_that_end,
    text_of_200_mb,
    digits_without_end,
    bytes_of_no_text,
]


def billion_laughs(path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 12):
        names = ", ".join([f"*a{level - 1}"] * 9)
        lines.append(f"a{level}: &a{level} [{names}]")
    path.write_text("\n".join(lines))


def list_of_itself(path):
    path.write_text("seed: &a [*a]\n")


def flow_in_flow(path):
    path.write_text("seed: " + "[" * 100_000)


def yaml_of_50_mb(path):
    path.write_text("seed: " + "[]," * 20_000_000)


def month_of_99(path):
    path.write_text("seed: 2020-99-99\n")


def time_of_nothing(path):
    path.write_text("seed: !!timestamp x\n")


SETTINGS = [
    billion_laughs,
    list_of_itself,
    flow_in_flow,
    yaml_of_50_mb,
    month_of_99,
    time_of_nothing,
    bytes_of_no_text,
]


def columns_by_the_million(path):
    path.write_text("," * 10**7 + "\n")


def columns_by_the_million_after_a_line(path):
    path.write_text('"a\nb"' + "," * 10**7 + "\n")


def rows_by_the_million(path):
    path.write_text("a\n" + "1\n" * 20_000_000)


def name_without_end(path):
    path.write_text('"' + "a\n" * 2_000_000)


TABLES = [
    columns_by_the_million,
    columns_by_the_million_after_a_line,
    rows_by_the_million,
    name_without_end,
    text_of_200_mb,
]


def wave(path, rate=16_000, parts=b"", samples=bytes(2000), kind=b"RIFF"):
    """A sound of 16-bit samples."""
    facts = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, rate, 2 * rate % 2**32, 2, 16)
    content = facts + parts + b"data" + struct.pack("<I", len(samples)) + samples
    path.write_bytes(kind + struct.pack("<I", 4 + len(content)) + b"WAVE" + content)


def rate_of_one(path):
    wave(path, rate=1, samples=bytes(2_000_000))


def rate_of_four_billion(path):
    wave(path, rate=2**32 - 5)


def parts_by_the_million(path):
    wave(path, parts=(b"LIST" + bytes(4)) * 4_000_000)


SOUNDS = [rate_of_one, rate_of_four_billion, parts_by_the_million]


def label_of_many_digits(path):
    np.savez(path, inputs=np.zeros((1, 2), np.uint8))
    path.with_suffix(".labels").write_text(f"[{'9' * 30}]")


LABELS = [label_of_many_digits]


def folder_of_holes(path):
    """Files of 1 GB each, which take no place on the disk."""
    path.mkdir()
    for number in range(4):
        with (path / f"{number}.bin").open("wb") as file:
            file.truncate(10**9)


def one_long_and_many_short(path):
    path.mkdir()
    (path / "long").write_bytes(bytes(10_000_000))
    for number in range(1000):
        (path / f"{number}").touch()


FOLDERS = [folder_of_holes, one_long_and_many_short]


def png(path, width, height):
    """A PNG whose header declares a size, and whose picture is black as long as it goes."""

    def chunk(kind, content):
        checksum = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + checksum

    size = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(1 + 3 * min(width, 10**7)) * min(height, 2), 9)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def jpeg(path, width, height):
    import cv2

    _, coded = cv2.imencode(".jpg", np.zeros((8, 8, 3), np.uint8))
    content = bytearray(coded.tobytes())
    at = content.find(b"\xff\xc0")
    content[at + 5 : at + 9] = struct.pack(">HH", height, width)
    path.write_bytes(content)


def png_of_900_million(path):
    png(path, 30_000, 30_000)


def png_beyond_opencv(path):
    png(path, 10**6, 10**6)


def jpeg_of_900_million(path):
    jpeg(path, 30_000, 30_000)


def no_picture(path):
    path.write_bytes(b"P6 30000 30000 255\n")


PICTURES = [png_of_900_million, png_beyond_opencv, jpeg_of_900_million, no_picture]
