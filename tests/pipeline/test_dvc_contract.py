"""What the package ``dvc_hydra`` relies upon in DVC and Hydra, a test for each thing.

Most of it is documented, or lies on the disk where any version of DVC has to find it again. What is
neither has a test of its own here. ``versions_of_dvc.py`` runs these tests with other versions.
"""

import json
import logging
import shutil
import tomllib
from contextlib import chdir, redirect_stdout
from importlib import metadata
from io import StringIO
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import example, given
from hypothesis import strategies as st
from imports import ROOT
from omegaconf import OmegaConf
from packaging.requirements import Requirement
from workspace import commit, run

from asterism.core.messages.errors import UserError
from asterism.dvc_hydra import cache_files, lockfile, run_cache
from asterism.dvc_hydra.cache_files import ENTRY
from asterism.dvc_hydra.cache_objects import members_of
from asterism.dvc_hydra.commands import experiment_reference, run_dvc_quietly
from asterism.dvc_hydra.hashes import WorkspaceHashes
from asterism.dvc_hydra.lockfile import parse_as_dvc
from asterism.dvc_hydra.overrides import expand_sweep, hydra_value, parse_overrides
from asterism.dvc_hydra.remote import open_remote
from asterism.dvc_hydra.repository import Repository
from asterism.dvc_hydra.stage import read_stages
from thinning import every

PIPELINE = """\
stages:
  first:
    cmd: mkdir -p artifacts/first && cp in artifacts/first/copy && echo 1 > artifacts/first/other
    deps: [in, folder, program, in]
    params: [seed, group.k, rate, {{more.yaml: [x]}}]
    outs: [artifacts/first]
  second:
    foreach: [a, b]
    do:
      cmd: mkdir -p metrics && cp artifacts/first/copy 'metrics/${{item}}.json'
      deps: [artifacts/first/copy]
      metrics: ['metrics/${{item}}.json']
      meta: {{shards: true}}
  third:
    cmd:
    - mkdir -p artifacts/third/{long}
    - cp in artifacts/third/{long}/ä
    deps: [artifacts/first]
    outs: [artifacts/third]
""".format(long="a_folder_with_a_long_name_" * 4)

PARAMETERS = "seed: 1\ngroup:\n  k: [1, 2]\nrate: 0.00001\nother: 0\n"

FILES = {
    "in": '{"x": 1}',
    "folder/a": "a",
    "folder/deep/b": "b",
    "folder/ignored.pyc": "c",
    "folder/.dvcignore.txt": "d",
    "program": "x",
    "more.yaml": "x: 1.0e-05\n",
    "params.yaml": PARAMETERS,
    "dvc.yaml": PIPELINE,
    ".dvcignore": "*.pyc\n",
    ".gitignore": "/artifacts\n/metrics\n",
}


def dvc(folder, *words):
    """What DVC's own command says, of the version that runs these tests; in this process."""
    from dvc.cli import main

    with chdir(folder), redirect_stdout(StringIO()) as said, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DVC_NO_ANALYTICS", "1")
        assert main(list(words)) == 0
    return said.getvalue()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A workspace that DVC's own command has brought up to date, and committed."""
    root = tmp_path_factory.mktemp("contract") / "project"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "program").chmod(0o755)
    run(root, "git", "init", "-q")
    dvc(root, "init", "-q")
    (root / ".dvcignore").write_text(FILES[".dvcignore"])
    dvc(root, "repro", "-q")
    commit(root, "start")
    return root


@pytest.fixture
def root(finished, tmp_path):
    """A copy of it to change."""
    copy = tmp_path / "project"
    shutil.copytree(finished, copy, symlinks=True)
    with chdir(copy):
        yield copy


def locked(root):
    return parse_as_dvc((root / "dvc.lock").read_text(), "dvc.lock")["stages"]


def entry_files(root):
    """The entries of the run-cache."""
    return sorted(path for path in (root / ".dvc/cache/runs").rglob("*") if path.is_file())


@pytest.mark.parametrize(("name", "next_major"), [("dvc", "4.0"), ("hydra-core", "1.4")])
def test_the_version_that_is_installed_is_allowed_and_the_next_one_not(name, next_major):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (allowed,) = (r for r in map(Requirement, project["dependencies"]) if r.name == name)
    assert metadata.version(name) in allowed.specifier
    assert next_major not in allowed.specifier


