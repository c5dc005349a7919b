"""Scripts of packages that import torchvision, where it does not fit the installed PyTorch."""

import pytest

from asterism.differential.report import stand_in
from asterism.differential.report.confirming import exit_status
from asterism.differential.report.stand_in import script_environment


def test_only_scripts_that_need_it_get_one(tmp_path, monkeypatch):
    monkeypatch.setattr(stand_in, "_is_broken", lambda: True)
    folder = tmp_path / "scripts"
    folder.mkdir()
    check, repro = folder / "check.py", folder / "repro.py"
    check.write_text("import numpy\n")
    repro.write_text("import onnxruntime\n")
    assert script_environment(check, tmp_path) == {}
    repro.write_text("import onnx2torch\n")  # which the check runs
    monkeypatch.setenv("PYTHONPATH", "before")
    assert script_environment(check, tmp_path) == {"PYTHONPATH": f"{tmp_path}:before"}
    monkeypatch.setattr(stand_in, "_is_broken", lambda: False)
    assert script_environment(check, tmp_path) == {}


@pytest.mark.slow
@pytest.mark.parametrize("package", ["onnx2torch", "onnx2pytorch"])
def test_scripts_import_what_workers_do(tmp_path, package):
    script = tmp_path / "check.py"
    script.write_text(f"import sys\nimport {package}\nsys.exit(7)\n")
    assert exit_status(script) == 7
