"""A certificate holds as long as the files are the same and all that it says comes out again."""

import json
import os
import re
import shlex
import shutil
import zlib
from contextlib import nullcontext
from copy import deepcopy
from pathlib import Path

import pytest
import yaml
from small_vetting import digit_params

from asterism.core.files.records import record_as_json
from asterism.core.messages.errors import UserError
from asterism.core.statistics import compute_share
from asterism.models.tensor_models import subjects
from asterism.models.tensor_models.model import FileModel
from asterism.report.vetted.page import write_vet_page
from asterism.vetting import repeating
from asterism.vetting.certificate import VettedNumbers, read_certificate
from asterism.vetting.measurement import measure_opened
from asterism.vetting.opening import GivenPair, open_vetted
from asterism.vetting.repairing import repair_opened
from asterism.vetting.repeating import repeat_certificate
from asterism.vetting.searching import search_opened
from thinning import every


@pytest.fixture(scope="module")
def vetted(digits, tmp_path_factory):
    """A project in which a copy of the pair has been vetted, with labels; its folder."""
    folder = tmp_path_factory.mktemp("vetted")
    (folder / "dvc.yaml").touch()
    files = shutil.copytree(digits, folder / "pair of digits")
    (folder / "labels.json").write_text(json.dumps([0] * 797))
    params = digit_params(files, labels=str(folder / "labels.json"), search__seeds=4)
    made = folder / "artifacts"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subjects, "IsolatedFileModel", FileModel)
        with open_vetted(params, 0) as pair:
            numbers = VettedNumbers(
                measure_opened(pair, 0, made / "vet_measure"),
                search_opened(pair, 0, made / "vet_search"),
                repair_opened(pair, 0, made / "vet_search/triggers.npz", made / "vet_repair"),
            )
    numbers.write(folder)
    hashes = GivenPair.by_files(params).hashes(params.label_file)
    write_vet_page(params, 0, folder, folder / "page", hashes)
    return folder


@pytest.fixture
def told(vetted):
    """What the certificate says, to change at will."""
    return json.loads((vetted / "page/certificate.json").read_text())


@pytest.fixture
def check(vetted, told, monkeypatch):
    """Repeats a certificate; what is measured is what was, with these parameters and seed only."""
    calls = []
    whole = deepcopy(told)
    _, asked, _ = read_certificate(vetted / "page/certificate.json")
    found = {name: whole[name] for name in ("measured", "searches", "repair")}

    def put(function, name):
        def run(opened, seed, *places):
            calls.append((function, *places))
            value = deepcopy(found[name])
            return value if opened == (asked, seed) == (asked, whole["seed"]) else _changed(value)

        monkeypatch.setattr(repeating, f"{function}_opened", run)

    monkeypatch.setattr(repeating, "open_vetted", lambda *asked: nullcontext(asked))
    for function, name in (("measure", "measured"), ("search", "searches"), ("repair", "repair")):
        put(function, name)
    path = vetted / "page/told.json"

    def repeat(certificate, **named):
        path.write_text(certificate if isinstance(certificate, str) else json.dumps(certificate))
        return repeat_certificate(path, named)

    repeat.calls, repeat.found = calls, found
    yield repeat
    path.unlink(missing_ok=True)


