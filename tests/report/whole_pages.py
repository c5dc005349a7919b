"""Whole pages to look at, one of each kind that the project makes."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from asterism.asking.question import resolve_question
from asterism.asking.request import VetRequest
from asterism.comparing.commands import OF_VERSIONS
from asterism.comparing.comparison import BackendComparison
from asterism.comparing.running import write_comparison_page
from asterism.config import compose
from asterism.core.parameters.params import read_params
from asterism.core.running.stage import load_script
from asterism.differential.params import JudgeParams
from asterism.differential.subjects.onnx_file import make_subject
from asterism.report.lanes import write_page
from asterism.sweep.point import PointOutcome
from asterism.sweep.table import write_outcome, write_overview
from places import ROOT
from report.library_results import write_library_results
from versions.made_up_changes import made_change
from versions.small_files import chain
from vetting.digit_pairs import damage, make_pair
from vetting.small_vetting import run_stages

TINY = [
    "data.train=300",
    "data.test=160",
    "rnn.units=[8]",
    "rnn.training.epochs=2",
    "seeds.per_class=1",
    "fuzz.mutants=300",
    "fuzz.criteria=[state,none]",
    "coverage.references=3",
    "classifier=lenet1",
    "classifier.training.epochs=3",
    "attack.names=[fgsm,noise]",
    "attack.inputs=10",
    "attack.rnn_inputs=10",
    "importance.neurons=[4,8]",
    "trigger.seeds=20",
    "trigger.queries=100",
    "repair.folds=2",
    "repair.repeats=1",
]
PAIR = "pruned"
STAGES = [
    ["train_rnn"],
    ["profile_states"],
    ["build_dtmc"],
    ["select_seeds"],
    ["fuzz", "state"],
    ["fuzz", "none"],
    ["measure_coverage"],
    ["train_classifier"],
    ["attack"],
    ["measure_importance"],
    ["compress", PAIR],
    ["trigger", PAIR],
    ["repair", PAIR],
]
VETTED = [
    "vet.changes.inputs=40",
    "vet.search.seeds=20",
    "vet.search.queries=60",
    "vet.repair.evaluations=20",
]


def write_report(folder):
    """The report of a tiny run of all lanes."""
    params = yaml.safe_load(compose(ROOT / "conf", TINY))
    params["pairs"] = {PAIR: params["pairs"][PAIR]}
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    shutil.copy(ROOT / "dvc.yaml", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("ASTERISM_STATE_ROOT", str(folder / "state"))
        for name, *variant in STAGES:
            stage = load_script(ROOT / "stages", name)
            stage.run(read_params(stage.Params), *variant)
    write_library_results(folder)
    write_page(folder, folder / "report/index.html")
    return folder / "report/index.html"


def write_vetted(folder):
    """The page of a damaged pair, which is localised and repaired."""
    make_pair(folder)
    damage(folder / "int8.onnx", folder / "damaged.onnx", "w1", 8)
    request = VetRequest(
        original=folder / "original.onnx",
        compressed=folder / "damaged.onnx",
        inputs=folder / "inputs.npz",
        overrides=VETTED,
    )
    run_stages(folder, resolve_question(request, ROOT / "conf").overrides)
    return folder / "report/vet/index.html"


def write_sweeps(folder):
    """The page of a sweep with a point that failed, and that of all sweeps."""
    values = np.random.default_rng(0).random((6, 30))
    records = [
        PointOutcome(
            number=number,
            overrides=["data=digits", f"abstraction.k={number // 2 + 1}", f"seed={number % 2}"],
            status="finished" if number else "failed",
            exit_code=int(not number),
            experiment=f"point-{number}",
            report=f"points/{number:04d}/index.html" if number else "",
            ran=["build_dtmc"],
            total_seconds=12.5,
            log_tail="error: build_dtmc: something is wrong\n" + 30 * "a long line of the log ",
            message="build_dtmc failed",
            metrics={f"build_dtmc.json:some.metric_{m}": v for m, v in enumerate(row.tolist())},
        )
        for number, row in enumerate(values)
    ]
    write_outcome(folder / "k", records, "k")
    write_overview(folder)
    return folder / "k/index.html", folder / "index.html"


def write_versions(folder):
    """The page of an upgrade that changes one model, ends another one, and leaves a third."""
    wrong = made_change("now wrong", "a model", inputs="wide", excess=1234.5, gap=0.5)
    failed = made_change("no longer runs", "another", message="no kernel for Exp")
    others = [failed, made_change("same", "a third")]
    part = SimpleNamespace(layers=["Exp e"], nodes=9, finished=True)
    packages = {"numpy": "1.26.4", "onnxruntime": "0.1"}, {"numpy": "2.4.6", "onnxruntime": "1.31"}
    changes = (wrong, *others)
    found = BackendComparison(
        page=OF_VERSIONS,
        compared=("onnxruntime 0.1", "onnxruntime 1.31"),
        versions=packages,
        subjects=[(make_subject(c.subject, chain("Relu", "Exp"), 4, {}), [c]) for c in changes],
        rejected=[("a fourth", "holds an operator of another domain")],
    )
    row = next(row for row in found.rows if row.worst is wrong)
    row.part, row.folder = part, "01-now-wrong-a-model"
    row.statuses = {"onnxruntime 0.1": 0, "onnxruntime 1.31": 1}
    write_comparison_page(found, folder / "versions.html", JudgeParams(ulps=64, conditioning=8))
    return folder / "versions.html"