class TestStages:
    """``dvc.repo.Repo(...).index.stages``: the only reader of templates in ``dvc.yaml``."""

    def test_stages_have_names_commands_paths_and_parameters(self, root):
        stages = read_stages(root)
        assert list(stages) == ["first", "second@a", "second@b", "third"]
        first, second = stages["first"], stages["second@a"]
        assert second.command == "mkdir -p metrics && cp artifacts/first/copy 'metrics/a.json'"
        assert (second.is_long, first.is_long) == (True, False)
        assert second.outputs == [root / "metrics/a.json"]
        assert second.inputs == [root / "artifacts/first/copy"]
        assert sorted(first.deps) == ["folder", "in", "in", "program"]
        assert first.params == {"params.yaml": ["seed", "group.k", "rate"], "more.yaml": ["x"]}
        assert len(stages["third"].commands) == 2

    def test_marks_of_a_stage_are_read(self, root):
        (root / "dvc.yaml").write_text(
            "stages:\n  a: {cmd: x, always_changed: true, outs: [{artifacts/a: {persist: true}}]}\n"
            "  b: {cmd: x, frozen: true, deps: [in]}\n"
        )
        stages = read_stages(root)
        assert (stages["a"].always_runs, stages["b"].always_runs) == (True, False)
        assert (stages["a"].is_frozen, stages["b"].is_frozen) == (False, True)
        assert (stages["a"].kept, stages["a"].outs) == (("artifacts/a",), ("artifacts/a",))

    def test_data_under_dvc_add_are_stages_without_a_command(self, root):
        (root / "mine").write_text("data")
        dvc(root, "add", "-q", "mine")
        stage = read_stages(root)["mine.dvc"]
        assert not stage.command
        assert stage.hashes == {root / "mine": "8d777f385d3dfec8815d20f7496026dc"}

    def test_a_pipeline_that_cannot_be_read_is_a_line(self, root):
        (root / "dvc.yaml").write_text("stages: {a: {cmd: '${nothing}'}}")
        with pytest.raises(UserError, match="nothing") as error:
            read_stages(root)
        assert "\n" not in str(error.value)


class TestCommands:
    """``dvc.cli.main``: DVC's documented commands, without a new process."""

    def test_a_command_that_fails_says_why(self, root, capfd):
        run_dvc_quietly(root, "status")
        with pytest.raises(UserError, match="no-stage"):
            run_dvc_quietly(root, "commit", "--force", "--", "no-stage")
        assert capfd.readouterr() == ("", "")

    def test_commit_writes_the_lock_the_cache_and_the_run_cache(self, root):
        before = len(entry_files(root))
        (root / "in").write_text("2")
        (root / "artifacts/first/copy").write_text("2")
        run_dvc_quietly(root, "commit", "--force", "--", "first")
        assert len(entry_files(root)) == before + 1
        digest = locked(root)["first"]["outs"][0]["md5"]
        assert sorted(members_of(root / ".dvc/cache", digest)) == ["copy", "other"]

    def test_checkout_puts_stages_and_data_from_the_cache(self, root):
        shutil.rmtree(root / "artifacts")
        run_dvc_quietly(root, "checkout", "--", "first")
        assert (root / "artifacts/first/copy").read_text() == FILES["in"]
        assert not (root / "artifacts/third").exists()

    def test_temporary_files_have_names_that_are_known(self):
        from dvc.fs import utils

        assert cache_files._TEMPORARY.fullmatch(utils.tmp_fname())


class TestRemotes:
    """``Repo(...).cloud.get_remote()``: the file system behind the address of a remote."""

    def test_a_remote_gives_its_files_one_by_one(self, root):
        dvc(root, "remote", "add", "-q", "-d", "store", str(root.parent / "store"))
        dvc(root, "push", "-q", "--run-cache")
        entries, objects = entry_files(root), sorted((root / ".dvc/cache/files").rglob("*"))
        shutil.rmtree(root / ".dvc/cache")
        with open_remote(root, root / ".dvc/cache") as remote:
            found = remote.fetch_run_cache()
            assert entry_files(root) == entries and len(found) == 4
            remote.fetch_objects(out["md5"] for entry in found for out in entry["outs"])
        assert sorted((root / ".dvc/cache/files").rglob("*")) == objects
        assert all(p.stat().st_mode & 0o222 == 0 for p in objects if p.is_file())

    def test_no_remote_is_a_line(self, root):
        with pytest.raises(UserError, match="no remote"), open_remote(root, root / ".dvc/cache"):
            pytest.fail("it is open")

    @pytest.mark.parametrize(
        ("error", "told"), [(OSError("no space"), "no space"), (TimeoutError(), "TimeoutError")]
    )
    def test_what_a_server_says_is_told_or_else_what_kind_of_error_it_is(self, root, error, told):
        dvc(root, "remote", "add", "-q", "-d", "store", str(root.parent / "store"))
        cache = root / ".dvc/cache"
        with pytest.raises(UserError, match=f"store: {told}"), open_remote(root, cache):
            raise error


