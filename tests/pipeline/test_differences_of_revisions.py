"""What is compared between two states, with files that are made up."""

import json
from hashlib import md5

import polars as pl
import pytest

from asterism.core.messages.errors import UserError
from asterism.dvc_hydra.cache_files import object_path
from asterism.results import differences, revision, runs
from asterism.results.differences import CERTIFICATE, FINDINGS, Change, Finding, find_differences
from asterism.results.experiments import Experiment
from asterism.results.revision import Revision, open_revision


class Made:
    """Files by path, and the digests of outputs; of a path without content there is no file."""

    def __init__(self, name, files, digests=()):
        self.name, self._files, self._digests = name, files, dict(digests)

    def text(self, path):
        content = self._files.get(path)
        return None if content is None else content.decode()

    def result(self, path):
        return self._files.get(path)

    def below(self, folder):
        return sorted(path for path in self._files if path.startswith(f"{folder}/"))

    def digests(self):
        return self._digests


def state(name, files, digests=()):
    return Revision(Made(name, files, digests))


def encoded(document):
    return json.dumps(document).encode()


def listed(*names):
    return encoded(
        [{"signature": n, "finding": {"library": f"of {n}", "symptom": f"by {n}"}} for n in names]
    )


@pytest.fixture
def both():
    before = {
        "params.yaml": b"seed: 0\nk: {a: 1, gone: 2}\n",
        "metrics/a.json": encoded({"deep": {"x": 1, "same": 5}, "y": 2}),
        "metrics/lost.json": None,
        "plots/p.csv": b"n,v,w,t\n0,1,1,a\n1,2,,b\n",
        "plots/same.csv": b"n\n1\n",
        "plots/gone.csv": b"n\n1\n",
        "plots/q.txt": b"other",
        FINDINGS: listed("b", "a", "z"),
        CERTIFICATE: encoded({"verdict": {"word": "ship"}}),
    }
    after = before | {
        "params.yaml": b"seed: 1\nk: {a: 1, new: 3}\n",
        "metrics/a.json": encoded({"deep": {"x": 4, "same": 5}, "y": 2.5}),
        "metrics/lost.json": encoded({}),
        "plots/p.csv": b"n,v,w,t\n0,1,3,a\n1,-1,7,c\n",
        "plots/q.txt": b"text",
        "plots/new.csv": b"n\n1\n",
        FINDINGS: listed("c", "a", "0"),
    }
    del after["plots/gone.csv"], after[CERTIFICATE]
    old = {"one": "1", "two": "2", "three": "3"}
    new = {"two": "2", "three": "4", "four": "5"}
    return state("first", before, old), state("second", after, new)


def test_all_that_differs_is_told_from_the_first_to_the_second(both):
    found = find_differences(*both)
    assert (found.before, found.after) == ("first", "second")
    assert found.parameters == [
        Change("seed", 0, 1), Change("k.gone", 2, None), Change("k.new", None, 3),
    ]  # fmt: skip
    assert found.metrics == [Change("a:y", 2, 2.5), Change("a:deep.x", 1, 4)]
    assert found.alike == (1, 1)
    assert found.verdict == ("ship", None)
    assert found.outputs == {"four": "new", "one": "gone", "three": "changed"}
    assert list(found.outputs) == ["four", "one", "three"]
    assert found.missing == {"first": ["metrics/lost.json"]}


def test_findings_are_listed_by_change_and_signature(both):
    assert find_differences(*both).findings == [
        Finding("0", "of 0", "by 0", "new"),
        Finding("c", "of c", "by c", "new"),
        Finding("b", "of b", "by b", "gone"),
        Finding("z", "of z", "by z", "gone"),
        Finding("a", "of a", "by a", "same"),
    ]


def test_tables_of_plots_are_compared_column_by_column(both):
    gone, new, changed = find_differences(*both).plots
    assert (gone.path, gone.after, gone.columns) == ("plots/gone.csv", None, {})
    assert (new.path, new.before, new.columns) == ("plots/new.csv", None, {})
    assert gone.before.equals(pl.DataFrame({"n": [1]})) and new.after.equals(gone.before)
    assert (changed.path, changed.columns) == ("plots/p.csv", {"v": 3.0, "w": 2.0})
    assert changed.before["v"].to_list() == [1, 2] and changed.after["v"].to_list() == [1, -1]


