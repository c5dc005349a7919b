"""Getting a published file: from the user's folder, else by download; checked either way."""

from __future__ import annotations

from pathlib import Path

import pooch
import requests

from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError
from asterism.core.settings import machine

_RETRIES = 3


def fetch(folder: str, name: str, url: str, sha256: str) -> Path:
    """The local path of a published file whose content is known.

    Args:
        folder: folder below ``data.root`` in which the file lies or is put.
        name: the file's name there.
        url: where to download it when it is not there.
        sha256: checksum of its content.

    Raises:
        UserError: the file there is not the published one, or cannot be downloaded. A download
            that fails or does not match leaves nothing behind.
    """
    root = machine.data_root() / folder
    path = root / name
    if path.exists():
        if pooch.file_hash(str(path)) != sha256:
            raise UserError(
                f"{path} is damaged or another file (its SHA-256 is not the published one): "
                "remove it, and it is downloaded again"
            )
        return path
    return download(root, name, url, sha256)


def download(root: Path, name: str, url: str, sha256: str) -> Path:
    """Download a file into ``root``, with retries, a progress bar and a check of its content."""
    store = pooch.create(
        path=root,
        base_url="",
        registry={name: f"sha256:{sha256}"},
        urls={name: url},
        retry_if_failed=_RETRIES,
    )
    bar = progress(total=1, label=name, unit="B")  # pooch sets the total
    pooch.get_logger().setLevel("ERROR")
    try:
        root.mkdir(parents=True, exist_ok=True)
        store.fetch(name, downloader=pooch.HTTPDownloader(progressbar=bar, timeout=30))
    except (requests.RequestException, OSError, ValueError) as error:
        reason = "its SHA-256 is wrong" if isinstance(error, ValueError) else _reason(error)
        raise UserError(
            f"cannot download {url}: {reason}; get {name} by other means and put it into {root} "
            "(data.root in machine.yaml names the folder of data sets)"
        ) from None
    finally:
        bar.close()
    return root / name


def _reason(error: Exception) -> str:
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return str(error) or type(error).__name__
