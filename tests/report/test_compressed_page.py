"""The compressed lane's section as a whole, on results made by hand."""

import re

import numpy as np
import polars as pl
import pytest
import yaml
from scipy.stats import wilcoxon

from asterism.core.files.artifacts import read_arrays, write_arrays, write_json, write_table
from asterism.core.messages.errors import UserError
from asterism.dflare.outcome import SearchResult, SeedRecord, Trigger
from asterism.report.base.pictures import png
from asterism.report.lanes import compressed as module
from asterism.report.lanes.compressed import compressed_section
from report.page_parts import headline, plain, rows

MINE, MADE = "own", "pruned"
#: Queries until each seed's first triggering input; none where it ended without one.
QUERIES = {
    MINE: {"dflare": (3, 5, None), "random": (7, 9, 50)},
    MADE: {"dflare": (4, 400, 2), "random": (None, 8, 6)},
}
SUCCESS = {"success_rate": 0.75, "mean_queries": 12.34}


def summary(queries):
    found = [q for q in queries if q is not None]
    return {
        **{"seeds": 4, "deviates_already": 1, "triggered": len(found), "exhausted": 9, "failed": 0},
        **{"out_of_time": 0, "success_rate": len(found) / 3, "mean_queries": sum(found) / 2},
        **{"median_queries": 6, "unique_inputs": 5, "mean_pixels": 3.25, "mean_l2": 1.5},
        **{"mean_linf": 2.5, "mean_minimal_pixels": 1.25},
    }


def leave_search(folder, queries):
    image, outputs = np.full((2, 2, 1), 9, np.uint8), np.array([0.25, 0.75], np.float32)
    findings = SearchResult([])
    for seed, count in enumerate(queries):
        ended = "exhausted" if count is None else "triggered"
        findings.seeds.append(SeedRecord(seed, ended, count or 100))
        if count is not None:
            triggered = Trigger(seed, count, ("blur",), image, outputs, outputs[::-1].copy())
            findings.triggers.append(triggered)
    findings.save(folder)


def leave_pair(root, name, notes):
    folder = root / "artifacts/trigger" / name
    write_json(folder / "summary.json", {s: summary(q) for s, q in QUERIES[name].items()})
    models = [("big.onnx", 2048, notes), ("small.tflite", 1024, [])]
    write_json(
        folder / "models.json",
        [{"name": model, "bytes": size, "notes": told} for model, size, told in models],
    )
    write_arrays(folder / "seeds.npz", items=np.zeros((3, 2, 2, 1), np.uint8), numbers=np.arange(3))
    for search, queries in QUERIES[name].items():
        leave_search(folder / search, queries)
        table = {
            **{"original": [1, 0, 1, 2, *[5] * 9], "compressed": [2, 1, 0, 0, *range(9)]},
            "inputs": [5, 7, 7, 1, *[3] * 9],
        }
        write_table(folder / search / "confusion.csv", pl.DataFrame(table))


