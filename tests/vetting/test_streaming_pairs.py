"""Vetting a streaming pair: its nodes are localised and repaired with the state carried on."""

import json

import numpy as np
import onnx
import pytest
from small_vetting import run_stages, with_files

from asterism.asking.question import resolve_question
from asterism.asking.request import VetRequest
from asterism.vetting.onnx_pairs import open_as_onnx
from asterism.vetting.opening import open_vetted
from asterism.vetting.repairing import repair_opened
from localisation import streaming_networks
from localisation.damages import damaged, sites
from places import ROOT
from report.page_parts import unfolded

SMALL = [
    "vet.changes.inputs=20",
    "vet.search.seeds=8",
    "vet.search.queries=30",
    "vet.repair.evaluations=20",
    "vet.repair.float_share=0.2",
]


def made(folder, node="keep"):
    """The recurrence, an int8 version of which one node has a wrong scale, a copy, and inputs."""
    int8 = streaming_networks.quantised()
    site = next(s for s in sites(int8) if (s.node, s.part) == (node, "weight"))
    onnx.save(streaming_networks.recurrence(), folder / "original.onnx")
    onnx.save(damaged(int8, site, "scale"), folder / "damaged.onnx")
    onnx.save(streaming_networks.recurrence(), folder / "same.onnx")
    np.savez(folder / "inputs.npz", inputs=streaming_networks.sequences(60))
    return folder


def settled(folder, compressed="damaged.onnx"):
    """What a request for the pair comes to."""
    asked = VetRequest(
        original=folder / "original.onnx",
        compressed=folder / compressed,
        inputs=folder / "inputs.npz",
        kind="tensors",
        comparison="frame_scores",
        options={"threshold": None, "share": 0.1},
        overrides=SMALL,
    )
    return resolve_question(asked, ROOT / "conf")


def test_runs_are_judged_as_the_vetting_judges_items(tmp_path):
    params = settled(made(tmp_path)).params
    with open_vetted(params, 0) as vetted, open_as_onnx(vetted) as pair:
        runs = pair.runs(vetted.inputs.items[:20])
        assert [len(run.first["x"]) for run in runs] == [8, 8, 4]
        assert [len(run.later) for run in runs] == [streaming_networks.CALLS - 1] * 3
        models = [onnx.load(path) for path in (pair.original, pair.compressed)]
        found = [streaming_networks.answers_of(m, vetted.inputs.items[:20]) for m in models]
        judged = pair.deviation()({"y": found[0]}, {"y": found[1]})
        assert judged.tolist() == vetted.deviates[:20].tolist()
        assert 0 < judged.sum() < 20


@pytest.mark.slow
def test_a_pair_without_quantised_nodes_says_so(tmp_path):
    params = settled(made(tmp_path), "same.onnx").params
    items = streaming_networks.sequences(60)
    np.savez(tmp_path / "triggers.npz", items=items, seeds=np.arange(60))
    facts = with_files(repair_opened, params, 0, tmp_path / "triggers.npz", tmp_path / "repaired")
    assert facts == {
        "reason": "nothing is to exchange: no node of same.onnx has fewer bits or other weights "
        "than the node of original.onnx that it stands for"
    }


@pytest.mark.slow
def test_a_damaged_node_of_a_streaming_model_is_named_and_repaired(tmp_path):
    folder = run_stages(tmp_path / "run", settled(made(tmp_path)).overrides)
    facts = json.loads((folder / "metrics/vet_repair.json").read_text())
    assert facts["blamed"][0]["node"] == "keep"
    assert facts["gone"] >= 0.9 and facts["gone_held_out"]["share"] >= 0.9
    assert facts["nodes_in_float"] + facts["nodes_with_finer_scales"] <= 8
    onnx.checker.check_model(str(folder / "report/vet/repaired.onnx"))
    ranking = (folder / "artifacts/vet_repair/ranking.csv").read_text().splitlines()
    assert ranking[1].startswith("keep,MatMul")
    curve = (folder / "artifacts/vet_repair/curve.csv").read_text().splitlines()
    assert len(curve) > 2 and curve[0].endswith("milliseconds")
    page = unfolded((folder / "report/vet/index.html").read_text())
    assert "keep" in page and "repaired.onnx" in page
