"""Vetting from Python: the same numbers as the stages', and a page that says what is returned."""

import doctest
import importlib
import json
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest
import structlog
from small_vetting import with_files

import asterism
from asterism.api.vetting import vet
from asterism.asking.question import resolve_question
from asterism.asking.request import VetRequest
from asterism.core.files.records import record_as_json
from asterism.core.messages.errors import UserError
from asterism.vetting.measurement import measure_opened
from asterism.vetting.repairing import repair_opened
from asterism.vetting.searching import search_opened
from places import ROOT

FEW = [
    "vet.limit=300",
    "vet.changes.inputs=20",
    "vet.search.seeds=8",
    "vet.search.queries=20",
    "vet.search.bound.limit=0.05",
    "vet.repair.evaluations=8",
]


def session(path):
    """A function of arrays that a model file computes."""
    opened = onnxruntime.InferenceSession(path)
    return lambda rows: opened.run(None, {"x": rows})[0]


@pytest.fixture(scope="module")
def given(digits):
    with np.load(digits / "inputs.npz") as arrays:
        return arrays["inputs"], arrays["labels"]


@pytest.fixture(scope="module")
def stages(digits, tmp_path_factory):
    """What the stages find for the files."""
    files = {name: digits / name for name in ("original.onnx", "damaged.onnx", "inputs.npz")}
    request = VetRequest(
        **dict(zip(("original", "compressed", "inputs"), files.values(), strict=True)),
        comparison="top_label",
        overrides=FEW,
    )
    params, folder = (
        resolve_question(request, ROOT / "conf").params,
        tmp_path_factory.mktemp("stages"),
    )
    return [
        with_files(measure_opened, params, 0, folder / "measured"),
        with_files(search_opened, params, 0, folder / "found"),
        with_files(repair_opened, params, 0, folder / "found/triggers.npz", folder / "repaired"),
    ]


@pytest.fixture(scope="module")
def functions(digits, given):
    """Two functions of the caller's that compute what the files do."""
    pair = (session(digits / name) for name in ("original.onnx", "damaged.onnx"))
    return vet(*pair, *given, comparison="top_label", overrides=FEW)


def test_functions_give_the_numbers_that_the_stages_give_for_files(functions, stages):
    measured, searches, _ = stages
    assert record_as_json(functions.agreement) == measured["agreement"]
    assert [record_as_json(flips) for flips in functions.flips] == measured["flips"]
    assert {name: found["success_rate"] for name, found in functions.searches.items()} == {
        name: found["success_rate"] for name, found in searches.items()
    }
    assert functions.repair == {
        "reason": "parts are exchanged between two files of one format, or between two modules of "
        "PyTorch"
    }


@pytest.mark.slow
def test_files_give_the_numbers_that_the_stages_give(digits, stages):
    files = (digits / name for name in ("original.onnx", "damaged.onnx", "inputs.npz"))
    found = vet(*files, comparison="top_label", overrides=FEW)
    assert record_as_json(found.agreement) == stages[0]["agreement"]
    assert found.repair.keys() == stages[2].keys()
    assert found.repair.get("blamed") == stages[2].get("blamed")


def test_functions_take_inputs_and_labels_from_files(tmp_path, given):
    rows = given[0][:40]
    labels = rows[:, 20:23].argmax(axis=1)
    files = tmp_path / "rows.npy", tmp_path / "labels.json"
    np.save(files[0], rows)
    files[1].write_text(json.dumps(labels.tolist()))
    few = {"comparison": "top_label", "overrides": FEW[1:]}
    pair = (lambda x: x[:, 20:23], lambda x: x[:, 20:23].round())
    found, same = (vet(*pair, *inputs, **few) for inputs in (files, (rows, labels)))
    assert found.agreement == same.agreement
    assert found.labels.tolist() == labels.tolist()


