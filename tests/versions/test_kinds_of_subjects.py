"""A kind of model file that one module adds is compared, and its nodes are blamed."""

import json
import os
import subprocess
import sys
from pathlib import Path

from versions.steps_files import write_steps

TESTS = str(Path(__file__).resolve().parents[1])
COMMAND = "from asterism.cli.commands import app; app()"


def test_a_module_adds_a_kind_of_model_file(project):
    write_steps(project / "m.steps", "abs", "sqrt", "negative")
    given = ("--model", "m.steps", "--distribution", "normal", "--size", "3")
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "compare-libraries", *given],
        env=os.environ | {"ASTERISM_LIBRARIES": "versions.steps_files", "PYTHONPATH": TESTS},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    found = json.loads((project / "compare-libraries/findings.json").read_text())
    (model,) = found["models"]
    statuses = {"steps_numpy:file": "right", "steps_faulty:file": "values differ"}
    assert model["statuses"] == statuses
    ((part,),) = (fault["parts"] for fault in found["faults"])
    assert part["layers"] == ["sqrt"] and part["of"] == 3 and part["status"] == 1
