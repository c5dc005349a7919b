"""Repairing a pair: what is blamed, which file is chosen, and how it is judged."""

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import onnx
import pytest
from small_vetting import Rule, by_runtime, digit_params, vetted_rules, with_files

from asterism.core.files.artifacts import read_table
from asterism.core.files.records import record_as_json
from asterism.core.messages.errors import UserError
from asterism.core.statistics import compute_share
from asterism.localisation.quantised_nodes import match_nodes
from asterism.localisation.reading import open_graphs
from asterism.localisation.repair import RepairCurve, RepairedFile
from asterism.localisation.running import first_call
from asterism.localisation.trials import TrialRunner
from asterism.models.signatures.signature import Signature, TensorSpec
from asterism.vetting import judging, onnx_pairs, repairing
from asterism.vetting.agreement import Agreement
from asterism.vetting.judging import judge_repair
from asterism.vetting.onnx_pairs import OnnxPair, open_as_onnx
from asterism.vetting.opening import open_vetted
from asterism.vetting.repair_figures import JudgedRepair, RepairFigures, Speed
from asterism.vetting.repairing import repair_opened
from asterism.vetting.searching import search_opened

pytestmark = pytest.mark.usefixtures("models_here")


def relative(absolute):
    """A comparison that allows a tenth of the original's value."""
    return {"kind": "tolerance", "options": {"absolute": absolute, "relative": 0.1}}


def parts(original, compressed, items, absolute):
    """The largest difference of each item's outputs, as a share of that tolerance, by hand."""
    f, g = (by_runtime(path, x=items).astype(np.float64) for path in (original, compressed))
    return (np.abs(f - g) / (absolute + 0.1 * np.abs(f))).max(axis=1)


@pytest.fixture
def repaired(digits, tmp_path, monkeypatch):
    """Repairs a pair and keeps what happened: parameters, curve, and the rows left unseen."""
    kept = {}

    def noted(module, name):
        function = getattr(module, name)

        def run(*given, **named):
            kept["unseen"] = given[2] if name == "judge_repair" else kept.get("unseen")
            kept[name] = function(*given, **named)
            return kept[name]

        monkeypatch.setattr(module, name, run)

    noted(repairing, "build_repair_curve")
    noted(judging, "judge_repair")

    def of(compressed="damaged.onnx", triggers=None, **changes):
        params = digit_params(digits, compressed, **changes)
        if triggers is None:
            with_files(search_opened, params, 0, tmp_path / "found")
            triggers = tmp_path / "found/triggers.npz"
        kept["params"] = params
        kept["facts"] = with_files(repair_opened, params, 0, triggers, tmp_path / "repaired")
        return kept

    return of


def differing(params):
    """Which of the given inputs the two files label differently, by hand."""
    with open_vetted(params, 0) as vetted:
        items = vetted.inputs.items
    f, g = (by_runtime(path, x=items) for path in (params.original, params.compressed))
    return items, f.argmax(axis=1) != g.argmax(axis=1)


def test_a_damaged_node_is_blamed_and_its_repair_is_judged(repaired, tmp_path):
    kept = repaired(repair__inputs=100)
    facts, params, curve = kept["facts"], kept["params"], kept["build_repair_curve"]
    assert facts["blamed"][0]["node"] == "dense1" and "reason" not in facts
    assert facts["blamed"] == [
        {"node": e.node, "operator": e.operator, "explained": e.explained}
        for e in curve.localisation.ranking[:5]
    ]
    assert facts["quantised_nodes"] == 5 and facts["evaluations"] == curve.evaluations
    file = tmp_path / "repaired/repaired.onnx"
    onnx.checker.check_model(str(file))
    (chosen,) = [point for point in curve.files if point.content == file.read_bytes()]
    assert chosen.gone >= params.repair.gone
    sizes = [Path(path).stat().st_size for path in (file, params.compressed, params.original)]
    assert [facts[key] for key in ("bytes", "bytes_before", "bytes_original")] == sizes
    assert (facts["nodes_in_float"], facts["nodes_with_finer_scales"], facts["bits"]) == (
        *map(len, (chosen.floats, chosen.finer)),
        chosen.bits,
    )
    assert facts["nodes_with_finest_weights"] == len(chosen.finest)
    assert (facts["gone"], facts["float_share"]) == (chosen.gone, chosen.float_share)
    assert facts["expected"] == chosen.expected >= params.repair.gone
    judged = RepairFigures(judged=kept["judge_repair"]).to_json()
    assert judged.items() <= facts.items() and facts["gone_held_out"]["share"] > 0.8


