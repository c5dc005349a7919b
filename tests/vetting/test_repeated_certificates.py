"""A certificate holds as long as the files are the same and the numbers come out again."""

import json
import math
import shlex
import shutil

import pytest
import yaml
from small_vetting import digit_params

from asterism.core.files.artifacts import write_json
from asterism.core.messages.errors import UserError
from asterism.report.vetted import write_vet_page
from asterism.vetting import certificate
from asterism.vetting.certificate import check_certificate
from asterism.vetting.measurement import measure
from asterism.vetting.repairing import repair
from asterism.vetting.searching import search


@pytest.fixture
def files(digits, tmp_path):
    """A copy of the pair, to change at will."""
    return shutil.copytree(digits, tmp_path / "pair of digits")


@pytest.fixture
def noted(files, tmp_path, monkeypatch):
    """A certificate of these files; what is measured when it is repeated, and how."""
    params, calls = digit_params(files), []
    results = {"measured": {"a": 1.0}, "searches": {}, "repair": {"reason": "none"}}

    def put(name, key):
        def run(*given):
            calls.append((name, *given))
            return results[key]

        monkeypatch.setattr(certificate, name, run)

    for name, key in (("measure", "measured"), ("search", "searches"), ("repair", "repair")):
        put(name, key)
    told = {
        "parameters": yaml.safe_dump(params.model_dump(mode="json"), sort_keys=False),
        "seed": 3,
        "sha256": params.hashes(),
    }
    path = tmp_path / "told.json"

    def check(told_results, found_results, **changes):
        path.write_text(json.dumps(told | results | told_results | changes))
        results.update(found_results)
        calls.clear()
        return check_certificate(path)

    check.params, check.calls, check.path = params, calls, path
    return check


def test_everything_is_done_again_with_the_same_parameters_and_seed(noted):
    assert noted({}, {}) == []
    (measured, searched, repaired) = noted.calls
    folder = measured[-1].parent
    assert measured == ("measure", noted.params, 3, folder / "measured")
    assert searched == ("search", noted.params, 3, folder / "found")
    triggers = folder / "found/triggers.npz"
    assert repaired == ("repair", noted.params, 3, triggers, folder / "repaired")
    assert not folder.exists()


#: What a certificate tells, what is found now, and what is said of it.
VALUES = [
    (1, 1, []),
    (1, 1.0009, []),
    (1000.0, 999.0, []),
    (1, 1.002, [": 1 in the certificate, 1.002 now"]),
    (1.002, 1, [": 1.002 in the certificate, 1 now"]),
    (-1.0, 1.0, [": -1.0 in the certificate, 1.0 now"]),
    (0, 0.0, []),
    (0, 1e-9, [": 0 in the certificate, 1e-09 now"]),
    ("a", "a", []),
    ("a", "b", [": a in the certificate, b now"]),
    (True, True, []),
    (True, False, [": True in the certificate, False now"]),
    (True, 1.0001, [": True in the certificate, 1.0001 now"]),
    (1.0001, True, [": 1.0001 in the certificate, True now"]),
    (None, None, []),
    (None, 0, [": None in the certificate, 0 now"]),
    ("", None, [":  in the certificate, None now"]),
    ([], [], []),
    ([1, 2], [1, 2], []),
    ([1, 2], [1, 3], [".1: 2 in the certificate, 3 now"]),
    ([1, 2], [1], [": [1, 2] in the certificate, [1] now"]),
    ([1], 1, [": [1] in the certificate, 1 now"]),
    ({"x": {"y": 1}}, {"x": {"y": 2}}, [".x.y: 1 in the certificate, 2 now"]),
    ({"x": 1}, [1], [": {'x': 1} in the certificate, [1] now"]),
    (
        {"b": 1, "a": [{"c": 1}]},
        {"a": [{"c": 2}], "d": 4},
        [
            ".a.0.c: 1 in the certificate, 2 now",
            ".b: 1 in the certificate, None now",
            ".d: None in the certificate, 4 now",
        ],
    ),
]


