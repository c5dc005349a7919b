"""All of a stranger's project but its code: ``make pull && make repro`` execute nothing of it.

The project is the real one, with fewer of its stages. A stranger has computed results, has put
others in their place under their right names, and has filled the remote. Someone else clones,
pulls and runs. Every Python process there is watched, and each payload would leave a mark.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import canary
import numpy as np
import pytest
import yaml
from sharing import call, make
from test_private_notes import Pickled
from test_strangers_cache import (
    SHADOW,
    change_entry,
    evil,
    with_a_file_of_code,
    with_a_folder_that_leaves,
)
from workspace import ENVIRONMENT, ROOT, commit, copy_project

from asterism.core.files.artifacts import read_json, write_json, write_table
from asterism.memo.graphs.store import write_models
from libraries.test_injected_bugs import GRAPHS
from models.endless_onnx import endless_rnn

TINY = [
    "data.train=60",
    "data.test=30",
    "rnn.units=[4]",
    "rnn.training.epochs=1",
    "reduce.models=[lenet5]",
    "trigger.seeds=4",
    "execute.backends=[tensorflow:eager,pytorch:eager]",
]
STATEFUL = ["train_rnn", "profile_states"]
LIBRARIES = ["library_versions", "reduce_models", "generate_models", "execute_models"]
COMPUTED = ["train_rnn", "library_versions", "reduce_models"]
TRAINED = "artifacts/train_rnn"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="folders of events are found by /proc"),
]


class Mine:
    """A folder of someone's, with the project, a home, and marks that payloads leave."""

    def __init__(self, folder):
        self.root, self.notes = folder / "project", folder / "notes"
        self.notes.mkdir(parents=True)
        self.mark = self.notes / "owned"
        home = folder / "home"
        home.mkdir()
        # Its path is short: the system allows sockets, which lie there, some hundred characters.
        self._temporary = tempfile.TemporaryDirectory(prefix="mine-")
        temporary = Path(self._temporary.name)
        self.writable = [home, temporary, folder / "state"]
        self.environment = ENVIRONMENT | {
            "HOME": str(home),
            "TMPDIR": str(temporary),
            "ASTERISM_STATE_ROOT": str(folder / "state"),
            "DVC_SITE_CACHE_DIR": str(temporary / "dvc"),
            "DVC_TEST": "1",  # DVC does not ask for its own newest version
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(ROOT / "src"),
        }

    def payload(self):
        """A shell's command that leaves the mark."""
        return f"touch {self.mark}"

    def watch(self, folder):
        """Watch all that is called from now on; it may write results, and what DVC notes."""
        places = ["artifacts", "metrics", "plots", "report", "logs", "sweeps", ".dvc", ".git"]
        places += ["dvc.lock", ".dvc.lock.????????"]
        writable = self.writable + [self.root / place for place in places]
        path = f"{folder}:{ROOT / 'src'}"
        watched = canary.environment(folder, self.root, writable)
        self.environment |= watched | {"PYTHONPATH": path}


def keep_stages(root, names):
    """Leave these stages, and no plots of others, in a project's pipeline."""
    path = root / "dvc.yaml"
    stages = yaml.safe_load(path.read_text())["stages"]
    path.write_text(yaml.safe_dump({"stages": {name: stages[name] for name in names}}))
    commit(root, "fewer stages")


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """A project whose cheap stages have run."""
    mine = Mine(tmp_path_factory.mktemp("computed"))
    copy_project(mine.root, TINY)
    keep_stages(mine.root, [*STATEFUL, *LIBRARIES, "trigger"])
    call(mine, "dvc", "repro", "-q", *COMPUTED)
    (mine.root / "dvc.lock").unlink()
    return mine


@pytest.fixture
def stranger(computed, tmp_path):
    """A copy of it, to change at will."""
    mine = Mine(tmp_path / "stranger")
    shutil.copytree(computed.root, mine.root, symlinks=True)
    return mine


def set_params(mine, **values):
    path = mine.root / "params.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | values))


def files_that_python_reads(mine):
    """Put what Python, Matplotlib and pytest look for into an output's folder."""
    for name in ("sitecustomize.py", "usercustomize.py", "conftest.py", "json.py", "numpy.py"):
        (mine.root / TRAINED / name).write_text(evil(mine))
    (mine.root / TRAINED / "matplotlibrc").write_text("backend: module://conftest\n")


def note_of_a_network_elsewhere(mine):
    """``rnn.json`` names a file outside of its folder."""
    files_that_python_reads(mine)
    note = read_json(mine.root / TRAINED / "rnn.json")
    write_json(mine.root / TRAINED / "rnn.json", note | {"file": "../../stages/fuzz.py"})
    return STATEFUL, STATEFUL[:1], f"{TRAINED}/rnn.json"


