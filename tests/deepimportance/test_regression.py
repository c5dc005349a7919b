"""DAVE-2 on a folder of images and a CSV of steering angles, as a user has one."""

import cv2
import numpy as np
import pytest

from asterism.config import compose
from asterism.core.files.artifacts import read_arrays, read_json, write_arrays
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import read_params
from asterism.core.running.stage import load_script
from places import ROOT


@pytest.fixture
def drive(tmp_path):
    """Roads that bend to the side that the angle says."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "drive"
    folder.mkdir()
    lines = ["image,angle"]
    for number in range(60):
        angle = rng.uniform(-1, 1)
        picture = rng.integers(0, 40, (70, 90, 3)).astype(np.uint8)
        cv2.line(picture, (45, 69), (int(45 + 40 * angle), 5), (255, 255, 255), 5)
        cv2.imwrite(str(folder / f"{number}.png"), picture)
        lines.append(f"{number}.png,{angle}")
    (folder / "driving_log.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def measure_driving(tmp_path, monkeypatch):
    """Runs the stage, by overrides of the parameters, in a folder of its own."""

    def run(*overrides):
        (tmp_path / "params.yaml").write_text(compose(ROOT / "conf", list(overrides)))
        monkeypatch.chdir(tmp_path)
        stage = load_script(ROOT / "stages", "measure_driving")
        stage.run(read_params(stage.Params))

    return run


@pytest.mark.slow
def test_the_stage_measures_a_regressor(drive, measure_driving, tmp_path):
    own = tmp_path / "own.npz"
    roads = [cv2.imread(str(drive / f"{number}.png"))[:66, :80] for number in range(30)]
    write_arrays(own, images=255 - np.stack(roads))
    measure_driving(
        "driving=folder",
        f"driving.path={drive}",
        "driving.height=66",
        "driving.width=80",
        "driving.test_share=0.5",
        "driving.angles.degrees=25.0",
        "driving_training.epochs=1",
        "driving.layer=dense2",
        # These are the classifier's, and none of them means anything for DAVE-2.
        "importance.target_class=3",
        "importance.layer=conv9",
        "criteria.layers=[conv9]",
        "attack.semantic=file",
        f"attack.semantic_path={own}",
    )
    metrics = read_json(tmp_path / "metrics/measure_driving.json")
    assert metrics["test_mse"] > 0
    assert 0 < metrics["test_set"]["idc_6"] <= 1
    assert "distance_surprise" not in metrics["test_set"]
    assert set(metrics["augmentations"]) == {"fgsm", "bim", "noise", "own"}
    for name in ("fgsm", "bim", "noise"):
        facts = metrics["attacks"][name]
        assert facts["deviation_degrees_max"] == pytest.approx(25 * facts["deviation_max"])
        assert facts["deviation_mean"] > 0
    assert metrics["attacks"]["bim"]["linf_mean"] <= 0.3 + 1e-6
    inputs = read_arrays(tmp_path / "artifacts/measure_driving/inputs.npz")
    for name in ("fgsm", "bim", "noise"):
        facts = metrics["attacks"][name]
        for fact in ("l2", "linf"):
            assert inputs[f"{name}_{fact}"].mean() == pytest.approx(facts[f"{fact}_mean"])
        assert inputs[f"{name}_moved"].max() == pytest.approx(facts["deviation_max"])
        assert inputs[f"{name}_success"].mean() == pytest.approx(facts["success"])
    for name in metrics["augmentations"]:
        assert metrics["augmentations"][name]["draws"] == 4
        idc = metrics["augmentations"][name]["idc_6"]["value"]
        assert idc >= metrics["test_set"]["idc_6"]


@pytest.mark.parametrize(
    ("overrides", "training", "told"),
    [
        (
            ["attack.semantic=file", "attack.semantic_path=own.npz"],
            "train_regressor",
            r"own\.npz .*`images`, uint8",
        ),
        (
            ["driving.layer=dens2", "driving.height=66", "driving.width=80"],
            "fit_model",
            r"no layer 'dens2' .*dense2",
        ),
    ],
)
def test_what_is_wrong_is_found_before_the_regressor_trains(
    drive, measure_driving, tmp_path, monkeypatch, overrides, training, told
):
    write_arrays(tmp_path / "own.npz", images=np.zeros((9, 8, 8, 3), np.uint8))
    trained, place = [], f"asterism.deepimportance.regression.{training}"
    monkeypatch.setattr(place, lambda *_: trained.append(1))
    data = ["driving=folder", f"driving.path={drive}", "driving.test_share=0.5"]
    with pytest.raises(UserError, match=told):
        measure_driving(*data, *overrides)
    assert not trained


def test_without_driving_data_there_is_nothing_to_measure(measure_driving, tmp_path):
    measure_driving()
    assert read_json(tmp_path / "metrics/measure_driving.json") == {}
    assert read_arrays(tmp_path / "artifacts/measure_driving/inputs.npz") == {}