def test_the_repair_sees_one_half_of_the_inputs_and_what_was_found_from_it(
    repaired, digits, tmp_path
):
    kept = repaired(repair__inputs=1000, repair__evaluations=2)
    items, different = differing(kept["params"])
    unseen = kept["unseen"]
    assert len(unseen) == 100 and (np.diff(unseen) > 0).all()
    seen = np.setdiff1d(np.arange(200), unseen)
    assert set(np.unique(unseen % 2)) == {0, 1}, "the halves are drawn"
    with np.load(tmp_path / "found/triggers.npz") as found:
        own = np.isin(found["seeds"], seen)
        assert 0 < own.sum() < len(own)
        from_seen = found["items"][own]
    cases = np.concatenate([items[seen[different[seen]]], from_seen])
    assert kept["facts"]["deviating_inputs"] == len(cases)
    (unchanged, *_) = kept["build_repair_curve"].localisation.trials
    assert unchanged.deviations.tolist() == [1.0] * len(cases)
    few = repaired(
        repair__inputs=5, repair__evaluations=2, triggers=tmp_path / "found/triggers.npz"
    )
    assert few["facts"]["deviating_inputs"] == 5


def test_the_curve_the_ranking_and_the_errors_are_left_as_tables(repaired, tmp_path, monkeypatch):
    fed = []
    monkeypatch.setattr(
        repairing, "measure_latency", lambda content, one: fed.append(one) or len(content) / 1e3
    )
    curve = repaired()["build_repair_curve"]
    ranking = read_table(tmp_path / "repaired/ranking.csv").to_dicts()
    assert ranking == [
        {
            "node": entry.node,
            "operator": entry.operator,
            "explained": pytest.approx(entry.explained),
            "error_explained": pytest.approx(entry.error_explained),
            "own_error": pytest.approx(entry.own_error),
        }
        for entry in curve.localisation.ranking
    ]
    tensors = read_table(tmp_path / "repaired/tensors.csv").to_dicts()
    errors = curve.localisation.errors
    assert [row["tensor"] for row in tensors] == [error.tensor for error in errors]
    for row, error in zip(tensors, errors, strict=True):
        assert row["relative_l2"] == pytest.approx(error.cumulative.relative_l2)
        assert row["sqnr_db"] == pytest.approx(error.cumulative.sqnr_db)
        assert row["largest"] == pytest.approx(error.cumulative.largest)
        assert row["own_relative_l2"] == pytest.approx(error.own.relative_l2)
    points = read_table(tmp_path / "repaired/curve.csv").to_dicts()
    assert len(points) == len(curve.files) > 3
    for row, point in zip(points, curve.files, strict=True):
        assert row == {
            "nodes_in_float": len(point.floats),
            "nodes_with_finer_scales": len(point.finer),
            "bits": point.bits,
            "nodes_with_finest_weights": len(point.finest),
            "expected": pytest.approx(point.expected),
            "bytes": len(point.content),
            "gone": pytest.approx(point.gone),
            "error": pytest.approx(point.error),
            "milliseconds": len(point.content),
        }
    speed = read_table(tmp_path / "repaired/speed.csv")
    sizes = [kept["bytes"] for kept in speed.to_dicts()]
    assert speed["file"].to_list() == ["original", "compressed", "repaired"]
    assert all(taken > 0 for taken in speed["milliseconds"])
    assert sizes[2] == (tmp_path / "repaired/repaired.onnx").stat().st_size
    assert {one["x"].shape for one in fed} == {(1, 64)}, "the latency of one input"


