"""What is asked from Python is what the pipeline's stages measure."""

import shutil

import numpy as np
import polars as pl
import pytest

import asterism
from asterism.config import compose
from asterism.core.files.artifacts import read_arrays, read_json
from asterism.core.parameters.params import read_params
from asterism.core.running.stage import load_script
from asterism.report.lanes import SECTIONS
from models.small_trainings import digits
from places import ROOT

pytestmark = pytest.mark.slow

DATA = ["data.train=300", "data.test=120"]


def run_stages(folder, monkeypatch, overrides, *stages):
    """Run stages, each a name and its variant, in a project that is made in this folder."""
    (folder / "params.yaml").write_text(compose(ROOT / "conf", [*DATA, *overrides]))
    shutil.copy(ROOT / "dvc.yaml", folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ASTERISM_STATE_ROOT", str(folder / "state"))
    for name, *variant in stages:
        stage = load_script(ROOT / "stages", name)
        stage.run(read_params(stage.Params), *variant)


@pytest.mark.parametrize("blocked", [False, True])
def test_tests_are_judged_as_the_stages_judge_them(blocked, tmp_path, monkeypatch):
    """Where relevance cannot pass an operation, too."""
    keras = pytest.importorskip("keras")
    layers, data = keras.layers, digits(300, 120)
    keras.utils.set_random_seed(0)
    pictures = keras.Input((28, 28, 1))
    hidden = layers.Dense(16, "relu", name="hidden")(layers.Flatten()(pictures))
    scores = layers.Dense(10)(hidden)
    scores = layers.UnitNormalization(name="unit")(scores) if blocked else scores
    model = keras.Model(pictures, layers.Softmax()(scores))
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(data.train_images / 255, data.train_labels, epochs=2, verbose=0)
    model.save(tmp_path / "m.keras")
    few = ["attack.inputs=8", "importance.neurons=[3,4]"]
    chosen = [*few, "classifier=file", f"classifier.path={tmp_path}/m.keras", "attack.names=[fgsm]"]
    stages = ("train_classifier", "attack", "measure_importance")
    run_stages(tmp_path, monkeypatch, chosen, *([name] for name in stages))
    metrics = read_json(tmp_path / "metrics/measure_importance.json")
    found = asterism.judge_tests(
        tmp_path / "m.keras", data.train_images, data.test_images, data.train_labels,
        data.test_labels, attacks=["fgsm"], overrides=few,
    )  # fmt: skip
    names = set() if blocked else {"idc_3", "idc_4"}
    assert {name for name in found.values if name.startswith("idc")} == names
    assert {"inputs": 60, **found.values} == metrics["test_set"]
    assert found.combinations == metrics["combinations"] and set(found.combinations) == names
    rows = pl.read_csv(tmp_path / "plots/measure_importance/coverage.csv")
    frame = found.to_frame()
    if blocked:
        assert "layer 'unit'" in frame["note"][-1]
        frame = frame.drop("note")[:-1]
    assert frame.equals(rows)
    folder = tmp_path / "artifacts/measure_importance"
    for name in names:
        kept = read_arrays(folder / name / "smallest_subset.npz")["positions"]
        assert np.array_equal(found.subset[name], kept)
    (answer,) = SECTIONS["importance"](tmp_path).answers
    assert answer.sentence == found.verdict
    assert ("layer 'unit'" in answer.sentence) == blocked


def test_states_are_covered_as_the_stages_measure_it(tmp_path, monkeypatch):
    keras, data = pytest.importorskip("keras"), digits(300, 120)
    keras.utils.set_random_seed(0)
    layers = [keras.Input((28, 28)), keras.layers.LSTM(6), keras.layers.Dense(10, "softmax")]
    keras.Sequential(layers).save(tmp_path / "m.keras")
    few = ["rnn=file", f"rnn.path={tmp_path}/m.keras", "seeds.per_class=1", "fuzz.mutants=20"]
    stages = ("train_rnn", "profile_states", "build_dtmc", "select_seeds")
    stages = (*([name] for name in stages), ["fuzz", "state"], ["measure_coverage"])
    run_stages(tmp_path, monkeypatch, [*few, "fuzz.criteria=[state]"], *stages)
    rows = (images[..., 0] / np.float32(255) for images in (data.train_images, data.test_images))
    labels = (data.train_labels, data.test_labels)
    found = asterism.states(tmp_path / "m.keras", *rows, *labels)
    metrics = tmp_path / "metrics"
    assert {"inputs": 120, **found.values} == read_json(metrics / "measure_coverage.json")["test"]
    assert found.model.facts().items() <= read_json(metrics / "build_dtmc.json").items()
