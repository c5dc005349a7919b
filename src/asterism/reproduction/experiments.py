"""The papers' experiments: files of ``conf/experiment`` that say how they are reproduced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from asterism.config import ReproduceParams
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import validate
from asterism.core.parameters.registry import unknown
from asterism.core.settings.yaml_files import read_yaml
from asterism.sweep.points import split_overrides

#: Scales from the smallest. Smoke only shows that an experiment runs: it has other data.
SCALES = ("smoke", "small", "full")


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper.

    Attributes:
        name: of its file in ``conf/experiment``.
        settings: what the file says under ``reproduce``.
    """

    name: str
    settings: ReproduceParams

    def sweep_name(self, scale: str) -> str:
        """What its sweep is called."""
        return f"{self.name}-{scale}"

    def overrides(self, scale: str, models: Path | None) -> list[str]:
        """The overrides of its sweep.

        Args:
            scale: one that it has.
            models: the folder with the published files; None where none are given.

        Raises:
            UserError: it has no such scale, or a published file that it needs is not there.
        """
        scales = self.settings.scales
        if scale not in scales:
            raise UserError(f"{self.name} has no scale {scale!r} (it has: {', '.join(scales)})")
        return [f"+experiment={self.name}", *scales[scale], *self._files(models)]

    @property
    def models(self) -> dict[str, str]:
        """The names of the published files that it needs, by the parameters that take them."""
        return split_overrides(self.settings.models)

    def _files(self, models: Path | None) -> list[str]:
        if self.models and models is None:
            raise UserError(
                f"{self.name} needs published files ({', '.join(sorted(self.models.values()))}): "
                "name the folder that holds them with --models"
            )
        given = []
        for parameter, name in self.models.items():
            assert models is not None
            path = (models / name).resolve()
            if not path.is_file():
                raise UserError(f"{self.name} needs {name}, and there is no such file in {models}")
            given.append(f"{parameter}={path}")
        return given


def read_experiments(conf: Path = Path("conf")) -> dict[str, Experiment]:
    """All experiments that can be reproduced, by name.

    Args:
        conf: the Hydra tree. Its other experiments are settings of the user's own.

    Raises:
        UserError: a file says something that is not known.
    """
    found = {}
    for path in sorted((conf / "experiment").glob("*.yaml")):
        document = read_yaml(path)
        if isinstance(document, dict) and "reproduce" in document:
            settings = validate(ReproduceParams, document["reproduce"], source=str(path))
            for scale in settings.scales:
                if scale not in SCALES:
                    raise UserError(f"{path}: {unknown('scale', scale, list(SCALES))}")
            found[path.stem] = Experiment(path.stem, settings)
    return found


def select_experiments(
    experiments: dict[str, Experiment], names: Sequence[str], scale: str
) -> list[Experiment]:
    """Those that are named, or all that have the scale.

    Raises:
        UserError: there is no such experiment or scale.
    """
    if scale not in SCALES:
        raise unknown("scale", scale, list(SCALES))
    for name in names:
        if name not in experiments:
            raise unknown("experiment", name, sorted(experiments))
    chosen = [experiments[name] for name in names or experiments]
    return chosen if names else [e for e in chosen if scale in e.settings.scales]