def test_what_a_program_reads_has_all_of_it(both):
    told = differences.as_json(find_differences(*both))
    assert json.loads(json.dumps(told)) == told | {"verdict": ["ship", None]}
    assert (told["before"], told["after"]) == ("first", "second")
    assert told["parameters"][0] == {"name": "seed", "before": 0, "after": 1}
    assert told["metrics"][1] == {"name": "a:deep.x", "before": 1, "after": 4, "difference": 3.0}
    assert told["alike"] == {"parameters": 1, "metrics": 1}
    assert told["plots"]["plots/p.csv"] == {"v": 3.0, "w": 2.0}
    assert told["findings"][0] == {
        "signature": "0", "library": "of 0", "symptom": "by 0", "change": "new",
    }  # fmt: skip
    assert told["outputs"]["one"] == "gone" and told["missing"] == {"first": ["metrics/lost.json"]}


def test_columns_of_other_lengths_or_types_have_no_difference():
    short, other = pl.DataFrame({"a": [1], "t": ["x"]}), pl.DataFrame({"a": ["x"], "b": [1]})
    long = pl.DataFrame({"a": [1, 2], "t": ["x", "y"]})
    columns = differences._changed_columns
    assert columns(short, long) == {"a": None}
    assert columns(short, other) == {"a": None}
    assert columns(other, short) == {}
    assert columns(short, short) == {}
    assert columns(None, short) == columns(short, None) == {}


def test_the_largest_difference_leaves_empty_cells_out():
    first, second = pl.Series([1, 5, None]), pl.Series([2.5, 1.0, 9.0])
    assert differences._largest(first, second) == 4.0
    assert differences._largest(first[2:], second[2:]) == 0.0


def test_a_number_far_below_in_a_column_does_not_surprise():
    rows = "".join(f"{n}\n" for n in range(200)) + "0.5\n"
    table = differences._table(f"x\n{rows}".encode(), state("here", {}), "plots/x.csv")
    assert table["x"][-1] == 0.5 and len(table) == 201
    assert differences._table(None, state("here", {}), "plots/x.csv") is None


# states


def test_parameters_and_metrics_are_named_by_their_keys():
    files = {
        "params.yaml": b"a: 1\nb: {c: [2, 3], d: {e: x}}\n",
        "metrics/one.json": encoded({"n": 1, "yes": True, "t": "x", "d": {"f": 0.5}}),
        "metrics/two.json": encoded([1, 2]),
    }
    here = state("here", files)
    assert here.name == "here" and here.missing() == []
    assert here.parameters == {"a": 1, "b.c": [2, 3], "b.d.e": "x"}
    assert here.metrics == {"one:n": 1, "one:d.f": 0.5}
    assert here.json("metrics/two.json") == [1, 2] and here.json("none") is None
    assert state("here", {}).parameters == {}
    assert state("here", {"params.yaml": b"[1]"}).parameters == {}
    with pytest.raises(UserError, match=r"metrics/x\.json of here"):
        state("here", {"metrics/x.json": b"{"}).json("metrics/x.json")


TABLE = b"n\n1\n"
METRICS = encoded({"x": 1})
LISTED = encoded([{"relpath": f"{n}.csv", "md5": md5(TABLE).hexdigest()} for n in "ba"])
LOCK = f"""schema: '2.0'
stages:
  a:
    cmd: x
    outs:
    - path: metrics/a.json
      md5: {md5(METRICS).hexdigest()}
    - path: plots
      md5: {md5(LISTED).hexdigest()}.dir
    - path: plots.csv
      md5: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa03"""


@pytest.fixture
def committed(monkeypatch, tmp_path):
    """A commit whose files git tells as here, and its cache below a folder."""
    texts = {"dvc.lock": LOCK, "params.yaml": "seed: 3"}

    def git(root, command, *words):
        assert root == tmp_path
        if command == "ls-tree":
            assert words[:3] == ("--long", "0a1b", "--")
            path = words[3]
            return f"100644 blob 77 {len(texts[path])}\t{path}" if path in texts else ""
        assert command == "show"
        return texts[words[0].removeprefix("0a1b:")]

    monkeypatch.setattr(revision, "git", git)
    for content, kind in ((METRICS, ""), (LISTED, ".dir"), (TABLE, "")):
        path = object_path(tmp_path / "cache", md5(content).hexdigest() + kind)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return revision.Committed(tmp_path, "there", "0a1b", tmp_path / "cache")


