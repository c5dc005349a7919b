"""conf/ composes to params.yaml, and every choice in it composes to something valid."""

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import zip_longest
from typing import Annotated, Any, get_args, get_origin

import hydra
import pytest
import yaml
from hydra import initialize_config_dir
from imports import ROOT
from omegaconf import OmegaConf
from pydantic import AfterValidator

from asterism.config import Params, check_params, compose, compose_changed_params
from asterism.core.messages.errors import UserError
from asterism.core.parameters.params import NO_REPETITION, ParameterSection, validate
from asterism.core.parameters.validation import Label
from asterism.differential.params import ExecuteParams, JudgeParams
from asterism.dvc_hydra.composition import compose_parameters
from thinning import every

CONF = ROOT / "conf"
CHOICES = sorted(
    (str(file.parent.relative_to(CONF)), file.stem)
    for file in CONF.glob("*/*.yaml")
    if file.parent.name not in ("experiment", "hydra", "environment")
)
#: What a choice says in its first lines that it is used with.
TOGETHER = {
    ("pair", "all"): ["compression=all"],
    ("pair", "changed_weights"): ["compression=changed_weights"],
    ("compression", "changed_weights"): ["pair=changed_weights"],
    ("compression", "convolution_pruning"): ["pair=convolution_pruning"],
    ("pair", "convolution_pruning"): ["compression=convolution_pruning"],
}
#: Those of the papers, which `asterism reproduce` runs, have tests of their own.
EXPERIMENTS = [
    file
    for file in sorted(CONF.glob("experiment/*.yaml"))
    if "reproduce" not in yaml.safe_load(file.read_text(encoding="utf-8"))
]


def needed(file):
    """A value for every ``???`` of a config file."""
    text = file.read_text(encoding="utf-8")
    head = text.split("\n", 1)[0].split()
    group = head[2] if head[:2] == ["#", "@package"] else file.parent.name

    def missing(tree, path):
        for key, value in tree.items():
            if isinstance(value, dict):
                yield from missing(value, f"{path}.{key}")
            elif value == "???":
                yield f"{path}.{key}=some/file"

    return list(missing(yaml.safe_load(text), group))


def test_params_yaml_is_the_composition_of_the_defaults():
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    assert text == compose(CONF, []), "run `asterism params`"


def test_the_two_readers_of_yaml_have_to_read_the_same(tmp_path):
    """``010`` is eight to one and ten to the other."""
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    (tmp_path / "params.yaml").write_text(text.replace("\nseed: 0", "\nseed: 010"))
    with pytest.raises(UserError, match=r"DVC reads .* differently"):
        check_params(tmp_path)


class OfJudging(ParameterSection):
    seed: int
    judge: JudgeParams
    execute: ExecuteParams


def test_an_edit_of_the_file_stays_beside_what_overrides_change(tmp_path):
    (tmp_path / "conf").symlink_to(CONF)
    document = yaml.safe_load((ROOT / "params.yaml").read_text())
    document["judge"]["ulps"] = 111
    document["seed"] = 7
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(document))
    plain = compose_changed_params(OfJudging, [], tmp_path)
    assert (plain.seed, plain.judge.ulps) == (7, 111)
    chosen = compose_changed_params(OfJudging, ["+experiment=library_campaign", "seed=9"], tmp_path)
    campaign = yaml.safe_load(compose(CONF, ["+experiment=library_campaign"]))
    assert (chosen.seed, chosen.judge.ulps) == (9, 111)
    assert chosen.execute.backends == campaign["execute"]["backends"] != plain.execute.backends
    with pytest.raises(UserError, match="seed"):
        compose_changed_params(OfJudging, ["sead=9"], tmp_path)


def chosen_together():
    """Lists of choices that hold each choice once, with at most one of a group in a list.

    A composition takes a third of a second, and what a group chooses stands by itself.
    """
    groups = {}
    for group, choice in CHOICES:
        if (group, choice) not in TOGETHER:
            groups.setdefault(group, []).append((group, choice))
    rounds = [[c for c in row if c] for row in zip_longest(*groups.values())]
    return [*rounds, *([choice] for choice in TOGETHER)]


@pytest.mark.parametrize("choices", chosen_together(), ids=lambda c: "+".join(n for _, n in c))
def test_choices_of_several_groups_compose_together(choices):
    overrides = []
    for group, choice in choices:
        overrides += [f"{group}={choice}", *TOGETHER.get((group, choice), [])]
        overrides += needed(CONF / group / f"{choice}.yaml")
    validate(Params, yaml.safe_load(compose(CONF, overrides)))


