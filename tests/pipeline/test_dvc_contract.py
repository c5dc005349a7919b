"""What the package ``dvc_hydra`` relies upon in DVC and Hydra, a test for each thing.

Little of it is documented, so another version may change it. A test that fails here names what has
changed; ``make upgrade-dvc`` runs these tests before it raises the pinned versions.
"""

import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import tomllib
from collections import OrderedDict
from contextlib import chdir
from importlib import metadata
from pathlib import Path

import pytest
from dvc.repo import Repo
from dvc.repo.index import Index
from dvc.stage.cache import StageCache
from dvc_data.hashfile.db.local import LocalHashFileDB
from dvc_data.hashfile.tree import Tree
from imports import ROOT
from packaging.requirements import Requirement
from packaging.version import Version

GIT = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost"]

PIPELINE = """\
stages:
  first:
    cmd: mkdir -p artifacts/first && cp in artifacts/first/copy
    deps: [in]
    params: [seed, group.k]
    outs: [artifacts/first]
  second:
    foreach: [a, b]
    do:
      cmd: mkdir -p metrics && cp artifacts/first/copy 'metrics/${item}.json'
      deps: [artifacts/first]
      metrics: ['metrics/${item}.json']
      meta: {shards: true}
"""

IMPORT = """\
deps:
- path: x
  repo:
    url: {address}
    rev_lock: abcdef6789012345678901234567890123456789
outs:
- path: x
  md5: abcdef67890123456789012345678901
"""

PARAMETERS = "seed: 1\ngroup:\n  k: [1, 2]\nother: 0\n"


#: What the guards replace for the rest of a process, as it is when no test has run yet.
OWN = [
    (StageCache, "_load_cache", StageCache._load_cache),
    (StageCache, "transfer", StageCache.transfer),
    (Tree, "from_list", classmethod(Tree.from_list.__func__)),
    (LocalHashFileDB, "oid_to_path", LocalHashFileDB.oid_to_path),
    (Repo, "_reset", Repo._reset),
    (Index, "from_repo", classmethod(Index.from_repo.__func__)),
]


@pytest.fixture(autouse=True)
def dvc_as_it_is(monkeypatch):
    """DVC without the guards that an earlier test of this process may have put into it."""
    for place, name, own in OWN:
        monkeypatch.setattr(place, name, own)


def dvc(folder, *words, check=True):
    """DVC's own command, of the version that runs these tests."""
    ended = subprocess.run(
        [sys.executable, "-m", "dvc", *words],
        cwd=folder,
        env=os.environ | {"DVC_NO_ANALYTICS": "1", "PYTHONHASHSEED": "0"},
        text=True,
        capture_output=True,
        timeout=300,
    )
    assert not check or ended.returncode == 0, ended.stderr
    return ended


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A workspace that DVC's own command has brought up to date, and committed."""
    root = tmp_path_factory.mktemp("contract") / "project"
    root.mkdir()
    subprocess.run([*GIT, "init", "-q"], cwd=root, check=True)
    dvc(root, "init", "-q")
    (root / "in").write_text('{"x": 1}')
    (root / "dvc.yaml").write_text(PIPELINE)
    (root / "params.yaml").write_text(PARAMETERS)
    (root / ".gitignore").write_text("/artifacts\n/metrics\n")
    dvc(root, "repro", "-q")
    subprocess.run([*GIT, "add", "-A"], cwd=root, check=True)
    subprocess.run([*GIT, "commit", "-qm", "start"], cwd=root, check=True)
    return root


@pytest.fixture
def root(finished, tmp_path):
    """A copy of it to change."""
    copy = tmp_path / "project"
    shutil.copytree(finished, copy, symlinks=True)
    with chdir(copy):
        yield copy


@pytest.fixture
def repository(root):
    """It, opened as the package opens it, without the package's guards."""

    with Repo(str(root), _wait_for_lock=True) as opened:
        yield opened


def stage(repository, name="first"):
    return {s.addressing: s for s in repository.index.stages}[name]


def with_hashes(repository, name="first"):
    """A stage whose dependencies and outputs have their hashes, as after its run."""
    found = stage(repository, name)
    found.save()
    return found


