"""Answers that are kept: nothing is asked twice, and results are those of one longer run."""

import shlex
import shutil
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest
from small_vetting import digit_params

from asterism.asking.question import resolve_question
from asterism.asking.request import VetRequest
from asterism.core.files.artifacts import read_arrays, write_json
from asterism.core.files.hashes import hash_path
from asterism.core.files.records import record_as_json
from asterism.core.parameters.construction import NoOptions
from asterism.dflare.comparisons.labels import TopLabelComparison
from asterism.models.tensor_models.answers import OutputForm
from asterism.models.tensor_models.feeding import FeedingParams
from asterism.models.tensor_models.subjects import IsolatedFileModel
from asterism.vetting.agreement import measure_agreement
from asterism.vetting.certificate import VettedNumbers, make_certificate
from asterism.vetting.kept_answers import KeptAnswers
from asterism.vetting.measurement import DeviceFindings, measure_opened
from asterism.vetting.opening import GivenPair, open_vetted
from asterism.vetting.searching import search_opened
from places import ROOT

ITEMS = np.random.default_rng(0).random((20, 3), np.float32)


class Doubling:
    """A model that doubles, and counts what it is asked about."""

    name, classes, form, notes = "doubling", 3, OutputForm({"y": (3,)}, {"y": None}), ()

    def __init__(self):
        self.asked, self.closed = 0, False

    def predict(self, items):
        self.asked += len(items)
        return 2 * items

    def close(self):
        self.closed = True


@pytest.fixture
def kept(tmp_path, monkeypatch):
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASTERISM_STATE_ROOT", str(tmp_path / "state"))
    (tmp_path / "model.onnx").write_bytes(b"a model")

    def kept(**changes):
        feeding = {
            "input": None, "outputs": None, "constants": [], "step": None, "context": 0, "pad": 0,
            "preprocessing": None, "channels": "rgb",
        } | changes  # fmt: skip
        model = Doubling()
        return model, KeptAnswers(model, tmp_path / "model.onnx", FeedingParams(**feeding), ITEMS)

    return kept


def test_no_process_asks_what_another_has_asked(kept):
    first, answers = kept()
    with answers:
        assert (answers.predict(ITEMS[:12]) == 2 * ITEMS[:12]).all()
        assert (answers.predict(ITEMS[5:15]) == 2 * ITEMS[5:15]).all()
        assert first.asked == 15
    assert first.closed
    later, answers = kept()
    with answers:
        assert (answers.predict(ITEMS[::-1]) == 2 * ITEMS[::-1]).all()
    assert later.asked == 5


def test_a_model_that_is_fed_otherwise_is_another(kept):
    for how in ({}, {"pad": 1}):
        model, answers = kept(**how)
        with answers:
            answers.predict(ITEMS)
        assert model.asked == 20


def test_what_is_damaged_is_asked_again(kept, tmp_path):
    _, answers = kept()
    with answers:
        answers.predict(ITEMS)
    (file,) = (tmp_path / "state").glob("units/*/*/*/answers.npz")
    file.write_bytes(file.read_bytes()[:-9])
    model, answers = kept()
    with answers:
        assert (answers.predict(ITEMS) == 2 * ITEMS).all()
    assert model.asked == 20


def test_no_more_is_kept_than_there_is_room_for(kept, monkeypatch):
    monkeypatch.setattr("asterism.vetting.kept_answers._ROOM", 8 * ITEMS[0].nbytes)
    for asked in (20, 12):
        model, answers = kept()
        with answers:
            assert (answers.predict(ITEMS) == 2 * ITEMS).all()
        assert model.asked == asked


#: What a few minutes leave, of what more of them do.
FEW = {"limit": 60, "changes__inputs": 4, "search__seeds": 5, "search__queries": 10}
MORE = {"limit": 150, "changes__inputs": 9, "search__seeds": 12, "search__queries": 24}


@pytest.fixture
def asked(monkeypatch):
    """How many inputs the two files have been asked about, by name."""
    counts = {}
    predict = IsolatedFileModel.predict

    def counted(model, items):
        counts[model.name] = counts.get(model.name, 0) + len(items)
        return predict(model, items)

    monkeypatch.setattr(IsolatedFileModel, "predict", counted)
    return counts


