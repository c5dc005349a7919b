"""Exported PyTorch programs of strangers: none of their texts reaches a library or runs."""

import copy
import json
import pickle
import random
import time
import warnings
import zipfile

import numpy as np
import pytest
import torch
from strange_programs import (
    RUN,
    TEXTS,
    documents,
    entries,
    put,
    renamed,
    save_programs,
    texts_of,
    write,
)

from asterism.core.messages.errors import UserError
from asterism.differential.adapters.library import LIBRARIES
from asterism.differential.adapters.model_under_test import ModelUnderTest
from asterism.differential.subjects.exported_program import read_program
from asterism.models.foreign.size_expressions import size_expression
from asterism.models.foreign.torch_archive import rewrite_program
from asterism.models.formats import FORMATS
from hostile_text import MARK, watched

NAMES = ["small", "training", "sized", "recurrent"]
#: PyTorch says so of the exporter that needs no other package.
pytestmark = pytest.mark.filterwarnings("ignore:You are using the legacy")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return save_programs(tmp_path_factory.mktemp("programs"))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The folder that code of a stranger's would write to."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def use(path, inputs, libraries=("pytorch_program:file",)):
    """What every reader makes of a program; outputs as the libraries give them, by library."""
    try:
        FORMATS[".pt2"](path)
    except UserError as error:
        assert path.name in str(error) or path.stem in str(error)
    program = read_program(path, 8, {})
    every, names = program.exposing()
    assert len(set(names)) == len(names) == len(every.declared)
    program.part([len(program.nodes) - 1], dict(zip(names, [None] * len(names), strict=True)).get)
    path.with_name("file.pt2").write_bytes(program.content)
    found = {}
    for backend in libraries:
        library, option = backend.split(":")
        adapter = LIBRARIES[library]()
        wide = library == "program_reference"
        try:
            compiled = adapter.compile(ModelUnderTest(path.parent, None, None), option)
            found[backend] = adapter.run(compiled, [i.astype(float) if wide else i for i in inputs])
        except Exception as error:  # a library may not know an operator
            assert not isinstance(error, SyntaxError | NameError)
            found[backend] = None
    return found


def attacked(path, inputs, *more):
    """Use a file; a line for the user is an answer, anything else that fails is not."""
    with watched() as seen:
        try:
            found = use(path, inputs, *more)
        except UserError as error:
            assert path.name in str(error) or path.stem in str(error)
            found = None
    assert not seen
    assert not [file for file in path.parent.iterdir() if MARK in file.name]
    return found


def tensors(given):
    return [g.numpy() for g in given]


@pytest.mark.parametrize("name", NAMES)
def test_a_rewritten_program_gives_the_same_bits(name, programs, here):
    path, given, right = programs[name]
    found = attacked(write(here / "same.pt2", entries(path)), tensors(given))
    right = [r for r in right if isinstance(r, torch.Tensor)]
    (outputs,) = found.values()
    assert len(outputs) == len(right)
    for ours, theirs in zip(outputs, right, strict=True):
        np.testing.assert_array_equal(ours, theirs.detach().numpy())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("step", [97, pytest.param(1, marks=pytest.mark.slow)])
def test_no_text_of_a_program_is_left_in_what_libraries_read(name, step, programs, here):
    """Every place of every document, and every name of an entry."""
    contents = entries(programs[name][0])
    files = documents(contents)
    cases = [(file, place) for file in files for place, _ in texts_of(files[file])][::step]
    for number, (file, place) in enumerate(cases):
        for text in TEXTS if number % 20 == 0 else TEXTS[number % len(TEXTS) :][:1]:
            document = copy.deepcopy(files[file])
            put(document, place, text)
            assert_nothing_left(contents | {file: json.dumps(document)}, here)
    for entry in contents:
        kept = {name: content for name, content in contents.items() if name != entry}
        for text in TEXTS:
            assert_nothing_left(kept | {_named(entry, text): contents[entry]}, here)


def assert_nothing_left(contents, folder):
    """A program is rejected by its name, or rewritten without the texts of a stranger's."""
    path = write(folder / "odd.pt2", contents)
    with watched() as seen:
        try:
            left = rewrite_program(path).content
        except UserError as error:
            assert "odd.pt2" in str(error) and len(str(error)) < 2500
            return
    assert not seen
    path.write_bytes(left)
    for name, content in entries(path).items():
        assert MARK not in name and MARK.encode() not in content


