"""The page about a vetted pair and its certificate, on results made by hand."""

import hashlib
import json
from copy import deepcopy
from functools import cache
from importlib.metadata import version

import numpy as np
import polars as pl
import pytest
import yaml
from matplotlib.colors import to_hex

from asterism.core.files.artifacts import write_arrays, write_json, write_table
from asterism.core.parameters.params import validate
from asterism.report import vetted
from asterism.report.pictures import png
from asterism.report.vetted import write_vet_page
from asterism.vetting.params import VetParams
from places import ROOT
from report.page_parts import plain, rows

IMAGES = np.arange(5 * 12, dtype=np.uint8).reshape(5, 2, 2, 3)


def share(count, total, low, high):
    return {"count": count, "total": total, "share": count / total, "low": low, "high": high}


def quantiles(first):
    return {"median": first, "p90": 2 * first, "p99": 3 * first, "largest": 4 * first}


AGREEMENT = {
    "differ": share(6, 200, 0.011, 0.064),
    "failed": 2,
    "accuracy": [share(180, 200, 0.85, 0.94), share(176, 200, 0.83, 0.92)],
    "directions": {"right to wrong": 5, "wrong to right": 1, "wrong to other wrong": 0},
    "classes": {"0": share(1, 100, 0.0, 0.05), "1": share(5, 100, 0.02, 0.11)},
    "divergence": quantiles(0.25),
    "margin_lost": quantiles(0.5),
    "distance": {},
}
FLIPS = [
    {
        **{"strength": "strong", "bound": "l2 8", "share": share(9, 30, 0.14, 0.5)},
        "by_change": {"blur": share(6, 30, 0.07, 0.39), "noise": share(3, 30, 0.02, 0.27)},
    },
    {
        **{"strength": "slight", "bound": "", "share": share(1, 30, 0.01, 0.17)},
        "by_change": {"blur": share(1, 30, 0.01, 0.17), "shade": share(0, 30, 0.0, 0.12)},
    },
]
SEARCHES = {
    "paper": {"seeds": 20, "success_rate": 0.35, "mean_queries": 12.34},
    "uniform": {"seeds": 20, "success_rate": 0.0, "mean_queries": None},
}
MET = {
    **{"name": "agreement on the given inputs", "measured": share(99, 100, 0.94, 1.0)},
    **{"threshold": 0.9, "at_least": True, "met": True},
}
REPAIR = {
    **{"bytes": 4000, "bytes_before": 3000, "bytes_original": 9000, "bits": 8},
    **{"nodes_in_float": 1, "quantised_nodes": 7, "nodes_with_finer_scales": 2},
    **{"criteria": [MET], "agreement_fell": False, "differ_before": share(6, 100, 0.02, 0.13)},
    **{"agreement": {"differ": share(1, 100, 0.0, 0.05)}, "gone_held_out": share(3, 4, 0.2, 0.99)},
    "new_search": {
        "paper": {"before": share(7, 20, 0.15, 0.6), "after": share(1, 20, 0.0, 0.25)},
    },
    "flips": [
        {"strength": "strong", "share": share(4, 30, 0.04, 0.31)},
        {"strength": "slight", "share": share(0, 30, 0.0, 0.12)},
    ],
}
UNREPAIRED = {"reason": "nothing deviates"}
FACTS = {
    **{"kind": "images", "classes": ["cat", "dog"]},
    "names": [f"image {n}.png" for n in range(40)],
    "notes": {"small.tflite": ["its input is quantised"], "big.onnx": []},
}
STRICT = {"agreement": 0.9, "accuracy_lost": 0.2, "worst_class": 0.8, "natural_flips": 0.5}


@cache
def parameters():
    """Those of this project, under which nothing is vetted."""
    return yaml.safe_load((ROOT / "params.yaml").read_text())["vet"]


