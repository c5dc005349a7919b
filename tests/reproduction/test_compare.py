"""Claims and tables beside recorded runs: what the page says, and whether it is current."""

import json
import shutil
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from pydantic import ValidationError
from recorded_runs import recorded_point, recorded_run
from typer.testing import CliRunner

from asterism.cli.commands import app
from asterism.config import ReproduceParams
from asterism.core.messages.errors import UserError
from asterism.reproduction.app import render_page, write_comparison
from asterism.reproduction.claims import (
    RELEASED_TOOLS,
    Claim,
    PaperTable,
    judge_claim,
    read_claims,
    read_tables,
)
from asterism.reproduction.experiments import Experiment, read_experiments
from asterism.reproduction.page import comparison_page
from asterism.reproduction.records import largest_runs, mark_inadmissible, read_all_runs, write_run
from asterism.reproduction.tables import fill_table
from places import ROOT

CLAIM = Claim(
    id="one",
    text="It finds all",
    source="table 1",
    quantity="found, %",
    paper=100,
    runs=[{"experiment": "one", "value": "a:x", "times": 100.0}],
    rule="at_least",
    options={"bound": 100, "partly": 99},
)


def run(experiment="one", scale="small", **metrics):
    points = [
        recorded_point(metrics, {"seed": str(seed)}, seconds=2.0, memory_mb=10.0)
        for seed in range(3)
    ]
    return recorded_run(points, experiment, scale)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder with the papers' numbers, claims, tables and figures, and no run."""
    for name in ("papers", "claims", "tables", "figures"):
        shutil.copytree(ROOT / "results" / name, tmp_path / "results" / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_is_current_with_the_results(monkeypatch):
    monkeypatch.chdir(ROOT)
    write_comparison(True, print)


def test_claims_and_tables_name_experiments_and_metrics_that_there_are():
    known = read_experiments(ROOT / "conf")
    claims = [c for own in read_claims(ROOT / "results/claims").values() for c in own]
    each = [c.measured_by(name) for c in claims for name in c.least_of]
    for claim in [*(c for c in claims if not c.least_of), *each]:
        for quantity in [*claim.runs, *claim.compared]:
            metrics = known[quantity.experiment].settings.metrics
            for name in filter(None, (quantity.value, quantity.over, quantity.minus)):
                if not name.startswith(("processor_seconds:", "parameter:")):
                    assert any(fnmatchcase(name, wanted) for wanted in metrics), claim.id
    for table in read_tables(ROOT / "results/tables"):
        for row in table.rows:
            assert set(row.experiments) <= set(known)


def test_the_papers_figures_are_those_of_their_tables():
    """A claim about a cell of a table has the number that stands in the table."""
    cells = {}
    for table in read_tables(ROOT / "results/tables"):
        for row in fill_table(table, {}, ROOT / "results/papers"):
            known = cells.setdefault(table.file, {}).setdefault(row.keys, [])
            known += [cell.paper for cell in row.cells]
    lenet1, resnet20 = (
        ("MNIST", "LeNet-1", "Quantization-8-bit"), ("CIFAR-10", "ResNet-20", "Quantization-8-bit"),
    )  # fmt: skip
    assert cells["dflare_table4.csv"][lenet1][:4] == [100, 83.97, 99.40, 5812.47]
    assert cells["dflare_table4.csv"][resnet20][:4] == [100, 30.43, 99.76, 2323.58]
    assert cells["dflare_table6.csv"][lenet1][:4] == [41.44, 96.94, 100, 1.07]
    read = read_claims(ROOT / "results/claims")["Dflare"]
    claims = {c.id: c.paper for c in read}
    assert claims["dflare-queries-lenet1"] == 83.97
    assert claims["diffchaser-queries-resnet20"] == 2323.58
    for name in ("lenet4-pruned", "lenet4-quantised", "lenet5-pruned", "lenet5-quantised"):
        net, _, kind = name.partition("-")
        row = ("MNIST", f"LeNet-{net[-1]}", {"pruned": "Prune"}.get(kind, "Quantization"))
        assert claims[f"dflare-queries-{name}"] == cells["dflare_table4.csv"][row][1]
    assert cells["drepair_table7.csv"][lenet1][2] == 30.20
    assert cells["drepair_table7.csv"][resnet20][2] == 14.52
    (improvement,) = (c.text for c in read if c.id == "drepair-improvement")
    improvements = [row[2] for row in cells["drepair_table7.csv"].values()]
    assert f"{min(improvements):.2f} to {max(improvements):.2f}%" in improvement


def test_a_claim_is_judged_by_its_runs():
    assert judge_claim(CLAIM, {"one": run(**{"a:x": 1.0})}).outcome == "reproduced"
    for runs, reason in (
        ({}, "no run yet of one"),
        ({"one": run(scale="smoke", **{"a:x": 1.0})}, "only a smoke run of one, on other data"),
        ({"one": run(**{"a:y": 1.0})}, "the runs did not measure it"),
    ):
        verdict = judge_claim(CLAIM, runs)
        assert (verdict.outcome, verdict.reason) == ("not comparable", reason)


def test_that_no_trial_failed_decides_only_where_the_papers_share_makes_it_improbable():
    facts = {"paper": 99.5, "trials": "a:n", "rule": "close"}
    facts["options"] = {"within": 0.001, "partly": 0.01, "no_effect": 100}
    claim = Claim.model_validate(CLAIM.model_dump() | facts)
    for trials, word in ((100, "not decided"), (300, "not reproduced")):  # 0.995 to 300 and to 900
        verdict = judge_claim(claim, {"one": run(**{"a:x": 1.0, "a:n": trials})})
        assert (verdict.outcome, "none of 300 fails" in verdict.reason) == (word, trials == 100)
    assert judge_claim(claim, {"one": run(**{"a:x": 0.995, "a:n": 100})}).outcome == "reproduced"


@pytest.mark.parametrize("limit", [{"at_least": 0.86}, {"at_most": 0.14}])
def test_points_that_miss_the_entry_condition_are_in_no_claim_and_in_no_table(tmp_path, limit):
    settings = ReproduceParams(
        targets=["t"],
        metrics=["*"],
        scales={"small": ["seed=0"]},
        entry=[{"metric": "a:right", "where": {"net": "b"}} | limit],
    )
    points = [
        recorded_point({"a:x": 1.0, "a:right": right, "t-p:x": 1.0}, {"net": net})
        for net, right in (("b", 0.2), ("s", 0.2), ("s", 0.2))
    ]
    (kept,) = mark_inadmissible(
        [replace(run(), points=points)], {"one": Experiment("one", settings)}
    )
    assert [point.status == "finished" for point in kept.finished] == [True, True]
    assert judge_claim(CLAIM, {"one": kept}).outcome == "reproduced"
    small = CLAIM.model_copy(
        update={"runs": [CLAIM.runs[0].model_copy(update={"where": {"net": "b"}})]}
    )
    verdict = judge_claim(small, {"one": kept})
    assert verdict.outcome == "not comparable"
    assert "right is 0.2" in verdict.reason and str(*limit.values()) in verdict.reason
    (tmp_path / "table.csv").write_text("net,found\nbig,4\nsmall,5\n")
    assert fill_table(TABLE, {"one": kept}, tmp_path)[0].runs == ()


def test_of_several_measures_the_least_good_verdict_holds():
    numbers = {"x": 1.0, "y": 0.5, "z": 1.0}
    recorded = {"one": run(**{f"a:{name}": value for name, value in numbers.items()})}
    each = [CLAIM.runs[0].model_copy(update={"value": "a:EACH"})]
    for names, outcome in ((["x", "z"], "reproduced"), (["x", "y", "z"], "not reproduced")):
        verdict = judge_claim(CLAIM.model_copy(update={"runs": each, "least_of": names}), recorded)
        assert verdict.outcome == outcome
        assert all(f"of {name}: " in verdict.reason for name in names)
    with pytest.raises(ValidationError, match="EACH"):
        Claim.model_validate(CLAIM.model_dump() | {"least_of": ["x", "z"]})


def test_what_is_not_reproduced_has_a_cause(monkeypatch):
    monkeypatch.chdir(ROOT)
    runs = largest_runs(mark_inadmissible(read_all_runs(), read_experiments()))
    claims = read_claims()
    claims.pop(RELEASED_TOOLS)
    for claim in (claim for own in claims.values() for claim in own):
        if judge_claim(claim, runs).outcome not in ("reproduced", "not comparable"):
            assert claim.cause and claim.why, claim.id


def test_of_several_experiments_each_counts_once():
    both = [CLAIM.runs[0], CLAIM.runs[0].model_copy(update={"experiment": "two"})]
    two = replace(run("two", **{"a:x": 0.0}), points=run("two", **{"a:x": 0.98}).points[:1])
    claim = CLAIM.model_copy(update={"runs": both})
    reason = judge_claim(claim, {"one": run(**{"a:x": 1.0}), "two": two}).reason
    assert reason.startswith("the mean is 99 ") and reason.endswith("; 2 runs)")


TABLE = PaperTable(
    title="Table 1",
    paper="Dflare",
    file="table.csv",
    keys=["net"],
    sizes=["t-PAIR:no_seeds", "t-PAIR:seeds"],
    columns=[
        {"title": "theirs", "paper": "found", "value": "t-PAIR:x"},
        {"title": "ours", "value": "t-PAIR:y", "where": {"rate": "1"}},
    ],
    rows=[{"row": "big", "experiments": ["one"], "pair": "p", "where": {"net": "b"}}],
    not_run="none is at hand",
)


def test_a_row_has_its_runs_seeds_and_columns_that_the_paper_lacks(tmp_path):
    (tmp_path / "table.csv").write_text("net,found\nbig,4\nsmall,5\n")
    points = [
        recorded_point(
            {"t-p:x": 1.0 + number, "t-p:y": 10.0 * number, "t-p:seeds": size},
            {"net": net, "rate": rate},
        )
        for number, (net, rate, size) in enumerate(
            [("b", "1", 50), ("b", "2", 60), ("s", "1", 70), ("b", "1", 50)]
        )
    ]
    runs = {"one": replace(run(), points=points)}
    big, small = fill_table(TABLE, runs, tmp_path)
    assert [cell.paper for cell in big.cells] == [4, None]
    assert [cell.here.mean for cell in big.cells] == [pytest.approx(7 / 3), 15.0]
    assert big.runs == (
        "one (small, 3 runs of 50 to 60 seeds)", "one (small, 2 runs of 50 seeds)",
    )  # fmt: skip
    assert (small.runs, [cell.here for cell in small.cells]) == ((), [None, None])
    big, _ = fill_table(TABLE.model_copy(update={"sizes": []}), runs, tmp_path)
    assert (big.keys, big.runs[0]) == (("big",), "one (small, 3 runs)")


def test_what_is_known_of_a_cause_stands_beside_a_verdict_that_needs_it():
    claim = CLAIM.model_copy(update={"cause": "scale", "why": "The net is another."})
    for value, told in ((1.0, False), (0.995, True), (0.5, True)):
        text = comparison_page({"Dflare": [claim]}, [], {"one": run(**{"a:x": value})}, [], [])
        assert ("scale: The net is another. |" in text) == told


def test_the_page_sums_the_time_of_the_scales_that_have_a_limit():
    told = replace(run("told"), points=[replace(p, processor_seconds=30.0) for p in run().points])
    text = " ".join(
        comparison_page({}, [], {}, [told, run("other"), run("third", "smoke")], []).split()
    )
    assert (
        "`SCALE=small`: the 2 recorded runs took 1.5 minutes of processor time. It is not recorded "
        "for `other`." in text
    )
    assert "`SCALE=smoke`: the 1 recorded runs took 0 minutes of processor time." in text
    assert "take 6 minutes" in text
    assert "`SCALE=full`" not in text


def test_the_largest_scale_that_was_recorded_counts(tmp_path):
    for scale in ("small", "full", "smoke"):
        write_run(run(scale=scale, **{"a:x": 1.0}), tmp_path)
    assert largest_runs(read_all_runs(tmp_path))["one"].scale == "full"
    assert largest_runs(read_all_runs(tmp_path))["one"].seconds == 6.0
    (tmp_path / "one-full.json").rename(tmp_path / "other-full.json")
    with pytest.raises(UserError, match=r"other-full.json is damaged"):
        read_all_runs(tmp_path)


def test_a_recorded_run_is_on_the_page_with_a_picture(root):
    empty, none = render_page(Path())
    assert none == []
    assert "no run yet of dflare_released_lenet1" in empty
    metrics = {
        f"trigger-file:{search}.{name}": value
        for search in ("dflare", "dflare_r")
        for name, value in (("success_rate", 1.0), ("mean_queries", 80.0), ("seeds", 500))
    }
    write_run(run("dflare_released_lenet1", "full", **metrics))
    write_comparison(False, print)
    text = Path("docs/reproduction.md").read_text(encoding="utf-8")
    assert (
        "| MNIST | LeNet-1 | Quantization-8-bit | 100 / 100 ± 0 | 83.97 / 80 ± 0 | 99.4 | 5,812 "
        "| dflare_released_lenet1 (full, 3 runs of 500 seeds) |" in text
    )
    assert (
        "| `dflare_released_lenet1` | full | 3 of 3 | 6 (beside other work) | not recorded | 10 "
        "| 2026-01-02 |" in text
    )
    assert "contradicts itself on CIFAR-10" in text
    assert "images/reproduction/dflare_table4.svg" in text
    assert Path("docs/images/reproduction/dflare_table4.svg").exists()
    write_comparison(True, print)


SHARES, QUERIES = (0.1, 0.2, 0.3, 0.4, 0.5), (90.0, 70.0, 50.0, 30.0, 10.0)


def test_a_correlation_is_drawn(root):
    points = [
        recorded_point(
            {"trigger-changed_weights:dflare.mean_queries": queries},
            {"compression.changed_weights.options.share": str(share)},
        )
        for share, queries in zip(SHARES, QUERIES, strict=True)
    ]
    write_run(replace(run("dflare_figure5_lenet5"), points=points))
    text, plots = render_page(Path())
    assert [plot.name for plot in plots] == ["dflare-figure5-lenet5"]
    (axes,) = plots[0].figure.axes
    drawn = axes.collections[0].get_offsets().data.tolist()
    assert drawn == [list(both) for both in zip(SHARES, QUERIES, strict=True)]
    assert "**reproduced** | r = -1.000 over 5 points" in text


def test_a_page_that_is_not_current_is_told(root):
    assert CliRunner().invoke(app, ["compare"]).output.startswith("docs/reproduction.md is written")
    done = CliRunner().invoke(app, ["compare", "--check"])
    assert (done.exit_code, done.output) == (0, "docs/reproduction.md is current\n")
    write_run(run("dflare_released_lenet1", "full", **{"trigger-file:dflare.mean_queries": 1.0}))
    with pytest.raises(UserError, match=r"docs/reproduction.md, docs/images"):
        write_comparison(True, print)
    write_comparison(False, print)
    Path("results/reproduction/dflare_released_lenet1-full.json").unlink()
    with pytest.raises(UserError, match=r"reproduction.md, docs/images/reproduction/dflare_table4"):
        write_comparison(True, print)
    write_comparison(False, print)
    assert not list(Path("docs/images/reproduction").glob("*.svg"))


CLAIMS, TABLE4 = "claims/1-dflare.yaml", "tables/dflare_1_table4.yaml"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (CLAIMS, "rule: at_least", "rule: at_leest", "no rule is called 'at_leest'"),
        (CLAIMS, "bound: 100, ", "", "the rule at_least.bound: Field required"),
        (CLAIMS, "    rule: at_least\n", "", "needs either a rule or why it is not"),
        (CLAIMS, "dflare-success-resnet20\n", "dflare-success-lenet1\n", "two claims"),
        (CLAIMS, "paper: Dflare", "paper: Dflair", "paper is 'Dflair'"),
        (TABLE4, "MNIST/LeNet-1/Q", "MNIST/LeNet-9/Q", "has no row 'MNIST/LeN"),
        (TABLE4, "dflare_queries", "queries", "has no column 'queries'"),
    ],
)
def test_wrong_data_is_one_line(root, file, old, new, message):
    path = Path("results") / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError) as error:
        render_page(Path())
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_damaged_records_are_one_line(root):
    write_run(run("dflare_released_lenet1", "full"))
    path = Path("results/reproduction/dflare_released_lenet1-full.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(record | {"points": 3}), encoding="utf-8")
    with pytest.raises(UserError, match=r"dflare_released_lenet1-full.json .*'points'"):
        render_page(Path())