def test_what_differs_by_more_than_rounding_is_named(noted):
    cases = {f"k{number:02}": case for number, case in enumerate(VALUES)}
    told, found = ({key: case[i] for key, case in cases.items()} for i in (0, 1))
    assert noted({"repair": told}, {"repair": found}) == [
        f"repair.{key}{line}" for key, (_, _, lines) in cases.items() for line in lines
    ]


def test_all_three_parts_are_compared(noted):
    told = {"measured": {"a": 1}, "searches": {"p": {"n": 2}}, "repair": {"reason": "few"}}
    found = {"measured": {"a": 2}, "searches": {"p": {"n": 3}}, "repair": {}}
    assert noted(told, found) == [
        "measured.a: 1 in the certificate, 2 now",
        "repair.reason: few in the certificate, None now",
        "searches.p.n: 2 in the certificate, 3 now",
    ]


def test_another_file_is_named_and_nothing_is_measured(noted, files):
    (files / "int8.onnx").rename(files / "damaged.onnx")
    (files / "inputs.npz").write_bytes(b"")
    assert noted({"measured": {"a": 5}}, {}) == [
        f"{name}: {files / file} is another file than the certificate is about"
        for name, file in (("compressed", "damaged.onnx"), ("inputs", "inputs.npz"))
    ]
    assert noted.calls == []
    assert len(noted({}, {}, sha256={})) == 3


def test_a_damaged_certificate_is_one_line(noted):
    noted({}, {})
    whole = json.loads(noted.path.read_text())
    for key in ("parameters", "seed", "sha256", "measured", "searches", "repair"):
        noted.path.write_text(json.dumps({name: whole[name] for name in whole if name != key}))
        with pytest.raises(UserError, match=r"the certificate .*told\.json"):
            check_certificate(noted.path)


def test_parameters_that_are_no_longer_possible_are_one_line(noted):
    text = yaml.safe_dump({"original": "x"})
    with pytest.raises(UserError, match=r"told\.json"):
        noted({}, {}, parameters=text)


def test_a_missing_file_is_one_line(noted, files):
    (files / "original.onnx").unlink()
    with pytest.raises(UserError, match=r"original\.onnx"):
        noted({}, {})


@pytest.mark.usefixtures("models_here")
def test_a_pages_certificate_says_how_to_repeat_it_and_holds(files, tmp_path):
    (tmp_path / "labels.json").write_text(json.dumps([0] * 797))
    params = digit_params(files, labels=str(tmp_path / "labels.json"), search__seeds=4)
    made = tmp_path / "artifacts"
    results = {
        "measure": measure(params, 0, made / "vet_measure"),
        "search": search(params, 0, made / "vet_search"),
        "repair": repair(params, 0, made / "vet_search/triggers.npz", made / "vet_repair"),
    }
    for name, value in results.items():
        write_json(tmp_path / f"metrics/vet_{name}.json", value)
    write_vet_page(params, 0, tmp_path, tmp_path / "page")
    (path,) = (tmp_path / "page").glob("*.json")
    whole = json.loads(path.read_text())
    assert whole["sha256"] == params.hashes()
    paths = [str(files / name) for name in ("original.onnx", "damaged.onnx", "inputs.npz")]
    check, again = map(shlex.split, whole["commands"])
    assert check == ["asterism", "vet", "--check", path.name]
    assert again == [
        *("asterism", "vet", *paths[:2], "--inputs", paths[2]),
        *("--kind", "tensors", "--comparison", "top_label"),
        *("--labels", str(tmp_path / "labels.json")),
    ]
    assert check_certificate(path) == []
    count = whole["measured"]["agreement"]["differ"]["count"]
    whole["measured"]["agreement"]["differ"]["count"] = count + 1
    path.write_text(json.dumps(whole))
    assert check_certificate(path) == [
        f"measured.agreement.differ.count: {count + 1} in the certificate, {count} now"
    ]
    assert math.isfinite(whole["repair"]["gone"])