class TestFormats:
    """What lies on the disk."""

    def test_hashes_are_those_that_dvc_writes(self, root):
        hashes = WorkspaceHashes(root, root / ".dvc/cache")
        found = {
            item["path"]: item
            for entry in locked(root).values()
            for item in (*entry.get("deps", []), *entry["outs"])
        }
        assert len(found) == 8
        for path, facts in found.items():
            assert {"path": path} | hashes.of(root / path) == facts

    def test_a_file_in_an_output_that_is_not_there_is_hashed_by_its_list(self, root):
        facts = WorkspaceHashes(root, root / ".dvc/cache").of(root / "artifacts/first/copy")
        shutil.rmtree(root / "artifacts")
        hashes = WorkspaceHashes(root, root / ".dvc/cache")
        assert hashes.of(root / "artifacts/first/copy") is None
        hashes.learn(root / "artifacts/first", locked(root)["first"]["outs"][0])
        assert hashes.of(root / "artifacts/first/copy") == facts
        hashes.learn(root / "artifacts", {"md5": "0" * 32})
        assert hashes.of(root / "artifacts/first/copy") is None

    @pytest.mark.parametrize("there", [True, False])
    def test_a_folder_around_outputs_is_hashed_with_and_without_them(self, root, there):
        (root / "dvc.yaml").write_text(
            PIPELINE + "  all:\n    cmd: mkdir -p report && touch report/x\n"
            "    deps: [artifacts, metrics]\n    outs: [report/x]\n"
        )
        (root / "artifacts/mine").write_text("of no stage")
        dvc(root, "repro", "-q")
        hashes = WorkspaceHashes(root, root / ".dvc/cache")
        for entry in locked(root).values():
            for out in entry["outs"]:
                hashes.learn(root / out["path"], out)
                if not there and out["path"] != "artifacts/third":
                    path = root / out["path"]
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        for facts in locked(root)["all"]["deps"]:
            assert {"path": facts["path"]} | hashes.of(root / facts["path"]) == facts

    def test_facts_of_a_stage_are_its_entry_without_the_outputs_hashes(self, root):
        hashes = WorkspaceHashes(root, root / ".dvc/cache")
        for name, stage in read_stages(root).items():
            entry = locked(root)[name]
            entry["outs"] = [{"path": out["path"]} for out in entry["outs"]]
            assert stage.facts(hashes) == entry

    def test_an_entry_lies_under_the_key_of_its_stage_and_holds_what_the_lock_does(self, root):
        hashes = WorkspaceHashes(root, root / ".dvc/cache")
        names = [p.relative_to(root / ".dvc/cache/runs").as_posix() for p in entry_files(root)]
        assert len(names) == 4 and all(map(ENTRY.fullmatch, names))
        for name, stage in read_stages(root).items():
            facts = stage.facts(hashes)
            assert any(
                path.parent.name == run_cache.run_cache_key(facts) for path in entry_files(root)
            )
            assert run_cache.find_entry(root / ".dvc/cache", facts) == locked(root)[name]
            assert run_cache.find_entry(root / ".dvc/cache", facts | {"cmd": "another"}) is None

    def test_the_lock_file_is_written_with_the_bytes_of_dvc(self, root):
        written = (root / "dvc.lock").read_bytes()
        entries = {
            name: lockfile.read_locked_stage(root, name) for name in lockfile.stage_names(root)
        }
        (root / "dvc.lock").unlink()
        for name, entry in entries.items():
            lockfile.set_entries(root, {name: entry})
        assert (root / "dvc.lock").read_bytes() == written

    @pytest.mark.parametrize(
        "kinds", every(3, ["symlink", "copy", "reflink,copy", '"hardlink,copy"', ""])
    )
    def test_dvc_finds_what_was_taken_from_the_cache_up_to_date(self, root, kinds):
        if kinds:
            dvc(root, "config", "cache.type", kinds.strip('"'))
        for name in ("artifacts", "metrics"):
            shutil.rmtree(root / name)
        (root / "dvc.lock").unlink()
        repository = Repository(root)
        found = {n: repository.find(s) for n, s in repository.stages.items()}
        repository.take(found)
        assert "up to date" in dvc(root, "status")
        taken = root / "artifacts/first/copy"
        assert taken.is_symlink() is (kinds == "symlink")
        assert (taken.stat().st_nlink > 1) is ("hardlink" in kinds)

    def test_a_reference_of_an_experiment_is_the_one_that_dvc_lists(self, root):
        head = run(root, "git", "rev-parse", "HEAD").strip()
        (root / "in").write_text("2")
        commit(root, "point")
        run(root, "git", "update-ref", experiment_reference(head, "mine"), "HEAD")
        listed = dvc(root, "exp", "list", "--rev", head, "--name-only")
        assert listed.split() == ["mine"]


