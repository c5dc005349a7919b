"""The benchmark's modules can be imported."""

import sys

from places import ROOT

sys.path.append(str(ROOT / "benchmarks"))
