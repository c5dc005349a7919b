"""``python stages NAME [VARIANT]`` runs one stage of the pipeline from this checkout's source."""

import os
import sys
from pathlib import Path

# Fixed before any numeric library is loaded: results of training depend on the thread count.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "4"
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

# A DVC experiment runs in a copy of the project: its stages use the copy's source, which comes
# before any other Asterism, and after the libraries: no file in it can stand in for one of theirs.
here = Path(__file__).resolve().parent
sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != here]
others = [number for number, path in enumerate(sys.path) if (Path(path) / "asterism").is_dir()]
sys.path.insert(min(others, default=len(sys.path)), str(here.parent / "src"))

from asterism.core.running.supervision import run_supervised  # noqa: E402


def run() -> int:
    """Run the stage that the arguments name, in the process that does its work."""
    # What watches over the stage stays small.
    from asterism.core.running.stage import main
    from asterism.dvc_hydra.saved_state import remove_unneeded_state

    return main(Path(__file__).resolve().parent, sys.argv[1:], remove_unneeded_state)


if __name__ == "__main__":
    sys.exit(run_supervised("-".join(sys.argv[1:]) or "stages", run))
