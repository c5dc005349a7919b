"""What the search of a vetted pair takes beyond inference, and how long each part of vetting takes.

    python benchmarks/vetted.py CERTIFICATE [CERTIFICATE ...] [--seeds 100]

A certificate is what ``asterism vet`` and ``asterism pairs`` leave. Its parameters say which files,
inputs and settings to take. Overhead is measured as in ``compressed.py``: the same batches are
asked again by themselves. Both models run in processes of their own, as in use.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

from recorded import RecordedPair, measured

from asterism.core.files.artifacts import read_json
from asterism.core.parameters.params import validate
from asterism.core.settings.yaml_files import parse_yaml
from asterism.dflare.outcome import Findings
from asterism.models.tensor_models.isolated import IsolatedFileModel
from asterism.vetting.opening import open_vetted
from asterism.vetting.params import VetParams
from asterism.vetting.searching import search_rows


def run(path: Path, most: int) -> None:
    """Search one pair and print what that takes."""
    told = read_json(path)
    params = validate(VetParams, parse_yaml(told["parameters"], str(path)), source=str(path))
    name = f"{Path(params.compressed).name} ({params.domain.kind})"
    limited = params.search.model_copy(update={"seeds": min(most, params.search.seeds)})
    params = params.model_copy(update={"search": limited})
    started = time.perf_counter()
    with open_vetted(params, told["seed"]) as vetted:
        opened = time.perf_counter() - started
        images, probes = params.domain.kind == "images", vetted.inputs.items[:16]
        file = Path(params.compressed)
        with IsolatedFileModel(file, params.feeding, images, probes) as compressed:
            pair = RecordedPair(vetted.original, compressed)
            recorded = replace(vetted, pair=pair)
            rows = (~vetted.deviates).nonzero()[0]

            def searched() -> Findings:
                (found,) = search_rows(recorded, rows, told["seed"]).values()
                return found

            times = measured(pair, searched, turns=3)
    queries = sum(record.queries for record in times.findings.seeds)
    success = sum(record.outcome == "triggered" for record in times.findings.seeds)
    over = 100 * (times.seconds / times.inference - 1)
    print(
        f"{name}: opened in {opened:.1f} s; success {success}/{len(times.findings.seeds)}, "
        f"{queries} queries, {times.seconds:.2f} s, {over:.0f}% over inference by the clock",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("certificates", nargs="+", type=Path, metavar="CERTIFICATE")
    parser.add_argument("--seeds", type=int, default=100, help="inputs to start from, at most")
    arguments = parser.parse_args()
    for certificate in arguments.certificates:
        run(certificate, arguments.seeds)
