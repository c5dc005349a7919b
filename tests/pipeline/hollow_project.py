"""The project with stages that only write files: its commands take seconds."""

import subprocess
import sys
from pathlib import Path

import numpy as np
from workspace import ENVIRONMENT, commit, copy_tree, run

from versions.small_files import onnx_model

STAGE = '''\
"""Writes everything that a stage is said to write, and what others read of it."""

import re
import sys
from pathlib import Path

import yaml

name, variant = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""


def named(text):
    return re.sub(r"\\$\\{[^}]*\\}", variant, text)


stage = yaml.safe_load(Path("dvc.yaml").read_text())["stages"][name]
stage = stage.get("do", stage)
listed = [*stage.get("outs", []), *stage.get("metrics", []), *stage.get("plots", [])]
known = Path("dvc.yaml").read_text() + Path("params.yaml").read_text()
for out in (named(one if isinstance(one, str) else next(iter(one))) for one in listed):
    path = Path(out)
    inside = re.findall(rf"{re.escape(out)}/[\\w./-]+", named(known))
    for file in [path] if path.suffix else [path / "content.txt", *map(Path, inside)]:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}" if file.suffix == ".json" else Path("params.yaml").read_text())
'''

#: Files of a reader's own that commands name. Stages are not run, so what is in them is not read.
FILES = [
    *("a.h5", "b.tflite", "model.h5", "model.json", "model.keras", "my_model.keras"),
    *("images.npz", "inputs.npz", "texts.npz", "reviews.npz", "lstm.keras", "gru.onnx"),
    *("mnist-lstm.h5", "pictures/a.png", "sounds/a.wav", "my_drive/driving_log.csv"),
]


def make(folder: Path) -> Path:
    """Make it, with a git remote, a DVC remote, one commit, and all stages run."""
    project = folder / "project"
    copy_tree(project)
    (project / "stages/__main__.py").write_text(STAGE, encoding="utf-8")
    for name in FILES:
        path = project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name, encoding="utf-8")
    _write_models(project)
    run(folder, "git", "init", "--quiet", "--bare", "origin")
    run(project, "git", "init", "--quiet", "--initial-branch", "main")
    run(project, "git", "remote", "add", "origin", folder / "origin")
    run(project, "dvc", "remote", "add", "--default", "store", folder / "store")
    (project / ".gitignore").open("a", encoding="utf-8").write("/sweeps\n/folder\n")
    commit(project, "start")
    run(project, "dvc", "repro", "--quiet")
    commit(project, "results")
    run(project, "git", "push", "--quiet", "origin", "main")
    return project


def call(project: Path, words: list[str]) -> subprocess.CompletedProcess:
    """Run a command in it, and put the files back that git knows."""
    program = "import sys; sys.path.insert(0, 'src'); from asterism.cli import main; main()"
    start = {"asterism": [sys.executable, "-c", program], "python": [sys.executable]}
    done = subprocess.run(
        [*start.get(words[0], words[:1]), *words[1:]],
        cwd=project,
        env=ENVIRONMENT | {"PYTHONPATH": str(project / "src")},
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    run(project, "git", "reset", "--quiet", "--hard", "main")
    run(project, "git", "clean", "--quiet", "-d", "--force")
    return done


def _write_models(project: Path) -> None:
    """Small models and inputs that ``vet`` and ``check`` look at before anything runs."""
    import cv2
    import onnx
    from scipy.io import wavfile

    nodes = [("Flatten", ["x"], ["a"], {}), ("Softmax", ["a"], ["y"], {})]
    pictures = onnx_model(nodes, [("x", ("n", 1, 8, 8))], ["y"])
    for name in ("model", "model-int8", "a", "b"):
        onnx.save(pictures, project / f"{name}.onnx")
    nodes = [
        ("Cast", ["sr"], ["r"], {"to": 1}),
        ("Mul", ["input", "r"], ["b"], {}),
        ("Add", ["state", "b"], ["stateN"], {}),
        ("Sigmoid", ["stateN"], ["output"], {}),
    ]
    inputs = [("input", (1, 576)), ("state", (1, 576)), ("sr", (), onnx.TensorProto.INT64)]
    for name in ("vad", "vad-half"):
        onnx.save(onnx_model(nodes, inputs, ["output", "stateN"]), project / f"{name}.onnx")
    for folder in ("photos", "samples", "speech"):
        (project / folder).mkdir()
    for number in range(3):
        picture = np.full((8, 8), 80 * number, np.uint8)
        cv2.imwrite(str(project / f"photos/{number}.png"), picture)
        cv2.imwrite(str(project / f"samples/{number}.png"), picture)
        wavfile.write(project / f"speech/{number}.wav", 16000, np.zeros(32000, np.int16))
