"""The pair to try vetting with, and the command that vets it."""

import json

import cv2
import numpy as np
import onnxruntime
import pytest
from typer.testing import CliRunner

from asterism.cli import commands
from asterism.sweep.workspace import run_git
from asterism.vetting.demo import make_demo


def labels_by(model, pictures):
    session = onnxruntime.InferenceSession(model)
    return session.run(None, {"pictures": np.stack(pictures)})[0].argmax(1)


@pytest.mark.slow
def test_the_network_reads_digits_and_its_int8_version_does_worse(tmp_path):
    demo = make_demo(tmp_path / "demo")
    files = sorted(demo.photos.glob("*/*.png"))
    assert len(files) == 1297 and {file.parent.name for file in files} == set("0123456789")
    pictures = [cv2.imread(str(f), cv2.IMREAD_GRAYSCALE)[None] / np.float32(255) for f in files]
    wanted = np.array([int(file.parent.name) for file in files])
    right, worse = ((labels_by(file, pictures) == wanted).mean() for file in demo[:2])
    assert right > 0.9 and 0.5 < worse < right - 0.01
    before = {file: file.read_bytes() for file in (*demo[:2], *files)}
    again = make_demo(tmp_path / "again")
    for file, content in before.items():
        assert (tmp_path / "again" / file.relative_to(tmp_path / "demo")).read_bytes() == content
    assert again.original.parent == tmp_path / "again"


def test_what_is_there_is_taken_as_it_is(tmp_path):
    (tmp_path / "demo").mkdir()
    demo = make_demo(tmp_path / "demo")
    assert demo.photos == tmp_path / "demo/photos" and not any((tmp_path / "demo").iterdir())


@pytest.mark.parametrize("more", [["a.onnx"], ["--inputs", "photos"], ["--kind", "images"]])
def test_files_of_the_users_do_not_go_with_it(more, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(commands.app, ["vet", "--demo", *more]).exception
    assert "--demo makes its own models and pictures" in str(told)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_one_command_in_an_empty_folder_gives_a_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("STATE", "PROGRAMS"):  # which lie elsewhere than in the user's folder
        monkeypatch.setenv(f"ASTERISM_{name}_ROOT", str(tmp_path.parent / name))
    done = CliRunner().invoke(commands.app, ["vet", "--demo", "--json", "--no-open"])
    assert done.exit_code == 0, done.output
    verdict = json.loads(done.stdout)["verdict"]
    assert verdict["word"] in {"ship with the repair", "do not ship"}
    page = tmp_path / "sweeps/vet-digits-int8/points/0000/vet/index.html"
    assert "digits-int8.onnx" in page.read_text(encoding="utf-8")
    assert run_git(tmp_path, "status", "--porcelain") == "", "what it makes is not to be committed"