def test_a_pair_without_deviations_has_nothing_to_repair(repaired, tmp_path):
    facts = repaired("original.onnx", search__queries=2)["facts"]
    assert facts == {"reason": "no input was found on which the models deviate"}
    assert [path.name for path in (tmp_path / "repaired").iterdir()] == ["speed.csv"]


def test_deviations_of_the_half_that_judges_are_nothing_to_repair_by(repaired, tmp_path):
    told = []
    for seed in (0, 1):  # of two neighbours one is of this half
        found = tmp_path / f"{seed}.npz"
        np.savez(found, items=np.zeros((1, 64), np.float32), seeds=np.int64([seed]))
        told.append(repaired("original.onnx", triggers=found)["facts"]["reason"])
    assert sum("the half that a repair is judged by" in reason for reason in told) == 1


@pytest.fixture
def nothing_found(tmp_path):
    """What a search left that found nothing."""
    np.savez(tmp_path / "nothing.npz", items=np.zeros((0, 64), np.float32))
    return tmp_path / "nothing.npz"


@pytest.fixture(scope="module")
def usual_curves():
    """The curve of the damaged pair, once it is known."""
    return []


def point(floats, finer, gone, share, size=10, error=0.0, inputs=10**6, bits=8):
    return RepairedFile(
        tuple(range(floats)),
        tuple(range(finer)),
        bits,
        (),
        bytes(size),
        gone,
        inputs,
        0.0,
        error,
        share,
    )


def judged_repair(gone=(9, 9), before=9, after=0):
    """How a repair did on a hundred inputs; nothing was changed, and nothing searched."""
    shares = (
        compute_share(*gone, 0.95),
        compute_share(before, 100, 0.95),
        compute_share(after, 100, 0.95),
    )
    return JudgedRepair(*shares[:2], Agreement(shares[2], 0, 0, (), *[{}] * 5, ()), (), {}, ())


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        # The smallest of those that repair enough.
        ([point(0, 0, 0, 0), point(1, 0, 0.95, 0.2), point(0, 5, 0.91, 0.0)], 2),
        ([point(0, 0, 0, 0), point(2, 0, 1.0, 0.4), point(1, 0, 0.91, 0.2)], 2),
        ([point(0, 0, 0, 0), point(1, 0, 0.95, 0.4), point(0, 1, 0.89, 0.0)], 1),
        # What is left of the error says that other inputs will deviate.
        ([point(0, 1, 1.0, 0.0, error=0.04), point(0, 5, 0.95, 0.0, error=0.01)], 1),
        ([point(0, 1, 0.7, 0.0, error=0.25), point(0, 5, 0.7, 0.0, error=0.16)], 1),
        # 16 bits are slow: 8 come first that repair what was given, and of others somewhat less.
        ([point(0, 5, 0.95, 0.0, error=0.04), point(0, 5, 1.0, 0.0, bits=16)], 0),
        ([point(0, 5, 0.95, 0.0, error=0.04), point(1, 4, 0.95, 0.2, error=0.02)], 1),
        ([point(0, 5, 0.85, 0.0), point(0, 5, 0.91, 0.0, bits=16)], 1),
        # So few inputs say little.
        ([point(0, 1, 0.9, 0.0, inputs=20), point(0, 5, 0.95, 0.0, inputs=20)], 1),
        # None repairs enough with so few nodes in float: the one that repairs most.
        ([point(0, 0, 0, 0), point(3, 0, 1.0, 0.6), point(1, 0, 0.5, 0.2)], 2),
        ([point(0, 0, 0, 0), point(2, 0, 0.5, 0.4), point(1, 0, 0.5, 0.2)], 2),
        ([point(0, 0, 0, 0), point(1, 0, 0.25, 0.2), point(2, 0, 0.5, 0.4)], 2),
        # None repairs anything.
        ([point(0, 0, 0, 0), point(1, 0, 0.0, 0.2), point(1, 1, -0.5, 0.2)], None),
        ([point(0, 0, 0, 0), point(3, 0, 1.0, 0.6)], None),
    ],
)
def test_the_smallest_file_that_repairs_enough_is_chosen(
    repaired, nothing_found, usual_curves, tmp_path, monkeypatch, files, chosen
):
    found = repairing.build_repair_curve

    def curve(*given):
        usual_curves.extend([] if usual_curves else [found(*given)])
        usual = usual_curves[0]
        return RepairCurve(usual.pair, usual.localisation, files, 7)

    monkeypatch.setattr(repairing, "build_repair_curve", curve)
    monkeypatch.setattr(repairing, "measure_latency", lambda _content, _one: 0.0)
    monkeypatch.setattr(judging, "judge_repair", lambda *_given: judged_repair())
    slow = Speed("repaired", 1, 1000.0)
    monkeypatch.setattr(judging, "open_alternative_model", lambda *_given: nullcontext())
    monkeypatch.setattr(judging, "measure_speed", lambda *_given: slow)
    facts = repaired(triggers=nothing_found)["facts"]
    file = tmp_path / "repaired/repaired.onnx"
    assert facts["evaluations"] == 7
    if chosen is None:
        assert "at most 2 of the 5 quantised nodes in float" in facts["reason"]
        assert "agreement" not in facts and not file.exists()
        return
    wanted = files[chosen]
    assert facts["slower"] and facts["agreement"] and file.read_bytes() == wanted.content
    assert (facts["nodes_in_float"], facts["gone"]) == (len(wanted.floats), wanted.gone)
    if wanted.expected >= 0.9:
        assert "reason" not in facts
        return
    of_8_bits = any(file.bits == 16 and file.expected >= 0.9 for file in files)
    assert ("no file of 8 bits" in facts["reason"]) == of_8_bits
    assert f"takes {wanted.gone:.0%}" in facts["reason"]
    assert f"{wanted.expected:.0%} are expected" in facts["reason"]


