"""Whatever computes the units of a long stage, its result is the same."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from small_pipeline import PARTS, Project, call
from workspace import ENVIRONMENT, ROOT, run

from asterism.core.files.artifacts import write_arrays
from asterism.core.parameters.params import read_params
from asterism.core.running.stage import load_script
from asterism.memo.graphs.graph import sequential
from asterism.memo.graphs.store import write_models, write_weights
from asterism.memo.universe.tensors import Tensor
from asterism.sweep.shared_store import SharedStore
from memo.small_graphs import branching, convolutional, layer, recurrent
from models.model_files import CLASSES, images, keras_model, write


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return Project(tmp_path_factory.mktemp("shards"), long=True)


@pytest.mark.slow
@pytest.mark.parametrize("shards", [2, 1, 5])
def test_a_long_stage_gives_the_same_bytes_for_any_number_of_shards(project, shards):
    shutil.rmtree(project.root / ".dvc/cache", ignore_errors=True)
    (project.root / "artifacts/long").unlink(missing_ok=True)
    project.expect(shards)
    status, output = call(project, "repro", "--shards", shards)
    assert status == 0, output
    assert (project.root / "artifacts/long").read_text() == PARTS
    assert sorted(int(number) for number, _ in project.shared()) == list(range(12))
    assert len({who for _, who in project.shared()}) >= shards


@pytest.mark.slow
def test_points_of_a_sweep_have_shards_of_their_own(project):
    project.expect(2)
    status, output = call(project, "sweep", "--name", "s", "--shards", 2, "seed=1,2")
    assert status == 0, output
    begun = project.shared()
    assert len(begun) == 24 and len({who for _, who in begun[:12]}) >= 2
    assert {who for _, who in begun[:12]}.isdisjoint(who for _, who in begun[12:])
    left = list(project.root.parent.glob("state/units/long/*"))
    assert left == [], "what points have committed is not kept"


def write_params(here, **sections):
    """The project's parameters with some of some sections changed, and its pipeline."""
    (here / "dvc.yaml").write_text((ROOT / "dvc.yaml").read_text())
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    for name, changed in sections.items():
        params[name] |= changed
    (here / "params.yaml").write_text(yaml.safe_dump(params))


def written(here, shards, stage, *variant):
    """What a real stage writes, after all parts but one were computed by hand: bytes by path."""
    environment = ENVIRONMENT | {"ASTERISM_STATE_ROOT": str(here / "state")}
    command = [sys.executable, ROOT / "stages", stage, *variant]
    processes = [
        subprocess.Popen([*command, *more], cwd=here, env=environment)
        for more in [["--part", f"{number}/{shards}"] for number in range(1, shards)]
    ]
    assert [process.wait(200) for process in processes] == [0] * (shards - 1)
    subprocess.run(command, cwd=here, env=environment, check=True, timeout=200)
    (note,) = (here / "state/units").glob("*/*/finished.json")
    outputs = json.loads(note.read_text())["outputs"]
    assert outputs, "the stage's outputs as dvc.yaml names them"
    assert all((here / path).exists() for path in outputs)
    return {
        str(p.relative_to(here)): p.read_bytes()
        for folder in (f"artifacts/{stage}", "metrics", "plots")
        for p in Path(here, folder).rglob("*")
        if p.is_file()
    }


def generating(here):
    seeds = {"conv": convolutional(), "rnn": recurrent(), "add": branching()}
    write_models(here / "artifacts/reduce_models", seeds)
    write_params(here, generate={"models": 60, "islands": 7})


def executing(here):
    graphs = [sequential(Tensor((1 + n,)), [layer("Dense", units=2)]) for n in range(120)]
    named = {f"{n:05d}": graph for n, graph in enumerate(graphs)}
    write_models(here / "artifacts/generate_models", named)
    write_weights(here / "artifacts/reduce_models/weights.npz", {})
    write_params(here, execute={"backends": ["pytorch:eager"], "distributions": ["normal", "nan"]})