class Results:
    """A workspace with the results of vetting, and the page about them."""

    def __init__(self, root):
        self.root, self.folder = root, root / "report/vet"
        self.measured = {"agreement": AGREEMENT, "flips": FLIPS}
        self.repair, self.facts, self.thresholds = UNREPAIRED, FACTS, STRICT
        self.confidence = 0.95
        write_arrays(
            root / "artifacts/vet_search/triggers.npz", items=IMAGES[:0], seeds=np.zeros(0, int)
        )
        for name in ("big.onnx", "small.tflite", "inputs.npz"):
            (root / name).write_text(f"this is {name}")

    @property
    def params(self):
        document = deepcopy(parameters())
        names = {"original": "big.onnx", "compressed": "small.tflite", "inputs": "inputs.npz"}
        document |= {key: str(self.root / name) for key, name in names.items()}
        document |= {"thresholds": self.thresholds, "confidence": self.confidence}
        document["search"]["bound"] = {"measure": "l2", "limit": 8.0}
        return validate(VetParams, document)

    def leave_ranking(self, count):
        """A ranking of so many nodes."""
        ranking = {
            **{"node": [f"node_{n}" for n in range(count)], "operator": ["Conv"] * count},
            **{"explained": [0.5] * count, "error_explained": [0.25] * count},
            "own_error": [0.0123] * count,
        }
        write_table(self.root / "artifacts/vet_repair/ranking.csv", pl.DataFrame(ranking))

    def write(self):
        """Write the page; its verdict."""
        write_json(self.root / "metrics/vet_measure.json", self.measured)
        write_json(self.root / "metrics/vet_search.json", SEARCHES)
        write_json(self.root / "metrics/vet_repair.json", self.repair)
        write_json(self.root / "artifacts/vet_measure/inputs.json", self.facts)
        return write_vet_page(self.params, 5, self.root, self.folder)

    @property
    def page(self):
        return (self.folder / "index.html").read_text()


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
    assert ("repaired: agreement" in plain(results.page)) == (word == "ship with the repair")


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
    results.measured = {"agreement": AGREEMENT, "flips": FLIPS[:1]}
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
        ["strong", "l2 8", "30.0%", "14.0% to 50.0%", "20.0%", "10.0%", "–"],
        ["slight", "–", "3.3%", "1.0% to 17.0%", "3.3%", "–", "0.0%"],
        ["paper", "20", "35.0%", "12.3"],
        ["uniform", "20", "0.0%", "–"],
    ):
        assert row in told
    text = plain(results.page)
    assert "distance of the outputs" not in text
    assert "On 2 inputs a model gave no finite answer" in text
    assert "small.tflite beside big.onnx" in text
    assert "Searched within l2 8." in text
    assert "The search found no trigger." in text
    assert "No node was localised: nothing deviates. " in text and "Nothing deviates." in text
    assert "small.tflite its input is quantised" in text
    assert "<th>blur</th><th>noise</th><th>shade</th>" in results.page
    head = results.page[: results.page.index("The verdict")]
    for name, value in (
        ("verdict", "ship"),
        ("differ on the given inputs", "3.0%"),
        ("accuracy of the original", "90.0%"),
        ("accuracy of the compressed model", "88.0%"),
    ):
        assert name in plain(head) and value in plain(head)