def endless_graph(mine):
    """The graph that ONNX Runtime is to run in the stage has a Loop without an end."""
    files_that_python_reads(mine)
    endless_rnn(mine.root / TRAINED / "graph.onnx", limits=(-1, 9))
    return STATEFUL, STATEFUL[:1], f"{TRAINED}/graph.onnx holds 'And', which train_rnn"


def code_in_a_network(mine):
    """The network is a Keras file with a Lambda layer, without a graph of this project's."""
    save_lambda(mine.root / TRAINED / "model.keras", mine.payload())
    write_json(mine.root / TRAINED / "rnn.json", {"file": "model.keras", "layer": None})
    return STATEFUL, STATEFUL[:1], f"{TRAINED}/model.keras holds a Lambda layer"


def code_in_a_graph(mine):
    """A layer's parameter has a name that is code."""
    generate(mine)
    path = mine.root / "artifacts/generate_models/models.json"
    models = read_json(path)
    code = f"name=__import__('os').system({mine.payload()!r}) or 'x', seed"
    models[0]["nodes"][-1]["config"][code] = 0
    write_json(path, models)
    return LIBRARIES, LIBRARIES[:-1], "models.json: the model '00000'"


def objects_in_weights(mine):
    """The stored weights of the models are Python objects."""
    generate(mine)
    save_objects(mine.root / "artifacts/reduce_models/weights.npz", mine.payload())
    return LIBRARIES, LIBRARIES[:-1], "artifacts/reduce_models/weights.npz"


def generate(mine):
    """Results of a stage that has not run."""
    write_models(mine.root / "artifacts/generate_models", {"00000": GRAPHS[1]})
    write_json(mine.root / "metrics/generate_models.json", {"models": 1})
    write_table(mine.root / "plots/generate_models/growth.csv", {"models": [1], "pairs": [1]})


def code_in_a_model(mine):
    """The parameters name a Keras model with a Lambda layer as both models of a pair."""
    save_lambda(mine.root / "model.keras", mine.payload())
    names = dict.fromkeys(("original", "compressed"), "model.keras")
    set_params(mine, pairs={"own": names})
    return ["trigger"], [], "model.keras holds a Lambda layer"


def save_lambda(path, command):
    import keras

    layer = keras.layers.Lambda(eval(f"lambda x: (__import__('os').system({command!r}), x)[1]"))
    model = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten(), layer])
    model.add(keras.layers.Dense(10, activation="softmax"))
    model.save(path)


def objects_in_data(mine):
    """The parameters name data whose arrays hold Python objects."""
    save_objects(mine.root / "images.npz", mine.payload())
    data = yaml.safe_load((mine.root / "params.yaml").read_text())["data"]
    set_params(mine, data=data | {"name": "npz", "path": "images.npz", "train": None, "test": None})
    return STATEFUL, [], "images.npz"


def save_objects(path, command):
    names = ("train_images", "train_labels", "test_images", "test_labels")
    np.savez(path, **dict.fromkeys(names, np.array([Pickled(command)], dtype=object)))


RESULTS = [
    note_of_a_network_elsewhere,
    endless_graph,
    code_in_a_network,
    code_in_a_graph,
    objects_in_weights,
]
INPUTS = [code_in_a_model, objects_in_data]


def offer(stranger, stages, changed):
    """Commit the changed results under their right names, and fill a remote; where it lies."""
    keep_stages(stranger.root, stages)
    if changed:
        call(stranger, "dvc", "commit", "-q", "-f", *changed)
    store = stranger.root.parent / "store"
    call(stranger, *make("remote"), f"URL={store}")
    call(stranger, *make("push"))
    commit(stranger.root, "a stranger's")
    stranger.mark.unlink(missing_ok=True)  # the stranger's own machine is not of interest
    return store


def clone_watched(stranger, tmp_path):
    """Someone's clone of it, in which every process is watched."""
    mine = Mine(tmp_path / "mine")
    call(stranger, "git", "clone", "-q", stranger.root, mine.root)
    mine.watch(tmp_path / "canary")
    return mine


def pull_and_repro(mine):
    """Status and output of ``make repro`` after ``make pull``."""
    before = settings(mine)
    _, pulled = call(mine, "timeout", "600", *make("pull"), check=False)
    status, output = call(mine, "timeout", "900", *make("repro"), "JOBS=2", check=False)
    assert settings(mine) == before
    return status, pulled + output


def settings(mine):
    """What git and DVC take programs from."""
    paths = [*mine.root.glob(".git/hooks/*"), *mine.root.glob(".*/config*")]
    return {path: path.read_bytes() for path in sorted(paths)}


