"""The stages' functions on real model files: bad input, nothing to find, the whole way."""

import numpy as np
import pytest
import yaml
from structlog.testing import capture_logs

from asterism.core.files.artifacts import read_arrays, read_json
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import validate
from asterism.core.resuming.work_units import ALONE, PartEnded, SharedWorkUnits, UnitShare
from asterism.core.running.stage import load_script
from asterism.data import Dataset
from asterism.dflare.image_pairs import ImagePair, repair_images, search_images
from asterism.dflare.outcome import SearchResult
from asterism.dflare.params import PairParams, RepairParams, TriggerParams
from asterism.dflare.searches.dflare import DflareSearch
from asterism.models.classifier import FileClassifier
from asterism.models.images_and_scores import PreprocessingParams
from models.model_files import CLASSES, SHAPE, images, keras_model, write
from onnx_texts import write_onnx
from places import ROOT
from set_options import section

UNIT = PreprocessingParams(scale=1 / 255, mean=[0.0], std=[1.0])
DFLARE = {"fitness": "paper", "delta": 1e-3, "guided": True}
TRIGGER = {
    "seeds": 20,
    "queries": 60,
    "seconds": None,
    "n_triggers": 1,
    "minimise_queries": 20,
    "bound": None,
    "operators": {
        "gaussian_noise": {"low": 1.0, "high": 80.0},
        "pixel_change": {"low": 1, "high": 9},
    },
    "searches": {
        "dflare": {"search": "dflare", "options": DFLARE},
        "dflare_r": {"search": "dflare", "options": DFLARE | {"guided": False}},
    },
}
REPAIR = {
    "search": "dflare",
    "folds": 3,
    "repeats": 2,
    "repairers": {"logistic": {"top_k": 2, "strengths": [1.0]}},
}


def write_pair(original, *compressed):
    """A model of which every class wins some images, and files of one that is a little off."""
    model = keras_model()
    dense = model.layers[-2]
    kernel = np.asarray(dense.kernel)
    dense.kernel.assign(4 * (kernel - kernel.mean(axis=0)))
    write(model, original)
    rng = np.random.default_rng(0)
    model.set_weights([w + rng.normal(0, 0.05, w.shape) for w in model.get_weights()])
    return original, *(write(model, path) for path in compressed)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return write_pair(*(folder / n for n in ("original.onnx", "compressed.onnx", "c.tflite")))


@pytest.fixture(scope="module")
def data():
    labels = np.zeros(60, np.int64)
    return Dataset(images(60), labels, images(60, seed=1), labels, CLASSES)


def pair(files, data):
    original, compressed = map(str, files)
    return ImagePair(PairParams(original=original, compressed=compressed), UNIT, data)


def search(files, data, folder, parts=ALONE, **changed):
    params = TriggerParams(**(TRIGGER | changed))
    return search_images(pair(files, data), params, 0, folder, parts)


def repair(files, data, found, folder, seeds=20, **changed):
    """Repair what a search of so many seeds found."""
    params = RepairParams(**(REPAIR | changed))
    searched = TriggerParams(**(TRIGGER | {"seeds": seeds}))
    return repair_images(pair(files, data), params, searched, 0, found, folder)