def test_the_page_tells_what_a_repair_does(results):
    results.repair = REPAIR
    tables = results.root / "artifacts/vet_repair"
    results.leave_ranking(20)
    curve = {
        **{"nodes_in_float": range(30), "nodes_with_finer_scales": [2] * 30, "bits": [8] * 30},
        **{"bytes": [4321] * 30, "gone": [0.75] * 30, "milliseconds": [1.5] * 30},
    }
    write_table(tables / "curve.csv", pl.DataFrame(curve))
    results.write()
    told = rows(results.page)
    assert [row[0] for row in told if row[0].startswith("node_")] == [
        f"node_{n}" for n in range(15)
    ]
    assert ["node_3", "Conv", "50.0%", "25.0%", "0.0123"] in told
    assert [row for row in told if row[1:] == ["2", "8", "4,321", "75.0%", "1.500"]] == [
        [str(n), "2", "8", "4,321", "75.0%", "1.500"] for n in range(30)
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
    assert "1 of 7 quantised nodes in float" in plain(results.page)


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
        "verdict": verdict.to_json(),
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


class TestTriggers:
    """The triggering inputs that the page shows."""

    def leave(self, results, count, **more):
        items = np.stack([IMAGES[n % 5] for n in range(count)])
        write_arrays(
            results.root / "artifacts/vet_search/triggers.npz",
            items=items,
            references=255 - items,
            seeds=np.arange(count) * 2,
            right=np.linspace(0, 0.5, count, dtype=np.float32),
            wrong=np.linspace(1, 0.5, count, dtype=np.float32),
            **more,
        )

    def shown(self, results):
        return vetted._triggers(results.root / "artifacts/vet_search/triggers.npz", results.facts)

    def test_each_stands_beside_its_seed(self, results):
        self.leave(results, 3)
        assert self.shown(results) == [
            {
                **{"name": f"image {2 * n}.png", "right": 0.25 * n, "wrong": 1 - 0.25 * n},
                "before": png(255 - IMAGES[n], "the seed"),
                "after": png(IMAGES[n], "the triggering input"),
            }
            for n in range(3)
        ]
        results.write()
        assert ["image 2.png", "", "", "0.250", "0.750"] in rows(results.page)
        assert "3 triggering inputs of the search" in plain(results.page)

    def test_what_is_no_image_has_no_picture_and_only_the_first_are_shown(self, results):
        self.leave(results, 17)
        results.facts = FACTS | {"kind": "tensors"}
        shown = self.shown(results)
        assert [entry["name"] for entry in shown] == [f"image {2 * n}.png" for n in range(12)]
        assert {tuple(entry) for entry in shown} == {("name", "right", "wrong")}
        results.write()
        assert ["image 0.png", "0.000", "1.000"] in rows(results.page)


class TestFigures:
    """Figures before they are drawn."""

    def test_classes_are_bars_with_intervals_the_worst_on_top(self, figures):
        counts = [3, 9, 0, 5]
        classes = {
            str(label): share(count, 10, count / 20, count / 10 + 0.05)
            for label, count in enumerate(counts)
        }
        vetted._classes(classes, ["cat", "dog", "hen"])
        (figure,) = figures.values()
        (axes,) = figure.axes
        names = [label.get_text() for label in axes.get_yticklabels()]
        assert names == ["hen", "cat", "3", "dog"]
        assert [bar.get_width() for bar in axes.patches] == [0, 0.3, 0.5, 0.9]
        (intervals,) = axes.collections
        ends = [segment[:, 0].tolist() for segment in intervals.get_segments()]
        expected = [[count / 20, count / 10 + 0.05] for count in (0, 3, 5, 9)]
        assert np.allclose(ends, expected)
        assert {to_hex(bar.get_facecolor()) for bar in axes.patches} == {"#0072b2"}
        assert {to_hex(colour) for colour in intervals.get_colors()} == {"#777777"}
        assert figure.get_size_inches().tolist() == [7, 2]
        assert axes.get_xlabel() == "share of inputs on which the models differ"

    def test_of_many_classes_the_worst_are_shown(self, figures):
        classes = {str(n): share(n, 50, n / 50, n / 50) for n in range(30)}
        vetted._classes(classes, [])
        ((figure,),) = [figures.values()]
        names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert names == [str(n) for n in range(10, 30)]

    def test_without_classes_there_is_none(self, results, figures):
        assert vetted._classes({}, ["cat"]) == ""
        results.write()
        assert "Share of inputs on which the models differ, by class, with intervals" in figures
        bars = next(iter(figures.values())).axes[0].get_yticklabels()
        assert [label.get_text() for label in bars] == ["cat", "dog"]

    def test_errors_of_tensors_stand_in_their_order_and_what_is_no_number_is_left_out(
        self, tmp_path, figures
    ):
        assert vetted._errors(tmp_path / "none.csv") == ""
        table = {"relative_l2": ["0.5", "inf", "0.25"], "own_relative_l2": ["nan", "0.125", "2"]}
        write_table(tmp_path / "tensors.csv", pl.DataFrame(table))
        vetted._errors(tmp_path / "tensors.csv")
        (figure,) = figures.values()
        (axes,) = figure.axes
        values = [line.get_ydata().tolist() for line in axes.lines]
        assert np.array_equal(values[0], [0.5, np.nan, 0.25], equal_nan=True)
        assert np.array_equal(values[1], [np.nan, 0.125, 2], equal_nan=True)
        assert [line.get_color() for line in axes.lines] == ["#0072b2", "#e69f00"]
        assert {line.get_marker() for line in axes.lines} == {"."}
        assert {line.get_linestyle() for line in axes.lines} == {"None"}
        told = [text.get_text() for text in axes.get_legend().get_texts()]
        assert told == ["as it is in the compressed graph", "of the node alone"]
        assert axes.get_yscale() == "log"
        assert axes.get_xlabel() == "tensors, in the order of the graph"
        assert axes.get_ylabel() == "relative error"
        assert figure.get_size_inches().tolist() == [7, 3]