def _named(entry, text):
    folder, _, name = entry.partition("/")
    return f"{folder}/{name}{text}".encode("ascii", "replace").decode()


def _renamings(path):
    """Texts that stand in a program, each once; those of one kind of place follow each other."""
    found = {}
    for document in documents(entries(path)).values():
        for place, text in texts_of(document):
            kind = tuple(key for key in place if isinstance(key, str))[-3:]
            found.setdefault(text, kind)
    return sorted(found, key=lambda text: (found[text], text))


def _strange(path, old, new, target):
    contents = entries(path)
    files = {n: renamed(d, old, new) for n, d in documents(contents).items()}
    return write(target, contents | {n: json.dumps(d) for n, d in files.items()})


ALL = (
    "pytorch_program:file", "pytorch_program:file_aot", "program_reference:float64",
    "onnx_program:file", "openvino_program:file",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("some", "libraries"), [(3, ALL[:1]), pytest.param(15, ALL, marks=pytest.mark.slow)]
)
def test_names_of_a_stranger_run_nowhere(name, some, libraries, programs, here):
    """A text is replaced wherever it stands, so that the program is whole."""
    path, given, _ = programs[name]
    if "openvino_program:file" in libraries:
        pytest.importorskip("openvino")
    olds = _renamings(path)
    chosen = random.Random(name).sample(olds, min(some, len(olds)))
    program = documents(entries(path))[f"{name}/models/model.json"]
    (entry, *_) = program["graph_module"]["module_call_graph"]
    named = entry["signature"]["forward_arg_names"]
    for old in dict.fromkeys([*named, *program["guards_code"], *chosen]):
        for text in TEXTS[: 1 if libraries == ALL[:1] else 2]:
            strange = _strange(path, old, text, here / "odd.pt2")
            attacked(strange, tensors(given), libraries)


@pytest.mark.parametrize("text", TEXTS[:2])
def test_a_program_whose_names_are_code_is_the_same_program(text, programs, here):
    path, given, right = programs["sized"]
    files = documents(entries(path))
    names = [
        *files["sized/models/model.json"]["graph_module"]["graph"]["tensor_values"],
        *files["sized/data/weights/model_weights_config.json"]["config"],
    ]
    for number, old in enumerate(names):
        path = _strange(path, old, f"{text}#{number}", here / f"{number % 2}.pt2")
    (outputs,) = attacked(path, tensors(given)).values()
    np.testing.assert_array_equal(outputs[0], right[0].detach().numpy())
    assert any(text in node.label for node in read_program(path, 8, {}).nodes)


def _node(target, *given, outputs=({"as_tensor": {"name": "conv2d"}},)):
    """A change: the first node calls this instead."""
    inputs = [{"name": name, "arg": argument, "kind": 1} for name, argument in given]

    def change(program):
        node = program["graph_module"]["graph"]["nodes"][0]
        node |= {"target": target, "inputs": inputs, "outputs": list(outputs)}
        program["graph_module"]["graph"]["sym_int_values"]["i"] = {"as_int": 1}

    return change


def _nodes(number, target, *given):
    """A change: first come nodes that each compute an integer from the one before."""

    def change(program):
        nodes, last = [], {"as_int": 9}
        for i in range(number):
            output = {"as_sym_int": {"as_name": f"i{i}"}}
            arguments = [a if a is not None else last for a in given]
            inputs = [{"name": "", "arg": a, "kind": 1} for a in arguments]
            nodes.append({"target": target, "inputs": inputs, "outputs": [output], "metadata": {}})
            last = output
            program["graph_module"]["graph"]["sym_int_values"][f"i{i}"] = {"as_int": 1}
        program["graph_module"]["graph"]["nodes"][:0] = nodes

    return change


def _at(*place, value):
    """A change of the value at a place; of all items where a key is None."""

    def change(document, keys=place):
        key, *rest = keys
        chosen = [key] if key is not None else range(len(document))
        for at in list(document) if key is None and isinstance(document, dict) else chosen:
            if rest:
                change(document[at], rest)
            else:
                document[at] = value

    return change


GRAPH = ("graph_module", "graph")
FIRST = (*GRAPH, "nodes", 0)
INPUT = (*GRAPH, "tensor_values", "input")
META = ("config", "0.weight", "tensor_meta")
HUGE = [{"as_int": 2**20}] * 2
AN_INTEGER = ({"as_sym_int": {"as_name": "i"}},)
PROGRAM, WEIGHTS = "models/model.json", "data/weights/model_weights_config.json"
A_GRAPH = {"as_graph": {"name": "g", "graph": {"inputs": []}}}

