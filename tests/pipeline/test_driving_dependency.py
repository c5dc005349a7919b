"""Every file of the driving data counts as a dependency of the stage that reads it."""

import pytest
from workspace import copy_project, run


@pytest.mark.slow
def test_a_changed_image_makes_the_stage_run_again(tmp_path):
    drive = tmp_path / "drive"
    (drive / "pictures").mkdir(parents=True)
    (drive / "driving_log.csv").write_text("image,angle\npictures/1.png,0\n")
    (drive / "pictures/1.png").write_bytes(b"first")
    overrides = ["driving=folder", f"driving.path={drive}"]
    project = copy_project(tmp_path / "project", overrides)
    run(project, "dvc", "init", "-q", "-f")
    for name in ("artifacts/measure_driving/x", "metrics/measure_driving.json"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("{}")
    run(project, "dvc", "commit", "-f", "measure_driving")
    assert "up to date" in run(project, "dvc", "status", "measure_driving")
    (drive / "pictures/1.png").write_bytes(b"second")
    assert f"modified:           {drive}" in run(project, "dvc", "status", "measure_driving")
