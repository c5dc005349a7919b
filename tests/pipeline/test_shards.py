"""Shards: whoever computes the parts of a long stage, its result is the same."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from small_pipeline import Project, call
from workspace import ENVIRONMENT, ROOT

from asterism.memo.store import write_models
from memo.small_graphs import branching, convolutional, recurrent

PARTS = "".join(f"part {n} of 0\n" for n in range(12))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return Project(tmp_path_factory.mktemp("shards"), long=True)


@pytest.mark.parametrize("shards", [1, 2, 5])
def test_a_long_stage_gives_the_same_bytes_for_any_number_of_shards(project, shards):
    shutil.rmtree(project.root / ".dvc/cache", ignore_errors=True)
    (project.root / "artifacts/long").unlink(missing_ok=True)
    project.expect(shards)
    status, output = call(project, "repro", "--shards", shards)
    assert status == 0, output
    assert (project.root / "artifacts/long").read_text() == PARTS
    assert sorted(int(number) for number, _ in project.shared()) == list(range(12))
    assert len({who for _, who in project.shared()}) == shards

    project.expect(shards)
    (project.root / "artifacts/long").unlink()
    status, output = call(project, "repro", "--shards", shards)
    assert status == 0, output
    assert (project.root / "artifacts/long").read_text() == PARTS
    assert project.shared() == [], "a stage that is in the cache needs no shards"


@pytest.mark.slow
def test_points_of_a_sweep_have_shards_of_their_own(project):
    project.expect(2)
    status, output = call(project, "sweep", "--name", "s", "--shards", 2, "seed=1,2")
    assert status == 0, output
    begun = project.shared()
    assert [len(begun), len({who for _, who in begun[:12]})] == [24, 2]
    assert {who for _, who in begun[:12]}.isdisjoint(who for _, who in begun[12:])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shards", "2", "--shard-launcher", "nope"], "nope"),
        (["--shards", "2", "--shard-launcher", "joblib"], "is another launcher: leave"),
    ],
)
def test_bad_input_is_one_line(project, arguments, message):
    status, output = call(project, "repro", *arguments)
    assert status == 1
    assert output.startswith("error: ")
    assert output.count("\n") == 1
    assert message in output


@pytest.mark.slow
def test_generate_models_with_one_two_and_five_shards(tmp_path):
    """The real stage, its shards started by hand beside it."""
    trees = []
    for shards in (1, 2, 5):
        here = tmp_path / str(shards)
        seeds = {"conv": convolutional(), "rnn": recurrent(), "add": branching()}
        write_models(here / "artifacts/reduce_models", seeds)
        params = yaml.safe_load((ROOT / "params.yaml").read_text())
        params["generate"] |= {"models": 60, "chains": 7}
        (here / "params.yaml").write_text(yaml.safe_dump(params))
        environment = ENVIRONMENT | {"ASTERISM_STATE_ROOT": str(here / "state")}
        command = [sys.executable, ROOT / "stages", "generate_models"]
        processes = [
            subprocess.Popen([*command, *more], cwd=here, env=environment)
            for more in [["--shard"]] * (shards - 1) + [[]]
        ]
        assert [process.wait(200) for process in processes] == [0] * shards
        assert not list((here / "state").rglob("mutants.json"))
        trees.append({
            str(p.relative_to(here)): p.read_bytes()
            for folder in ("artifacts/generate_models", "metrics", "plots")
            for p in Path(here, folder).rglob("*") if p.is_file()
        })  # fmt: skip
    assert len(trees[0]) == 5
    assert trees[0] == trees[1] == trees[2]