@pytest.mark.parametrize(
    ("gone", "before", "after", "is_offered"),
    [((1, 9), 9, 8, True), ((0, 9), 9, 8, False), ((3, 9), 9, 9, False), ((0, 0), 0, 0, True)],
)
def test_a_repair_that_gains_nothing_is_not_offered(
    repaired, nothing_found, tmp_path, monkeypatch, gone, before, after, is_offered
):
    judged = judged_repair(gone, before, after)
    monkeypatch.setattr(judging, "judge_repair", lambda *_given: judged)
    facts = repaired(triggers=nothing_found)["facts"]
    assert (tmp_path / "repaired/repaired.onnx").exists() == is_offered
    assert ("sha256" in facts, "bytes" in facts, "agreement" in facts) == (is_offered,) * 3
    assert facts["blamed"]
    if not is_offered:
        what = "makes as many new deviations as it takes away" if gone[0] else "takes none of"
        assert facts["reason"].startswith(f"the best file {what}")
        assert facts["reason"].endswith("on 100 inputs that it was not made by")


@pytest.fixture
def asked(monkeypatch):
    """What :func:`build_repair_curve` is asked for, in the place of an answer."""
    asked = []

    def none(*given):
        asked.append(given)
        raise UserError("enough")

    monkeypatch.setattr(repairing, "build_repair_curve", none)
    return asked


@pytest.mark.parametrize(("share", "most"), [(0.4, 2), (0.1, 1), (1.0, 5), (0.79, 3)])
def test_so_many_nodes_may_be_in_float(repaired, nothing_found, asked, share, most):
    facts = repaired(repair__float_share=share, triggers=nothing_found)["facts"]
    assert facts == {"reason": "enough"}
    ((pair, feeds, deviation, evaluations, found, gone, ordinary),) = asked
    assert (evaluations, found, gone) == (8, most, 0.9) and len(pair.nodes) == 5
    assert [len(feed["x"]) for feed in feeds] == [8, 8]
    assert sum(len(feed["x"]) for feed in ordinary) == 64
    rows = np.eye(10, dtype=np.float32)[[1, 2, 3]]
    assert deviation({"y": rows}, {"y": rows[[0, 2, 1]]}).tolist() == [0.0, 1.0, 1.0]