#: Changes of a document that make a program do more than compute, or take the machine.
CHANGES = {
    "a function of PyTorch": (PROGRAM, _at(*FIRST, "target", value="torch.load")),
    "a function of Python": (PROGRAM, _at(*FIRST, "target", value="_operator.attrgetter")),
    "reads a file": (PROGRAM, _node("torch.ops.aten.from_file.default",
                                    ("filename", {"as_string": "w"}), ("size", {"as_int": 64}))),
    "writes a file": (PROGRAM, _node("torch.ops.aten.save.default",
                                     ("item", {"as_int": 1}), ("filename", {"as_string": "w"}))),
    "an operator's list": (PROGRAM, _at(*FIRST, "target", value="torch.ops.aten.relu.overloads")),
    "an operator's class": (PROGRAM, _at(*FIRST, "target", value="torch.ops.aten.__class__.mro")),
    "an unknown argument": (PROGRAM, _at(*FIRST, "inputs", 0, "name", value="x")),
    "a graph": (PROGRAM, _at(*FIRST, "inputs", 0, "arg", value=A_GRAPH)),
    "an operator as a value": (PROGRAM, _at(*FIRST, "inputs", 0, "arg",
                                            value={"as_operator": "torch.load"})),
    "powers of powers": (PROGRAM, _nodes(9, "_operator.pow", None, {"as_int": 9})),
    "a power": (PROGRAM, _nodes(1, "_operator.pow", None, {"as_int": 10**9})),
    "squares of squares": (PROGRAM, _nodes(60, "_operator.mul", None, None)),
    "a repeated list": (PROGRAM, _node("_operator.mul", ("", {"as_ints": [0]}),
                                       ("", {"as_int": 10**12}), outputs=AN_INTEGER)),
    "a list as a number": (PROGRAM, _node(
        "torch.ops.aten.unbind.int", ("self", {"as_tensor": {"name": "input"}}),
        outputs=AN_INTEGER)),
    "too many steps": (PROGRAM, _at(*GRAPH, "nodes", value=[{}] * 60_000)),
    "another device": (PROGRAM, _at(*INPUT, "device", "type", value="meta")),
    "another layout": (PROGRAM, _at(*INPUT, "layout", value=1)),
    "a type that there is not": (PROGRAM, _at(*INPUT, "dtype", value=99)),
    "a number in the place of a list": (PROGRAM, _at(*GRAPH, "nodes", value=1)),
    "a truth value as a type": (PROGRAM, _at(*INPUT, "dtype", value=True)),
    "a huge input": (PROGRAM, _at(*INPUT, "sizes", None, value={"as_int": 2**40})),
    "a negative input": (PROGRAM, _at(*INPUT, "sizes", 0, value={"as_int": -3})),
    "too many axes": (PROGRAM, _at(*INPUT, "sizes", value=HUGE * 500)),
    "an input that is no tensor": (PROGRAM, _at(*GRAPH, "inputs", -1,
                                                value={"as_sym_int": {"as_name": "input"}})),
    "an input without a value": (PROGRAM, _at(*GRAPH, "inputs", -1, value={"as_int": 1})),
    "a field that there is not": (PROGRAM, _at(*FIRST, "code", value="pass")),
    "two kinds of one argument": (PROGRAM, _at(*FIRST, "inputs", 0, "arg", "as_int", value=1)),
    "a number as a name": (PROGRAM, _at(*FIRST, "name", value=1)),
    "a number that is none": (PROGRAM, _at(*FIRST, "inputs", 0, "arg",
                                           value={"as_float": float("nan")})),
    "an integer of more than 64 bits": (PROGRAM, _at(*FIRST, "inputs", 0, "arg",
                                                     value={"as_int": 2**64})),
    "a name of 10 MB": (PROGRAM, _at(*FIRST, "name", value="x" * 10**7)),
    "another verifier": (PROGRAM, _at("verifiers", value=["EXECUTORCH"])),
    "a pickled weight": (WEIGHTS, _at("config", "0.weight", "use_pickle", value=True)),
    "a weight elsewhere": (WEIGHTS, _at("config", "0.weight", "path_name", value="../byteorder")),
    "an object": (WEIGHTS, _at("config", "0.weight", "path_name", value="custom_obj_0")),
    "a weight that is not there": (WEIGHTS, _at("config", "0.weight", "path_name",
                                                value="weight_99")),
    "a weight without a description": (WEIGHTS, _at(*META, value=None)),
    "a huge weight": (WEIGHTS, _at(*META, "sizes", None, value={"as_int": 2**20})),
    "a huge weight of one number": (WEIGHTS, lambda c: [
        _at(*META, "sizes", value=HUGE)(c), _at(*META, "strides", value=[{"as_int": 0}] * 2)(c)]),
    "a negative weight": (WEIGHTS, _at(*META, "sizes", 0, value={"as_int": -4})),
    "a negative stride": (WEIGHTS, _at(*META, "strides", 0, value={"as_int": -9})),
    "a weight of others' bytes": (WEIGHTS, _at(*META, "storage_offset", value={"as_int": 2**30})),
}  # fmt: skip


