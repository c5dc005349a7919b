"""The compressed lane's part of the page: values of its histogram and of its test."""

import numpy as np
import pytest
from scipy.stats import wilcoxon

from asterism.core.files.artifacts import read_arrays, write_arrays
from asterism.dflare.outcome import Findings, SeedRecord, Trigger
from asterism.report.base.pictures import png
from asterism.report.lanes.compressed.section import (
    _first_queries,
    _gallery,
    _headline,
    _ratios,
    _wilcoxon_tests,
)

IMAGE, OUTPUTS = np.zeros((2, 2, 1), np.uint8), np.array([0.4, 0.6], np.float32)

#: Queries of each seed's two triggering inputs, or how it ended without one, and after how many.
DFLARE = {0: (3, 90), 1: (5, 95), 2: (7, 60), 3: (9, 99), 4: (2, 4), 5: ("exhausted", 100)}
DFLARE_R = {0: (8, 9), 1: (20, 21), 2: (6, 8), 3: (40, 80), 4: ("out_of_time", 37), 5: (50, 51)}


def save(folder, ends):
    """A search that asked for two triggering inputs a seed; seed 6 was not searched, 7 failed."""
    findings = Findings([SeedRecord(6, "deviates_already", 0), SeedRecord(7, "failed", 1, "why")])
    for seed, (first, last) in ends.items():
        how = first if isinstance(first, str) else "triggered"
        findings.seeds.append(SeedRecord(seed, how, last))
        for queries in () if isinstance(first, str) else (first, last):
            findings.triggers.append(Trigger(seed, queries, ("blur",), IMAGE, OUTPUTS, OUTPUTS))
    findings.sort()
    findings.save(folder)


@pytest.fixture
def pair(tmp_path):
    save(tmp_path / "pair" / "dflare", DFLARE)
    save(tmp_path / "pair" / "dflare_r", DFLARE_R)
    return tmp_path / "pair"


def test_wilcoxon_compares_first_triggers_and_counts_every_end_without_one_alike(pair):
    guided, uniform = [3, 5, 7, 9, 2, 100], [8, 20, 6, 40, 100, 50]
    (row,) = _wilcoxon_tests([pair])
    assert row["seeds"] == 6
    assert (row["dflare"], row["dflare_r"]) == (np.median(guided), np.median(uniform))
    assert row["p"] == wilcoxon(guided, uniform, alternative="less").pvalue


def test_a_search_that_found_nothing_has_no_first_queries(tmp_path):
    save(tmp_path / "s", {0: ("exhausted", 10), 1: ("out_of_time", 4)})
    assert _first_queries(tmp_path / "s")["first"].to_list() == [None, None]


def told(figures):
    """Key figures by their labels."""
    return {figure.label: figure.value for figure in figures}


def searched(queries):
    return {"dflare": {"seeds": 9, "deviates_already": 0, "triggered": 9, "mean_queries": queries}}


def repaired(ratio):
    return {"chosen": "a", "repairers": {"a": {"improvement_ratio": ratio}}}


def test_the_headline_is_a_range_only_where_there_is_one():
    one = told(_headline({"a": searched(9.8)}, {"a": repaired(0.2)}, "dflare"))
    assert one["pair searched"] == "1"
    assert one["mean queries to find one"] == "10"
    assert one["deviations repaired, net"] == "20.0%"
    repairs = {"a": repaired(0.2), "b": repaired(-1.7)}
    two = told(_headline({"a": searched(9.8), "b": searched(112.0)}, repairs, "dflare"))
    assert two["pairs searched"] == "2"
    assert two["mean queries to find one"] == "10 to 112"
    assert two["deviations repaired, net"] == "-170.0% to 20.0%"


def test_seeds_that_deviate_already_need_no_triggering_input():
    searches = {
        "a": {"dflare": {"seeds": 20, "deviates_already": 10, "triggered": 4, "mean_queries": 3.0}},
        "b": {"dflare": {"seeds": 9, "deviates_already": 3, "triggered": 4, "mean_queries": None}},
    }
    assert told(_headline(searches, {}, "dflare"))["seeds with a triggering input"] == "50.0%"
    nothing = {"dflare": {**searches["b"]["dflare"], "seeds": 3, "triggered": 0}}
    assert told(_headline({"b": nothing}, {}, "dflare"))["seeds with a triggering input"] == "–"


def test_queries_are_a_share_of_those_of_each_other_search():
    searches = {
        "a": {
            n: {"mean_queries": q} for n, q in (("dflare", 6.0), ("dflare_r", 24.0), ("x", None))
        },
        "b": {"x": {"mean_queries": 3.0}},
    }
    assert _ratios(searches) == {"a": {"dflare": 1, "dflare_r": 0.25, "x": None}, "b": {"x": None}}


@pytest.mark.parametrize("minimal", [False, True])
def test_the_gallery_shows_the_triggers_with_the_fewest_changed_pixels(tmp_path, minimal):
    rng = np.random.default_rng(0)
    seeds = rng.integers(50, 200, (3, 4, 4, 3)).astype(np.uint8)
    changed = [5, 1, 9, 3, 3, 8, 2, 7]  # pixels of each trigger
    findings, items = Findings([SeedRecord(n, "triggered", 9) for n in (2, 5, 9)]), []
    for number, pixels in enumerate(changed):
        item = seeds[number % 3].copy()
        item.reshape(-1, 3)[:pixels, 1] += np.arange(1, pixels + 1, dtype=np.uint8)
        items.append(item)
        outputs = np.eye(4, dtype=np.float32)[number % 4] * 0.5 + 0.125
        told = (outputs, outputs[::-1].copy())
        findings.triggers.append(
            Trigger(
                (2, 5, 9)[number % 3], 10 * number, ("x",), 255 - item if minimal else item, *told
            )
        )
    findings.save(tmp_path / "dflare")
    write_arrays(tmp_path / "seeds.npz", items=seeds, numbers=np.array([2, 5, 9]))
    if minimal:  # the smaller changes of the same triggers are shown
        given = read_arrays(tmp_path / "dflare" / "triggers.npz")
        write_arrays(tmp_path / "dflare" / "minimal.npz", **{**given, "items": np.stack(items)})
    shown = _gallery(tmp_path, "dflare")
    order = sorted(range(8), key=lambda n: (changed[n], n))[:6]
    assert [entry["pixels"] for entry in shown] == [changed[n] for n in order]
    assert [entry["queries"] for entry in shown] == [10 * n for n in order]
    for number, entry in zip(order, shown, strict=True):
        assert entry["seed"] == png(seeds[number % 3], "seed")
        assert entry["item"] == png(items[number], "triggering input")
        moved = np.zeros((16, 3), np.uint8)
        pixels = changed[number]
        moved[:pixels, 1] = [255 * n // pixels for n in range(1, pixels + 1)]
        assert entry["difference"] == png(moved.reshape(4, 4, 3), "amplified difference")
        assert entry["original"] == f"{number % 4} (0.625)"
        assert entry["compressed"] == f"{3 - number % 4} (0.625)"


ORIGINAL = "artifacts/train_classifier/model.keras"
