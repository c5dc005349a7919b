"""Hashes of what stages depend on, each computed once for all the stages of a run."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from asterism.core.messages.errors import UserError

#: Hash, size and content of a path, as DVC's objects for dependencies and outputs have them.
Facts = tuple[Any, Any, Any]


class Hashes:
    """DVC computes a dependency's hash for every stage anew; this remembers it by path."""

    def __init__(self) -> None:
        self._known: dict[str, Facts] = {}
        self._documents: dict[str, Any] = {}

    def save(self, dependency: Any) -> None:
        """As the dependency's own ``save``: let it have its hash.

        Raises:
            UserError: it is not there.
        """
        from dvc.dependency import ParamsDependency
        from dvc.dependency.base import DependencyDoesNotExistError

        if isinstance(dependency, ParamsDependency):
            dependency.fill_values(self._parameters(dependency))
            return
        if dependency.fs_path not in self._known:
            try:
                dependency.save()
            except DependencyDoesNotExistError:
                raise UserError(
                    f"stage {dependency.stage.addressing} reads {dependency}, which is not there: "
                    "a file of yours has to be committed, under `dvc add`, or given by its "
                    "absolute path"
                ) from None
            self.learn(dependency)
        facts = self._known[dependency.fs_path]
        dependency.hash_info, dependency.meta, dependency.obj = facts

    def learn(self, item: Any) -> None:
        """Remember the hash that a dependency or an output has."""
        self._known[item.fs_path] = item.hash_info, item.meta, item.obj

    def _parameters(self, dependency: Any) -> dict[str, Any]:
        from dvc.utils.serialize import load_path

        path = dependency.fs_path
        if path not in self._documents:
            self._documents[path] = load_path(path, dependency.repo.fs)
        document = self._documents[path]
        # Copies: DVC's YAML would write the second mention of one object as a reference.
        if not dependency.params:
            return dict(deepcopy(document))
        return {name: deepcopy(_value(document, name, path)) for name in dependency.params}


def _value(document: Any, name: str, path: str) -> Any:
    value = document
    for key in name.split("."):
        if not isinstance(value, dict) or key not in value:
            raise UserError(f"{Path(path).name} has no parameter {name}, which dvc.yaml names")
        value = value[key]
    return value