def test_a_longer_run_asks_the_rest_and_finds_what_it_would_have_found_alone(
    digits, kept, asked, tmp_path
):
    def vetted(name, counts, keep):
        params, folder = digit_params(digits, **counts), tmp_path / name
        asked.clear()
        given = GivenPair.by_files(params, keeps_answers=keep)
        found = []
        for work, place in ((measure_opened, "measured"), (search_opened, "found")):
            with open_vetted(params, 0, given) as pair:
                found.append(work(pair, 0, folder / place))
        return *found, read_arrays(folder / "found/triggers.npz"), sum(asked.values())

    *_, short = vetted("short", FEW, True)
    *went_on, rest = vetted("went_on", MORE, True)
    *alone, all_of_it = vetted("alone", MORE, False)
    assert went_on[:2] == alone[:2]
    assert all((went_on[2][name] == array).all() for name, array in alone[2].items())
    assert 0 < short < all_of_it and short + rest < all_of_it


def question(digits, earlier=None, minutes=0.5, **changes):
    """What a command line comes to; half a minute suffices for nothing but the least of all."""
    request = VetRequest(
        **{
            "original": digits / "original.onnx",
            "compressed": digits / "damaged.onnx",
            "inputs": digits / "inputs.npz",
            "minutes": minutes,
            "earlier": earlier,
        }
        | changes
    )
    return resolve_question(request, ROOT / "conf").params


def certified(params, file, digits):
    """A certificate that says that so much was asked."""
    rows = np.eye(10, dtype=np.float32)[[1, 2]]
    agreement = measure_agreement(rows, rows, TopLabelComparison(NoOptions(), ()), None, 0.95)
    measured = {
        "symptoms": [],
        "device": asdict(DeviceFindings(None, (), ())),
        "agreement": record_as_json(agreement),
        "flips": [],
    }
    files = {name: hash_path(digits / path) for name, path in FILES.items()}
    certificate = make_certificate(
        params, 0, VettedNumbers(measured, {}, {"reason": "none"}), files
    )
    write_json(file, record_as_json(certificate))
    return file


FILES = {"original": "original.onnx", "compressed": "damaged.onnx", "inputs": "inputs.npz"}


def test_the_same_command_goes_on_where_minutes_were_too_few(digits, tmp_path):
    first = question(digits)
    assert first.goes_on and first.budget.minutes == 0.5
    assert "search.seeds 8 instead of 100" in first.budget.left_out
    file = certified(first, tmp_path / "first.json", digits)
    second = question(digits, file)
    assert second.search.seeds > first.search.seeds and second.limit >= first.limit
    assert second.budget is None or second.budget.minutes == 1
    assert question(digits, file, minutes=60).budget is None
    whole = certified(question(digits, minutes=60), tmp_path / "whole.json", digits)
    assert question(digits, whole) == question(digits, minutes=60).model_copy(
        update={"asked": ["--minutes", "0.5"]}
    ), "all was asked, and is not asked again in part"


@pytest.mark.parametrize("change", ["comparison", "inputs", "no certificate"])
def test_another_question_begins_anew(digits, tmp_path, change):
    file = certified(question(digits), tmp_path / "first.json", digits)
    asked = {}
    if change == "comparison":
        asked["comparison"] = "regression"
    elif change == "inputs":
        asked["inputs"] = tmp_path / "inputs.npz"
        given = np.load(digits / "inputs.npz")
        np.savez(asked["inputs"], inputs=given["inputs"][::-1], labels=given["labels"][::-1])
    else:
        file.write_text("{}")
    assert question(digits, file, **asked).budget.minutes == 0.5


def test_the_certificate_says_the_counts_and_not_the_minutes(digits):
    params = question(digits, overrides=["vet.search.queries=50"])
    _, page = params.commands()
    assert "--minutes" not in page and page.count("vet.search.queries=50") == 1
    again = shlex.split(page)
    overrides = [word for flag, word in pairwise(again) if flag == "-S"]
    assert "vet.search.seeds=8" in overrides
    assert question(digits, minutes=None, overrides=overrides).counts() == params.counts()
