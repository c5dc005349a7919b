"""The page about a vetted pair and its certificate, on results made by hand."""

import hashlib
import json
from importlib.metadata import version

import numpy as np
import polars as pl
import pytest
import yaml

from asterism.core.files.artifacts import write_arrays, write_table
from asterism.core.files.records import record_as_json
from asterism.report.base.pictures import png
from asterism.report.vetted import page as vetted
from asterism.vetting.params import VetParams
from extras import needs
from report.page_parts import plain, rows
from report.vetted_results import (
    AGREEMENT,
    FACTS,
    FLIPS,
    IMAGES,
    MET,
    REPAIR,
    SEARCHES,
    STRICT,
    UNREPAIRED,
    Results,
    share,
)


@pytest.fixture
def figures(drawn):
    """What is drawn, by what it shows."""
    return drawn(vetted)


@pytest.fixture
def results(tmp_path, figures):
    return Results(tmp_path)


@pytest.mark.parametrize(
    ("changed", "repair", "word"),
    [
        ({}, UNREPAIRED, "ship"),
        ({"natural_flips": 0.005}, UNREPAIRED, "do not ship"),
        ({"natural_flips": 0.1}, UNREPAIRED, "not enough inputs to say"),
        ({"agreement": 0.999}, UNREPAIRED, "do not ship"),
        ({"agreement": 0.999}, REPAIR, "ship with the repair"),
        ({"agreement": 0.999}, REPAIR | {"agreement_fell": True}, "do not ship"),
        ({"agreement": 0.999}, REPAIR | {"criteria": [MET | {"met": False}]}, "do not ship"),
    ],
)
def test_the_verdict_goes_by_the_thresholds_and_by_a_repair_that_keeps_them(
    results, changed, repair, word
):
    results.thresholds, results.repair = STRICT | changed, repair
    if repair is not UNREPAIRED:
        results.leave_ranking(1)
    verdict = results.write()
    assert verdict.word == word
    assert f"<b>{word}</b>" in results.page
    assert all(reason in plain(results.page) for reason in verdict.reasons)
    counts = repair is not UNREPAIRED and not repair["agreement_fell"]
    assert ("repaired: agreement" in plain(results.page)) == counts


def test_the_confidence_is_that_of_the_interval_of_the_accuracy_that_was_lost(results):
    def interval():
        (lost,) = [c for c in results.write().criteria if c.name == "accuracy lost"]
        return lost.measured.low, lost.measured.high

    wide = interval()
    results.confidence = 0.6
    narrow = interval()
    assert wide[0] < narrow[0] < 4 / 200 < narrow[1] < wide[1]
    assert "60.0% interval" in plain(results.page)


def test_natural_changes_are_judged_where_they_were_tried(results):
    results.measured["flips"] = FLIPS[:1]
    assert len(results.write().criteria) == 3
    assert "slight" not in " ".join(results.write().reasons)


def test_the_page_tells_how_often_the_models_differ(results):
    results.write()
    told = rows(results.page)
    for row in (
        ["differ on the given inputs", "6", "200", "3.0%", "1.1% to 6.4%"],
        ["accuracy of big.onnx", "180", "200", "90.0%", "85.0% to 94.0%"],
        ["accuracy of small.tflite", "176", "200", "88.0%", "83.0% to 92.0%"],
        ["right to wrong", "5", "200", "", ""],
        ["Kullback–Leibler divergence, nats", "0.25", "0.5", "0.75", "1"],
        ["margin lost", "0.5", "1", "1.5", "2"],
        ["strong", "l2 8", "30.0%", "14.0% to 50.0%", "0", "20.0%", "10.0%", "–"],
        ["slight", "–", "3.3%", "1.0% to 17.0%", "2", "3.3%", "–", "0.0%"],
        ["paper", "20", "35.0%", "12.3"],
        ["uniform", "20", "0.0%", "–"],
    ):
        assert row in told
    text = plain(results.page)
    assert "distance of the outputs" not in text
    assert "On 2 inputs" in text
    assert "small.tflite beside big.onnx" in text
    assert "Searched within l2 8." in text
    assert "no trigger" in text
    assert "nothing deviates" in text and "Nothing deviates." in text
    assert "small.tflite its input is quantised" in text
    assert "<th>blur</th><th>noise</th><th>shade</th>" in results.page
    page = results.page
    summary = plain(page[page.index('id="summary"') : page.index('id="vet-title"')])
    for name, value in (
        ("verdict", "ship"),
        ("differ on the given inputs", "3.0%"),
        ("accuracy of the original", "90.0%"),
        ("accuracy of the compressed model", "88.0%"),
    ):
        assert f"{value} {name}" in summary


