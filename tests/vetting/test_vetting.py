"""Vetting a real pair: good and damaged int8 files, from the stages to page and certificate."""

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import yaml
from digit_pairs import make_lite_pair

from asterism.asking.question import vet_overrides
from asterism.asking.request import VetRequest
from asterism.config import Params, compose
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import read_params, validate
from asterism.core.running.stage import load_script
from asterism.vetting.looking import describe_inputs, describe_model, look_at
from asterism.vetting.measurement import measure
from asterism.vetting.repairing import repair
from asterism.vetting.repeating import repeat_certificate
from asterism.vetting.searching import search
from places import ROOT
from report.drawings import unfolded

TINY = [
    "vet.changes.inputs=40",
    "vet.search.seeds=20",
    "vet.search.queries=60",
    "vet.repair.evaluations=20",
    "vet.repair.float_share=0.4",
    "vet.search.bound.limit=0.05",
    "vet.thresholds.agreement=0.95",
    "vet.thresholds.worst_class=0.8",
    "vet.thresholds.natural_flips=0.3",
    "vet.thresholds.accuracy_lost=0.03",
]


@pytest.fixture
def pair(digits):
    return digits


def request(pair, compressed="int8.onnx", **changes):
    return VetRequest(
        original=pair / "original.onnx",
        compressed=pair / compressed,
        inputs=pair / "inputs.npz",
        overrides=TINY,
        **changes,
    )


def params_of(pair, compressed="int8.onnx"):
    overrides, _ = vet_overrides(request(pair, compressed), ROOT / "conf")
    return validate(Params, yaml.safe_load(compose(ROOT / "conf", overrides))).vet


def run_stages(folder, pair, compressed, monkeypatch):
    overrides, _ = vet_overrides(request(pair, compressed), ROOT / "conf")
    folder.mkdir(exist_ok=True)
    (folder / "params.yaml").write_text(compose(ROOT / "conf", overrides))
    shutil.copy(ROOT / "dvc.yaml", folder)
    monkeypatch.chdir(folder)
    for name in ("vet_measure", "vet_search", "vet_repair", "vet_page"):
        stage = load_script(ROOT / "stages", name)
        stage.run(read_params(stage.Params))
    return folder


@pytest.mark.slow
def test_a_good_file_agrees_and_a_damaged_one_does_not(pair, tmp_path):
    shares = {}
    for name in ("int8.onnx", "damaged.onnx"):
        found = measure(params_of(pair, name), 0, tmp_path / name)
        shares[name] = found["agreement"]["differ"]["share"]
        f, g = (_by_hand(pair / path, pair) for path in ("original.onnx", name))
        assert shares[name] == pytest.approx((f.argmax(1) != g.argmax(1)).mean())
    assert shares["int8.onnx"] < 0.02 < 0.1 < shares["damaged.onnx"]


FILES = ("original", "compressed", "inputs")


def _by_hand(path, pair):
    session = onnxruntime.InferenceSession(path)
    return session.run(None, {"x": np.load(pair / "inputs.npz")["inputs"]})[0]


@pytest.mark.slow
def test_a_damaged_node_is_named_and_repaired(pair, tmp_path, monkeypatch):
    folder = run_stages(tmp_path / "run", pair, "damaged.onnx", monkeypatch)
    repair = json.loads((folder / "metrics/vet_repair.json").read_text())
    assert repair["gone"] >= 0.9 and repair["gone_held_out"]["share"] >= 0.8
    again = repair["new_search"]["paper"]
    assert again["after"]["share"] < again["before"]["share"], "a new search tells the better file"
    assert [flip["bound"] for flip in repair["flips"]] == [""] * 3
    ranking = (folder / "artifacts/vet_repair/ranking.csv").read_text().splitlines()
    assert ranking[1].split(",")[:2] == ["dense1", "Gemm"]
    file = folder / "report/vet/repaired.onnx"
    onnx.checker.check_model(str(file))
    f, g = _by_hand(pair / "original.onnx", pair), _by_hand(file, pair)
    assert (f.argmax(1) != g.argmax(1)).mean() < 0.02
    certificate = json.loads((folder / "report/vet/certificate.json").read_text())
    assert certificate["verdict"]["word"] == "ship with the repair"
    check, again = map(shlex.split, certificate["commands"])
    assert check[:2] == ["asterism", "vet"] and check[-2:] == ["--check", "certificate.json"]
    assert [Path(file).name for file in again[2:4]] == ["original.onnx", "damaged.onnx"]
    page = unfolded((folder / "report/vet/index.html").read_text())
    for text in ("ship with the repair", "dense1", "deviations explained", "repaired.onnx"):
        assert text in page
    assert page.count("<script") == 1, "the page's own"


