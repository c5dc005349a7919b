"""Fetching results from a remote file by file, each checked before it comes into the cache.

A remote holds the same files as a cache: entries of the run-cache below ``runs/``, and objects
below ``files/md5/`` under their hashes. Who may write there may have put any names and contents
there. DVC's own ``fetch`` would write where such names lead.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from asterism.core.files.hashes import compute_md5
from asterism.core.messages.console import progress
from asterism.core.messages.errors import UserError, extract_reason
from asterism.dvc_hydra import cache_files, run_cache
from asterism.dvc_hydra.cache_files import is_digest, object_path, warn_once
from asterism.dvc_hydra.cache_objects import members_of
from asterism.dvc_hydra.commands import private_site_cache, report_dvc_errors

#: Files that are fetched at the same time: most take longer to ask for than to send.
_AT_ONCE = 16


class Remote:
    """The default remote of a workspace; see :func:`open_remote`.

    Args:
        files: its file system, with the methods of fsspec.
        base: its folder there.
        cache: the folder of the workspace's cache.
    """

    def __init__(self, files: Any, base: str, cache: Path) -> None:
        self._files, self._base, self._cache = files, base.rstrip("/"), cache

    def fetch_run_cache(self) -> list[dict[str, Any]]:
        """Fetch the entries of the run-cache; all that the cache then has, and the rules allow.

        A server of plain HTTP lists no files, and so has none.
        """
        runs = f"{self._base}/runs"
        listed = not str(self._files.protocol).startswith("http") and self._files.exists(runs)
        for path in self._files.find(runs) if listed else []:
            name = path.replace(os.sep, "/").removeprefix(f"{runs.replace(os.sep, '/')}/")
            target = self._cache / "runs" / name
            if not cache_files.ENTRY.fullmatch(name):
                warn_once(f"{path!r} is left where it is: no entry of a run-cache has such a name")
            elif (self._files.size(path) or 0) > cache_files.LARGEST_ENTRY:
                warn_once(f"{path!r} is left where it is: it is too large for an entry")
            elif not target.exists():
                self._get(path, target)
        return list(run_cache.read_entries(self._cache))

    def fetch_objects(self, digests: Iterable[str]) -> None:
        """Fetch objects that the cache does not have, with the files of folders.

        What the remote does not have is left out, and named where it is needed. So is what is not
        what its name says, which is named here.

        Args:
            digests: MD5 as ``dvc.lock`` has it, with ``.dir`` for the list of a folder's files.
        """
        wanted = {one for one in digests if is_digest(one)}
        self._fetch(wanted)
        self._fetch({md5 for one in wanted for md5 in members_of(self._cache, one).values()})

    def _fetch(self, digests: set[str]) -> None:
        missing = sorted(d for d in digests if not object_path(self._cache, d).exists())
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            fetched = pool.map(self._fetch_object, missing)
            for _ in progress(fetched, total=len(missing), label="fetching", unit="file"):
                pass

    def _fetch_object(self, digest: str) -> None:
        target = object_path(self._cache, digest)
        source = f"{self._base}/files/md5/{digest[:2]}/{digest[2:]}"
        with suppress(FileNotFoundError):
            self._get(source, target, digest)

    def _get(self, source: str, target: Path, digest: str = "") -> None:
        """Fetch a file under another name, and move it into place once it is whole.

        Args:
            source: in the remote.
            target: in the cache.
            digest: what an object has to hash to; nothing for an entry.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        own = target.with_name(f"{target.name}.{os.getpid()}.tmp")
        try:
            self._files.get_file(source, str(own))
            if digest and (reason := _fault(own, digest)):
                warn_once(f"{source!r} is not taken: {reason}")
                return
            own.chmod(0o444 if digest else 0o644)  # as DVC does
            own.replace(target)
        finally:
            own.unlink(missing_ok=True)


@contextmanager
def open_remote(root: Path, cache: Path) -> Iterator[Remote]:
    """The default remote of a workspace.

    Args:
        root: the workspace.
        cache: the folder of its cache.

    Raises:
        UserError: there is none, or it cannot be reached.
    """
    from dvc.repo import Repo

    with private_site_cache(root, afresh=True), report_dvc_errors(), Repo(str(root)) as opened:
        found = opened.cloud.get_remote()
        try:
            yield Remote(found.fs, str(found.path), cache)
        except (UserError, KeyboardInterrupt):
            raise
        except Exception as error:  # each kind of server has errors of its own
            reason = extract_reason(str(error)) or type(error).__name__
            raise UserError(f"the remote {found.path}: {reason}") from None


def _fault(file: Path, digest: str) -> str | None:
    """Why a file that was fetched is not the object that it is named after."""
    if compute_md5(file) != digest.removesuffix(".dir"):
        return "it has other content than its name says"
    return run_cache.fault_in_list_at(file) if digest.endswith(".dir") else None
