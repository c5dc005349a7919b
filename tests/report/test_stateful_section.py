"""The stateful lane's section on what its stages leave, with crashes and without."""

import re
import shutil

import pytest
import yaml

from asterism.config import compose
from asterism.core.files.artifacts import (
    read_arrays,
    read_json,
    read_table,
    write_arrays,
    write_table,
)
from asterism.core.parameters.params import read_params
from asterism.core.running.stage import load_script
from asterism.report.lanes.stateful.campaigns import SHOWN
from asterism.report.lanes.stateful.section import stateful
from asterism.report.whole.page import SWEEPS, write_page
from places import ROOT
from report.drawings import unfolded

pytestmark = pytest.mark.slow

TINY = [
    "data.train=200",
    "data.test=100",
    "rnn.units=[8]",
    "rnn.training.epochs=2",
    "seeds.per_class=1",
    "fuzz.mutants=300",
    "fuzz.criteria=[state,none]",
    "coverage.references=3",
]
GUIDES = ("state", "none")
#: What a page could ask the network for.
REQUESTS = re.compile(
    r"""(?:src|href|action|poster|data)\s*=\s*["'](?!data:|\#)|url\(\s*["']?(?!data:|\#)|@import"""
)


def run(folder, *stages):
    """Run stages in a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, *variant in stages:
            stage = load_script(ROOT / "stages", name)
            stage.run(read_params(stage.Params), *variant)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stateful")
    (folder / "params.yaml").write_text(compose(ROOT / "conf", TINY))
    shutil.copy(ROOT / "dvc.yaml", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASTERISM_STATE_ROOT", str(folder / "state"))
        run(folder, ["train_rnn"], ["profile_states"], ["build_dtmc"], ["select_seeds"])
        run(folder, ["fuzz", "state"], ["fuzz", "none"], ["measure_coverage"])
    return folder


def headline(folder):
    return {figure.label: figure.value for figure in stateful(folder).headline}


@pytest.fixture
def copied(workspace, tmp_path):
    """The same results, to be changed."""
    return shutil.copytree(workspace, tmp_path / "copied")


def test_crashes_coverage_and_curves_are_shown(workspace):
    section = stateful(workspace)
    body = unfolded(section.body)
    found = {name: read_json(workspace / f"metrics/fuzz-{name}.json") for name in GUIDES}
    assert all(metrics["crashes"] for metrics in found.values())
    groups = [min(SHOWN, metrics["crash_groups"]) for metrics in found.values()]
    assert body.count("<figcaption>") == sum(groups)
    assert body.count("data:image/png;base64,") == 2 * sum(groups)
    assert body.count("<svg") == 5  # the chain, three curves of growth, the ROC curves
    for name in ("test", "seeds", "queue, guided by state", "crashes, guided by nothing"):
        assert f"<td>{name}</td>" in body
    assert "“state” by basic state." in body
    assert "<th>n step state boundary</th>" in body, (
        "the words that say what guides are its heading"
    )
    assert "All campaigns ran the same mutants" in body, "300 mutants are less than a generation"
    assert unfolded(stateful(workspace).body) == body


def test_a_crash_that_several_campaigns_found_counts_once(workspace, copied):
    crashes = {name: read_arrays(copied / f"artifacts/fuzz/{name}/crashes.npz") for name in GUIDES}
    images = [image.tobytes() for arrays in crashes.values() for image in arrays["images"]]
    assert len(set(images)) < len(images), "both campaigns begin with the same mutants"
    assert headline(workspace)["different crashes, all campaigns together"] == (
        f"{len(set(images)):,}"
    )
    crashes["none"]["images"][0] += 1
    write_arrays(copied / "artifacts/fuzz/none/crashes.npz", **crashes["none"])
    assert headline(copied)["different crashes, all campaigns together"] == (
        f"{len(set(images)) + 1:,}"
    )


def test_the_page_asks_for_nothing(workspace):
    write_page(workspace, workspace / "index.html")
    text = (workspace / "index.html").read_text()
    assert "Telling crashes by their traces" in text
    # The one link out of the page is followed by who clicks on it.
    link = f'<a href="{SWEEPS}"'
    assert text.count(link) == 1
    assert REQUESTS.findall(text.replace(link, "")) == []


def test_campaigns_without_a_crash_are_shown(copied):
    for name in GUIDES:
        folder = copied / "artifacts/fuzz" / name
        arrays = read_arrays(folder / "crashes.npz")
        write_arrays(folder / "crashes.npz", **{key: a[:0] for key, a in arrays.items()})
        write_table(folder / "crashes.csv", read_table(folder / "crashes.csv").head(0))
    run(copied, ["measure_coverage"])
    body = unfolded(stateful(copied).body)
    assert body.count("no crash.") == 2
    assert "<figcaption>" not in body
    assert "there is nothing to tell apart" in body


def test_results_of_criteria_that_are_no_longer_asked_for_are_left_out(copied):
    params = yaml.safe_load((copied / "params.yaml").read_text())
    params["fuzz"]["criteria"] = ["state"]
    (copied / "params.yaml").write_text(yaml.safe_dump(params))
    run(copied, ["measure_coverage"])
    body = unfolded(stateful(copied).body)
    assert "guided by nothing" not in body.lower()
    assert "than the unguided one" not in body
    assert "<td>queue, guided by state</td>" in body