@pytest.mark.parametrize("file", every(8, EXPERIMENTS), ids=lambda f: f.stem)
def test_every_experiment_composes_as_its_first_lines_say(file):
    package, command = file.read_text(encoding="utf-8").splitlines()[:2]
    assert package == "# @package _global_"
    words = command.removeprefix("# ").split()
    assert words[:5] == ["dvc", "exp", "run", "-S", f"+experiment={file.stem}"]
    overrides = [words[i + 1] for i, word in enumerate(words) if word == "-S"]
    validate(Params, yaml.safe_load(compose(CONF, overrides)))


#: One of each kind: what kinds of texts are checked in every section, the tests below say.
WRONG = [
    ("abstraction.kk=1", "unknown parameter abstraction.kk; did you mean 'k'?"),
    ("abstracton.k=1", "unknown parameter abstracton; did you mean 'abstraction'?"),
    ("rnnn=gru", "unknown parameter rnnn; did you mean 'rnn'?"),
    ("fuzz.mutators.scal.low=1", "no mutator is called 'scal'; did you mean 'scale'?"),
    (
        "attack.options.noise.sdt=1",
        "attack: options of noise: unknown parameter sdt; did you mean 'std'?",
    ),
    ("~attack.options.bim", "attack: options of bim: the parameter eps is missing"),
    ("fuzz.weights.shear=2", "To append to your config use +fuzz.weights.shear=2"),
    (
        "fuzz.selection=random",
        "fuzz.selection is 'random', but it is a group of parameters; one of conf/ is chosen "
        "by fuzz/selection=random",
    ),
    ("abstraction=3", "abstraction=3"),
    ("abstraction.k=0", "abstraction.k is 0"),
    ("data=nope", "no choice of data is called 'nope' (known: cifar10, "),
    ("+experiment=study_dave", "no choice of experiment is called 'study_dave'; did you mean"),
    ("rnn/training=mnits", "no choice of rnn/training is called 'mnits'; did you mean 'mnist'"),
    ("rnn=file", "rnn.path"),
    ("rnn.path=mine.h5", "rnn.path: 'mine.h5' is not read here: choose rnn=file as well"),
    ("classifier.weights=a.h5", "classifier.weights: 'a.h5' is not read here"),
    (
        "data.path=a.npz",
        "data: path is 'a.npz', but digits reads no file of yours: choose data=folder or",
    ),
    ("abstraction.k=64", "abstraction: k=64, m=10 and n_step=3 need 64 times 5 bits"),
    ("abstraction.bits=22", "abstraction: bits=22 does not go with"),
    ("abstraction=null", "abstraction=null: "),
    ("a b=c", "a b=c"),
    ("nonsense", "'nonsense'; missing EQUAL"),
    ("driving=folder", "driving.path has to be given"),
    ("attack.semantic=file", "attack: semantic is 'file': semantic_path has to name an .npz"),
    ("pair=all", "pairs.float16.compressed is artifacts/compress/float16/model.tflite, but"),
    ("~compression.pruned", "but compression makes no 'pruned' (it makes: distilled,"),
    ("importance.layer=1.5", "importance.layer is 1.5: input should be a valid string or"),
    ("preprocessing.mean=[nan]", "preprocessing.mean.0 is nan: input should be a finite"),
    ("criteria.options.neuron_coverage.threshold=nan", "neuron_coverage: threshold is nan"),
    ("criteria.layers=[]", "criteria.layers is []"),
    ("+fuzz.selection.options.gama=3", "fuzz.selection: the selection probability has no"),
    ("fuzz.mutators.scale.low=2", "fuzz.mutators: the mutator scale"),
    ("fuzz.weights.median_blur=-1", "fuzz: weights gives median_blur -1"),
    ("trigger.operators.pixel_change.low=-1", "trigger.operators: the mutator pixel_change"),
    ("trigger.searches.dflare.options.delta=-1", "trigger.searches.dflare: options of dflare"),
    ("compression.pruned.options.sparsity=2", "compression.pruned: options of"),
    ("repair.repairers.logistic.strengths=[-1]", "options of logistic: strengths.0 is -1"),
    ("reduce.user_model=", "reduce.user_model is ''"),
    ("execute.distributions=[normal,nan]", '; to mean the word, quote it: "nan"'),
    (
        "execute.backends=[tensorflow:float64]",
        "(known: eager, graph, xla, saved_model, keras_file, h5_file)",
    ),
    ("reduce.models=[lenet5,lenet5]", "reduce.models: 'lenet5' is listed twice"),
    (
        "trigger.operators.median_blur.sizes=[2]",
        "the mutator median_blur: kernel sizes must be odd, not [2]",
    ),
]


