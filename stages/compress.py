"""Make one compressed model of the classifier: `python stages compress dynamic_range`."""

from pathlib import Path

from asterism.compression.methods import compress
from asterism.compression.params import CompressionParams
from asterism.core.files.artifacts import write_json
from asterism.core.messages.errors import prefix_errors
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.core.parameters.validation import Label
from asterism.data import DataParams, load
from asterism.models.images_and_scores import PreprocessingParams


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    data: DataParams
    preprocessing: PreprocessingParams
    compression: dict[Label, CompressionParams]


def variants(params: Params) -> list[str]:
    """The compressed models."""
    return sorted(params.compression)


def run(params: Params, name: str) -> None:
    """Compress, compare with the original, save."""
    data = load(params.data)
    with prefix_errors(f"compression.{name}"):
        facts = compress(
            params.compression[name],
            Path("artifacts/train_classifier/model.keras"),
            Path("artifacts/compress") / name,
            data,
            params.preprocessing,
            params.seed,
        )
    write_json(Path(f"metrics/compress-{name}.json"), facts)
