"""The results of a commit, an experiment or the workspace, read without checking anything out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from asterism.core.files.limits import parse_json, read_within, require_room
from asterism.core.messages.errors import UserError, reading
from asterism.core.settings.yaml_files import parse_yaml
from asterism.dvc_hydra.cache_objects import cached
from asterism.dvc_hydra.cache_rules import is_plain_path
from asterism.dvc_hydra.lockfile import LOCK_FILE, outputs_in
from asterism.dvc_hydra.repository import open_repository
from asterism.results.experiments import experiments
from asterism.sweep.workspace import git

#: How the files of the current folder are called in the place of a commit.
WORKSPACE = "workspace"


class Files(Protocol):
    """Where results are read from."""

    name: str

    def text(self, path: str) -> str | None:
        """A tracked text file, such as ``params.yaml``; None where there is none."""

    def result(self, path: str) -> bytes | None:
        """A result; None where it is not there, or not in the cache."""

    def below(self, folder: str) -> list[str]:
        """Paths of the results in a folder, sorted, whether their content is here or not."""

    def digests(self) -> dict[str, str]:
        """Hash of each file or folder that stages have written, by its path."""


class Workspace:
    """The files that lie in a project's folder now."""

    name = WORKSPACE

    def __init__(self, root: Path) -> None:
        self._root = root

    def text(self, path: str) -> str | None:
        """See :class:`Files`."""
        content = self.result(path)
        return None if content is None else content.decode("utf-8")

    def result(self, path: str) -> bytes | None:
        """See :class:`Files`."""
        file = self._root / path
        return read_within(file, "limits.text_mb") if file.is_file() else None

    def below(self, folder: str) -> list[str]:
        """See :class:`Files`."""
        found = (self._root / folder).rglob("*")
        return sorted(p.relative_to(self._root).as_posix() for p in found if p.is_file())

    def digests(self) -> dict[str, str]:
        """See :class:`Files`; as the last run left them."""
        return outputs_in((self.text(LOCK_FILE) or "") + "\n", LOCK_FILE)


class Committed:
    """The results that a commit's ``dvc.lock`` names, as far as the cache has them.

    Args:
        root: the project.
        name: as people call the commit.
        commit: its hash.
        cache: folder of DVC's cache.
    """

    def __init__(self, root: Path, name: str, commit: str, cache: Path) -> None:
        self.name, self.commit = name, commit
        self._root, self._cache = root, cache

    def text(self, path: str) -> str | None:
        """See :class:`Files`."""
        there = git(self._root, "ls-tree", "--long", self.commit, "--", path)
        if not there:
            return None
        size = there.split("\t")[0].split()[-1]
        what = f"{path} of {self.name} has a size"
        require_room(int(size) if size.isdigit() else 0, "limits.text_mb", what)
        return git(self._root, "show", f"{self.commit}:{path}")

    def result(self, path: str) -> bytes | None:
        """See :class:`Files`."""
        digest = self._files.get(path)
        return None if digest is None else cached(self._cache, digest)

    def below(self, folder: str) -> list[str]:
        """See :class:`Files`."""
        return sorted(path for path in self._files if path.startswith(f"{folder}/"))

    def digests(self) -> dict[str, str]:
        """See :class:`Files`."""
        # git leaves out the last line's end, which a block of the file needs.
        return outputs_in((self.text(LOCK_FILE) or "") + "\n", f"{LOCK_FILE} of {self.name}")

    @cached_property
    def _files(self) -> dict[str, str]:
        """Hash of each file among the results; folders are replaced by what is in them."""
        files: dict[str, str] = {}
        for path, digest in self.digests().items():
            if digest.endswith(".dir"):
                files |= {f"{path}/{name}": inner for name, inner in self._listed(digest)}
            else:
                files[path] = digest
        for path in files:
            if not is_plain_path(path):
                raise UserError(f"{self.name} has a result {path!a}, which no stage writes")
        return files

    def _listed(self, digest: str) -> Iterator[tuple[str, str]]:
        """Name and hash of each file in a folder, where the cache has its list."""
        content = cached(self._cache, digest)
        if content is None:
            return
        source = f"the list {digest} in the cache"
        with reading(source):
            for entry in parse_json(content, source):
                yield str(entry["relpath"]), str(entry["md5"])


class Revision:
    """Parameters, metrics and other results of one state of a project.

    Args:
        files: where they are read from.
    """

    def __init__(self, files: Files) -> None:
        self.files = files

    @property
    def name(self) -> str:
        """As people call it."""
        return self.files.name

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Values of ``params.yaml`` by the path of their keys, ``abstraction.k``.

        Raises:
            UserError: it is no YAML.
        """
        source = f"params.yaml of {self.name}"
        document = parse_yaml(self.files.text("params.yaml") or "", source)
        return dict(_leaves(document)) if isinstance(document, dict) else {}

    @cached_property
    def metrics(self) -> dict[str, float]:
        """All numbers of the metrics that are here, by ``file:path.of.keys``.

        Raises:
            UserError: a file is no JSON.
        """
        found = {}
        for path in self.files.below("metrics"):
            document = self.json(path)
            for key, value in _leaves(document) if isinstance(document, dict) else ():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    found[f"{Path(path).stem}:{key}"] = value
        return found

    def json(self, path: str) -> Any:
        """A result that is JSON; None where it is not here.

        Raises:
            UserError: it is no JSON.
        """
        content = self.files.result(path)
        source = f"{path} of {self.name}"
        return None if content is None else parse_json(content, source)

    def missing(self) -> list[str]:
        """Metrics that ``dvc.lock`` names and that are not in the cache."""
        return [path for path in self.files.below("metrics") if self.files.result(path) is None]


def open_revision(root: Path, name: str, cache: Path) -> Revision:
    """The results of a commit, of an experiment, or of the workspace.

    Args:
        root: the project.
        name: ``workspace``, the name of an experiment, or what git takes for a commit.
        cache: see :func:`cache_of`.

    Raises:
        UserError: there is no such commit or experiment, or several experiments have the name.
    """
    if name == WORKSPACE:
        return Revision(Workspace(root))
    try:
        commit = git(
            root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        )
    except UserError:
        named = {e.commit for e in experiments(root) if e.name == name}
        if len(named) > 1:
            raise UserError(
                f"{len(named)} experiments are called {name}: give a commit instead "
                f"({', '.join(sorted(commit[:12] for commit in named))})"
            ) from None
        if not named:
            raise UserError(
                f"there is no commit and no experiment {name!r}: `asterism runs --all-commits` "
                "lists experiments"
            ) from None
        (commit,) = named
    return Revision(Committed(root, name, commit, cache))


def cache_of(root: Path) -> Path:
    """The folder of a project's cache.

    Raises:
        UserError: see :func:`~asterism.dvc_hydra.repository.open_repository`.
    """
    return open_repository(root).cache


def changed_parameters(root: Path) -> list[str]:
    """Names of the parameters whose values differ from the commit's; none where there is none."""
    try:
        if not git(root, "status", "--porcelain", "--", "params.yaml"):
            return []
        committed = Revision(Committed(root, "HEAD", git(root, "rev-parse", "HEAD"), root))
        before = committed.parameters
    except UserError:
        return []
    after = Revision(Workspace(root)).parameters
    return [name for name in before | after if before.get(name) != after.get(name)]


def _leaves(tree: dict[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is no mapping, by the path of its keys."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