def tree(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.slow
def test_search_and_repair_of_onnx_files(files, data, tmp_path):
    found = tmp_path / "artifacts/trigger/pair"
    summaries = search(files[:2], data, found)
    assert summaries["dflare"]["triggered"] > 3
    assert summaries == read_json(found / "summary.json")
    search(files[:2], data, tmp_path / "again")
    assert tree(found) == tree(tmp_path / "again")

    repaired = tmp_path / "artifacts/repair/pair"
    results = repair(files[:2], data, found, repaired)
    assert results["chosen"] == "logistic"
    assert results["search_before"]["triggered"] == summaries["dflare"]["triggered"]
    assert {"head.onnx", "repaired.onnx", "summary.json"} <= {p.name for p in repaired.iterdir()}


@pytest.mark.slow
def test_search_by_diffchaser_and_repair_by_drepair_of_modules_of_pytorch(data, tmp_path):
    modules = write_pair(tmp_path / "original.pt2", tmp_path / "compressed.pt2")
    chaser = {"search": "diffchaser", "options": {"population": 10, "k": 2, "tournament": 2}}
    found, repaired = tmp_path / "found", tmp_path / "repaired"
    summaries = search(modules, data, found, searches={"diffchaser": chaser})
    assert summaries["diffchaser"]["triggered"] > 3
    drepair = {"perceptron": section("repair")["repairers"]["perceptron"]}
    params = RepairParams(**(REPAIR | {"search": "diffchaser", "repairers": drepair}))
    searched = TriggerParams(**(TRIGGER | {"searches": {"diffchaser": chaser}}))
    results = repair_images(pair(modules, data), params, searched, 0, found, repaired)
    assert results["chosen"] == "perceptron" and "not_fused" not in results
    assert results["search_before"]["triggered"] == summaries["diffchaser"]["triggered"]
    assert {"head.onnx", "summary.json"} <= {p.name for p in repaired.iterdir()}


@pytest.mark.slow
def test_all_test_images_as_seeds_leave_none_to_judge_a_repair_by(files, data, tmp_path):
    search(files[:2], data, tmp_path / "t", seeds=60)
    results = repair(files[:2], data, tmp_path / "t", tmp_path / "r", seeds=60)
    effect = results["repairers"]["logistic"]
    assert effect["test_images"] == 0
    assert effect["test_agreement_before"] is effect["lowers_test_agreement"] is None


def write_linear(path, shape=SHAPE, classes=CLASSES, sure_of=None):
    """A linear classifier in ONNX, which always gives the class that it is sure of."""
    weights = np.random.default_rng(0).normal(0, 0.3, (np.prod(shape), classes))
    text = f"""(float[N,{",".join(map(str, shape))}] images) => (float[N,{classes}] outputs) {{
        flat = Flatten (images)
        scores = MatMul (flat, weights)
        logits = Add (scores, bias)
        outputs = Softmax <axis = 1> (logits)
    }}"""
    bias = 60 * (np.arange(classes) == sure_of)
    constants = {"weights": weights.astype(np.float32), "bias": bias.astype(np.float32)}
    return write_onnx(path, text, opset=13, **constants)


def write_picky(path, noise):
    """A linear classifier in ONNX that raises an error where one pixel is darker than another."""
    rng, pattern = np.random.default_rng(0), np.zeros((64, 1), np.float32)
    pattern[:2, 0] = [-1, 1]
    weights = rng.normal(0, 1, (64, CLASSES)) + noise * rng.normal(0, 1, (64, CLASSES))
    text = f"""(float[N,8,8,1] images) => (float[N,{CLASSES}] outputs) {{
        flat = Flatten (images)
        scores = MatMul (flat, weights)
        difference = MatMul (flat, pattern)
        is_large = Greater (difference, limit)
        row = Cast <to = 7> (is_large)
        nothing = Gather (table, row)
        logits = Add (scores, nothing)
        outputs = Softmax <axis = 1> (logits)
    }}"""  # there is no row 1
    return write_onnx(
        path, text, opset=13, weights=weights.astype(np.float32), pattern=pattern,
        limit=np.float32(0.55), table=np.zeros(1, np.float32),
    )  # fmt: skip


def test_a_model_that_raises_loses_that_input_only(data, tmp_path):
    picky = write_picky(tmp_path / "f.onnx", 0.0), write_picky(tmp_path / "g.onnx", 0.3)
    summary = search(picky, data, tmp_path / "t", seeds=40)["dflare"]
    raised = data.test_images[:, 0, 1, 0] / 255 - data.test_images[:, 0, 0, 0] / 255 > 0.55
    records = {r.seed: r for r in SearchResult.load(tmp_path / "t" / "dflare").seeds}
    of_seeds = [seed for seed in np.flatnonzero(raised).tolist() if seed in records]
    assert summary["failed"] >= len(of_seeds) > 0
    assert summary["triggered"] > 5
    assert raised.sum() > len(of_seeds), "one that is no seed raises too"
    for seed in of_seeds:
        assert records[seed].outcome == "failed"
        assert "onnx failed: " in records[seed].reason

    results = repair(picky, data, tmp_path / "t", tmp_path / "r", seeds=40)
    answered = data.test_images[~raised]
    f, g = (FileClassifier(file, UNIT).predict(answered).argmax(1) for file in picky)
    assert results["test_set"] == {
        "original_accuracy": pytest.approx((f == 0).mean()),
        "accuracy": pytest.approx((g == 0).mean()),
        "agreement": pytest.approx((f == g).mean()),
        "deviating_test_images": (f != g).sum(),
    }


def test_formats_mix(files, data, tmp_path):
    summaries = search((files[0], files[2]), data, tmp_path / "t", queries=30, minimise_queries=5)
    assert summaries["dflare"]["triggered"] > 3


def test_models_that_agree_everywhere_finish_and_say_so(files, data, tmp_path):
    same = (files[0], files[0])
    summaries = search(same, data, tmp_path / "t", queries=15)
    assert summaries["dflare"]["exhausted"] == 20
    assert summaries["dflare"]["mean_queries"] is None
    with capture_logs() as told:
        results = repair(same, data, tmp_path / "t", tmp_path / "r")
    assert results["status"].startswith("no seed deviates and the search found no triggering input")
    assert results["status"] in [e["event"] for e in told if e["log_level"] == "warning"]
    assert results["test_set"]["agreement"] == 1
    assert results["test_set"]["deviating_test_images"] == 0


def test_a_pair_that_knows_one_label_only_says_that_nothing_can_be_learnt(files, data, tmp_path):
    constant = write_linear(tmp_path / "constant.onnx", sure_of=1)
    search((constant, files[0]), data, tmp_path / "t", queries=1, minimise_queries=0)
    results = repair((constant, files[0]), data, tmp_path / "t", tmp_path / "r")
    assert "the same label" in results["status"]
    assert read_json(tmp_path / "r" / "summary.json") == results


def test_seeds_that_deviate_already_are_counted(data, tmp_path):
    constant = [write_linear(tmp_path / f"{label}.onnx", sure_of=label) for label in range(2)]
    summary = search(constant, data, tmp_path / "t")["dflare"]
    assert summary["deviates_already"] == summary["seeds"]


@pytest.mark.slow
def test_groups_of_seeds_give_the_bytes_of_all_at_once_whoever_searches_them(
    files, data, tmp_path, monkeypatch
):
    search(files[:2], data, tmp_path / "whole")
    monkeypatch.setattr("asterism.dflare.trigger._GROUP", 8)
    search(files[:2], data, tmp_path / "groups")
    assert tree(tmp_path / "groups") == tree(tmp_path / "whole")

    real, calls = DflareSearch.run, []

    def dying(self):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(self)

    monkeypatch.setattr(DflareSearch, "run", dying)
    with pytest.raises(KeyboardInterrupt):
        search(files[:2], data, tmp_path / "killed", SharedWorkUnits("trigger-test", "key"))
    assert not (tmp_path / "killed").exists()
    with pytest.raises(PartEnded):
        units = SharedWorkUnits("trigger-test", "key", UnitShare(0, 1))
        search(files[:2], data, tmp_path / "killed", units)
    assert not (tmp_path / "killed").exists()
    search(files[:2], data, tmp_path / "killed", SharedWorkUnits("trigger-test", "key"))
    assert tree(tmp_path / "killed") == tree(tmp_path / "whole")
    assert len(calls) == 7  # three groups, two searches, one part begun twice


def test_findings_come_back_as_they_were(files, data, tmp_path):
    search(files[:2], data, tmp_path / "t")
    findings = SearchResult.load(tmp_path / "t" / "dflare")
    findings.save(tmp_path / "copy")
    for name in ("seeds.csv", "triggers.csv", "triggers.npz", "minimal.npz"):
        original = (tmp_path / "t" / "dflare" / name).read_bytes()
        assert (tmp_path / "copy" / name).read_bytes() == original


def test_minimal_inputs_have_one_schema_in_parts_and_in_results(files, data, tmp_path, monkeypatch):
    monkeypatch.setenv("ASTERISM_STATE_ROOT", str(tmp_path / "state"))
    search(files[:2], data, tmp_path / "t", SharedWorkUnits("trigger-schema", "key"))
    (part,) = (tmp_path / "state").rglob("dflare-0/minimal.npz")
    assert part.read_bytes() == (tmp_path / "t/dflare/minimal.npz").read_bytes()
    triggers, minimal = (
        read_arrays(tmp_path / "t/dflare" / name) for name in ("triggers.npz", "minimal.npz")
    )
    assert {name: a.shape for name, a in minimal.items()} == {
        name: a.shape for name, a in triggers.items()
    }
    for name, file in zip("fg", files, strict=False):
        assert np.array_equal(minimal[name], FileClassifier(file, UNIT).predict(minimal["items"]))


def test_other_shapes_and_classes_are_no_pair(files, data, tmp_path):
    other = write_linear(tmp_path / "shape.onnx", (9, 8, 1))
    with pytest.raises(UserError, match="no pair"):
        search((files[0], other), data, tmp_path / "t")
    other = write_linear(tmp_path / "classes.onnx", classes=7)
    with pytest.raises(UserError, match="classes apart"):
        search((files[0], other), data, tmp_path / "t")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seeds": 61}, "trigger.seeds asks for 61"),
        (
            {"operators": {"average_blur": {}, "pixel_change": {"low": 65, "high": 70}}},
            r"trigger\.operators\.pixel_change\.low is 65, but an image of 8×8",
        ),
    ],
)
def test_what_the_images_do_not_allow_is_one_line(changed, message, files, data, tmp_path):
    with pytest.raises(UserError, match=message) as error:
        search(files[:2], data, tmp_path / "t", **changed)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "t").exists()


def test_no_seeds_at_all_is_told_by_the_parameters_name():
    params = load_script(ROOT / "stages", "trigger").Params
    values = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    mine = {name: values[name] for name in params.model_fields}
    mine["trigger"]["seeds"] = 0
    with pytest.raises(UserError, match=r"trigger\.seeds is 0"):
        validate(params, mine)


def test_images_of_another_size(files, tmp_path):
    small = np.zeros((30, 5, 5, 1), np.uint8)
    labels = np.zeros(30, np.int64)
    with pytest.raises(UserError, match="takes images of shape"):
        search(files[:2], Dataset(small, labels, small, labels, CLASSES), tmp_path / "t")


def test_repair_asks_for_a_search_that_was_run(files, data, tmp_path):
    with pytest.raises(UserError, match=r"repair\.search is 'diffchaser'"):
        repair(files[:2], data, tmp_path / "t", tmp_path / "r", search="diffchaser")
