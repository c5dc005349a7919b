"""The choices of conf/ that PyTorch trains and compresses, from parameters to results."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from asterism.config import compose
from asterism.core.files.artifacts import read_arrays, read_json
from asterism.core.parameters.params import read_params
from asterism.core.running.stage import load_script
from places import ROOT

TINY = [
    *("data=digits", "data.train=300", "data.test=60"),
    *("classifier=lenet5_torch", "classifier.training.epochs=2"),
    *("rnn=lstm_torch", "rnn.units=[8]", "rnn.training.epochs=2"),
    *("compression=torch", "pair=torch", "compression.torch_pruned.options.tuning.epochs=1"),
    *("trigger.seeds=4", "trigger.queries=20"),
]

QUANTISED = ("torch_dynamic_int8", "torch_weight_only", "torch_static_pt2e")


def ran(name, *variant):
    stage = load_script(ROOT / "stages", name)
    stage.run(read_params(stage.Params), *variant)


def assert_another_process_writes_the_same(folder, *stage):
    """Run a stage again, with other hashes of texts and another number of threads by default."""
    results = folder / "artifacts" / "/".join(stage)
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    assert any(path.suffix in (".keras", ".pt2") for path in before)
    shutil.rmtree(results)
    environment = os.environ | {"PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), *sys.path])
    command = [sys.executable, str(ROOT / "stages"), *stage]
    subprocess.run(command, cwd=folder, env=environment, check=True)
    assert {path: path.read_bytes() for path in results.rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_networks_are_trained_compressed_and_searched(tmp_path, monkeypatch):
    (tmp_path / "params.yaml").write_text(compose(ROOT / "conf", TINY))
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    ran("train_rnn")
    ran("train_classifier")
    accuracy = read_json(tmp_path / "metrics/train_classifier.json")["test_accuracy"]
    assert accuracy > 0.3
    methods = (*QUANTISED, "torch_pruned", "torch_distilled")
    for name in methods:
        ran("compress", name)
        facts = read_json(tmp_path / f"metrics/compress-{name}.json")
        assert facts["original_accuracy"] == pytest.approx(accuracy, abs=0.02)
        assert facts["agreement"] > 0.5
    for stage in (["train_rnn"], ["train_classifier"], *(["compress", name] for name in methods)):
        assert_another_process_writes_the_same(tmp_path, *stage)
    ran("trigger", "torch_weight_only")
    found = list((tmp_path / "artifacts/trigger/torch_weight_only").glob("*/triggers.npz"))
    assert found
    for path in found:
        arrays = read_arrays(path).values()
        assert all(np.isfinite(array).all() for array in arrays if array.dtype.kind == "f")