def _changed(value):
    """The same JSON value with other numbers."""
    if isinstance(value, dict):
        return {key: _changed(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_changed(part) for part in value]
    return value + 1 if type(value) in (int, float) else value


def rejections(repeat, *given, **named):
    """What is said of a certificate that does not hold: one line at least, each of them short."""
    try:
        lines = repeat(*given, **named).differences
    except UserError as error:
        lines = [str(error)]
    assert all(line.isprintable() and len(line) < 2100 for line in lines)
    return lines


def test_everything_is_done_again_with_the_same_parameters_and_seed(check, told):
    repeated = check(told)
    assert repeated.differences == []
    assert record_as_json(repeated.verdict) == told["verdict"]
    (measured, searched, repaired) = check.calls
    folder = measured[-1].parent
    assert measured == ("measure", folder / "vet_measure")
    assert searched == ("search", folder / "vet_search")
    triggers = folder / "vet_search/triggers.npz"
    assert repaired == ("repair", triggers, folder / "vet_repair")
    assert not folder.exists()


#: What stands in a leaf's place: nearly the same, another type, no finite number, too large, deep.
_OTHERS = ("x", True, None, -1, 0.5, 10**400, float("inf"), float("nan"), [], {}, [[[[]]]])


def forgeries(value, put, place=""):
    """All that can be changed in a JSON value, one change after the other, and where it was."""
    if isinstance(value, dict):
        yield place + ".extra", put(value | {"extra": 1})
        for key, part in value.items():
            yield f"{place}.{key} removed", put({k: v for k, v in value.items() if k != key})
            yield from forgeries(
                part, lambda new, key=key: put(value | {key: new}), f"{place}.{key}"
            )
    elif isinstance(value, list):
        yield place + " one more", put([*value, 1])
        for n, part in enumerate(value):
            yield f"{place}.{n} removed", put(value[:n] + value[n + 1 :])
            yield from forgeries(
                part, lambda new, n=n: put([*value[:n], new, *value[n + 1 :]]), f"{place}.{n}"
            )
    else:
        near = value + 1 if type(value) in (int, float) else f"{value} "
        others = [other for other in _OTHERS if json.dumps(other) != json.dumps(value)]
        for other in (near, others[zlib.crc32(place.encode()) % len(others)]):
            yield f"{place}: {value!r:.40} made {other!r:.40}", put(other)


@pytest.mark.parametrize("part", every(20, range(20)))
def test_no_key_of_a_forged_certificate_holds(check, told, part):
    tried = [*forgeries(told, lambda whole: whole)][part::20]
    assert len(tried) > 50
    assert [place for place, forged in tried if not rejections(check, forged)] == []


@pytest.mark.parametrize("word", ["ship", "ship with the repair", "not enough inputs to say"])
def test_the_verdict_is_the_one_of_the_numbers(check, told, word):
    assert told["verdict"]["word"] == "do not ship"
    forged = check(told | {"verdict": told["verdict"] | {"word": word}})
    assert any(line.startswith("verdict.word: ") for line in forged.differences)
    assert forged.verdict.word == "do not ship"


def test_numbers_that_were_forged_together_with_their_verdict_do_not_hold(check, told):
    """Every criterion is met by what the file says, and its verdict follows from that."""
    agreement = told["measured"]["agreement"]
    total, confidence = agreement["differ"]["total"], 0.95
    agreement["differ"] = compute_share(0, total, confidence).__dict__
    agreement["classes"] = {}
    agreement["accuracy"], agreement["directions"] = [], {}
    told["measured"]["flips"] = []
    said = {
        line.split(": ")[0]: line.split(": ", 1)[1].split(" in the certificate, ")
        for line in check(told).differences
    }
    told["verdict"]["word"] = said["verdict.word"][1].removesuffix(" now")
    assert told["verdict"]["word"] == "ship"
    again = check(told)
    assert again.verdict.word == "do not ship"
    assert "verdict.word: ship in the certificate, do not ship now" in again.differences


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "7", '"x"', "{", "{}", "[" * 100_000, '{"a":' * 150 + "1" + "}" * 150,
        "\x00", '{"seed": 1e999}', '{"seed": NaN}', '{"seed": ' + "9" * 5000 + "}",
    ],
)  # fmt: skip
def test_what_is_no_certificate_is_one_line(check, text):
    with pytest.raises(UserError, match=r"told\.json"):
        check(text)


#: Parameters that nobody may ask for.
_IMPOSSIBLE = [10**400, 2**40, 0, -1, 1.5, True, "1", None, [], {"a": 1}, float("inf")]


