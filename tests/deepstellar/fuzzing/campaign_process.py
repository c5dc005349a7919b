"""Runs one campaign in a process of its own, to be killed: NETWORK_FILE OUTPUT_FOLDER."""

import sys
from pathlib import Path

from worlds import load_world, params

from asterism.core.files.artifacts import write_json, write_table
from asterism.core.resuming import checkpoints
from asterism.core.resuming.work_units import SharedWorkUnits
from asterism.deepstellar.campaigns import results
from asterism.deepstellar.fuzzing.fuzz import fuzz


def main(network: Path, folder: Path) -> None:
    world = load_world(network)
    settings = params(mutants=12_000, islands=2)
    islands = SharedWorkUnits("fuzz", "key")
    found = fuzz(world.network, world.model, world.seeds, settings, "transition", 1, islands)
    crashes = results.save_population(found, list(settings.mutators), folder)
    write_json(folder / "metrics.json", results.campaign_metrics(found, crashes))
    write_table(folder / "history.csv", results.history_columns(found))


if __name__ == "__main__":
    checkpoints.SAVE_EVERY = 0
    main(Path(sys.argv[1]), Path(sys.argv[2]))