class TestHydra:
    """What is used of Hydra."""

    @pytest.mark.slow
    def test_a_composition_is_what_exp_run_writes(self, root):
        from asterism.dvc_hydra.composition import compose_parameters

        (root / "conf").mkdir()
        (root / "conf/config.yaml").write_text("seed: 1\ntwice: ${seed}\ngroup: {k: [1]}\n")
        composed = compose_parameters(root / "conf", ["seed=5"])
        assert composed == "seed: 5\ntwice: 5\ngroup:\n  k:\n  - 1\n"
        dvc(root, "config", "hydra.enabled", "true")
        (root / "dvc.yaml").write_text("stages:\n  a: {cmd: 'true', params: [seed]}\n")
        commit(root, "conf")
        dvc(root, "exp", "run", "-q", "-S", "seed=5")
        assert (root / "params.yaml").read_text() == composed

    @pytest.mark.parametrize(
        "overrides",
        [
            ["a=1,2", "b=x"],
            ["a=range(1,4)", "+b/c=x,y", "a=3,4"],
            ["a=choice(1,2)", "~b", "++c='q r',s", "d={e:1}", "f=[1,2],[3]"],
            ["fuzz/selection@x=a,b", "g=null"],
        ],
    )
    def test_points_are_those_of_hydras_own_sweeper(self, overrides):
        from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

        parsed = OverridesParser.create().parse_overrides(overrides)
        (batch,) = BasicSweeper.split_arguments(parsed, None)
        assert expand_sweep(parse_overrides(overrides)) == [tuple(row) for row in batch]

    def test_ends_of_ranges_and_intervals_and_all_choices_are_bounds(self):
        given = ["a=range(1,5)", "+b=interval(0.5,2)", "c=choice(x,y,z)", "d=7"]
        assert [override.bounds for override in parse_overrides(given)] == [
            ("a=1", "a=4"),
            ("+b=0.5", "+b=2.0"),
            ("c=x", "c=y", "c=z"),
            ("d=7",),
        ]

    def multirun(self, folder, points, task):
        """Run a task for points of an empty tree, without what Hydra logs and keeps."""
        from asterism.dvc_hydra.composition import multirun, store_empty_tree

        (folder / "conf").mkdir()
        arguments = [
            "hydra/job_logging=disabled",
            "hydra/hydra_logging=disabled",
            "hydra.output_subdir=null",
            f"hydra.sweep.dir={folder / 'hydra'}",
            f"+point={points}",
        ]
        return multirun(folder / "conf", store_empty_tree(), arguments, task)

    def test_a_multirun_gives_each_job_its_number_and_its_configuration(self, tmp_path):
        jobs = []
        assert self.multirun(tmp_path, "4,7", jobs.append) == ""
        assert [(job.number, job.point, job.overrides) for job in jobs] == [
            (0, 4, ("+point=4",)),
            (1, 7, ("+point=7",)),
        ]
        assert jobs[1].composition == "point: 7\n"

    def test_a_job_that_fails_is_told_in_a_line_and_logging_stays(self, tmp_path, monkeypatch):
        def fail(_job):
            raise OSError("no room")

        root, own = logging.getLogger(), logging.getLogger("asterism.test_of_multirun")
        quiet = logging.getLogger("asterism.test_of_multirun.quiet")
        monkeypatch.setattr(quiet, "disabled", True)
        before = root.handlers[:], root.level
        assert self.multirun(tmp_path, "1", fail) == "OSError: no room"
        # Hydra disables all logging there is; what a sweep says afterwards is to be read.
        assert (root.handlers, root.level) == before and root.handlers
        assert quiet.disabled and not own.disabled


def test_lists_of_files_are_json_with_paths_and_hashes(root):
    """Which :func:`~asterism.dvc_hydra.cache_objects.members_of` reads without DVC."""
    listed = [json.loads(p.read_text()) for p in (root / ".dvc/cache/files/md5").glob("*/*.dir")]
    (item,) = next(one for one in listed if len(one) == 1)
    assert Path(item["relpath"]).name == "ä"
    assert len(item["md5"]) == 32


GRAMMAR = OverridesParser.create()
TEXTS = st.text(st.sampled_from("\\'${} \"a=,[:é"), max_size=8)
PARTS = st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-1e9, 1e9) | TEXTS
VALUES = st.recursive(
    PARTS, lambda v: st.lists(v) | st.dictionaries(st.sampled_from("abc"), v), max_leaves=8
)


@given(VALUES)
@example("a\\b'\\\\'${c}\\${d}\\")
@example({"a": [1, {"b": "a\\\\${b}\\c="}, None], "b": {"c": True, "a": 1e-7}})
def test_written_values_are_read_as_they_are(value):
    override = GRAMMAR.parse_override(f"key={hydra_value(value)}")
    whole = OmegaConf.create({"value": override.value()})
    assert OmegaConf.to_container(whole, resolve=True)["value"] == value
