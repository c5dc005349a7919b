"""Fuzz the recurrent network, guided by one coverage criterion (the variant)."""

from pathlib import Path

from asterism.core.files.artifacts import write_json, write_table
from asterism.core.messages.console import get_logger
from asterism.core.parameters.params import ParameterSection, Seed
from asterism.core.resuming.work_units import work_units
from asterism.deepstellar.fuzzing import results
from asterism.deepstellar.fuzzing.fuzz import fuzz
from asterism.deepstellar.model.trace_model import TraceModel
from asterism.deepstellar.params import FuzzParams
from asterism.deepstellar.seeds import SeedInputs
from asterism.models.recurrent.trained import open_trained

log = get_logger("asterism.stages.fuzz")

NETWORK = Path("artifacts/train_rnn")
MODEL = Path("artifacts/build_dtmc")
SEEDS = Path("artifacts/select_seeds")


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    seed: Seed
    fuzz: FuzzParams


def variants(params: Params) -> list[str]:
    """The campaigns, by what guides them."""
    return list(params.fuzz.criteria)


def run(params: Params, criterion: str) -> None:
    """Write queue, crashes, history and metrics of one campaign."""
    islands = work_units("fuzz", params, [NETWORK, MODEL, SEEDS], criterion)
    found = fuzz(
        open_trained(NETWORK),
        TraceModel.load(MODEL),
        SeedInputs.load(SEEDS),
        params.fuzz,
        criterion,
        params.seed,
        islands,
    )
    crashes = results.save_population(
        found, list(params.fuzz.mutators), Path("artifacts/fuzz") / criterion
    )
    metrics = results.campaign_metrics(found, crashes)
    write_json(Path(f"metrics/fuzz-{criterion}.json"), metrics)
    write_table(Path(f"plots/fuzz-{criterion}/history.csv"), results.history_columns(found))
    islands.finish()
    log.info("campaign ended", **{k: v for k, v in metrics.items() if isinstance(v, int)})
