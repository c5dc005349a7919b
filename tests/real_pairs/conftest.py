"""The benchmark's modules can be imported."""

import sys

from places import ROOT

sys.path.append(str(ROOT / "benchmarks"))
import real_pairs  # noqa: F401

sys.path.remove(str(ROOT / "benchmarks"))  # a file there is called as a package of the tests