def _edited(contents, name, change):
    document = json.loads(contents[name])
    change(document)
    return contents | {name: json.dumps(document).encode()}


@pytest.mark.parametrize("kind", CHANGES)
def test_what_does_more_than_compute_is_rejected(kind, programs, here):
    name, change = CHANGES[kind]
    contents = _edited(entries(programs["small"][0]), f"small/{name}", change)
    began = time.process_time()
    assert attacked(write(here / "odd.pt2", contents), tensors(programs["small"][1])) is None
    assert time.process_time() - began < 10
    assert [file.name for file in here.iterdir()] == ["odd.pt2"]


class _Payload:
    """What a hostile pickle would run."""

    def __reduce__(self):
        return exec, (RUN,)


PICKLE = pickle.dumps(_Payload())


@pytest.mark.parametrize(
    ("entry", "content", "opens"),
    [
        ("small/data/sample_inputs/model.pt", PICKLE, True),
        ("small/extra/notes.txt", b"text", True),
        ("small/data/weights/model.pt", PICKLE, False),
        ("small/data/constants/model.pt", PICKLE, False),
        ("small/data/constants/custom_obj_0", PICKLE, False),
        ("small/data/constants/opaque_obj_0", PICKLE, False),
        ("small/data/aotinductor/model/code.so", b"code", False),
        ("small/models/MODEL.JSON", b"{}", False),
        ("small/models/other.json", b"{}", False),
        ("another/models/model.json", b"{}", False),
        ("small/../models/model.json", b"{}", False),
        ("small/byteorder", b"big", False),
        ("small/models/model.json", b"[" * 100_000, False),
        ("small/models/model.json", b"{}", False),
        ("small/models/model.json", b"[]", False),
        ("small/data/weights/model_weights_config.json", b'{"config": []}', False),
        ("small/data/weights/weight_0", b"", False),
    ],
)
def test_entries_of_an_archive(entry, content, opens, programs, here):
    contents = entries(programs["small"][0]) | {entry: content}
    found = attacked(write(here / "odd.pt2", contents), tensors(programs["small"][1]))
    assert (found is not None) == opens


@pytest.mark.parametrize("doubled", ["weight_0", "model.json"])
def test_two_entries_of_one_name(doubled, programs, here):
    path = write(here / "odd.pt2", entries(programs["small"][0]))
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = next(n for n in archive.namelist() if n.endswith(doubled))
        archive.writestr(name, archive.read(name))
    assert attacked(path, tensors(programs["small"][1])) is None


S, T = "Symbol('s1', positive=True, integer=True)", "Symbol('s2', integer=True)"


@pytest.mark.parametrize(
    "text",
    [
        S, f"Add({S}, Integer(-1))", f"Mul(Integer(4), Max(Integer(1), FloorDiv({S}, {T})))",
        f"Pow({S}, Integer(2))", "Rational(1, 2)", "Float('0.5', precision=53)", "true", "int_oo",
        f"GreaterThan({S}, Integer(3))", f"ModularIndexing({S}, Integer(1), Integer(2))",
    ],
)  # fmt: skip
def test_expressions_of_sizes_are_written_anew(text):
    assert size_expression(text, lambda name: name).text == text
    assert size_expression(text.replace(" ", "\n "), {"s1": "s7", "s2": "s8"}.get).text == (
        text.replace("s1", "s7").replace("s2", "s8")
    )