def test_the_page_and_the_certificate_say_what_the_call_returns(functions, tmp_path):
    page = functions.page(tmp_path / "page")
    assert functions.verdict in page.read_text()
    certificate = json.loads((tmp_path / "page/certificate.json").read_text())
    assert certificate["verdict"]["word"] == functions.verdict
    assert certificate["measured"]["agreement"] == record_as_json(functions.agreement)
    assert functions.page(tmp_path / "page").read_bytes() == page.read_bytes()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/data.txt").write_text("mine")
    with pytest.raises(UserError, match="other files"):
        functions.page(tmp_path / "mine")


def test_a_result_is_read_as_text_as_html_and_as_a_table(functions, given):
    table = functions.to_frame()
    assert table.height == len(functions.differs) == 300
    assert table["differs"].sum() == functions.agreement.differ.count > 0
    assert (table.filter("differs")["original"] != table.filter("differs")["compressed"]).all()
    chosen = np.array(list(map(int, functions.names)))
    assert table["label"].to_list() == given[1][chosen].tolist()
    for told in (repr(functions), functions._repr_html_()):
        assert functions.verdict in told
        assert functions.reasons[0] in told


def test_what_has_to_be_said_is_asked_for_in_pythons_words(given):
    rows = given[0]
    with pytest.raises(UserError, match=r"comparison=") as error:
        vet(lambda x: x[:, :20], lambda x: x[:, :20], rows)
    assert "--" not in str(error.value)


@pytest.mark.parametrize(
    ("inputs", "labels"),
    [(np.zeros(3), None), (np.zeros((0, 2)), None), (["a", "b"], None), (np.ones((3, 2)), [1])],
)
def test_inputs_that_fit_nothing_are_one_line(inputs, labels):
    with pytest.raises(UserError):
        vet(np.sin, np.sin, inputs, labels)


def test_a_function_that_fails_says_why_and_keeps_its_traceback(given):
    def broken(rows):
        raise ValueError("no such weights")

    with pytest.raises(UserError, match="no such weights") as error:
        vet(broken, np.sin, given[0])
    assert isinstance(error.value.__cause__, ValueError)


def test_an_input_on_which_a_function_fails_has_no_answer(given):
    rows = given[0][:40]

    def moody(x):
        if (x[:, None] == rows[31]).all(axis=-1).any():
            raise ValueError("not this one")
        return x[:, 20:23] * 2

    found = vet(lambda x: x[:, 20:23], moody, rows, comparison="top_label", overrides=FEW[1:])
    assert found.agreement.lost == 1
    assert np.isnan(found.compressed[31]).all()


def test_importing_takes_no_framework():
    frameworks = ["torch", "tensorflow", "keras", "jax", "onnxruntime", "dvc", "hydra", "numpy"]
    program = (
        "import sys, asterism; assert asterism.__version__; "
        f"print([name for name in {frameworks} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_all_that_is_offered_is_there():
    for name in asterism.__all__:
        assert getattr(asterism, name) is not None
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = asterism.nothing_of_the_kind


def test_models_of_keras_are_models_too():
    keras = pytest.importorskip("keras")
    keras.utils.set_random_seed(0)
    net = keras.Sequential([keras.Input((6,)), keras.layers.Dense(3, activation="softmax")])
    other = keras.models.clone_model(net)
    other.set_weights([weights.round(1) for weights in net.get_weights()])
    rows = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)
    found = vet(net, other, rows, overrides=FEW[1:])
    wanted = [model.predict(rows, verbose=0).argmax(axis=1) for model in (net, other)]
    assert found.agree == pytest.approx((wanted[0] == wanted[1]).mean())
    assert found.parameters.comparison.kind == "top_label"


#: It starts every installed library.
_LIBRARIES = pytest.param("api.libraries", marks=pytest.mark.slow)


@pytest.mark.parametrize("name", ["api.judging", _LIBRARIES, "api.states", "api.vetting", "pytest"])
def test_examples_in_docstrings_hold(name):
    structlog.reset_defaults()  # as in a fresh interpreter: other tests capture lines
    try:
        found = doctest.testmod(importlib.import_module(f"asterism.{name}"), raise_on_error=True)
    except doctest.UnexpectedException as failure:
        raise failure.exc_info[1] from None
    assert found.attempted
    assert not found.failed
