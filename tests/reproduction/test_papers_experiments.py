"""The papers' experiments compose at every scale, and say what they take."""

from pathlib import Path

import pytest
import yaml

from asterism.config import Params, compose
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import validate
from asterism.reproduction.experiments import SCALES, read_experiments, select_experiments
from asterism.sweep.points import enumerate_points
from places import ROOT
from thinning import every

CONF = ROOT / "conf"
EXPERIMENTS = read_experiments(CONF)
RUNS = [(name, scale) for name, e in EXPERIMENTS.items() for scale in e.settings.scales]


@pytest.fixture
def models(tmp_path):
    """A folder with an empty file for each published one."""
    for experiment in EXPERIMENTS.values():
        for name in experiment.models.values():
            (tmp_path / name).touch()
    return tmp_path


def ends(overrides):
    """The overrides with the first and with the last of each list of values."""
    from asterism.dvc_hydra.overrides import parse_overrides

    columns = [override.values for override in parse_overrides(overrides)]
    return [[column[place] for column in columns] for place in (0, -1)]


@pytest.mark.parametrize(("name", "scale"), every(8, RUNS))
def test_an_experiment_composes_at_the_ends_of_its_sweep(name, scale, models):
    overrides = EXPERIMENTS[name].overrides(scale, models)
    first, last = ends(overrides)
    for chosen in [first, last] if first != last else [first]:
        params = validate(Params, yaml.safe_load(compose(CONF, chosen)))
        assert params.reproduce == EXPERIMENTS[name].settings


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scale"), RUNS)
def test_all_points_of_a_sweep_compose_and_differ(name, scale, models):
    points = enumerate_points(CONF, EXPERIMENTS[name].overrides(scale, models))
    assert len({point.key for point in points}) == len(points)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_file_begins_with_its_command_and_the_differences_from_the_paper(name):
    lines = (CONF / f"experiment/{name}.yaml").read_text(encoding="utf-8").splitlines()
    head = lines[: lines.index(next(line for line in lines if not line.startswith("#")))]
    assert head[0] == "# @package _global_"
    words = head[1].split()
    assert words[:5] == ["#", "asterism", "reproduce", name, "--scale"]
    assert words[5] in EXPERIMENTS[name].settings.scales
    assert ("--models" in words) == bool(EXPERIMENTS[name].models)
    assert any(line.startswith("# Differs here") for line in head)
    estimated = " ".join(line for line in head if line.startswith("# Estimated processor time"))
    for scale in EXPERIMENTS[name].settings.scales:
        recorded = (ROOT / f"results/reproduction/{name}-{scale}.json").exists()
        assert recorded or scale in estimated


def test_smoke_runs_all_papers_without_any_file():
    smoke = select_experiments(EXPERIMENTS, [], "smoke")
    assert {e.name.partition("_")[0] for e in smoke} == {
        "deepimportance", "deepstellar", "dflare", "memo",
    }  # fmt: skip
    assert not any(e.models for e in smoke)


def test_published_files_become_absolute_paths(models):
    given = EXPERIMENTS["dflare_released_lenet1"].overrides("full", models)
    assert f"pairs.file.original={models.resolve() / 'lenet1.h5'}" in given
    assert given[0] == "+experiment=dflare_released_lenet1"


def test_what_is_missing_or_unknown_is_told_in_a_line(tmp_path):
    experiment = EXPERIMENTS["dflare_released_lenet1"]
    with pytest.raises(UserError, match=r"\(lenet1-quan.lite, lenet1.h5\)"):
        experiment.overrides("full", None)
    with pytest.raises(UserError, match=r"lenet1.h5, .*no such file"):
        experiment.overrides("full", tmp_path)
    with pytest.raises(UserError, match=r"'smoke' .*full\)"):
        experiment.overrides("smoke", tmp_path)
    with pytest.raises(UserError, match=r"'smal'.* 'small'"):
        select_experiments(EXPERIMENTS, [], "smal")
    with pytest.raises(UserError, match="'dflare_mnst'; did you mean"):
        select_experiments(EXPERIMENTS, ["dflare_mnst"], "smoke")


def test_a_wrong_experiment_names_its_file(tmp_path):
    folder = tmp_path / "experiment"
    folder.mkdir()
    (folder / "plain.yaml").write_text("seed: 1\n")
    assert read_experiments(tmp_path) == {}
    file = folder / "mine.yaml"
    file.write_text("reproduce: {targets: [trigger], metrics: ['*'], scales: {tiny: [seed=1]}}\n")
    with pytest.raises(UserError, match=r"mine.yaml: .*'tiny'"):
        read_experiments(tmp_path)
    file.write_text("reproduce: {target: [trigger], metrics: ['*'], scales: {smoke: [seed=1]}}\n")
    with pytest.raises(UserError, match=r"mine.yaml: unknown parameter target"):
        read_experiments(Path(tmp_path))
    assert SCALES == ("smoke", "small", "full")