def entry_files(root):
    """The entries of the run-cache."""
    return sorted(path for path in (root / ".dvc/cache/runs").rglob("*") if path.is_file())


def entry_of(root, command):
    """A stage's entry of the run-cache: its file, and what stands in it."""
    from dvc.utils.serialize import load_yaml

    found = [(path, load_yaml(str(path))) for path in entry_files(root)]
    return next((p, facts) for p, facts in found if facts["cmd"].startswith(command))


@pytest.mark.parametrize("name", ["dvc", "dvc-data", "dvc-objects", "hydra-core"])
def test_versions_are_pinned_to_their_minor(name):
    """Another minor version is used after these tests have passed with it, and not before."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (pinned,) = (r for r in map(Requirement, project["dependencies"]) if r.name == name)
    version = Version(metadata.version(name))
    assert version in pinned.specifier
    assert Version(f"{version.major}.{version.minor + 1}") not in pinned.specifier
    locked = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert f"\n{name}=={version}\n" in locked


class TestWorkspaces:
    """Opening one, and its facts."""

    def test_repo_waits_for_the_lock_of_another_process(self, root, repository):

        held, taken = threading.Event(), []

        def hold():
            with Repo(str(root)) as other, other.lock:
                held.set()
                time.sleep(1)
                taken.append("released")

        thread = threading.Thread(target=hold)
        thread.start()
        assert held.wait(60)
        with repository.lock:
            assert taken == ["released"]
        thread.join()

    def test_not_dvc_repo_error_tells_a_folder_without_one(self, tmp_path):
        from dvc.exceptions import DvcException, NotDvcRepoError

        with pytest.raises(NotDvcRepoError, match="not inside of a DVC repository"):
            Repo(str(tmp_path))
        assert issubclass(NotDvcRepoError, DvcException)

    def test_index_stages_have_names_commands_metadata_and_paths(self, root, repository):
        names = [found.addressing for found in repository.index.stages]
        assert sorted(names) == ["first", "second@a", "second@b"]
        found = stage(repository, "second@a")
        assert found.cmd == "mkdir -p metrics && cp artifacts/first/copy 'metrics/a.json'"
        assert found.meta == {"shards": True}
        assert stage(repository).meta is None
        assert [out.fs_path for out in found.outs] == [str(root / "metrics/a.json")]
        assert [dep.fs_path for dep in found.deps] == [str(root / "artifacts/first")]
        assert [str(out) for out in found.outs] == ["metrics/a.json"]
        assert found.path_in_repo == "dvc.yaml"
        assert repository.root_dir == str(root)

    def test_cache_folders_are_where_the_settings_say(self, root, repository):
        assert Path(repository.cache.local_cache_dir) == root / ".dvc/cache"
        assert Path(repository.cache.local.path) == root / ".dvc/cache/files/md5"
        assert Path(repository.stage_cache.cache_dir) == root / ".dvc/cache/runs"

    def test_config_edit_local_is_obeyed(self, root):
        from dvc.config import Config

        with Config(str(root / ".dvc")).edit("local") as settings:
            settings.setdefault("cache", {})["dir"] = str(root.parent / "elsewhere")
            settings.setdefault("core", {})["site_cache_dir"] = str(root / ".dvc/tmp/site")
        with Repo(str(root)) as opened:
            assert opened.cache.local_cache_dir == str(root.parent / "elsewhere")
            assert opened.site_cache_dir.startswith(str(root / ".dvc/tmp/site"))

    def test_checkout_of_a_name_brings_data_back(self, root, repository):
        (root / "mine").write_text("data")
        repository.add("mine")
        (root / "mine").unlink()
        (data,) = [s.addressing for s in repository.index.stages if not s.cmd]
        assert data == "mine.dvc"
        repository.checkout([data])
        assert (root / "mine").read_text() == "data"

    def test_data_resolver_names_stages_under_other_parameters(self, repository, tmp_path):
        from dvc.parsing import DataResolver
        from dvc.utils.serialize import load_yaml

        pipeline = load_yaml("dvc.yaml")
        pipeline["stages"]["second"]["foreach"] = "${variants}"
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere/params.yaml").write_text("variants: [x, y]\n")
        keys = DataResolver(repository, str(tmp_path / "elsewhere"), pipeline).get_keys()
        assert list(keys) == ["first", "second@x", "second@y"]


class TestOrder:
    """The stages of a run."""

    def test_plan_repro_puts_stages_after_what_they_read(self, repository):
        from dvc.repo.reproduce import collect_stages, get_active_graph, plan_repro

        graph = get_active_graph(repository.index.graph)
        wanted = collect_stages(repository, ["second@b"])
        assert [s.addressing for s in plan_repro(graph, wanted)] == ["first", "second@b"]
        everything = [s.addressing for s in plan_repro(graph, list(repository.index.stages))]
        assert everything[0] == "first"
        assert len(everything) == 3

    def test_graph_successors_are_the_stages_that_one_reads(self, repository):
        graph = repository.index.graph
        above = graph.successors(stage(repository, "second@a"))
        assert [s.addressing for s in above] == ["first"]
        assert list(graph.successors(stage(repository))) == []

    def test_stage_not_found_has_the_name(self, repository):
        from dvc.repo.reproduce import collect_stages
        from dvc.stage.exceptions import StageNotFound

        with pytest.raises(StageNotFound) as error:
            collect_stages(repository, ["secnd"])
        assert error.value.name == "secnd"


class TestHashes:
    """Hashes of what stages depend on, which are remembered and put into other objects."""

    def test_save_gives_a_dependency_its_hash(self, root, repository):
        dep = next(d for d in stage(repository).deps if str(d) == "in")
        (root / "in").write_text("other")
        dep.save()
        assert dep.hash_info.value == "795f3202b17cb6bc3d4b771d8c6c9eaf"
        assert dep.hash_info.name == "md5"

    def test_a_dependency_takes_over_hash_info_meta_and_obj(self, repository):
        one = next(d for d in stage(repository, "second@a").deps)
        one.save()
        other = next(d for d in stage(repository, "second@b").deps)
        other.hash_info, other.meta, other.obj = one.hash_info, one.meta, one.obj
        assert other.get_hash() == one.get_hash()
        assert other.dumpd() == one.dumpd()

    def test_dependency_does_not_exist_error_tells_a_missing_file(self, root, repository):
        from dvc.dependency.base import DependencyDoesNotExistError

        (root / "in").unlink()
        dep = next(d for d in stage(repository).deps if str(d) == "in")
        with pytest.raises(DependencyDoesNotExistError):
            dep.save()

    def test_fill_values_is_save_of_parameters(self, repository):
        from dvc.dependency import ParamsDependency

        found = next(d for d in stage(repository).deps if isinstance(d, ParamsDependency))
        assert found.params == ["seed", "group.k"]
        found.save()
        saved = found.hash_info
        found.fill_values({"seed": 1, "group.k": [1, 2]})
        assert found.hash_info == saved
        assert dict(saved.value) == {"seed": 1, "group.k": [1, 2]}

    def test_load_path_reads_parameters(self, repository):
        from dvc.utils.serialize import load_path

        read = load_path("params.yaml", repository.fs)
        assert read == {"seed": 1, "group": {"k": [1, 2]}, "other": 0}


class TestRunning:
    """Bringing a stage up to date."""

    def test_changed_tells_a_stage_that_is_not_up_to_date(self, root, repository):
        with repository.lock:
            assert not stage(repository).changed()
            (root / "in").write_text("2")
            assert stage(repository).changed()

    def test_reproduce_leaves_what_is_up_to_date_and_runs_what_is_not(self, root, repository):
        with repository.lock:
            assert not stage(repository).reproduce()
            (root / "in").write_text("2")
            assert stage(repository).reproduce()
        assert (root / "artifacts/first/copy").read_text() == "2"

    def test_run_with_force_takes_nothing_from_the_run_cache(self, root, repository):
        (root / "in").write_text("2")
        (root / "dvc.yaml").write_text(PIPELINE.replace("&& cp", "&& date +%N >> ran && cp"))
        repository._reset()
        with repository.lock:
            stage(repository).run(force=True)
            stage(repository).run(force=True)
        assert len((root / "ran").read_text().splitlines()) == 2

    def test_run_enters_the_stage_into_the_run_cache_and_hashes_its_outputs(self, root, repository):
        before = len(entry_files(root))
        (root / "in").write_text("2")
        with repository.lock:
            found = stage(repository)
            found.run(force=True)
        assert len(entry_files(root)) == before + 1
        assert found.outs[0].hash_info.value.endswith(".dir")

    def test_a_log_line_running_stage_comes_before_the_command_only(self, root, repository):
        """The moment at which an interrupt may end the run, and shards start."""
        seen = []

        class Notes(logging.Handler):
            def emit(self, record):
                if str(record.msg).startswith("Running stage"):
                    seen.append((root / "artifacts/first").exists())

        logger = logging.getLogger("dvc.stage.run")
        notes = Notes()
        logger.addHandler(notes)
        try:
            with repository.lock:
                (root / "in").write_text("2")
                stage(repository).reproduce()
                assert seen == [False]
                shutil.rmtree(root / "artifacts")
                stage(repository).reproduce()  # from the run-cache
                assert seen == [False]
        finally:
            logger.removeHandler(notes)

    def test_an_exception_of_a_log_handler_ends_the_run(self, root, repository):
        """An interrupt that was noted is raised there, and nothing has been started."""
        from asterism.dvc_hydra.announcements import Announcements

        def interrupt():
            raise KeyboardInterrupt

        (root / "in").write_text("2")
        with repository.lock, pytest.raises(KeyboardInterrupt), Announcements(interrupt):
            stage(repository).reproduce()
        assert not (root / "artifacts/first").exists()

    @pytest.mark.parametrize(("command", "status"), [("exit 3", 3), ("kill -TERM $$", -15)])
    def test_stage_cmd_failed_error_ends_with_the_exit_status(self, root, command, status):
        from dvc.stage.exceptions import StageCmdFailedError

        (root / "dvc.yaml").write_text(PIPELINE.replace("&& cp in", f"; {command}; cp in"))
        with (
            Repo(str(root)) as opened,
            opened.lock,
            pytest.raises(StageCmdFailedError) as error,
        ):
            stage(opened).reproduce()
        assert int(str(error.value).rpartition(" ")[2]) == status

    def test_the_lock_is_free_while_a_command_runs(self, root):
        """Independent stages of a workspace run side by side, each in its own process."""

        command = f"{sys.executable} -m dvc status -q; echo $? > free; cp in"
        (root / "dvc.yaml").write_text(PIPELINE.replace("cp in", command))
        with Repo(str(root)) as opened, opened.lock:
            stage(opened).reproduce()
        assert (root / "free").read_text().strip() in ("0", "1")  # 255: it could not get the lock

    def test_cache_link_error_tells_outputs_that_cannot_be_placed(self, root, repository):
        from dvc.exceptions import CacheLinkError, DvcException

        assert issubclass(CacheLinkError, DvcException)
        shutil.rmtree(root / "metrics")
        (root / "metrics").write_text("a file where the folder belongs")
        with repository.lock, pytest.raises((CacheLinkError, OSError)):
            stage(repository, "second@a").reproduce()


class TestLockFile:
    """``dvc.lock``, which is written stage by stage as text."""

    def test_dump_calls_dump_stages_with_the_stage(self, root, repository, monkeypatch):
        from dvc.dvcfile import Lockfile

        given = []
        monkeypatch.setattr(
            Lockfile,
            "dump_stages",
            lambda self, stages, **options: given.append((self.path, stages, options)),
        )
        found = with_hashes(repository)
        with repository.lock:
            found.dump(update_pipeline=False)
        ((path, stages, options),) = given
        assert Path(path) == root / "dvc.lock"
        assert list(stages) == [found]
        assert set(options) <= {"with_files"}

    def test_blocks_written_one_by_one_are_the_bytes_that_dvc_writes(self, root, repository):
        """The header, the indentation, the order and the form of each entry."""
        from asterism.dvc_hydra import lockfile

        written = (root / "dvc.lock").read_bytes()
        names = lockfile.stage_names(root)
        stages = [with_hashes(repository, name) for name in names]
        (root / "dvc.lock").unlink()
        for found in stages:
            lockfile.set_stages(root, [found])
        assert (root / "dvc.lock").read_bytes() == written

    def test_to_lockfile_is_to_single_stage_lockfile_by_name(self, repository):
        from dvc.stage.serialize import to_lockfile, to_single_stage_lockfile

        found = with_hashes(repository)
        assert to_lockfile(found) == {"first": to_single_stage_lockfile(found)}

    def test_parse_yaml_and_dumps_yaml_are_inverse(self, root):
        from dvc.utils.serialize import dumps_yaml, load_yaml, parse_yaml

        text = (root / "dvc.lock").read_text()
        assert dumps_yaml(parse_yaml(text, "dvc.lock")) == text
        assert parse_yaml(text, "dvc.lock") == load_yaml("dvc.lock")


class TestRunCache:
    """Entries of the run-cache, and taking one up."""

    def test_entries_lie_under_key_and_value_below_two_digits(self, root):
        from asterism.dvc_hydra.cache_rules import ENTRY

        names = [p.relative_to(root / ".dvc/cache/runs").as_posix() for p in entry_files(root)]
        assert len(names) == 3
        assert all(ENTRY.fullmatch(name) for name in names)

    def test_get_cache_hash_of_an_entry_is_the_folder_that_it_lies_in(self, root):
        from dvc.stage.cache import _get_cache_hash

        for path in entry_files(root):
            facts = OrderedDict(entry_of(root, "mkdir -p artifacts")[1])
            if path == entry_of(root, "mkdir -p artifacts")[0]:
                assert _get_cache_hash(dict(facts), key=True) == path.parent.name
                facts["cmd"] = "another"
                assert _get_cache_hash(dict(facts), key=True) != path.parent.name

    def test_get_cache_hash_of_a_stage_without_outputs_hashes_is_its_key(self, root, repository):
        from dvc.stage.cache import _get_cache_hash
        from dvc.stage.serialize import to_single_stage_lockfile

        found = with_hashes(repository)
        path, _ = entry_of(root, "mkdir -p artifacts")
        facts = to_single_stage_lockfile(found)
        assert _get_cache_hash(dict(facts), key=True) == path.parent.name

    def test_get_cache_dir_and_path_lead_to_an_entry(self, root, repository):
        path, _ = entry_of(root, "mkdir -p artifacts")
        cache = repository.stage_cache
        assert Path(cache._get_cache_dir(path.parent.name)) == path.parent
        assert Path(cache._get_cache_path(path.parent.name, path.name)) == path

    def test_load_cache_gives_the_entry(self, root, repository):
        path, facts = entry_of(root, "mkdir -p artifacts")
        assert repository.stage_cache._load_cache(path.parent.name, path.name) == facts
        assert repository.stage_cache._load_cache(path.parent.name, "0" * 64) is None

    def test_create_stage_of_an_entry_checks_its_outputs_out_with_their_hashes(
        self, root, repository
    ):
        _, facts = entry_of(root, "mkdir -p artifacts")
        shutil.rmtree(root / "artifacts")
        found = repository.stage_cache._create_stage(facts, wdir=stage(repository).wdir)
        assert found.outs_cached()
        with repository.lock:
            found.checkout()
        assert (root / "artifacts/first/copy").read_text() == '{"x": 1}'
        (out,) = found.outs
        assert out.hash_info.value == facts["outs"][0]["md5"]
        assert out.meta.nfiles == 1
        (of_stage,) = stage(repository).outs
        assert of_stage.fs_path == out.fs_path

    def test_outs_cached_is_false_where_a_file_is_gone(self, root, repository):
        _, facts = entry_of(root, "mkdir -p artifacts")
        shutil.rmtree(root / ".dvc/cache/files")
        found = repository.stage_cache._create_stage(facts, wdir=stage(repository).wdir)
        assert not found.outs_cached()

    def test_temporary_files_have_names_that_are_known(self):
        from dvc.fs import utils

        from asterism.dvc_hydra.cache_files import _TEMPORARY

        assert _TEMPORARY.fullmatch(utils.tmp_fname())


class TestGuards:
    """That DVC calls the functions which the guards replace, where it reads what others wrote."""

    def test_load_cache_is_how_a_run_reads_entries(self, root, repository, monkeypatch):

        read, own = [], StageCache._load_cache
        monkeypatch.setattr(
            StageCache, "_load_cache", lambda self, k, v: read.append(k) or own(self, k, v)
        )
        shutil.rmtree(root / "artifacts")
        (root / "dvc.lock").unlink()
        repository._reset()
        with repository.lock:
            stage(repository).reproduce()
        assert entry_of(root, "mkdir -p artifacts")[0].parent.name in read

    def test_from_list_is_how_lists_of_files_are_read(self, root, repository, monkeypatch):

        read, own = [], Tree.from_list.__func__

        def from_list(cls, listed, hash_name=None):
            read.append(listed)
            return own(cls, listed, hash_name=hash_name)

        monkeypatch.setattr(Tree, "from_list", classmethod(from_list))
        shutil.rmtree(root / "artifacts")
        repository.checkout(["first"])
        assert [item["relpath"] for item in read[0]] == ["copy"]

    def test_object_format_error_of_a_list_counts_as_not_cached(
        self, root, repository, monkeypatch
    ):
        """So that the stage runs, where a list was rejected."""
        from dvc_objects.errors import ObjectFormatError

        def reject(*_, **__):
            raise ObjectFormatError("rejected")

        _, facts = entry_of(root, "mkdir -p artifacts")
        found = repository.stage_cache._create_stage(facts, wdir=stage(repository).wdir)
        monkeypatch.setattr(Tree, "from_list", reject)
        assert not found.outs_cached()

    def test_oid_to_path_is_how_hashes_become_paths(self, root, repository, monkeypatch):

        asked, own = [], LocalHashFileDB.oid_to_path
        monkeypatch.setattr(
            LocalHashFileDB, "oid_to_path", lambda self, oid: asked.append(oid) or own(self, oid)
        )
        shutil.rmtree(root / "artifacts")
        repository.checkout(["first"])
        assert any(oid.endswith(".dir") for oid in asked)
        assert any(not oid.endswith(".dir") for oid in asked)

    def test_transfer_is_how_the_run_cache_is_pulled_by_find(self, root, repository, monkeypatch):

        remote = root.parent / "remote"
        dvc(root, "remote", "add", "-q", "-d", "store", str(remote))
        dvc(root, "push", "-q", "--run-cache")
        shutil.rmtree(root / ".dvc/cache")
        sources, own = [], StageCache.transfer

        def transfer(self, from_odb, to_odb, force=True):
            sources.append(from_odb)
            from_odb.fs.find = lambda _runs: []
            return own(self, from_odb, to_odb, force)

        monkeypatch.setattr(StageCache, "transfer", transfer)
        repository._reset()
        repository.pull(run_cache=True)
        assert [str(source.path).startswith(str(remote)) for source in sources] == [True]
        assert entry_files(root) == []

    def test_get_remote_names_the_folder_of_a_remote(self, root, repository):
        from dvc.config import NoRemoteError

        with pytest.raises(NoRemoteError):
            repository.cloud.get_remote()
        for url, is_folder in ((str(root.parent / "store"), True), ("s3://bucket/store", False)):
            dvc(root, "remote", "add", "-q", "-f", "-d", "store", url)
            repository._reset()
            assert (repository.cloud.get_remote().fs.protocol == "local") == is_folder
        dvc(root, "remote", "add", "-q", "-f", "-d", "store", "../store")
        repository._reset()
        assert Path(repository.cloud.get_remote().path).resolve() == (root.parent / "store")

    def test_reset_is_how_settings_of_another_commit_come_in(self, root, repository, monkeypatch):

        subprocess.run([*GIT, "checkout", "-qb", "theirs"], cwd=root, check=True)
        dvc(root, "remote", "add", "-q", "-d", "store", "/theirs")
        subprocess.run([*GIT, "commit", "-qam", "theirs"], cwd=root, check=True)
        subprocess.run([*GIT, "checkout", "-q", "-"], cwd=root, check=True)
        repository._reset()
        assert "store" not in repository.config["remote"]
        seen = [
            "store" in repository.config["remote"] for _ in repository.brancher(revs=["theirs"])
        ]
        assert True in seen

        own = Repo._reset

        def keep(self):
            config = self.__dict__.get("config")
            own(self)
            if config is not None:
                self.__dict__["config"] = config

        monkeypatch.setattr(Repo, "_reset", keep)
        for _ in repository.brancher(revs=["theirs"]):
            assert "store" not in repository.config["remote"]

    def test_index_from_repo_is_how_a_fetch_reads_the_stages_of_a_commit(self, root, monkeypatch):
        from dvc.fs import GitFileSystem, LocalFileSystem

        read, own = [], Index.from_repo.__func__

        def from_repo(cls, opened, *arguments, **options):
            found = own(cls, opened, *arguments, **options)
            read.append((type(opened.fs), len(found.stages)))
            found.stages = found.stages[:0]
            return found

        dvc(root, "remote", "add", "-q", "-d", "store", str(root.parent / "remote"))
        dvc(root, "push", "-q")
        subprocess.run([*GIT, "commit", "-qam", "remote"], cwd=root, check=True)
        shutil.rmtree(root / ".dvc/cache/files")
        monkeypatch.setattr(Index, "from_repo", classmethod(from_repo))
        with Repo(str(root)) as opened:
            opened.fetch(revs=["HEAD"], workspace=False)
        assert (GitFileSystem, 3) in read
        assert not issubclass(GitFileSystem, LocalFileSystem)
        assert [p for p in (root / ".dvc/cache/files").rglob("*") if p.is_file()] == []

    def test_the_guard_keeps_imports_of_another_commit_from_being_asked_for(self, root):
        """A stranger's commit names an address beside stages of the project's own."""
        listener = socket.create_server(("127.0.0.1", 0))
        listener.settimeout(0)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/x.git"
        (root / "x.dvc").write_text(IMPORT.format(address=address))
        dvc(root, "remote", "add", "-q", "-d", "store", str(root.parent / "remote"))
        subprocess.run([*GIT, "checkout", "-qb", "theirs"], cwd=root, check=True)
        subprocess.run([*GIT, "add", "-A"], cwd=root, check=True)
        subprocess.run([*GIT, "commit", "-qm", "theirs"], cwd=root, check=True)
        program = (
            "import sys; from pathlib import Path; from dvc.repo import Repo\n"
            "from asterism.dvc_hydra.guard import guard_dvc; guard_dvc()\n"
            "print(Repo().fetch(revs=['theirs'], workspace=False))"
        )
        with listener:
            process = subprocess.Popen([sys.executable, "-c", program], cwd=root)
            try:
                process.wait(60)  # what asks waits for an answer, for ever
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            with pytest.raises(BlockingIOError):
                listener.accept()

    def test_is_import_and_protocol_tell_what_leads_elsewhere(self, repository):
        for found in repository.index.stages:
            assert not found.is_import
            assert [out.protocol for out in found.outs] == ["local"]


class TestExperiments:
    """Points of sweeps as experiments."""

    def test_exp_ref_info_is_the_reference_that_dvc_lists(self, root):
        from asterism.dvc_hydra.experiments import experiment_reference

        head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=root, text=True).strip()
        (root / "in").write_text("2")
        subprocess.run([*GIT, "commit", "-qam", "point"], cwd=root, check=True)
        reference = experiment_reference(head, "mine")
        subprocess.run(["git", "update-ref", reference, "HEAD"], cwd=root, check=True)
        listed = dvc(root, "exp", "list", "--rev", head, "--name-only").stdout
        assert listed.split() == ["mine"]

    def test_cli_main_gives_the_exit_status(self, root):
        from dvc.cli import main

        assert main(["status", "-q"]) == 0
        assert main(["repro", "-q", "no-stage"]) != 0


class TestHydra:
    """What is used of Hydra."""

    def test_compose_and_dump_writes_what_exp_run_writes(self, root):
        from dvc.utils.hydra import compose_and_dump

        (root / "conf").mkdir()
        (root / "conf/config.yaml").write_text("seed: 1\ntwice: ${seed}\ngroup: {k: [1]}\n")
        target = root / "composed.yaml"
        compose_and_dump(str(target), str(root / "conf"), None, "config", None, ["seed=5"])
        assert target.read_text() == "seed: 5\ntwice: 5\ngroup:\n  k:\n  - 1\n"
        dvc(root, "config", "hydra.enabled", "true")
        (root / "dvc.yaml").write_text("stages:\n  a: {cmd: 'true', params: [seed]}\n")
        subprocess.run([*GIT, "add", "-A"], cwd=root, check=True)
        subprocess.run([*GIT, "commit", "-qm", "conf"], cwd=root, check=True)
        dvc(root, "exp", "run", "-q", "-S", "seed=5")
        assert (root / "params.yaml").read_bytes() == target.read_bytes()

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
        from hydra.core.override_parser.overrides_parser import OverridesParser

        from asterism.dvc_hydra.overrides import parse, points

        parsed = OverridesParser.create().parse_overrides(overrides)
        (batch,) = BasicSweeper.split_arguments(parsed, None)
        assert points(parse(overrides)) == [tuple(row) for row in batch]

    def test_ends_of_ranges_and_intervals_and_all_choices_are_bounds(self):
        from asterism.dvc_hydra.overrides import parse

        given = ["a=range(1,5)", "+b=interval(0.5,2)", "c=choice(x,y,z)", "d=7"]
        assert [override.bounds for override in parse(given)] == [
            ("a=1", "a=4"),
            ("+b=0.5", "+b=2.0"),
            ("c=x", "c=y", "c=z"),
            ("d=7",),
        ]

    def test_an_unknown_key_is_answered_by_the_advice_to_append(self):
        from asterism.dvc_hydra.composition import CompositionError, compose_parameters

        with pytest.raises(CompositionError) as error:
            compose_parameters(ROOT / "conf", ["seeed=1"])
        assert error.value.advised == ["+seeed=1"]

    def test_an_unknown_choice_comes_with_the_choices(self):
        from asterism.dvc_hydra.composition import CompositionError, compose_parameters

        with pytest.raises(CompositionError, match=r"no choice of data is called 'mnits'.*mnist"):
            compose_parameters(ROOT / "conf", ["data=mnits"])

    def test_a_multirun_gives_each_job_its_number_and_its_configuration(self, tmp_path):
        from asterism.dvc_hydra.composition import store_empty_tree
        from asterism.dvc_hydra.multirun import multirun

        (tmp_path / "conf").mkdir()
        jobs = []
        arguments = [
            "hydra/job_logging=disabled",
            "hydra/hydra_logging=disabled",
            "hydra.output_subdir=null",
            f"hydra.sweep.dir={tmp_path / 'hydra'}",
            "+point=4,7",
        ]
        assert multirun(tmp_path / "conf", store_empty_tree(), arguments, jobs.append) == ""
        assert [(job.number, job.point, job.overrides) for job in jobs] == [
            (0, 4, ("+point=4",)),
            (1, 7, ("+point=7",)),
        ]
        assert jobs[1].composition == "point: 7\n"

    def test_a_job_that_fails_is_told_in_a_line_and_logging_stays(self, tmp_path, monkeypatch):
        from asterism.dvc_hydra.composition import store_empty_tree
        from asterism.dvc_hydra.multirun import multirun

        def fail(_job):
            raise OSError("no room")

        (tmp_path / "conf").mkdir()
        arguments = [
            "hydra/job_logging=disabled",
            "hydra/hydra_logging=disabled",
            "hydra.output_subdir=null",
            f"hydra.sweep.dir={tmp_path / 'hydra'}",
            "+point=1",
        ]
        root, own = logging.getLogger(), logging.getLogger("asterism.test_of_multirun")
        quiet = logging.getLogger("asterism.test_of_multirun.quiet")
        monkeypatch.setattr(quiet, "disabled", True)
        before = root.handlers[:], root.level
        told = multirun(tmp_path / "conf", store_empty_tree(), arguments, fail)
        assert told == "OSError: no room"
        # Hydra disables all logging there is; what a sweep says afterwards is to be read.
        assert (root.handlers, root.level) == before and root.handlers
        assert quiet.disabled and not own.disabled


def test_lists_of_files_are_json_with_paths_and_hashes(root):
    """Which :mod:`asterism.core.resuming.commits` and the rules for lists read without DVC."""
    (listed,) = (root / ".dvc/cache/files/md5").glob("*/*.dir")
    (item,) = json.loads(listed.read_text())
    assert item["relpath"] == "copy"
    assert len(item["md5"]) == 32