def test_candidates_deviate_as_the_comparison_says(repaired, nothing_found, asked):
    repaired(triggers=nothing_found, comparison=relative(1e-6))
    wanted = np.full((2, 10), [[1.0], [1.105]], np.float32)
    # A tenth of the original's value is allowed, which is less than a tenth of the other's.
    assert asked[0][2]({"y": wanted}, {"y": wanted[::-1]}).tolist() == [1.0, 0.0]


# Judging


def opened(folder, compressed, **changes):
    return open_vetted(digit_params(folder, compressed, **changes), 0)


UNSEEN = np.arange(0, 200, 2)


def judged_facts(*given):
    return RepairFigures(judged=judge_repair(*given)).to_json()


def test_a_perfect_repair_leaves_nothing(digits):
    with opened(digits, "damaged.onnx", confidence=0.9) as vetted:
        found = judged_facts(vetted, digits / "original.onnx", UNSEEN, 0)
        before = int(vetted.deviates[UNSEEN].sum())
        right = by_runtime(digits / "original.onnx", x=vetted.inputs.items[UNSEEN]).argmax(axis=1)
        correct = int((right == vetted.inputs.labels[UNSEEN]).sum())
    again = found["new_search"]["paper"]
    held_out = before + again["before"]["count"]
    assert before > 3 and again["before"]["count"] > 0
    assert found["gone_held_out"] == record_as_json(compute_share(held_out, held_out, 0.9))
    assert found["differ_before"] == record_as_json(compute_share(before, 100, 0.9))
    assert found["agreement"]["differ"] == record_as_json(compute_share(0, 100, 0.9))
    assert found["agreement"]["accuracy"] == [record_as_json(compute_share(correct, 100, 0.9))] * 2
    assert not found["agreement_fell"]
    assert again["after"] == record_as_json(compute_share(0, 6, 0.9))
    assert [(f["strength"], f["bound"]) for f in found["flips"]] == [
        (name, "") for name in ("slight", "moderate", "strong")
    ], "within bounds nothing is measured again"
    assert all(
        flips["share"] == record_as_json(compute_share(0, 8, 0.9)) for flips in found["flips"]
    )
    assert [(c["name"], c["measured"]["count"]) for c in found["criteria"]] == [
        ("agreement on the given inputs", 100),
        ("accuracy lost", 0),
        ("inputs that flip under slight natural changes", 0),
    ]


def test_a_file_that_repairs_nothing_keeps_all(digits):
    with opened(digits, "damaged.onnx") as vetted:
        found = judged_facts(vetted, digits / "damaged.onnx", UNSEEN, 0)
    assert found["gone_held_out"]["count"] == 0 < found["gone_held_out"]["total"]
    assert found["agreement"]["differ"] == found["differ_before"]
    assert not found["agreement_fell"]
    again = found["new_search"]["paper"]
    assert again["after"] == again["before"]


def test_a_repair_that_makes_it_worse_is_seen(digits):
    searches = {
        name: {
            "search": "dflare",
            "options": {"fitness": "paper", "delta": 0.001, "guided": guided},
        }
        for name, guided in (("one", True), ("two", False))
    }
    changes = {
        "search__searches": searches,
        "search__bound": {"measure": "linf", "limit": 1e-9},
        "changes__slight": "strong",
    }
    with opened(digits, "int8.onnx", changes__inputs=50, **changes) as vetted:
        few = vetted.deviates.sum()
        found = judged_facts(vetted, digits / "damaged.onnx", UNSEEN, 0)
        items = vetted.inputs.items[UNSEEN]
    f, g = (by_runtime(digits / name, x=items) for name in ("original.onnx", "damaged.onnx"))
    now = int((f.argmax(axis=1) != g.argmax(axis=1)).sum())
    assert found["agreement_fell"] and found["agreement"]["differ"]["count"] == now > few
    assert list(found["new_search"]) == ["one", "two"]
    assert found["new_search"]["one"]["before"]["count"] == 0, "within no distance nothing is found"
    assert found["gone_held_out"]["total"] == found["differ_before"]["count"]
    slight, _, strong = (flips["share"] for flips in found["flips"])
    assert found["criteria"][-1]["measured"] == strong != slight
    assert slight["total"] == 50