def test_a_commits_results_are_read_from_the_cache(committed):
    assert (committed.name, committed.commit) == ("there", "0a1b")
    assert committed.text("params.yaml") == "seed: 3" and committed.text("none") is None
    assert committed.below("plots") == ["plots/a.csv", "plots/b.csv"]
    assert committed.result("plots/a.csv") == TABLE
    assert committed.result("plots.csv") is None and committed.result("none") is None
    assert len(committed.digests()) == 3 and committed.digests()["plots"].endswith(".dir")
    assert Revision(committed).metrics == {"a:x": 1}


def test_a_folder_whose_list_is_not_in_the_cache_is_empty(committed, tmp_path):
    object_path(tmp_path / "cache", committed.digests()["plots"]).unlink()
    assert committed.below("plots") == []


@pytest.mark.parametrize("content", [METRICS, LISTED])
def test_an_object_that_is_not_its_hash_is_no_result_of_a_commit(committed, tmp_path, content):
    (path,) = (tmp_path / "cache/files/md5").glob(f"*/{md5(content).hexdigest()[2:]}*")
    path.write_bytes(content.replace(b"1", b"2").replace(b"a.csv", b"z.csv"))
    with pytest.raises(UserError, match=path.name):
        Revision(committed).metrics, committed.below("plots")


@pytest.mark.parametrize("path", ["plots/../../mine.csv", "/etc/x.csv", "plots//x.csv"])
@pytest.mark.parametrize("listed", [True, False])
def test_a_strangers_commit_names_no_file_of_the_workspace(committed, monkeypatch, path, listed):
    """Both sides of a comparison are asked for what one of them names."""
    if listed:
        monkeypatch.setattr(committed, "_listed", lambda digest: [(path, md5(TABLE).hexdigest())])
    else:
        digests = {path: md5(TABLE).hexdigest()}
        monkeypatch.setattr(committed, "digests", lambda: digests)
    with pytest.raises(UserError, match="there has a result"):
        committed.below("plots")


def test_a_text_of_a_commit_has_a_largest_size(committed, monkeypatch):
    asked = []
    monkeypatch.setattr(revision, "require_room", lambda *words: asked.append(words))
    committed.text("params.yaml")
    assert asked == [(7, "limits.text_mb", "params.yaml of there has a size")]
    monkeypatch.setattr(revision, "git", lambda _root, command, *_: "160000 commit 77 -\tx")
    committed.text("x")
    assert asked[1][0] == 0, "what is no file has no size"


