"""Graphs in files that others wrote: whatever they hold is a declared model or a user's error."""

import json
from zipfile import ZipFile

import numpy as np
import pytest

from asterism.core.files.artifacts import write_json
from asterism.core.messages.errors import UserError
from asterism.memo.generating.campaign import Mutant
from asterism.memo.generating.strategies import run_campaign
from asterism.memo.graphs.store import (
    graph_from_json,
    read_graph,
    read_models,
    read_weights,
    write_models,
)
from memo.small_graphs import branching, convolutional, generate_params, recurrent

BUDGET = generate_params()

ATTACK = "units=4) or __import__('os').system('touch pwned') or dict(x"
LAMBDA = {"class_name": "Lambda", "module": "keras.layers", "config": {"function": "x"}}


def changed(*path, value, graph=None):
    """The JSON of a graph with one value in it replaced, or added."""
    made = json.loads(json.dumps((graph or convolutional()).to_json()))
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return made


STRANGE = {
    "a key that is code": (("nodes", 1, "config", ATTACK), 1),
    "a key of another layer": (("nodes", 1, "config", "units"), 1),
    "an object of Keras": (("nodes", 1, "config", "activation"), LAMBDA),
    "a function in text": (("nodes", 1, "config", "activation"), "lambda x: x"),
    "a dtype": (("nodes", 1, "config", "dtype"), {"class_name": "DTypePolicy"}),
    "another dtype": (("nodes", 1, "config", "dtype"), "object"),
    "text for a number": (("nodes", 1, "config", "filters"), "4"),
    "truth for a number": (("nodes", 1, "config", "filters"), True),
    "NaN": (("nodes", 2, "config", "epsilon"), float("nan")),
    "a huge number": (("nodes", 1, "config", "filters"), 10**30),
    "no number": (("nodes", 1, "config", "filters"), None),
    "an axis too many": (("nodes", 1, "config", "kernel_size"), [3, 3, 3]),
    "a stride of nothing": (("nodes", 1, "config", "strides"), [0, 1]),
    "another layer": (("nodes", 1, "type"), "Lambda"),
    "no layer": (("nodes", 1, "type"), ["Dense"]),
    "a key of the node": (("nodes", 1, "name"), ATTACK),
    "a key of the graph": (("name",), ATTACK),
    "a key of the input": (("nodes", 0, "config", "name"), ATTACK),
    "a size that is text": (("nodes", 0, "config", "shape"), [ATTACK, 12, 1]),
    "an input too large": (("nodes", 0, "config", "shape"), [2**20, 2**20, 1]),
    "an input's dtype": (("nodes", 0, "config", "dtype"), "float32', name=print('x"),
    "an id": (("nodes", 1, "id"), "1"),
    "an id twice": (("nodes", 1, "id"), 0),
    "an id below": (("nodes", 1, "id"), -1),
    "what comes later": (("nodes", 1, "inputs"), [5]),
    "itself": (("nodes", 1, "inputs"), [1]),
    "no list": (("nodes", 1, "inputs"), 0),
    "a seed": (("nodes", 1, "seed"), -1),
    "another seed": (("nodes", 1, "seed"), 1.5),
    "stored weights": (("nodes", 1, "weights"), {"path": "x"}),
    "an edit": (("nodes", 1, "edits"), [["os.system", 1]]),
    "half an edit": (("nodes", 1, "edits"), [["special"]]),
    "a repair": (("nodes", 1, "repair"), "yes"),
    "no nodes": (("nodes",), {}),
    "a node that is text": (("nodes", 1), "Dense"),
}


@pytest.mark.parametrize("what", STRANGE)
def test_what_no_graph_has_is_rejected(what):
    path, value = STRANGE[what]
    with pytest.raises(UserError):
        graph_from_json(changed(*path, value=value))


@pytest.mark.parametrize("key", ["id", "type", "config", "inputs", "seed"])
def test_what_every_node_has_is_asked_for(key):
    graph = convolutional().to_json()
    del graph["nodes"][1][key]
    with pytest.raises(UserError, match=f"node 1.*{key}"):
        graph_from_json(graph)


def test_what_a_layer_must_have_is_asked_for():
    graph = convolutional().to_json()
    graph["nodes"][1]["config"] = {"kernel_size": [3, 3]}
    with pytest.raises(UserError, match="node 1, 'Conv2D': it has no 'filters'"):
        graph_from_json(graph)


@pytest.mark.parametrize("inner", ["Lambda", "TimeDistributed", "Wrapper", ["Dense"], LAMBDA, None])
def test_a_wrapper_wraps_declared_layers_only(inner):
    node = {"id": 1, "type": "TimeDistributed", "config": {"layer": inner}, "inputs": [0]}
    made = {"nodes": [recurrent().to_json()["nodes"][0], {**node, "seed": 1}]}
    with pytest.raises(UserError, match="node 1"):
        graph_from_json(made)


def test_the_error_names_file_model_node_and_key(tmp_path):
    write_models(tmp_path, {"one": branching(), "two": convolutional()})
    models = json.loads((tmp_path / "models.json").read_text())
    models[1]["nodes"][1]["config"][ATTACK] = 1
    write_json(tmp_path / "models.json", models)
    with pytest.raises(UserError) as error:
        read_models(tmp_path)
    for part in (str(tmp_path / "models.json"), "'two'", "node 1", "'Conv2D'", "units=4) or"):
        assert part in str(error.value)
    write_json(tmp_path / "model.json", {"nodes": 3})
    with pytest.raises(UserError, match=r"model\.json"):
        read_graph(tmp_path / "model.json")


@pytest.mark.parametrize("models", [{}, [1], [{"nodes": []}], [{"name": 1, "nodes": []}]])
def test_a_list_of_models_has_names(tmp_path, models):
    write_json(tmp_path / "models.json", models)
    with pytest.raises(UserError, match=r"models\.json"):
        read_models(tmp_path)


def test_a_mutant_of_a_checkpoint_is_read_as_any_graph():
    (mutant, *_) = run_campaign({"add": branching()}, BUDGET, 0, "memo").mutants
    made = mutant.to_json()
    assert Mutant.from_json(made) == mutant
    made["graph"]["nodes"][1]["config"][ATTACK] = 1
    with pytest.raises(UserError, match="no parameter"):
        Mutant.from_json(made)


@pytest.mark.parametrize("key", ["a", "a/b", "a/x/kernel", "/0/kernel", "a/0/"])
def test_names_of_weights_are_checked(tmp_path, key):
    path = tmp_path / "weights.npz"
    for name, numbers in ((key, np.zeros(2, np.float32)), ("a/0/b", np.array(["text"]))):
        with ZipFile(path, "w") as archive, archive.open(f"{name}.npy", "w") as file:
            np.lib.format.write_array(file, numbers, allow_pickle=False)
        with pytest.raises(UserError, match=r"weights\.npz"):
            read_weights(path)