@pytest.mark.parametrize(
    "overrides",
    [
        ["data=mnist", "abstraction.k=4", "abstraction.k=5"],
        ["abstraction.k=4", "data=mnist"],
        ["vet=images", "vet.original=a.onnx", "vet.compressed=b", "++vet.labels=c", "vet.inputs=d"],
        ["driving_training.epochs=3", "driving_training={epochs: 4}", "seed=3"],
        ["repair.search=${seed}"],
    ],
)
def test_parameters_are_what_hydra_composes_at_once(overrides):
    with initialize_config_dir(str(CONF), version_base=None):
        config = hydra.compose("config", overrides=overrides)
    OmegaConf.resolve(config)
    for _ in range(2):
        assert compose_parameters(CONF, overrides) == OmegaConf.to_yaml(config)


def test_several_values_are_no_value():
    with pytest.raises(UserError, match="Ambiguous value"):
        compose(CONF, ["abstraction.k=4,5"])


def test_a_tree_that_has_changed_is_read_again(tmp_path):
    (tmp_path / "config.yaml").write_text("part: {of: 1}\n")
    assert compose_parameters(tmp_path, ["part.of=3"]) == "part:\n  of: 3\n"
    assert compose_parameters(tmp_path, []) == "part:\n  of: 1\n"
    (tmp_path / "config.yaml").write_text("part: {of: 10}\n")
    assert compose_parameters(tmp_path, []) == "part:\n  of: 10\n"


@pytest.mark.parametrize(("override", "message"), every(16, WRONG))
def test_a_wrong_override_is_one_line(override, message):
    with pytest.raises(UserError) as error:
        compose(CONF, [override])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


#: A parameter of each kind that names something, misspelt: the override, the wrong name, the
#: parameter, and what was meant. That no text is left unchecked, the tests below say.
MISSPELT = [
    ("data.name=%s", "mnists", "data.name", "mnist"),
    ("rnn.training.optimizer=%s", "rmsprob", "rnn.training.optimizer", "rmsprop"),
    ("fuzz.criteria=[state,%s]", "kstep", "fuzz.criteria.1", "k_step"),
    ("+fuzz.mutators.%s={}", "scal", "fuzz.mutators", "scale"),
    ("+fuzz.weights.%s=1", "shar", "fuzz: weights", "shear"),
    ("classifier.source=%s", "fiel", "classifier.source", "file"),
    ("compression.pruned.method=%s", "magnitudepruning", "compression.pruned", "magnitude_pruning"),
    ("compression.pruned.options.scope=%s", "globl", "compression.pruned", "global"),
    ("trigger.searches.dflare.search=%s", "dflair", "trigger.searches.dflare.search", "dflare"),
    ("trigger.searches.dflare.options.fitness=%s", "papr", "trigger.searches.dflare", "paper"),
    ("repair.search=%s", "diffchase", "repair.search", "diffchaser"),
    ("+repair.repairers.%s={}", "perceptrn", "repair.repairers", "perceptron"),
    ("attack.names=[fgsm,%s]", "bimm", "attack.names.1", "bim"),
    ("+attack.options.%s={}", "bimm", "attack", "bim"),
    ("+criteria.options.%s={}", "neuron_covrage", "criteria", "neuron_coverage"),
    ("generate.branch_backends=[tensorflow:%s]", "eagr", "generate.branch_backends", "eager"),
    ("execute.backends=[%s:eager]", "pytorh", "execute.backends", "pytorch"),
    ("execute.backends=[onnxruntime:%s]", "tf2onx", "execute.backends", "tf2onnx"),
]

