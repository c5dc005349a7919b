"""Differences of a campaign that people have looked at, judged again on what was recorded of them.

``recorded/special_values`` holds the outputs of the backend to blame, of one that is right and of
the float64 runs, and what was found by hand: whether the result is wrong, and why.
"""

from pathlib import Path

import onnx
import pytest

from asterism.comparing.cases import UpgradePair, judge_upgrade
from asterism.core.files.artifacts import read_arrays, read_json
from asterism.differential.adapters.backend_names import OF_ONNX
from asterism.differential.subjects.onnx_file import make_subject
from asterism.memo.graphs.store import graph_from_json
from libraries.small_results import JUDGE, made_result, verdict_on

PLACE = Path(__file__).parent / "recorded"
FACTS = read_json(PLACE / "special_values.json")

#: Wrong since it is inconsistent: NaN is kept or lost by its place. No definition decides which.
INCONSISTENT = ("onnxruntime-maxpool-nan-inf-mask-differs-5ba6c1",)


@pytest.fixture(scope="module")
def arrays():
    return read_arrays(PLACE / "special_values.npz")


def result_of(facts, arrays):
    """What all backends did, as it was recorded."""
    outputs = {
        backend: [arrays[name.replace("/", "|")] for name in names]
        for backend, names in facts["outputs"].items()
    }
    return made_result(outputs, facts["inputs"], warned=facts["warned"])


def is_called_wrong(name, facts, arrays):
    """Whether the oracle calls a wrong result what the finding's library did."""
    result = result_of(facts, arrays)
    if "graph" in facts:
        found = verdict_on(graph_from_json(facts["graph"]), result).findings
        return any((f.library, f.symptom) == (facts["library"], facts["symptom"]) for f in found)
    content = arrays[f"{name}|model"].tobytes()
    subject = make_subject(name, onnx.load_model_from_string(content), 4, {})
    (culprit,) = facts["backends"]
    right = next(b for b in facts["right"] if b != OF_ONNX.right)
    return judge_upgrade(
        subject, result, UpgradePair(right, culprit), facts["inputs"], JUDGE
    ).kind in (
        "now wrong",
        "both wrong",
    )


@pytest.mark.parametrize("name", FACTS)
def test_what_a_person_found_to_be_wrong_is_called_wrong_and_nothing_else(name, arrays):
    wrong = FACTS[name]["wrong"] and name not in INCONSISTENT
    assert is_called_wrong(name, FACTS[name], arrays) == wrong, FACTS[name]["reason"]


def test_without_the_probes_special_inputs_raise_false_alarms(arrays):
    alarms = []
    for name, facts in FACTS.items():
        outputs = {b: o for b, o in facts["outputs"].items() if "probe" not in b}
        blind = {**facts, "outputs": outputs, "warned": {}}
        alarms += [name] if not facts["wrong"] and is_called_wrong(name, blind, arrays) else []
    assert len(alarms) >= 12, alarms
