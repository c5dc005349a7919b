"""A kind of model file that one module adds is compared, and its nodes are blamed."""

import json
import os
import re

from libraries.small_runs import python
from places import ROOT

COMMAND = "from asterism.cli.commands import app; app()"


def write_steps(path, *functions):
    """A file of these functions, one after the other."""
    nodes = [(function, f"v{at}", f"v{at + 1}") for at, function in enumerate(functions)]
    steps = {"inputs": ["v0"], "nodes": nodes, "outputs": [f"v{len(functions)}"]}
    path.write_text(json.dumps(steps))


def test_a_module_adds_a_kind_of_model_file(project):
    page = (ROOT / "docs/extending.md").read_text()
    section = page.split("\n## More kinds\n")[1]
    (module,) = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    (project / "steps_files.py").write_text(module)
    write_steps(project / "m.steps", "abs", "sqrt", "negative")
    given = ("--model", "m.steps", "--distribution", "normal", "--size", "3")
    path = os.pathsep.join([str(project), os.environ.get("PYTHONPATH", "")])
    variables = {"ASTERISM_LIBRARIES": "steps_files", "PYTHONPATH": path}
    done = python("-c", COMMAND, "compare-libraries", *given, **variables)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    found = json.loads((project / "compare-libraries/findings.json").read_text())
    (model,) = found["models"]
    statuses = {"steps_numpy:file": "right", "steps_faulty:file": "values differ"}
    assert model["statuses"] == statuses
    (fault,) = found["findings"]
    assert fault["nodes"] == ["sqrt"] and fault["of"] == 3
    assert list(fault["statuses"].values()) == [1]