#: Texts that name no choice of ours: columns, the user's layers. ``repair.search`` names
#: a key of ``trigger.searches``. None of them reaches a command or the path of an output.
FREE = {
    *("rnn.layer", "repair.search", "importance.layer", "criteria.layers"),
    *("driving.table", "driving.layer", "driving.image_column", "driving.angle_column"),
    # What `asterism reproduce` hands to a sweep, which checks it; no stage reads it.
    *("reproduce.targets", "reproduce.metrics", "reproduce.scales", "reproduce.models"),
    # Columns and rows of its points' tables, which it looks up when it reads them.
    *("reproduce.series.file", "reproduce.series.column", "reproduce.series.over"),
    *("reproduce.series.where", "reproduce.entry.metric", "reproduce.entry.where"),
    # Names of tensors in a stranger's model file.
    *("vet.feeding.input", "vet.feeding.outputs", "vet.feeding.constants.input"),
    *("vet.matching.original", "vet.matching.compressed"),
    # What the command line said, and what was settled: for the page only.
    *("vet.asked", "vet.settled", "vet.tried.name", "vet.budget.left_out"),
}


@pytest.mark.parametrize(("override", "wrong", "key", "meant"), every(12, MISSPELT))
def test_a_misspelt_name_is_told_before_anything_runs(override, wrong, key, meant):
    with pytest.raises(UserError) as error:
        compose(CONF, [override % wrong])
    message = str(error.value)
    assert message.startswith(f"conf: {key}")
    assert repr(wrong) in message
    assert f"; did you mean {meant!r}?" in message
    assert "\n" not in message


def inside(annotation: Any, place: str) -> Iterator[tuple[Any, str, tuple[Any, ...]]]:
    """What an annotation is made of: each part with its place, as ``section.name``, and marks."""
    if isinstance(annotation, type) and issubclass(annotation, ParameterSection):
        for name, field in annotation.model_fields.items():
            inner = f"{place}.{name}" if place else name
            yield field.annotation, inner, tuple(field.metadata)
    elif get_origin(annotation) is Annotated:
        marked, *marks = get_args(annotation)
        yield marked, place, tuple(marks)
    else:
        for part in get_args(annotation):
            yield part, place, ()


def unchecked_texts(annotation: Any, place: str, marks: tuple[Any, ...] = ()) -> Iterator[str]:
    """Parameters of free text, as ``section.name``, below an annotation."""
    if any(isinstance(mark, AfterValidator) and mark is not NO_REPETITION for mark in marks):
        return
    if annotation is str:
        yield place
    for part in inside(annotation, place):
        yield from unchecked_texts(*part)


def test_every_text_is_free_or_checked():
    assert set(unchecked_texts(Params, "")) == FREE


def keys(annotation: Any) -> Iterator[Any]:
    """The types of the keys of all dictionaries below an annotation."""
    if get_origin(annotation) is dict:
        yield get_args(annotation)[0]
    for part, _, _ in inside(annotation, ""):
        yield from keys(part)


def test_every_key_that_a_user_may_choose_is_a_label():
    assert list(keys(dict[str, dict[Label, int]])) == [str, Label]
    assert set(keys(Params)) == {Label}


def test_a_plug_ins_name_is_a_label_where_nobody_looks_it_up():
    document = yaml.safe_load(compose(CONF, []))
    document["data"]["name"] = "x;touch F"
    with pytest.raises(UserError, match=r"data\.name: 'x;touch F'"):
        validate(Params, document)


def repeating(annotation: Any, place: str, marks: tuple[Any, ...] = ()) -> Iterator[str]:
    """Lists of texts that may repeat one, as ``section.name``, below an annotation."""
    if get_origin(annotation) is list and NO_REPETITION not in marks and holds_texts(annotation):
        yield place
    for part in inside(annotation, place):
        yield from repeating(*part)


def holds_texts(annotation: Any) -> bool:
    """Whether there are texts in an annotation, or a literal's choices."""
    is_text = annotation is str or isinstance(annotation, str)
    return is_text or any(map(holds_texts, get_args(annotation)))


def test_no_list_of_names_may_hold_one_twice():
    assert list(repeating(list[str], "it")) == ["it"]
    assert list(repeating(Params, "")) == ["vet.asked", "vet.settled"], "words and sentences"


def test_names_are_checked_without_the_heavy_libraries():
    check = (
        "import sys; from pathlib import Path; from asterism.config import compose; "
        "compose(Path('conf'), []); "
        "heavy = 'tensorflow keras torch jax sklearn art scipy polars onnxruntime.quantization'; "
        "print(*set(heavy.split()) & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", check],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == ""


def test_no_config_holds_a_python_path_or_a_machine_fact():
    for file in CONF.rglob("*.yaml"):
        text = file.read_text(encoding="utf-8")
        assert "_target_" not in text or file.parent.name in ("launcher", "sweeper")