def require_harmless(stranger, mine, tmp_path, output):
    """Nothing was executed or written beside the results, in processes that were watched."""
    assert not stranger.mark.exists() and not mine.mark.exists(), output
    assert canary.violations(tmp_path / "canary") == [], output
    changed = call(mine, "git", "status", "--porcelain").splitlines()
    assert [line for line in changed if line[3:] != "dvc.lock"] == [], output
    assert not list(mine.root.rglob("__pycache__"))
    return "\n".join(canary.watched(tmp_path / "canary"))


@pytest.mark.parametrize("attack", [*RESULTS, *INPUTS])
def test_a_strangers_results_and_inputs_run_nothing(attack, stranger, tmp_path):
    stages, changed, told = attack(stranger)
    offer(stranger, stages, changed)
    mine = clone_watched(stranger, tmp_path)
    status, output = pull_and_repro(mine)
    watched = require_harmless(stranger, mine, tmp_path, output)
    assert status != 0 and told in output, output
    assert "Traceback" not in output
    reader = stages[len(changed)]
    assert f"stages {reader}" in watched, "the stage that reads it was watched"
    assert not [stage for stage in changed if f"stages {stage}" in watched], "results were taken"


def test_a_strangers_run_cache_writes_nothing_beside_results(stranger, tmp_path):
    """Its entries lie in a cache that someone has copied, and nothing else says what to use."""
    call(stranger, "dvc", "repro", "-q", *STATEFUL)
    store = offer(stranger, STATEFUL, [])
    entry = change_entry(store, STATEFUL[0], with_a_file_of_code(stranger, store))
    changed = change_entry(store, STATEFUL[1], with_a_folder_that_leaves(stranger, store))
    digest = yaml.safe_load(changed.read_text())["outs"][0]["md5"]
    listed = f"files/md5/{digest[:2]}/{digest[2:]}"
    assert (store / listed).is_file()
    tagged = store / "runs/ab" / ("ab" + "0" * 62) / ("0" * 64)
    tagged.parent.mkdir(parents=True)
    tagged.write_text(f"cmd: !!python/object/apply:os.system ['{stranger.payload()}']\n")
    (stranger.root / "dvc.lock").unlink()
    commit(stranger.root, "no results")
    mine = clone_watched(stranger, tmp_path)
    shutil.copytree(store, mine.root / ".dvc/cache")
    status, output = pull_and_repro(mine)
    watched = require_harmless(stranger, mine, tmp_path, output)
    assert status == 0 and "2 stages ran" in output, output
    assert entry.name in output and tagged.name in output, output
    assert f"warning: .dvc/cache/{listed}" in output, output
    assert len(list(mine.root.glob(".dvc/cache/files/md5/*/*.dir"))) == len(STATEFUL)
    assert all(f"stages {stage}" in watched for stage in STATEFUL)
    assert not (mine.root / SHADOW).exists()


@pytest.fixture
def small(tmp_path):
    """A watched folder with a few files."""
    mine = Mine(tmp_path / "mine")
    for name in ("src", "metrics", "artifacts"):
        (mine.root / name).mkdir(parents=True)
    (mine.root / "README.md").touch()
    (mine.root / "artifacts/conftest.py").touch()
    mine.watch(tmp_path / "canary")
    return mine


UNSAFE = {
    save_objects: "import numpy; numpy.load('file.keras', allow_pickle=True)['train_images']",
    save_lambda: "import keras; keras.saving.load_model('file.keras', safe_mode=False)",
}


@pytest.mark.parametrize("save", UNSAFE)
def test_the_payloads_work_where_nothing_is_checked(save, small, tmp_path):
    made = small.root / "file.keras"
    with made.open("wb") as file:
        save(file if save is save_objects else made, small.payload())
    small.mark.unlink(missing_ok=True)
    call(small, sys.executable, "-c", UNSAFE[save])
    assert small.mark.exists()
    assert any("os.system" in line for line in canary.violations(tmp_path / "canary"))


def test_plain_dvc_is_led_out_of_the_results(stranger, tmp_path):
    """The entry of the test above is what DVC itself would use."""
    cache = stranger.root / ".dvc/cache"
    keep_stages(stranger.root, STATEFUL[:1])
    change_entry(cache, "train_rnn", with_a_file_of_code(stranger, cache))
    shutil.rmtree(stranger.root / TRAINED)
    call(stranger, "dvc", "repro", "-q")
    assert (stranger.root / SHADOW).read_text() == evil(stranger)
    subprocess.run([sys.executable, stranger.root / SHADOW], check=False)
    assert stranger.mark.exists()