def test_a_repair_is_judged_by_the_comparison(digits):
    few = {"search__seeds": 1, "search__queries": 1, "changes__inputs": 0}
    with opened(digits, "damaged.onnx", comparison=relative(0.001), **few) as vetted:
        found = judged_facts(vetted, digits / "int8.onnx", UNSEEN, 0)
        items = vetted.inputs.items[UNSEEN]
    before, after = (
        parts(digits / "original.onnx", digits / name, items, 0.001)
        for name in ("damaged.onnx", "int8.onnx")
    )
    assert found["differ_before"]["count"] == (before > 1).sum()
    assert found["agreement"]["differ"]["count"] == (after > 1).sum()
    assert found["agreement"]["distance"]["largest"] == pytest.approx(after.max(), rel=1e-3)
    swapped = parts(digits / "int8.onnx", digits / "original.onnx", items, 0.001)
    assert (swapped[before > 1] > 1).sum() != (after[before > 1] > 1).sum()
    gone, total = (found["gone_held_out"][key] for key in ("count", "total"))
    new = found["new_search"]["paper"]["before"]["count"]
    assert total == (before > 1).sum() + new
    assert 0 <= gone - (after[before > 1] <= 1).sum() <= new


def test_a_new_search_has_its_own_random_numbers(digits):
    with opened(digits, "damaged.onnx", changes__inputs=0) as vetted:
        one, other = (judged_facts(vetted, digits / "int8.onnx", UNSEEN, seed) for seed in (0, 1))
    assert one["new_search"] != other["new_search"]
    assert one["flips"] == [] and len(one["criteria"]) == 2


# Files whose nodes can be exchanged


def test_a_pair_of_onnx_files_is_taken_as_it_is(digits):
    with opened(digits, "damaged.onnx") as vetted, open_as_onnx(vetted) as pair:
        assert (pair.original, pair.compressed) == (
            digits / "original.onnx",
            digits / "damaged.onnx",
        )
        assert pair.signature.inputs[0].name == "x"
        items = vetted.inputs.items[:11]
        assert [len(run["x"]) for run in pair.runs(items)] == [8, 3]
        assert (np.concatenate([run["x"] for run in pair.runs(items)]) == items).all()
        assert pair.reproduced(items) is items


def test_a_fixed_batch_is_filled_up_and_what_fills_it_up_is_not_judged(
    digits, repaired, nothing_found, tmp_path
):
    for name in ("original.onnx", "damaged.onnx"):
        model = onnx.load(digits / name)
        for value in (*model.graph.input, *model.graph.output):
            value.type.tensor_type.shape.dim[0].dim_value = 4
        onnx.save(model, tmp_path / name)
    with opened(digits, "damaged.onnx") as vetted:
        files = (tmp_path / "original.onnx", tmp_path / "damaged.onnx")
        pairs = [OnnxPair(vetted, *files) for files in (files, [digits / f.name for f in files])]
        items = vetted.inputs.items[vetted.deviates][:10]
        runs = pairs[0].runs(items)
        assert [len(first_call(run)["x"]) for run in runs] == [4, 4, 4]
        assert (first_call(runs[2])["x"] == items[[8, 9, 9, 9]]).all()
        found = [
            TrialRunner(
                match_nodes(open_graphs(pair.original, pair.compressed)),
                pair.runs(items),
                pair.deviation(),
            ).base
            for pair in pairs
        ]
    assert found[0].deviations.tolist() == found[1].deviations.tolist() == [1.0] * 10
    original, compressed = map(str, files)
    few = {"repair__evaluations": 2, "repair__inputs": 10}
    facts = repaired(compressed, nothing_found, original=original, **few)["facts"]
    assert facts["deviating_inputs"] == 10 and "bytes" in facts


