"""DAVE-2 on a folder of images and a CSV of steering angles, as a user has one."""

import os
import re

import cv2
import numpy as np
import pytest

from asterism.config import compose
from asterism.core.files.artifacts import read_arrays, read_json, write_arrays
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import read_params
from asterism.core.running.stage import load_script
from asterism.data.driving import DrivingParams, load_driving
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


def params(folder, **changes):
    defaults = {
        "source": "folder",
        "path": str(folder),
        "table": "driving_log.csv",
        "image_column": "image",
        "angle_column": "angle",
        "height": 66,
        "width": 80,
        "test_share": 0.5,
        "layer": None,
        "angles": {"degrees": 25.0, "tolerance_degrees": 1.0},
    }
    return DrivingParams(**defaults | changes)


def test_driving_data_are_read_and_parted(drive):
    found = load_driving(params(drive), 0)
    assert found.train_images.shape == (30, 66, 80, 3)
    assert found.test_images.dtype == np.uint8
    assert len(found.test_angles) == 30
    angles = np.concatenate([found.train_angles, found.test_angles])
    assert len(np.unique(angles)) == 60


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "7.png").unlink(), r"there is no image .*7\.png"),
        (
            lambda f: (f / "7.png").write_bytes(b"x"),
            r"7\.png: it is neither PNG nor JPEG, or is damaged",
        ),
        (lambda f: (f / "driving_log.csv").unlink(), "cannot read the table"),
        (lambda f: (f / "driving_log.csv").write_bytes(b"image,\xff\n"), "cannot read the table"),
        *(
            (lambda f, text=text: (f / "driving_log.csv").write_text(text), message)
            for text, message in (
                ("", r"no column 'image' \(its columns: none\)"),
                ("a,b\n1,2\n", r"no column 'image' \(its columns: a, b\)"),
                ("image,angle\n1.png,0\n2.png,left\n", "row 2 has no number as its angle"),
                ("image,angle\n1.png,inf\n", "row 1 has no number as its angle"),
                ("image,angle\n1.png,\n", "row 1 has no number as its angle"),
                ("image,angle\n1.png,0\n,1\n", "row 2 names no image"),
                ("image,angle\n1.png,0,9\n", "row 1 has 3 cells, but there are 2 columns"),
                ("image,angle\n1.png,0\n", "needs at least two rows"),
            )
        ),
    ],
)
def test_what_is_wrong_with_a_folder_is_one_line(drive, damage, message, capfd):
    damage(drive)
    with pytest.raises(UserError, match=message):
        load_driving(params(drive), 0)
    assert "WARN" not in capfd.readouterr().err  # as OpenCV does


def _secret(drive):
    """An image outside of the folder."""
    path = drive.parent / "secret.png"
    cv2.imwrite(str(path), np.zeros((70, 90, 3), np.uint8))
    return path


def _link(drive):
    (drive / "link.png").symlink_to(_secret(drive))
    return "link.png"


def _folder_link(drive):
    _secret(drive)
    (drive / "out").symlink_to(drive.parent)
    return "out/secret.png"


def _circle(drive):
    (drive / "circle.png").symlink_to(drive / "circle.png")
    return "circle.png"


@pytest.mark.parametrize(
    "lead_out",
    [
        lambda drive: str(_secret(drive)),
        lambda drive: f"../{_secret(drive).name}",
        lambda drive: f"../drive/../{_secret(drive).name}",
        lambda drive: "../drive/7.png",
        lambda drive: r"C:\secret.png",
        _link,
        _folder_link,
        _circle,
    ],
)
def test_a_path_that_leads_out_of_the_folder_is_rejected(drive, lead_out):
    """A stage depends on the folder, so nothing would know of changes outside."""
    name = lead_out(drive)
    table = drive / "driving_log.csv"
    table.write_text(table.read_text().replace("\n7.png", f"\n{name}"))
    with pytest.raises(UserError, match="which is not in") as rejected:
        load_driving(params(drive), 0)
    assert name in str(rejected.value).replace("\\\\", "\\")


