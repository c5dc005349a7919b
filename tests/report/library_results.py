"""Results of the libraries lane in little: a real campaign, and findings made up around it."""

from asterism.core.files.artifacts import write_json, write_table
from asterism.differential.engine.branches import branch_table
from asterism.differential.engine.tasks import STATUSES
from asterism.memo.generating.campaign import growth_table, universe_facts
from asterism.memo.generating.strategies import STRATEGIES, run_campaign
from asterism.memo.graphs.coverage import coverage_of
from asterism.memo.graphs.graph import WeightEdit, sequential
from asterism.memo.universe.tensors import Tensor
from memo.small_graphs import branching, convolutional, generate_params, layer, recurrent

SEEDS = {"conv": convolutional(), "rnn": recurrent(), "add": branching()}
BUDGET = generate_params(compared=["memo_r"], models=6)
REDUCED = {
    "model": "conv",
    **dict.fromkeys(("layers", "weights", "multiplications", "types", "pairs"), 6000),
    **{f"{name}_reduced": 1500 for name in ("layers", "weights", "multiplications")},
    **{f"{name}_kept": 6000 for name in ("types", "pairs", "parameters")},
    "parameters": 6000,
}
CULPRIT = sequential(
    Tensor((3, 2)),
    [layer("LSTM", units=4, recurrent_activation="relu", go_backwards=True, return_sequences=True)],
)
WEIGHTED = CULPRIT.change(CULPRIT.layers[0], edits=(WeightEdit("special", 1),))
UNSUPPORTED = {
    "backend": ["mxnet@1.9.1:tf2onnx", "mxnet@1.9.1:tf2onnx", "openvino_keras:predict"],
    "layer": ["LSTM", "Dense", "GRU"],
    "unsupported": [18, 7, 3],
    "ran": [0, 5, 0],
    "named": ["LSTM 18", "LSTM 5, TopK 2", ""],
}
SCRIPT = "print('<the bug lives>')\n"


def finding(library, symptom, graph, distributions):
    return {
        "signature": f"{symptom} in {library}",
        "folder": f"{library}-{symptom}",
        "confirmed": [1, 1, 1],
        "limit": "",
        "known": "",
        "layer": "Dense(units=4)",
        "models": [0, 3],
        "layers": 4,
        "minimality": "not minimal, reduced from 9 layers to 4: stopped by triage.max_steps=9",
        "ablation": {"batch size 1": "the same"},
        "finding": {
            "library": library,
            "symptom": symptom,
            "distributions": distributions,
            "message": "",
        },
        "graph": graph.to_json(),
    }


def write_library_results(folder):
    """What the lane's stages leave, below a folder."""
    artifacts, metrics = folder / "artifacts", folder / "metrics"
    made = {name: run_campaign(SEEDS, BUDGET, 0, name) for name in ("memo", "memo_r", "cradle")}
    assert made.keys() <= set(STRATEGIES.names())
    unique = [
        finding("jax", "hang", CULPRIT, ["empty"]),
        finding("openvino", "values differ", WEIGHTED, ["normal", "wide"]),
    ]
    for one in unique:
        script = artifacts / "triage_findings" / one["folder"] / "repro.py"
        script.parent.mkdir(parents=True)
        script.write_text(SCRIPT)
    write_json(artifacts / "triage_findings/unique.json", unique)
    write_table(artifacts / "reduce_models/reduction.csv", {k: [v] for k, v in REDUCED.items()})
    write_json(artifacts / "generate_models/universe.json", universe_facts())
    write_table(artifacts / "generate_models/branches.csv", branch_table([]))
    write_json(artifacts / "library_versions/env.json", {"keras": "3"})
    outcomes = {"backend": ["jax:jit"], **{status: [2] for status in STATUSES}}
    write_table(artifacts / "execute_models/outcomes.csv", outcomes)
    write_json(artifacts / "execute_models/left_out.json", {"litert:tflite": "is missing"})
    write_table(artifacts / "judge_models/unsupported.csv", UNSUPPORTED)
    write_table(folder / "plots/generate_models/growth.csv", growth_table(made))
    coverage = {name: one.coverage.rates() for name, one in made.items()}
    generated = {
        "models": 6,
        "executed": 2,
        "coverage": coverage,
        "coverage_of_seeds": coverage_of(SEEDS.values()).rates(),
        "coverage_of_executed": coverage_of(m.graph for m in made["memo"].mutants[:2]).rates(),
    }
    write_json(metrics / "generate_models.json", generated)
    judged = {"findings": 5, "agreements": 1234, "unresolved": 0, "invalid_rate": 0.0}
    write_json(metrics / "judge_models.json", judged)
    triage = {
        "unique": 2,
        "known": 0,
        "reproduced_in_three_processes": 2,
        "groups_left_by_budget": 3,
        "groups_left_by_time": 0,
        "not_minimal_by_time": 0,
    }
    write_json(metrics / "triage_findings.json", triage)