@pytest.mark.slow
def test_a_certificate_holds_until_a_file_changes(pair, tmp_path, monkeypatch):
    folder = run_stages(tmp_path / "run", pair, "int8.onnx", monkeypatch)
    path = folder / "report/vet/certificate.json"
    certificate = json.loads(path.read_text())
    assert certificate["verdict"]["word"] == "ship"
    named = {name: Path(yaml.safe_load(certificate["parameters"])[name]) for name in FILES}
    repeated = repeat_certificate(path, named)
    assert repeated.differences == [] and repeated.verdict.word == "ship"
    told = certificate["measured"]["agreement"]["differ"]
    told["count"] += 1
    path.write_text(json.dumps(certificate))
    assert (
        f"measured.agreement.differ.count: {told['count']} in the certificate, "
        f"{told['count'] - 1} now"
    ) in repeat_certificate(path, named).differences
    certificate["sha256"]["compressed"] = "0" * 64
    path.write_text(json.dumps(certificate))
    (line,) = repeat_certificate(path, named).differences
    assert "another file" in line
    path.write_text("{}")
    with pytest.raises(UserError, match=r"certificate\.json"):
        repeat_certificate(path, named)


@pytest.mark.slow
def test_a_litert_file_is_localised_and_repaired_as_onnx(tmp_path, monkeypatch):
    make_lite_pair(tmp_path)
    asked = VetRequest(
        original=tmp_path / "original.keras",
        compressed=tmp_path / "int8.tflite",
        inputs=tmp_path / "inputs.npz",
        overrides=[o for o in TINY if "limit" not in o],
    )
    overrides, said = vet_overrides(asked, ROOT / "conf")
    assert any("comes from a softmax" in line for line in said)
    params = validate(Params, yaml.safe_load(compose(ROOT / "conf", overrides))).vet
    search(params, 0, tmp_path / "found")
    facts = repair(params, 0, tmp_path / "found/triggers.npz", tmp_path / "repaired")
    assert facts["gone"] >= 0.5 and facts["gone_held_out"]["share"] >= 0.5
    again = facts["new_search"]["paper"]
    assert again["after"]["share"] < again["before"]["share"]
    ranking = (tmp_path / "repaired/ranking.csv").read_text()
    assert "MatMul" in ranking
    onnx.checker.check_model(str(tmp_path / "repaired/repaired.onnx"))
    monkeypatch.setattr("asterism.vetting.onnx_pairs.as_onnx", lambda path, folder: path)
    crossed = params.model_copy(update={"original": str(tmp_path / "original.onnx")})
    shutil.copy(tmp_path / "repaired/repaired.onnx", tmp_path / "original.onnx")
    facts = repair(crossed, 0, tmp_path / "found/triggers.npz", tmp_path / "again")
    assert "give two ONNX files, or a LiteRT file beside" in facts["reason"]


@pytest.mark.slow
def test_no_pair_is_vetted_by_default(tmp_path, monkeypatch):
    (tmp_path / "params.yaml").write_text(compose(ROOT / "conf", []))
    monkeypatch.chdir(tmp_path)
    for name in ("vet_measure", "vet_search", "vet_repair", "vet_page"):
        stage = load_script(ROOT / "stages", name)
        stage.run(read_params(stage.Params))
    assert json.loads((tmp_path / "metrics/vet_measure.json").read_text()) == {}
    assert list((tmp_path / "report/vet").iterdir()) == []


def test_guesses_are_said(pair):
    overrides, said = vet_overrides(request(pair), ROOT / "conf")
    assert overrides[0] == "vet=tensors"
    assert any("original.onnx: takes x float32 (?, 64)" in line for line in said)
    assert any("kind tensors" in line and "--kind" in line for line in said)


def test_files_that_are_no_pair_are_one_line(pair, tmp_path):
    from models.onnx_networks import linear

    other = linear(tmp_path / "other.onnx", np.ones((7, 10), np.float32))
    with pytest.raises(UserError, match="they are no pair"):
        vet_overrides(request(pair, other), ROOT / "conf")
    with pytest.raises(UserError, match="no kind of inputs is called 'sond'; did you mean 'sound'"):
        vet_overrides(request(pair, kind="sond"), ROOT / "conf")


def test_models_and_inputs_are_described(pair):
    told = "\n".join(describe_model(look_at(pair / "int8.onnx")))
    assert "ONNX" in told and "on integers" in told and "takes   x float32 (?, 64)" in told
    assert "yes     vet a compressed version" in told
    assert "arrays of NumPy" in describe_inputs(pair / "inputs.npz")