def test_the_table_itself_lies_in_the_folder(drive):
    (drive / "driving_log.csv").rename(drive.parent / "log.csv")
    for name in ("../log.csv", str(drive.parent / "log.csv")):
        with pytest.raises(UserError, match=r"driving\.table names .* which is not in"):
            load_driving(params(drive, table=name), 0)


def test_a_link_inside_the_folder_is_followed(drive):
    (drive / "7.png").rename(drive / "seven.png")
    (drive / "7.png").symlink_to("seven.png")
    assert len(load_driving(params(drive), 0).train_images) == 30


def test_a_pipe_is_no_image(drive):
    (drive / "7.png").unlink()
    os.mkfifo(drive / "7.png")
    with pytest.raises(UserError, match=r"there is no image .*7\.png"):
        load_driving(params(drive), 0)


def test_spaces_around_the_cells_and_a_mark_at_the_start_mean_nothing(drive):
    table = drive / "driving_log.csv"
    plain = load_driving(params(drive), 0)
    quoted = re.sub(r"\n7\.png,(.*)", r'\n"7.png","\1"', table.read_text())
    table.write_text(quoted.replace(",", " , "), "utf-8-sig")
    spaced = load_driving(params(drive), 0)
    for name, values in vars(plain).items():
        np.testing.assert_array_equal(getattr(spaced, name), values)


@pytest.mark.slow
def test_the_stage_measures_a_regressor(drive, tmp_path, monkeypatch):
    own = tmp_path / "own.npz"
    roads = load_driving(params(drive), 1).test_images
    write_arrays(own, images=255 - roads)
    overrides = [
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
    ]
    (tmp_path / "params.yaml").write_text(compose(ROOT / "conf", overrides))
    monkeypatch.chdir(tmp_path)
    stage = load_script(ROOT / "stages", "measure_driving")
    stage.run(read_params(stage.Params))
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


def test_wrong_natural_images_are_rejected_before_the_regressor_trains(
    drive, tmp_path, monkeypatch
):
    own = tmp_path / "own.npz"
    write_arrays(own, images=np.zeros((9, 8, 8, 3), np.uint8))
    overrides = ["driving=folder", f"driving.path={drive}", "driving.test_share=0.5"]
    overrides += ["attack.semantic=file", f"attack.semantic_path={own}"]
    (tmp_path / "params.yaml").write_text(compose(ROOT / "conf", overrides))
    monkeypatch.chdir(tmp_path)
    trained = []
    monkeypatch.setattr(
        "asterism.deepimportance.regression.train_regressor", lambda *_: trained.append(1)
    )
    stage = load_script(ROOT / "stages", "measure_driving")
    with pytest.raises(UserError, match=r"own\.npz needs an array `images`, uint8 of shape"):
        stage.run(read_params(stage.Params))
    assert not trained


def test_a_missing_layer_is_found_before_the_regressor_trains(drive, tmp_path, monkeypatch):
    overrides = ["driving=folder", f"driving.path={drive}", "driving.test_share=0.5"]
    overrides += ["driving.layer=dens2", "driving.height=66", "driving.width=80"]
    (tmp_path / "params.yaml").write_text(compose(ROOT / "conf", overrides))
    monkeypatch.chdir(tmp_path)
    trained = []
    monkeypatch.setattr("asterism.deepimportance.regression.fit", lambda *_: trained.append(1))
    stage = load_script(ROOT / "stages", "measure_driving")
    with pytest.raises(UserError, match=r"no layer 'dens2' .*dense2"):
        stage.run(read_params(stage.Params))
    assert not trained


def test_without_driving_data_there_is_nothing_to_measure(tmp_path, monkeypatch):
    (tmp_path / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    stage = load_script(ROOT / "stages", "measure_driving")
    stage.run(read_params(stage.Params))
    assert read_json(tmp_path / "metrics/measure_driving.json") == {}
    assert read_arrays(tmp_path / "artifacts/measure_driving/inputs.npz") == {}