def write_pair(here):
    """Two small models that disagree now and then, images for them, and parameters of a search."""
    model = keras_model()
    write(model, here / "original.onnx")
    rng = np.random.default_rng(0)
    model.set_weights([w + rng.normal(0, 0.05, w.shape) for w in model.get_weights()])
    write(model, here / "compressed.onnx")
    write_images(here, seed=1)
    write_params(
        here,
        data={"name": "npz", "path": "images.npz", "train": None, "test": None},
        trigger={
            "seeds": 20,
            "queries": 60,
            "minimise_queries": 20,
            "operators": {"gaussian_noise": {"low": 1.0, "high": 80.0}},
        },
        pairs={"small": {"original": "original.onnx", "compressed": "compressed.onnx"}},
    )


def write_images(here, seed):
    labels = np.arange(60) % CLASSES
    write_arrays(
        here / "images.npz",
        train_images=images(60),
        train_labels=labels,
        test_images=images(60, seed=seed),
        test_labels=labels,
    )


def test_a_store_gives_back_the_workspace_and_what_parts_have_finished(tmp_path):
    unit = "units/fuzz/key/3"
    for name in ("work/conf/a.yaml", "work/params.yaml", f"part/{unit}/done.npz"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    SharedStore(str(tmp_path / "store")).put_workspace(
        tmp_path / "work", [Path("conf"), Path("params.yaml")]
    )
    other = SharedStore(str(tmp_path / "store"))
    other.fetch_workspace(tmp_path / "copy")
    copied = {p.name: p.read_text() for p in (tmp_path / "copy").rglob("*.yaml")}
    assert copied == {"a.yaml": "work/conf/a.yaml", "params.yaml": "work/params.yaml"}
    other.send(tmp_path / "part")
    other.receive(tmp_path / "whole")
    assert (tmp_path / "whole" / unit / "done.npz").read_text() == f"part/{unit}/done.npz"
    other.remove()
    assert not (tmp_path / "store").exists()


def test_units_of_a_search_of_other_images_are_not_taken(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    write_pair(tmp_path / "here")
    (tmp_path / "here/dvc.yaml").write_text((ROOT / "dvc.yaml").read_text())
    monkeypatch.chdir(tmp_path / "here")
    stage, roots = load_script(ROOT / "stages", "trigger"), []

    def search(*given):
        roots.append(given[-1]._run.folder)
        return {}

    monkeypatch.setattr(stage, "search_images", search)
    for seed in (1, 1, 2):
        write_images(tmp_path / "here", seed)
        stage.run(read_params(stage.Params), "small")
    assert roots[0] == roots[1] != roots[2]


def fuzzing(here):
    write_params(
        here,
        data={"train": 400, "test": 120},
        rnn={"units": [24]},
        seeds={"per_class": 2},
        fuzz={"mutants": 600, "islands": 6},
    )
    for stage in ("train_rnn", "profile_states", "build_dtmc", "select_seeds"):
        run(here, sys.executable, ROOT / "stages", stage)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prepare", "stage", "counts", "files"),
    [
        (generating, ["generate_models"], (1, 2, 5), 6),
        # The outputs of models lie in files of their own.
        (executing, ["execute_models"], (1, 3), 2 * 120 + 3),
        (write_pair, ["trigger", "small"], (1, 2, 5), 6),
        (fuzzing, ["fuzz", "state"], (1, 2, 5), 6),
    ],
)
def test_a_real_stage_gives_the_same_bytes_for_any_number(tmp_path, prepare, stage, counts, files):
    start = tmp_path / "start"
    start.mkdir()
    prepare(start)
    trees = []
    for shards in counts:
        here = shutil.copytree(start, tmp_path / str(shards))
        trees.append(written(here, shards, *stage))
    assert len(trees[0]) >= files
    assert all(tree == trees[0] for tree in trees)