def test_the_page_tells_what_a_repair_does(results):
    results.repair = REPAIR
    tables = results.root / "artifacts/vet_repair"
    results.leave_ranking(20)
    curve = {
        **{"nodes_in_float": range(30), "nodes_with_finer_scales": [2] * 30, "bits": [8] * 30},
        **{"nodes_with_finest_weights": [1] * 30, "bytes": [4321] * 30, "gone": [0.75] * 30},
        **{"expected": [0.5] * 15 + [-0.25] * 15, "milliseconds": [1.5] * 30},
    }
    write_table(tables / "curve.csv", pl.DataFrame(curve))
    results.write()
    told = rows(results.page)
    assert [row[0] for row in told if row[0].startswith("node_")] == [
        f"node_{n}" for n in range(15)
    ]
    assert ["node_3", "Conv", "50.0%", "25.0%", "0.0123"] in told
    assert [row for row in told if row[1:6] == ["2", "8", "1", "4,321", "75.0%"]] == [
        [str(n), "2", "8", "1", "4,321", "75.0%", "50.0%" if n < 15 else "0.0%", "1.500"]
        for n in range(30)
    ]
    for row in (
        ["differ from the original", "6.0% of 100 (2.0% to 13.0%)", "1.0% of 100 (0.0% to 5.0%)"],
        [
            "seeds with a triggering input, new search paper",
            "35.0% of 20 (15.0% to 60.0%)",
            "5.0% of 20 (0.0% to 25.0%)",
        ],
        [
            "flip under strong natural changes",
            "30.0% of 30 (14.0% to 50.0%)",
            "13.3% of 30 (4.0% to 31.0%)",
        ],
        [
            "flip under slight natural changes",
            "3.3% of 30 (1.0% to 17.0%)",
            "0.0% of 30 (0.0% to 12.0%)",
        ],
        [
            "deviations of the compressed model that are gone",
            "–",
            "75.0% of 4 (20.0% to 99.0%)",
        ],
    ):
        assert row in told
    assert "1 of 7 " in plain(results.page)


@needs("ai_edge_litert")  # the certificate states its version
@pytest.mark.parametrize("repaired", [True, False])
def test_beside_the_page_lie_its_certificate_and_the_repaired_file(results, repaired):
    results.folder.mkdir(parents=True)
    (results.folder / "old").touch()
    if repaired:
        file = results.root / "artifacts/vet_repair/repaired.onnx"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"repaired")
    verdict = results.write()
    names = ["certificate.json", "index.html", *["repaired.onnx"] * repaired]
    assert sorted(path.name for path in results.folder.iterdir()) == names
    if repaired:
        assert (results.folder / "repaired.onnx").read_bytes() == b"repaired"
    certificate = json.loads((results.folder / "certificate.json").read_text())
    asked = yaml.safe_load(certificate.pop("parameters"))
    assert asked == results.params.model_dump(mode="json")
    assert list(asked) == list(VetParams.model_fields), "their order counts"
    names = {"original": "big.onnx", "compressed": "small.tflite"}
    digests = certificate.pop("sha256")
    assert digests.keys() == {*names, "inputs"}
    for key, name in names.items():
        assert digests[key] == hashlib.sha256(f"this is {name}".encode()).hexdigest()
    assert certificate == {
        "verdict": record_as_json(verdict),
        "versions": {
            name: version(name)
            for name in ("onnxruntime", "ai-edge-litert", "tensorflow", "numpy", "asterism")
        },
        "commands": results.params.commands(),
        "seed": 5,
        "measured": results.measured,
        "searches": SEARCHES,
        "repair": results.repair,
    }


def leave_triggers(results, count):
    items = np.stack([IMAGES[n % 5] for n in range(count)])
    write_arrays(
        results.root / "artifacts/vet_search/triggers.npz",
        items=items,
        references=255 - items,
        seeds=np.arange(count) * 2,
        right=np.linspace(0, 0.5, count, dtype=np.float32),
        wrong=np.linspace(1, 0.5, count, dtype=np.float32),
    )


def test_each_triggering_input_stands_beside_its_seed(results):
    leave_triggers(results, 3)
    results.write()
    told, places = rows(results.page), []
    for n in range(3):
        assert [f"image {2 * n}.png", "", "", f"{0.25 * n:.3f}", f"{1 - 0.25 * n:.3f}"] in told
        for image, name in ((255 - IMAGES[n], "the seed"), (IMAGES[n], "the triggering input")):
            places.append(results.page.index(str(png(image, name))))
    assert places == sorted(places)
    assert "3 triggering inputs" in plain(results.page)


def test_what_is_no_image_has_no_picture_and_only_the_first_are_shown(results):
    leave_triggers(results, 17)
    results.facts = FACTS | {"kind": "tensors"}
    results.write()
    told = [row for row in rows(results.page) if row[0].startswith("image ")]
    assert [row[0] for row in told] == [f"image {2 * n}.png" for n in range(12)]
    assert told[0] == ["image 0.png", "0.000", "1.000"] and {len(row) for row in told} == {3}


def test_classes_have_their_shares_the_worst_first(results, figures):
    results.measured["agreement"] = AGREEMENT | {"classes": {}}
    results.write()
    assert "classes" not in figures
    counts = {str(label): count for label, count in enumerate([3, 9, 0, 5])}
    classes = {label: share(n, 10, n / 20, n / 10 + 0.05) for label, n in counts.items()}
    results.measured["agreement"] = AGREEMENT | {"classes": classes}
    results.facts = FACTS | {"classes": ["cat", "dog", "hen"]}
    results.write()
    shown = figures["classes"].data
    assert shown["class"].to_list() == ["dog", "3", "cat", "hen"]
    assert shown["share"].to_list() == [0.9, 0.5, 0.3, 0]


def test_errors_of_tensors_stand_in_their_order_and_what_is_no_number_is_left_out(results, figures):
    results.write()
    assert "errors" not in figures
    table = {"relative_l2": ["0.5", "inf", "0.25"], "own_relative_l2": ["nan", "0.125", "2"]}
    write_table(results.root / "artifacts/vet_repair/tensors.csv", pl.DataFrame(table))
    results.write()
    shown = figures["errors"]
    assert shown.data.columns == list(table)
    drawn, own = (line.get_ydata() for line in shown.figure.axes[0].lines)
    assert np.array_equal(drawn, [0.5, np.nan, 0.25], equal_nan=True)
    assert np.array_equal(own, [np.nan, 0.125, 2], equal_nan=True)
