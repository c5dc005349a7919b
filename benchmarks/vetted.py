"""What the search of a vetted pair takes beyond inference, on a real pair of each kind of inputs.

    python benchmarks/vetted.py [PAIR|CERTIFICATE ...] [--seeds 24]

A pair is one that ``python benchmarks/real_pairs --list`` names (``--fetch`` gets the wheels). A
certificate is what ``asterism vet`` leaves; its parameters say which files, inputs and settings to
take. Overhead is measured as in ``compressed.py``: the same batches are asked again by themselves.
Both models run in processes of their own, as in use. Where other work shares the machine, compare
seconds of a processor.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

from real_pairs.entry import read_pair
from real_pairs.preparing import prepare
from recorded import RecordedPair, measured

from asterism.core.files.artifacts import read_json
from asterism.core.parameters.params import validate
from asterism.core.settings.yaml_files import parse_yaml
from asterism.dflare.outcome import Findings
from asterism.models.tensor_models.isolated import IsolatedFileModel
from asterism.vetting.opening import open_vetted
from asterism.vetting.params import VetParams
from asterism.vetting.searching import search_rows

ROOT = Path(__file__).resolve().parents[1]
#: A pair of each kind: images, sound, tokens, bytes, tensors.
PAIRS = ("ppocr-direction", "silero-half-made", "minilm", "magika", "wake-word")


def described(name: str) -> tuple[VetParams, int]:
    """The parameters of a pair or certificate, and its seed."""
    if not name.endswith(".json"):
        return prepare(name, read_pair(name), ROOT / "conf").params, 0
    told = read_json(Path(name))
    return validate(VetParams, parse_yaml(told["parameters"], name), source=name), told["seed"]


def run(name: str, most: int) -> None:
    """Search one pair and print what that takes."""
    params, seed = described(name)
    limited = params.search.model_copy(update={"seeds": min(most, params.search.seeds)})
    params = params.model_copy(update={"search": limited})
    started = time.perf_counter()
    with open_vetted(params, seed) as vetted:
        opened = time.perf_counter() - started
        images, probes = params.domain.kind == "images", vetted.inputs.items[:16]
        file = Path(params.compressed)
        with IsolatedFileModel(file, params.feeding, images, probes) as compressed:
            pair = RecordedPair(vetted.original, compressed)
            recorded = replace(vetted, pair=pair)
            rows = (~vetted.deviates).nonzero()[0]

            def searched() -> Findings:
                (found,) = search_rows(recorded, rows, params.search.seeds, seed).values()
                return found

            times = measured(pair, searched, turns=3)
    queries = sum(record.queries for record in times.findings.seeds)
    success = sum(record.outcome == "triggered" for record in times.findings.seeds)
    print(
        f"{Path(params.compressed).name} ({params.domain.kind}): opened in {opened:.1f} s; "
        f"success {success}/{len(times.findings.seeds)}, {queries} queries, {times}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=PAIRS, metavar="PAIR|CERTIFICATE")
    parser.add_argument("--seeds", type=int, default=24, help="inputs to start from, at most")
    arguments = parser.parse_args()
    for chosen in arguments.names:
        run(chosen, arguments.seeds)