EXPRESSIONS = [
    "9**9**9**9", "Pow(Integer(9), Integer(99))", "Pow(Pow(Pow(Pow(Integer(9), Integer(4)), "
    "Integer(4)), Integer(4)), Integer(4))", "Pow(Integer(9), Pow(Integer(9), Integer(9)))",
    f"Integer({10**30})", f"Integer({'9' * 6000})", "Float('1e999', precision=53)",
    "Rational(1, 0)", "factorial(Integer(99999))", "Integer(__import__)", f"{S}.func", "", "()",
    "Symbol('s1', evaluate=False)", f"Symbol({MARK!r})", "Symbol('s1'", f"{S} {S}", "Add()",
    "Symbol('s\u0661')", "Symbol('s1);__import__('os')')", f"Add({S}, {S}))", "FloorDiv({S})",
    "Not(" * 50 + "true" + ")" * 50, f"Add({', '.join([S] * 65)})", f"Lambda({S}, {S})",
    f"Pow(Add({', '.join([S] * 9)}), Integer(3))", f"Mul({', '.join([S] * 13)})", "Integer(1.5)",
    "Max(" + ", ".join(f"Mul({S}, Integer({i}))" for i in range(9)) + ")",
    "".join(f"Max(Symbol('s{i}', integer=True), " for i in range(9)) + S + ")" * 9, *TEXTS,
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
def test_expressions_that_sizes_do_not_need_are_rejected(number, programs, here):
    path, given, _ = programs["sized"]
    place = (*GRAPH, "tensor_values", "images", "sizes", 0, "as_expr", "expr_str")
    contents = _edited(
        entries(path), "sized/models/model.json", _at(*place, value=EXPRESSIONS[number])
    )
    began = time.process_time()
    assert attacked(write(here / "odd.pt2", contents), tensors(given)) is None
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("range_constraints", None, "max_val"), 2**70),
        (("range_constraints", None, "min_val"), "9**9"),
        (("range_constraints",), {f"s{i}": {"min_val": 1, "max_val": 2} for i in range(999)}),
        (("range_constraints",), {"u99999999999": {"min_val": 1, "max_val": 2}}),
        ((*GRAPH, "tensor_values", "images", "sizes", 0, "as_expr", "hint"), {"as_int": 2**70}),
        ((*GRAPH, "tensor_values", "images", "sizes", 0, "as_expr", "hint"), {"as_int": "9**9"}),
    ],
)
def test_what_is_said_of_sizes_is_bounded(place, value, programs, here):
    path, given, _ = programs["sized"]
    contents = _edited(entries(path), "sized/models/model.json", _at(*place, value=value))
    assert attacked(write(here / "odd.pt2", contents), tensors(given)) is None


#: Expressions that take PyTorch long, each with how many of them there are; a number makes each
#: another one.
MANY = {
    "one text": (lambda i: f"Mul({', '.join([f'Add({S}, Integer(2))'] * 5)})", 5000),
    "remainders": (lambda i: "Mod(" * 10 + S + f", Add({T}, Integer({i + 2})))" * 10, 300),
    "maxima": (lambda i: "".join(f"Max(Symbol('s{k}', integer=True), " for k in range(3, 9))
               + S + ")" * 6, 300),
    "divisions": (lambda i: "FloorDiv(" * 10 + S + f", Add({T}, Integer({i + 2})))" * 10, 100),
    "powers": (lambda i: f"Pow(Add({S}, {T}, Integer({i + 2})), Integer(3))", 700),
    "sums": (lambda i: f"Add({', '.join(f'Mul(Integer({i + k}), {S})' for k in range(60))})", 90),
}  # fmt: skip


@pytest.mark.parametrize("kind", MANY)
def test_many_expressions_of_sizes_are_rejected(kind, programs, here):
    path, given, _ = programs["sized"]
    text, count = MANY[kind]
    sizes = {
        f"n{i}": {"as_expr": {"expr_str": text(i), "hint": {"as_int": 4}}} for i in range(count)
    }
    contents = _edited(
        entries(path), "sized/models/model.json", _at(*GRAPH, "sym_int_values", value=sizes)
    )
    odd = write(here / "odd.pt2", contents)
    assert attacked(odd, tensors(given)) is None
    with pytest.raises(UserError, match=r"odd\.pt2.*expressions of sizes"):
        rewrite_program(odd)


def test_a_huge_input_of_free_sizes_is_rejected(programs, here):
    path, given, _ = programs["sized"]
    free = {"as_expr": {"expr_str": S, "hint": {"as_int": 4}}}
    facts = (*GRAPH, "tensor_values", "images")
    contents = entries(path)
    for key, value in (("sizes", free), ("strides", {"as_int": 1})):
        change = _at(*facts, key, value=[value] * 30)
        contents = _edited(contents, "sized/models/model.json", change)
    assert attacked(write(here / "odd.pt2", contents), tensors(given)) is None
