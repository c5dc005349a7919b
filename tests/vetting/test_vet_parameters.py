"""Parameters of vetting: what they need of each other, and which files they are about."""

import hashlib
from pathlib import Path

import pytest
from small_vetting import digit_params, vet_params

from asterism.core.files.user_files import NO_FILE
from asterism.core.messages.errors import UserError
from asterism.vetting.opening import GivenPair

NOISE = {"noise": {"low": 0.0, "high": 0.1}}
KINDS = ("bytes", "images", "sound", "tensors", "tokens")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "tokens"])
def test_the_parameters_of_each_kind_are_possible(kind):
    assert vet_params(kind).domain.kind == kind


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"search__operators": {}}, "search.operators are empty: choose a kind of inputs"),
        ({"changes__slight": "mild"}, "changes.slight names no strength: 'mild'"),
        ({"search__operators": {"noise": {"lo": 1}}}, "noise"),
        ({"changes__strengths": {"slight": {"brightness": {}}}}, "brightness"),
        ({"changes__strengths": {"slight": NOISE, "b": {"noise": {"low": -1.0}}}}, "noise"),
        ({"search__bound": {"measure": "snr", "limit": 1.0}}, "snr"),
        ({"changes__bounds": [{"measure": "grey", "limit": 1.0}]}, "grey"),
        ({"domain": {"kind": "tensors", "options": {"lowest": 1}}}, "lowest"),
    ],
)
def test_what_does_not_fit_together_is_one_line(changes, reason):
    with pytest.raises(UserError, match=reason):
        vet_params(**changes)


def test_where_nothing_is_vetted_nothing_has_to_fit():
    changes = {"search__operators": {}, "changes__slight": "mild"}
    assert vet_params(source="none", **changes).source == "none"


def test_results_depend_on_all_files(tmp_path):
    files = {name: f"{name}.x" for name in ("original", "compressed", "inputs", "labels")}
    params = vet_params(**files)
    assert params.files == tuple(files.values())
    assert params.label_file == Path("labels.x")
    assert vet_params(labels=NO_FILE).label_file is None


def test_files_are_known_by_their_content(tmp_path):
    (tmp_path / "inputs").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "inputs" / name).write_text(name)
    for name in ("original.onnx", "damaged.onnx"):
        (tmp_path / name).write_text(name)
    params = digit_params(tmp_path, inputs=str(tmp_path / "inputs"))
    hashes = GivenPair.by_files(params).hashes(None)
    assert list(hashes) == ["original", "compressed", "inputs"]
    assert hashes["original"] == hashlib.sha256(b"original.onnx").hexdigest()
    assert hashes["compressed"] == hashlib.sha256(b"damaged.onnx").hexdigest()
    (tmp_path / "inputs/b.txt").write_text("c")
    now = GivenPair.by_files(params).hashes(None)
    assert now == hashes | {"inputs": now["inputs"]} != hashes
