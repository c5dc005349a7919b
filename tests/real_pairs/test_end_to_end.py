"""A real pair from its wheel to the page of results; skipped where the wheel is not there."""

import json
import shutil

import pytest
from real_pairs.app import _is_current
from real_pairs.entry import packages, read_pair
from real_pairs.preparing import prepare
from real_pairs.results import page, read_results, write_result
from real_pairs.wheels import wheel_folder

from asterism.config import compose
from asterism.core.parameters.params import read_params
from asterism.core.running.stage import load_script
from places import ROOT

#: Where the user's wheels are; a test's own ``state.root`` is another.
WHEELS = wheel_folder()
NAME, STAGES = "ppocr-direction", ["vet_measure", "vet_search", "vet_repair", "vet_page"]


def small(pair):
    inputs = pair.inputs.model_copy(update={"count": 60, "calibration": 8})
    less = ["changes.inputs=8", "search.seeds=4", "search.queries=8"]
    less += ["repair.inputs=4", "repair.evaluations=6"]
    vet = pair.vet.model_copy(update={"overrides": [f"vet.{override}" for override in less]})
    return pair.model_copy(update={"inputs": inputs, "vet": vet})


@pytest.mark.slow
def test_a_real_pair_is_vetted_and_its_result_is_on_the_page(tmp_path, monkeypatch):
    wheel = packages()["rapidocr-onnxruntime"].wheel
    if not (WHEELS / wheel).exists():
        pytest.skip(f"{wheel} is not there: `python benchmarks/real_pairs --fetch {NAME}`")
    wheel_folder().mkdir(parents=True)
    shutil.copyfile(WHEELS / wheel, wheel_folder() / wheel)
    pair = small(read_pair(NAME))
    ready = prepare(NAME, pair, ROOT / "conf")
    made = wheel_folder().parent / "made" / NAME
    before = {path.name: path.read_bytes() for path in made.iterdir()}
    shutil.rmtree(made)
    assert prepare(NAME, pair, ROOT / "conf") == ready
    assert {path.name: path.read_bytes() for path in made.iterdir()} == before

    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "params.yaml").write_text(compose(ROOT / "conf", list(ready.overrides)))
    shutil.copy(ROOT / "dvc.yaml", folder)
    monkeypatch.chdir(folder)
    for name in STAGES:
        stage = load_script(ROOT / "stages", name)
        stage.run(read_params(stage.Params))

    point = tmp_path / "point"
    shutil.copytree(folder / "report/vet", point / "vet")
    (point / "record.json").write_text(json.dumps({"ran": STAGES, "seconds": 12.34}))
    assert _is_current(point, ready.params)
    write_result(NAME, point, ready.params, tmp_path / "results")
    results = read_results(tmp_path / "results")
    assert results[NAME]["seconds"] == 12.3
    assert len(results[NAME]["accuracy"]) == 2
    assert results[NAME]["accuracy"][0]["share"] > 0.7
    text = page("", {NAME: pair}, results)
    verdict = results[NAME]["verdict"]["word"]
    assert f"| [{NAME}](#{NAME}) | {verdict} |" in text

    (point / "record.json").write_text(json.dumps({"ran": ["vet_page"], "seconds": 1.0}))
    write_result(NAME, point, ready.params, tmp_path / "results")
    assert read_results(tmp_path / "results") == results, "the time is that of all stages"
