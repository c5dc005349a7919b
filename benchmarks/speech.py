"""Speech to text, as in section 6.1 of Dflare's paper: what is found, and what can be repaired.

    python benchmarks/speech.py [words] [hama-1.3.13] [hama-1.3.8] [--write]

`words` is a small recogniser of spoken digits and commands: it is trained here on voices of
espeak-ng, its file has 8 bits, and it is asked about voices that it never heard. The other two are
releases of a recogniser of phonemes that carries its weights in its wheel on PyPI; it is asked
about human speech. Everything that is made lies below `state.root`. Each group of 25 seeds is kept
once it is searched, so the same call goes on after an interrupt.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from speaking.page import RESULTS, kept_results  # noqa: E402
from speaking.page import write as write_page  # noqa: E402
from speaking.subjects import NAMES, Scale, subject  # noqa: E402
from speaking.table import Searches, measured  # noqa: E402

from asterism.core.files.artifacts import write_json  # noqa: E402
from asterism.core.messages.errors import UserError  # noqa: E402
from asterism.core.settings import machine  # noqa: E402


def main() -> None:
    given = _arguments()
    scale = Scale(given.training, given.epochs, given.clips)
    searches = Searches(given.seeds, given.queries, given.chased, given.population)
    for name in given.subjects or NAMES:
        print(f"{name}:", flush=True)
        chosen = subject(name, given.work / "subjects", scale)
        figures = measured(chosen, searches, given.work / f"{name}-{chosen.key}")
        target = RESULTS if given.write else given.work / "results"
        write_json(target / f"{name}.json", figures)
        print(f"  {target / f'{name}.json'}")
    if given.write:
        write_page(kept_results())


def _arguments() -> argparse.Namespace:
    scale, searches = Scale(), Searches()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("subjects", nargs="*", choices=[*NAMES, []], metavar="subject")
    for option, value, what in (
        ("--training", scale.training, "clips that words learns from"),
        ("--epochs", scale.epochs, "passes over them"),
        ("--clips", scale.clips, "clips that the models are asked about"),
        ("--seeds", searches.seeds, "clips to start from"),
        ("--queries", searches.queries, "mutants of each, at most"),
        ("--chased", searches.chased, "seeds that DiffChaser gets too"),
        ("--population", searches.population, "of DiffChaser"),
    ):
        parser.add_argument(option, type=int, default=value, help=f"{what} ({value})")
    parser.add_argument(
        "--write", action="store_true", help="results go to results/speech/ and docs/speech.md"
    )
    work = machine.state_root() / "speech"
    parser.add_argument("--work", type=Path, default=work, help="where everything is made")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"error: {error}")
