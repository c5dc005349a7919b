"""Archives whose list of members says more than their bytes can hold, or than the limit allows."""

import zipfile

import pytest

from asterism.core.files.limits import opened_zip
from asterism.core.messages.errors import UserError

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
    with opened_zip(path, "limits.array_mb") as archive:
        assert archive.getinfo("member").file_size == held
    declare(path, held + 1)
    with (
        pytest.raises(UserError, match=f"declares {held + 1:,} bytes of member, which takes only"),
        opened_zip(path, "limits.array_mb"),
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
        with opened_zip(path, "limits.array_mb") as archive:
            assert archive.namelist() == ["one", "two"]
        return
    with (
        pytest.raises(UserError, match=r"archive\.zip .*1 MB"),
        opened_zip(path, "limits.array_mb"),
    ):
        pass