def test_a_candidate_looks_for_the_nearest_among_the_originals_embeddings(digits):
    nearest = {"kind": "embedding", "options": {"tolerance": 2.0, "nearest": True}}
    with opened(digits, "damaged.onnx", comparison=nearest) as vetted:
        pair = OnnxPair(vetted, digits / "original.onnx", digits / "damaged.onnx")
        f, g = vetted.answers.f, vetted.answers.g
        judged = pair.deviation()
        assert not judged({"y": f}, {"y": f}).any()
        unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (f, g)]
        closest = [(rows.astype(np.float64) @ unit[0].T).argmax(axis=1) for rows in unit]
        assert judged({"y": f}, {"y": g}).sum() == pytest.approx(
            (closest[0] != closest[1]).sum(), abs=3
        )
        assert (closest[0] != closest[1]).sum() > 10


def test_of_a_conversion_those_inputs_are_left_on_which_it_deviates_too(digits):
    with opened(digits, "int8.onnx") as vetted:
        pair = OnnxPair(
            vetted=vetted, original=digits / "original.onnx", compressed=digits / "damaged.onnx"
        )
        items = vetted.inputs.items
        f, g = (by_runtime(path, x=items) for path in (pair.original, pair.compressed))
        wanted = items[f.argmax(axis=1) != g.argmax(axis=1)]
        assert 0 < len(wanted) < len(items)
        assert (pair.reproduced(items) == wanted).all()
        alike = items[f.argmax(axis=1) == g.argmax(axis=1)]
        none = f"none of {len(alike)} deviations of int8.onnx is left in its ONNX version"
        with pytest.raises(UserError, match=none):
            pair.reproduced(alike)


def test_a_conversion_deviates_as_the_comparison_says(digits):
    with opened(digits, "damaged.onnx", comparison=relative(0.001)) as vetted:
        files = {"original": digits / "original.onnx", "compressed": digits / "int8.onnx"}
        items = vetted.inputs.items
        wanted = parts(*files.values(), items, 0.001) > 1
        assert (OnnxPair(vetted=vetted, **files).reproduced(items) == items[wanted]).all()
        swapped = parts(*reversed(files.values()), items, 0.001) > 1
        assert (swapped != wanted).any()


@pytest.mark.parametrize(
    ("original", "compressed", "possible"),
    [
        ("a.onnx", "b.onnx", True),
        ("a.keras", "b.tflite", True),
        ("a.h5", "b.lite", True),
        ("a.tflite", "b.tflite", True),
        ("a.tflite", "a.tflite", True),
        ("a.onnx", "b.tflite", False),
        ("a.keras", "b.onnx", False),
        ("a.keras", "b.keras", False),
    ],
)
def test_which_files_can_exchange_nodes(monkeypatch, original, compressed, possible):
    spec = TensorSpec("x", "float32", (None, 4))
    monkeypatch.setattr(
        onnx_pairs, "read_signature", lambda _path: Signature("keras", (spec,), (spec,))
    )
    folders = []

    def as_onnx(path, folder):
        assert folder.is_dir()
        folders.append(folder)
        return folder / f"{path.name}.onnx"

    monkeypatch.setattr(onnx_pairs, "as_onnx", as_onnx)
    params = digit_params(Path(), compressed, original=original)
    models = (Rule(name, lambda x: x) for name in "fg")  # only the files' names count
    vetted = vetted_rules(params, np.zeros((1, 2)), *models)
    if possible:
        with open_as_onnx(vetted) as pair:
            assert pair.vetted is vetted
            names = [path.name for path in (pair.original, pair.compressed)]
            assert names == [f"{original}.onnx", f"{compressed}.onnx"]
            assert pair.original != pair.compressed
        assert not any(folder.exists() for folder in folders), "conversions are removed"
    else:
        with pytest.raises(UserError, match="give two ONNX files"), open_as_onnx(vetted):
            pass
