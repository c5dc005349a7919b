"""Make one compressed model of the classifier: `python stages compress dynamic_range`."""

from pathlib import Path

from asterism.compression.compressor import compress
from asterism.compression.params import CompressionParams
from asterism.core.artifacts import write_json
from asterism.core.errors import UserError
from asterism.core.params import Section
from asterism.core.registry import closest
from asterism.data import DataParams, load
from asterism.models.preprocessing import PreprocessingParams


class Params(Section):
    """What the stage reads of ``params.yaml``."""

    seed: int
    data: DataParams
    preprocessing: PreprocessingParams
    compression: dict[str, CompressionParams]


def run(params: Params, name: str) -> None:
    """Compress, compare with the original, save."""
    known = sorted(params.compression)
    if name not in known:
        raise UserError(
            f"params.yaml makes no compressed model {name!r}{closest(name, known)} "
            f"(it makes: {', '.join(known)})"
        )
    facts = compress(
        params.compression[name],
        Path("artifacts/train_classifier/model.keras"),
        Path("artifacts/compress") / name,
        load(params.data),
        params.preprocessing,
        params.seed,
    )
    write_json(Path(f"metrics/compress-{name}.json"), facts)