@pytest.mark.parametrize(
    "place",
    ["seed", "search.seeds", "search.queries", "repair.evaluations", "repair.inputs",
     "changes.inputs", "feeding.context"],
)  # fmt: skip
@pytest.mark.parametrize("value", _IMPOSSIBLE, ids=lambda value: repr(value)[:9])
def test_budgets_and_seeds_are_bounded(check, told, place, value):
    if place == "seed" and value in (0, 2**40):
        value = -5
    if place in ("changes.inputs", "feeding.context") and value == 0:
        value = -5
    params = yaml.safe_load(told["parameters"])
    *above, last = place.split(".")
    inner = told if place == "seed" else params
    for name in above:
        inner = inner[name]
    inner[last] = value
    told["parameters"] = yaml.safe_dump(params, sort_keys=False)
    with pytest.raises(UserError, match=r"told\.json"):
        check(told)
    assert check.calls == []


@pytest.mark.parametrize(
    "text",
    ["", "7", "[]", "{", "original: x", "a: &a [1]\nb: *a", "[" * 5000, "!!python/name:os.system x",
     "source: none"],
)  # fmt: skip
def test_odd_parameters_are_one_line(check, told, text):
    with pytest.raises(UserError, match=r"told\.json"):
        check(told | {"parameters": text})
    assert check.calls == []


def pointing(told, **places):
    """The certificate, with other paths."""
    params = yaml.safe_load(told["parameters"]) | places
    return told | {"parameters": yaml.safe_dump(params, sort_keys=False)}


@pytest.mark.parametrize("name", ["original", "compressed", "inputs", "labels"])
@pytest.mark.parametrize(
    "place",
    ["/etc/passwd", "/dev/zero", "../elsewhere.npz", "leads out", "leads/to/x", "circle", "\0"],
)
def test_files_outside_of_the_project_are_not_followed(check, vetted, told, name, place):
    for link, to in (("leads out", "/dev/zero"), ("leads", "/"), ("circle", "circle")):
        if not (vetted / link).is_symlink():
            (vetted / link).symlink_to(to)
    with pytest.raises(UserError, match=rf"told\.json.*{name}"):
        check(pointing(told, **{name: place}))
    assert check.calls == []


@pytest.mark.parametrize("name", ["original", "compressed", "inputs", "labels"])
def test_a_pipe_is_not_waited_for(check, vetted, told, name):
    pipe = vetted / "pipe"
    if not pipe.exists():
        os.mkfifo(pipe)
    with pytest.raises(UserError, match="pipe"):
        check(pointing(told, **{name: "pipe"}))
    with pytest.raises(UserError, match="pipe"):
        check(told, **{name: pipe})
    assert check.calls == []


def test_paths_may_be_relative_to_the_project(check, vetted, told):
    params = yaml.safe_load(told["parameters"])
    relative = {
        name: str(Path(params[name]).relative_to(vetted))
        for name in ("original", "compressed", "inputs", "labels")
    }
    check(pointing(told, **relative))
    assert [call[0] for call in check.calls] == ["measure", "search", "repair"]


def test_files_that_the_user_names_are_taken_wherever_they_are(check, vetted, told, tmp_path):
    params = yaml.safe_load(told["parameters"])
    away = shutil.copytree(vetted / "pair of digits", tmp_path / "away")
    named = {
        name: away / Path(params[name]).name for name in ("original", "compressed", "inputs")
    } | {"labels": shutil.copy(vetted / "labels.json", away)}
    check(pointing(told, **dict.fromkeys(named, "/dev/zero")), **named)
    assert [call[0] for call in check.calls] == ["measure", "search", "repair"]
    (away / "labels.json").write_text("[]")
    repeated = check(told, **named)
    assert [line.split(":")[0] for line in repeated.differences] == ["labels"]
    assert repeated.verdict is None


def test_labels_are_not_named_where_there_were_none(check, told, vetted):
    told["sha256"].pop("labels")
    without = pointing(told, labels="conf/no_file")
    with pytest.raises(UserError, match="--labels"):
        check(without, labels=vetted / "labels.json")


def test_another_file_is_named_and_nothing_is_measured(check, vetted, told, tmp_path):
    params = yaml.safe_load(told["parameters"])
    damaged = tmp_path / "inputs.npz"
    damaged.write_bytes(b"")
    named = {"compressed": vetted / "pair of digits/int8.onnx", "inputs": damaged}
    repeated = check(told, **named)
    assert [re.sub(":.*", "", line) for line in repeated.differences] == list(named)
    assert all(str(path) in " ".join(repeated.differences) for path in named.values())
    assert repeated.verdict is None and check.calls == [] and params
    assert len(check(told | {"sha256": {}}).differences) == 4