@pytest.fixture
def workspace(tmp_path):
    pairs = {
        MINE: {"original": "big.onnx", "compressed": "small.tflite"},
        MADE: {
            "original": "artifacts/train_classifier/model.keras",
            "compressed": f"artifacts/compress/{MADE}/model.keras",
        },
    }
    params = {"pairs": pairs, "compression": {MADE: {}, "later": {}}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    leave_pair(tmp_path, MADE, ["its input is quantised"])
    leave_pair(tmp_path, MINE, ["its input is quantised", "it has no labels"])
    made = {
        **{"method": "pruning", "bytes": 3072, "original_bytes": 4096, "deflated_bytes": 512},
        **{"original_deflated_bytes": 2048, "accuracy": 0.875, "original_accuracy": 0.9375},
        **{"agreement": 0.75, "deviating_test_images": 12},
    }
    write_json(tmp_path / f"artifacts/compress/{MADE}/summary.json", made)
    return tmp_path


@pytest.fixture
def figures(drawn):
    return drawn(module)


def test_there_is_none_where_no_pair_of_the_parameters_was_searched(workspace, figures):
    for name in (MINE, MADE):
        folder = workspace / "artifacts/trigger" / name
        folder.rename(folder.with_name(f"earlier-{name}"))
    assert compressed_section(workspace) is None
    for name in (MINE, MADE):
        (workspace / f"artifacts/trigger/earlier-{name}/summary.json").unlink()
    (workspace / "params.yaml").unlink()  # nobody looks
    assert compressed_section(workspace) is None


@pytest.mark.parametrize("name", ["../../../mine", "{root}/mine"])
def test_the_name_of_a_search_leads_to_no_other_folder(workspace, figures, name):
    found = workspace / "artifacts/trigger" / MINE
    (found / "dflare").rename(workspace / "mine")
    for pair in (MINE, MADE):
        summaries = workspace / "artifacts/trigger" / pair / "summary.json"
        write_json(summaries, {name.format(root=workspace): summary(QUERIES[MINE]["dflare"])})
    with pytest.raises(UserError, match=r"summary\.json"):
        compressed_section(workspace)


def test_models_searches_and_notes(workspace, figures):
    section = compressed_section(workspace)
    assert (section.anchor, section.order) == ("compressed", 20)
    assert headline(section) == [
        ("pairs searched", "2"),
        ("seeds with a triggering input", percent := "83.3%"),
        ("mean queries to find one", "4 to 203"),
    ]
    assert percent == f"{5 / 6:.1%}"
    parts = re.findall(r'class="part" id="(.*?)"', section.body)
    assert parts and [anchor for anchor, _ in section.contents] == parts
    told = rows(section.body)
    assert told[:2] == [
        [MINE, "a file of yours", "1.0 KiB (50.0%)", "–", "–", "–", "–", "–"],
        [MADE, "pruning", "3.0 KiB (75.0%)", "0.5 KiB (25.0%)", "87.5%", "93.8%", "75.0%", "12"],
    ]
    assert told[2:6] == [
        [MINE, "dflare", "66.7%", "4.0", "6", "5", ""],
        [MINE, "random", "100.0%", "33.0", "6", "5", "12.1%"],
        [MADE, "dflare", "100.0%", "203.0", "6", "5", ""],
        [MADE, "random", "66.7%", "7.0", "6", "5", "2900.0%"],
    ]
    text = plain(section.body)
    assert (
        "How the files are run: big.onnx, its input is quantised (own, pruned); "
        "big.onnx, it has no labels (own)."
    ) in text
    assert "Metropolis–Hastings help" not in text
    assert "Repairers" not in text and 'id="compressed-repair"' not in section.body
    assert (
        "own , the most frequent deviations, original's class → compressed model's: "
        "0 → 1 (7), 1 → 0 (7), 1 → 2 (5), 5 → 0 (3), 5 → 1 (3), 5 → 2 (3), 5 → 3 (3), 5 → 4 (3)"
    ) in text.replace("\xa0", " ")
    assert text.count("changed, found after") == 5
    assert (
        "4 pixels changed, found after 3 queries. Original: 1 (0.750), compressed: 0 (0.750)"
        in (text)
    )


def test_what_a_repair_has_measured_of_files_of_yours_is_shown(workspace, figures):
    repair = {
        **{"chosen": "head", "status": "repaired", "search_before": SUCCESS},
        "search_after": {"success_rate": 0.5, "mean_queries": None},
        "test_set": {"accuracy": 0.5, "original_accuracy": 0.625, "agreement": 0.875},
        "repairers": {
            "head": {
                **{"inputs": 40, "deviating": 20, "repair_count": 5.25, "inducing_count": 1.0},
                **{"improvement_count": 4.25, "repair_ratio": 0.25, "inducing_ratio": 0.05},
                **{"improvement_ratio": 0.2, "test_images": 100, "test_agreement_before": 0.75},
                **{"test_agreement_after": 0.8, "lowers_test_agreement": False},
                "seed_agreement_gain": 0.1,
            }
        },
    }
    write_json(workspace / f"artifacts/repair/{MINE}/summary.json", repair)
    write_json(workspace / "artifacts/repair/earlier/summary.json", {})
    section = compressed_section(workspace)
    assert headline(section)[-1] == ("deviations repaired, net", "20.0%")
    told = rows(section.body)
    shown = ["1.0 KiB (50.0%)", "–", "50.0%", "62.5%", "87.5%", "–"]
    assert told[0] == [MINE, "a file of yours", *shown]
    counts = ["40", "20", "5.2", "1.0", "4.2", "25.0%", "5.0%", "20.0%"]
    assert [MINE, "head (chosen)", *counts] in told
    assert [MINE, "head (chosen)", "100", "75.0%", "80.0%", "", "10.0%"] in told
    assert [MINE, "head", "75.0%", "50.0%", "12.3", "–"] in told
    assert "Repairers" in section.body and 'id="compressed-repair"' in section.body


def test_dflare_is_compared_with_its_uniform_form_pair_by_pair(workspace, figures):
    leave_search(workspace / f"artifacts/trigger/{MINE}/dflare_r", QUERIES[MINE]["dflare"])
    leave_search(workspace / f"artifacts/trigger/{MADE}/dflare_r", QUERIES[MADE]["random"])
    told = rows(compressed_section(workspace).body)
    # A seed that ended after 100 queries without one counts with the most that there were.
    p = wilcoxon([4, 400, 2], [400, 8, 6], alternative="less").pvalue
    assert [MADE, "3", "4.0", "8.0", f"{p:.3g}"] in told
    assert [MINE, "3", "5.0", "5.0", "–"] in told, "the same queries of both have no test"


def test_the_histogram_counts_queries_of_each_pair(workspace, figures):
    compressed_section(workspace)
    (shown,) = figures.values()
    assert shown.data.rows() == [(MINE, 3), (MINE, 5), (MADE, 4), (MADE, 400), (MADE, 2)]
    assert shown.figure.get_figheight() > 2, "an inch for each pair"
    for name in (MINE, MADE):
        leave_search(workspace / f"artifacts/trigger/{name}/dflare", (None, None))
    compressed_section(workspace)
    (shown,) = figures.values()
    assert shown.data.is_empty()


@pytest.mark.parametrize("minimal", [False, True])
def test_the_triggers_with_the_fewest_changed_pixels_are_shown(workspace, figures, minimal):
    folder, rng = workspace / "artifacts/trigger" / MADE, np.random.default_rng(0)
    seeds = rng.integers(50, 200, (3, 4, 4, 3)).astype(np.uint8)
    changed = [5, 1, 9, 3, 3, 8, 2, 7]  # pixels of each trigger
    findings, items = SearchResult([SeedRecord(n, "triggered", 9) for n in (2, 5, 9)]), []
    for number, pixels in enumerate(changed):
        item = seeds[number % 3].copy()
        item.reshape(-1, 3)[:pixels, 1] += np.arange(1, pixels + 1, dtype=np.uint8)
        items.append(item)
        outputs = np.eye(4, dtype=np.float32)[number % 4] * 0.5 + 0.125
        found = 255 - item if minimal else item
        answers = (outputs, outputs[::-1].copy())
        seed = (2, 5, 9)[number % 3]
        findings.triggers.append(Trigger(seed, 10 * number, ("x",), found, *answers))
    findings.save(folder / "dflare")
    write_arrays(folder / "seeds.npz", items=seeds, numbers=np.array([2, 5, 9]))
    if minimal:  # the smaller changes of the same triggers are shown
        given = read_arrays(folder / "dflare/triggers.npz")
        write_arrays(folder / "dflare/minimal.npz", **{**given, "items": np.stack(items)})
    body = str(compressed_section(workspace).body)
    order = sorted(range(8), key=lambda n: (changed[n], n))[:6]
    told = [
        f"{changed[n]} pixel{'s' * (changed[n] > 1)} changed, found after {10 * n} queries. "
        f"Original: {n % 4} (0.625), compressed: {3 - n % 4} (0.625)"
        for n in order
    ]
    places = [plain(body).index(text) for text in told]
    assert places == sorted(places)
    for n in order:
        for picture, name in ((seeds[n % 3], "seed"), (items[n], "triggering input")):
            assert str(png(picture, name)) in body
