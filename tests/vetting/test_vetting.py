"""Vetting a real pair: damaged files of two formats, from the stages to page and certificate."""

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
import yaml
from digit_pairs import make_lite_pair
from small_vetting import by_runtime, run_stages, with_files

from asterism.asking.question import resolve_question
from asterism.asking.request import VetRequest
from asterism.core.files.records import record_as_json
from asterism.vetting.measurement import measure_opened
from asterism.vetting.repairing import repair_opened
from asterism.vetting.repeating import repeat_certificate
from asterism.vetting.searching import search_opened
from places import ROOT
from report.page_parts import unfolded

TINY = [
    "vet.changes.inputs=40",
    "vet.search.seeds=20",
    "vet.search.queries=60",
    "vet.repair.evaluations=20",
    "vet.repair.float_share=0.4",
    "vet.thresholds.agreement=0.95",
    "vet.thresholds.worst_class=0.75",
    "vet.thresholds.natural_flips=0.3",
    "vet.thresholds.accuracy_lost=0.03",
]


def settled(folder, original, compressed, *more):
    """What a request for a pair comes to."""
    request = VetRequest(
        original=folder / original,
        compressed=folder / compressed,
        inputs=folder / "inputs.npz",
        overrides=[*TINY, *more],
    )
    return resolve_question(request, ROOT / "conf")


@pytest.mark.slow
def test_a_good_file_agrees_and_a_damaged_one_does_not(digits, tmp_path):
    with np.load(digits / "inputs.npz") as given:
        inputs = given["inputs"]
    original, shares = by_runtime(digits / "original.onnx", x=inputs), {}
    for name in ("int8.onnx", "damaged.onnx"):
        found = with_files(
            measure_opened, settled(digits, "original.onnx", name).params, 0, tmp_path / name
        )
        shares[name] = found["agreement"]["differ"]["share"]
        counted = by_runtime(digits / name, x=inputs).argmax(1) != original.argmax(1)
        assert shares[name] == pytest.approx(counted.mean())
    assert shares["int8.onnx"] < 0.02 < 0.1 < shares["damaged.onnx"]


@pytest.mark.slow
def test_a_damaged_node_is_named_and_repaired_and_the_certificate_holds(digits, tmp_path):
    bound = "vet.search.bound.limit=0.05"
    overrides = settled(digits, "original.onnx", "damaged.onnx", bound).overrides
    folder = run_stages(tmp_path / "run", overrides)
    repair = json.loads((folder / "metrics/vet_repair.json").read_text())
    assert repair["gone"] >= 0.9 and repair["gone_held_out"]["share"] >= 0.8
    again = repair["new_search"]["paper"]
    assert again["after"]["share"] < again["before"]["share"], "a new search tells the better file"
    assert [flip["bound"] for flip in repair["flips"]] == [""] * 3
    ranking = (folder / "artifacts/vet_repair/ranking.csv").read_text().splitlines()
    assert ranking[1].split(",")[:2] == ["dense1", "Gemm"]
    file = folder / "report/vet/repaired.onnx"
    onnx.checker.check_model(str(file))
    with np.load(digits / "inputs.npz") as given:
        f, g = (by_runtime(path, x=given["inputs"]) for path in (digits / "original.onnx", file))
    assert (f.argmax(1) != g.argmax(1)).mean() < 0.02
    path = folder / "report/vet/certificate.json"
    certificate = json.loads(path.read_text())
    assert certificate["verdict"]["word"] == "ship with the repair"
    check, again = map(shlex.split, certificate["commands"])
    assert check[:2] == ["asterism", "vet"] and check[-2:] == ["--check", "certificate.json"]
    assert [Path(file).name for file in again[2:4]] == ["original.onnx", "damaged.onnx"]
    page = unfolded((folder / "report/vet/index.html").read_text())
    for text in ("ship with the repair", "dense1", "deviations explained", "repaired.onnx"):
        assert text in page
    assert page.count("<script") == 1, "the page's own"
    parameters = yaml.safe_load(certificate["parameters"])
    named = {name: Path(parameters[name]) for name in ("original", "compressed", "inputs")}
    repeated = repeat_certificate(path, named)
    assert repeated.differences == []
    assert record_as_json(repeated.verdict)["criteria"] == certificate["verdict"]["criteria"]


@pytest.mark.slow
def test_a_litert_file_is_localised_and_repaired_as_onnx(tmp_path, monkeypatch):
    make_lite_pair(tmp_path)
    found = settled(tmp_path, "original.keras", "int8.tflite")
    assert any("comes from a softmax" in line for line in found.said)
    with_files(search_opened, found.params, 0, tmp_path / "found")
    facts = with_files(
        repair_opened, found.params, 0, tmp_path / "found/triggers.npz", tmp_path / "repaired"
    )
    assert facts["gone"] >= 0.5 and facts["gone_held_out"]["share"] >= 0.5
    again = facts["new_search"]["paper"]
    # The file that is offered has 8 bits too: a new search may succeed as often as before.
    assert again["after"]["share"] <= again["before"]["share"]
    ranking = (tmp_path / "repaired/ranking.csv").read_text()
    assert "MatMul" in ranking
    onnx.checker.check_model(str(tmp_path / "repaired/repaired.onnx"))
    monkeypatch.setattr("asterism.vetting.onnx_pairs.as_onnx", lambda path, folder: path)
    crossed = found.params.model_copy(update={"original": str(tmp_path / "original.onnx")})
    shutil.copy(tmp_path / "repaired/repaired.onnx", tmp_path / "original.onnx")
    facts = with_files(
        repair_opened, crossed, 0, tmp_path / "found/triggers.npz", tmp_path / "again"
    )
    assert "give two ONNX files, or a LiteRT file beside" in facts["reason"]


@pytest.mark.slow
def test_no_pair_is_vetted_by_default(tmp_path):
    run_stages(tmp_path, [])
    assert json.loads((tmp_path / "metrics/vet_measure.json").read_text()) == {}
    assert list((tmp_path / "report/vet").iterdir()) == []