def test_a_missing_file_is_one_line(check, told, vetted):
    with pytest.raises(UserError, match=r"gone\.onnx"):
        check(pointing(told, original="gone.onnx"))


def test_a_repaired_file_that_was_exchanged_is_named(check, vetted, told):
    file = vetted / "page/repaired.onnx"
    content = file.read_bytes()
    assert check(told).differences == []
    file.write_bytes(content + b"\0")
    try:
        (line,) = check(told).differences
        assert "repaired.onnx" in line
    finally:
        file.write_bytes(content)


#: What a certificate tells, what is found now, and what is said of it.
VALUES = [
    (1, 1, []),
    (1.0, 1.0009, []),
    (1000.0, 999.0, []),
    (1000, 1001, [": 1000 in the certificate, 1001 now"]),
    (1, 1.0, [": 1 in the certificate, 1.0 now"]),
    (1.0, 1.002, [": 1.0 in the certificate, 1.002 now"]),
    (1.002, 1.0, [": 1.002 in the certificate, 1.0 now"]),
    (-1.0, 1.0, [": -1.0 in the certificate, 1.0 now"]),
    (0.0, 1e-9, [": 0.0 in the certificate, 1e-09 now"]),
    ("a", "a", []),
    ("a", "b", [": a in the certificate, b now"]),
    ("\x1b[2J" + "a" * 5000, "b", [": \\x1b[2J" + "a" * 93 + " … " + "a" * 100
                                   + " in the certificate, b now"]),
    (True, True, []),
    (True, False, [": True in the certificate, False now"]),
    (True, 1, [": True in the certificate, 1 now"]),
    (1.0001, True, [": 1.0001 in the certificate, True now"]),
    (None, None, []),
    (None, 0, [": None in the certificate, 0 now"]),
    ("", None, [":  in the certificate, None now"]),
    ([], [], []),
    ([1, 2], [1, 2], []),
    ([1, 2], [1, 3], [".1: 2 in the certificate, 3 now"]),
    ([1, 2], [1], [": [1, 2] in the certificate, [1] now"]),
    ([1], 1, [": [1] in the certificate, 1 now"]),
    ({"x": {"y": 1}}, {"x": {"y": 2}}, [".x.y: 1 in the certificate, 2 now"]),
    ({"x": 1}, [1], [": {'x': 1} in the certificate, [1] now"]),
    (
        {"b": None, "a": [{"c": 1}]},
        {"a": [{"c": 2}], "d": 4},
        [
            ".a.0.c: 1 in the certificate, 2 now",
            ".b: None in the certificate, nothing now",
            ".d: nothing in the certificate, 4 now",
        ],
    ),
]  # fmt: skip


def test_what_differs_by_more_than_rounding_is_named(check, told):
    cases = {f"k{number:02}": case for number, case in enumerate(VALUES)}
    one, other = ({key: case[i] for key, case in cases.items()} for i in (0, 1))
    told["searches"] |= {"s": one}
    check.found["searches"]["s"] = other
    assert check(told).differences == [
        f"searches.s.{key}{line}" for key, (_, _, lines) in cases.items() for line in lines
    ]


@pytest.mark.usefixtures("models_here")
def test_a_pages_certificate_says_how_to_repeat_it_and_holds(vetted, told):
    path = vetted / "page/certificate.json"
    files = vetted / "pair of digits"
    check, again = map(shlex.split, told["commands"])
    command = ["asterism", "vet", str(files / "original.onnx"), str(files / "damaged.onnx")]
    command += ["--inputs", str(files / "inputs.npz"), "--labels", str(vetted / "labels.json")]
    assert check == [*command, "--check", path.name]
    assert again == command
    assert repeat_certificate(path, {}).differences == []
    told["seed"] = 1
    forged = path.with_name("forged.json")
    forged.write_text(json.dumps(told))
    assert repeat_certificate(forged, {}).differences != []