def test_the_workspace_is_the_folder(tmp_path):
    for name in ("metrics/b.json", "metrics/a/c.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "dvc.lock").write_text(LOCK)
    here = open_revision(tmp_path, "workspace", tmp_path / "none").files
    assert here.name == "workspace"
    assert here.below("metrics") == ["metrics/a/c.json", "metrics/b.json"]
    assert here.result("metrics/b.json") == b"{}" and here.result("metrics") is None
    assert here.text("none") is None and here.text("metrics/b.json") == "{}"
    assert here.digests()["plots.csv"] == f"{'a' * 30}03"
    (tmp_path / "dvc.lock").unlink()
    assert here.digests() == {}


def one(name, commit, baseline="base"):
    return Experiment(name, commit, baseline, "2026-01-31 12:00")


def test_a_name_is_a_commit_before_it_is_an_experiment(monkeypatch, tmp_path):
    def git(root, *words):
        assert (root, words[0], words[-2]) == (tmp_path, "rev-parse", "--end-of-options")
        if words[-1] != "tag^{commit}":
            raise UserError("unknown")
        return "0a1b"

    known = [one("tag", "f"), one("x", "1" * 40), one("y", "2" * 40), one("y", "3" * 40)]
    known.append(one("x", "1" * 40, "other"))
    monkeypatch.setattr(revision, "git", git)
    monkeypatch.setattr(revision, "experiments", lambda root: known if root == tmp_path else [])
    opened = {n: open_revision(tmp_path, n, tmp_path).files for n in ("tag", "x")}
    assert [files.commit for files in opened.values()] == ["0a1b", "1" * 40]
    assert [files.name for files in opened.values()] == ["tag", "x"]
    with pytest.raises(UserError, match=r"2 experiments are called y: .*\(2{12}, 3{12}\)"):
        open_revision(tmp_path, "y", tmp_path)
    with pytest.raises(UserError, match="no commit and no experiment 'z'"):
        open_revision(tmp_path, "z", tmp_path)


def test_parameters_that_differ_from_the_commits_are_named(monkeypatch, tmp_path):
    (tmp_path / "params.yaml").write_text("a: 1\nb: 2\nnew: 3\n")
    answers = {"status": " M params.yaml", "rev-parse": "0a1b", "show": "a: 1\nb: 3\ngone: 4"}
    answers["ls-tree"] = "100644 blob 77 9\tparams.yaml"
    monkeypatch.setattr(revision, "git", lambda _root, command, *_: answers[command])
    assert revision.changed_parameters(tmp_path) == ["b", "gone", "new"]
    answers["status"] = ""
    assert revision.changed_parameters(tmp_path) == []

    def fail(*_words):
        raise UserError("no repository")

    monkeypatch.setattr(revision, "git", fail)
    assert revision.changed_parameters(tmp_path) == []


# experiments beside each other


@pytest.fixture
def experiments(monkeypatch):
    """Two experiments from the current commit and one from another, with made-up results."""
    known = [one("e1", "c1", "head"), one("e0", "c0", "old"), one("e2", "c2", "head")]
    values = {"HEAD": (1, {"y": 1, "s": 0}), "e1": (2, {"y": 2, "s": 0}), "e2": (1, None)}
    values["e0"] = (1, {"y": 1, "s": 0})

    def committed(root, name, commit, cache):
        assert (root, cache) == ("root", "cache")
        k, metrics = values[name]
        files = {"params.yaml": f"k: {k}\nl: 0".encode()}
        return Made(name, files | {"metrics/a.json": metrics and encoded({"d": metrics})})

    monkeypatch.setattr(runs, "git", lambda _root, command, *_: {"rev-parse": "head"}.get(command))
    monkeypatch.setattr(runs, "experiments", lambda root: known)
    monkeypatch.setattr(runs, "cache_of", lambda root: "cache")
    monkeypatch.setattr(runs, "Committed", committed)
    return known


def test_experiments_stand_after_the_commit_that_they_started_from(experiments):
    found = runs.compare_runs("root")
    assert [e.name for e in found.experiments] == ["HEAD", "e1", "e2"]
    assert (found.experiments[0].commit, found.experiments[0].baseline) == ("head", "head")
    assert found.parameters == {"k": [1, 2, 1]} and found.metrics == {"a:d.y": [1, 2, None]}
    assert (found.alike, found.missing) == ((1, 1), ["e2"])
    found = runs.compare_runs("root", all_commits=True)
    assert [e.name for e in found.experiments] == ["e1", "e0", "e2"]


def test_a_commit_without_experiments_says_how_many_others_there_are(experiments):
    experiments[:] = [one("x", "c", "old"), one("y", "d", "old")]
    with pytest.raises(UserError, match=r"this commit \(head\); 2 started from others: give"):
        runs.compare_runs("root")
    experiments.clear()
    with pytest.raises(UserError, match=r"this commit \(head\): `asterism sweep` and"):
        runs.compare_runs("root", all_commits=True)


def test_experiments_are_read_from_gits_references(monkeypatch):
    from asterism.results import experiments as listing

    reference = f"refs/exps/ab/{'c' * 38}/mine"
    lines = [f"{reference}\0c0\0 2026-01-31 12:00".replace("\0 ", "\0"), "refs/exps/stash\0c1\0x"]
    asked = []
    monkeypatch.setattr(listing, "git", lambda *words: asked.append(words) or "\n".join(lines))
    assert listing.experiments("root") == [
        Experiment("mine", "c0", f"ab{'c' * 38}", "2026-01-31 12:00")
    ]
    assert asked[0][:3] == ("root", "for-each-ref", "--sort=committerdate")
    assert asked[0][-1] == "refs/exps"
