"""A collected finding: the facts of its folder, which the index and the checks read."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import StringConstraints

from asterism.core.files.artifacts import replacing
from asterism.core.files.folders import list_plain_files
from asterism.core.files.records import ShortText, record_from
from asterism.core.files.user_files import resolve_inside
from asterism.core.messages.errors import UserError
from asterism.core.settings.yaml_files import read_yaml
from asterism.differential.oracle.finding import (
    CRASH,
    ERROR,
    HANG,
    ODD_REFERENCE,
    SILENT_ACCEPTANCE,
)
from asterism.differential.oracle.standard import DIFFERENCES, WRONG_SHAPE
from collection.diagnosis import CRASH as DIES
from collection.diagnosis import DIFFERENCE, REJECTED, Diagnosis

#: The file of a finding's facts.
FACTS = "finding.yaml"

#: What a call of a function, or a script by hand, may show.
COLLECTED_SYMPTOMS = (*DIFFERENCES, ERROR, CRASH, HANG, SILENT_ACCEPTANCE)

#: Kinds of inputs without NaN, infinity or sizes of zero.
ORDINARY = ("normal", "wide")

#: What a script printed.
LongText = Annotated[str, StringConstraints(max_length=20_000)]


@dataclass(frozen=True)
class LastRun:
    """The last run of a finding's script in the installed environment.

    Args:
        output: what it printed; the end by a signal is named in the last line.
        python: version of the interpreter.
        system: operating system.
        processor: its name.
    """

    output: LongText
    python: ShortText
    system: ShortText
    processor: ShortText


@dataclass(frozen=True)
class CollectedFinding:
    """One distinct finding.

    Args:
        name: of its folder.
        source: what showed it first: ``layer`` of Keras, ``operator`` of ONNX, ``call`` of a
            function, or ``hand``: a script that someone wrote.
        signature: its name in the run that found it.
        library: to blame; or a converter.
        symptom: what goes wrong.
        severity: ``special`` where NaN, infinity or empty inputs are needed.
        inputs: kind of inputs that shows it.
        layer: the layer or operator at fault.
        parameters: those of its parameters that are off their defaults and needed.
        backends: where it shows.
        right: where the same model is right.
        versions: of the packages of the library.
        models: how many models showed it.
        also: signatures of findings with the same cause.
        elsewhere: what checks in other versions said, by environment: ``has it``, ``has it not`` or
            ``cannot tell``.
        finding: as the oracle has it, where a layer showed it.
        told: what a person found out; None before.
        ran: the last run of its script; None before the first.
    """

    name: ShortText
    source: ShortText
    signature: ShortText
    library: ShortText
    symptom: ShortText
    severity: ShortText
    inputs: ShortText
    layer: ShortText
    parameters: dict[str, ShortText]
    backends: tuple[ShortText, ...]
    right: tuple[ShortText, ...]
    versions: dict[str, ShortText]
    models: int
    also: tuple[ShortText, ...] = ()
    elsewhere: dict[str, ShortText] = field(default_factory=dict)
    finding: dict[str, Any] = field(default_factory=dict)
    told: Diagnosis | None = None
    ran: LastRun | None = None

    @classmethod
    def seen(
        cls,
        source: str,
        library: str,
        symptom: str,
        function: str,
        needed: Mapping[str, str],
        inputs: str,
        backend: str,
    ) -> CollectedFinding:
        """What one operator or function shows; symptom, place and what decides give it its name.

        Args:
            source: what kind of subject showed it.
            library: to blame.
            symptom: what is wrong.
            function: name of the operator or function.
            needed: facts that decide, and their values.
            inputs: kind of inputs.
            backend: the way to run it.
        """
        named = ", ".join(f"{name}={value}" for name, value in sorted(needed.items()))
        signature = f"{symptom} | {library} | {function}({named})"
        severity = "normal" if inputs in ORDINARY else "special"
        return cls(
            name=name_finding(library, symptom, function, signature),
            source=source,
            signature=signature,
            library=library,
            symptom=symptom,
            severity=severity,
            inputs=inputs,
            layer=function,
            parameters=dict(needed),
            backends=(backend,),
            right=(),
            versions={},
            models=1,
        )

    @property
    def diagnosis(self) -> Diagnosis:
        """What a person told of it, or the little that a machine knows: it calls nothing wrong."""
        if self.told is not None:
            return self.told
        kind = DIFFERENCE if self.by_values else REJECTED
        kind = DIES if self.symptom in (CRASH, HANG) else kind
        return Diagnosis(f"{self.where}: {self.symptom}", kind, self.library)

    @property
    def by_values(self) -> bool:
        """Whether a result is wrong, rather than something failing."""
        return self.symptom in (*DIFFERENCES, ODD_REFERENCE)

    @property
    def is_ordinary(self) -> bool:
        """Whether it needs no NaN, infinity, empty or extreme inputs."""
        return self.severity == "normal"

    @property
    def where(self) -> str:
        """The layer with its parameters."""
        named = ", ".join(f"{name}={value}" for name, value in sorted(self.parameters.items()))
        return f"{self.layer}({named})"

    def to_json(self) -> dict[str, Any]:
        """A JSON value of its facts: the diagnosis first, what a machine needs below ``seen``."""
        value: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        del value["told"]
        told = {name: text for name, text in asdict(self.diagnosis).items() if text}
        rest = {name: value.pop(name) for name in ("versions", "elsewhere", "ran")}
        return {**json.loads(json.dumps(told)), **rest, "seen": value}

    def write(self, folder: Path) -> None:
        """Write :data:`FACTS` into the finding's folder."""
        with replacing(folder / FACTS) as path:
            path.write_text(_yaml(self.to_json()), encoding="utf-8")


def _yaml(value: Any) -> str:
    """A JSON value as YAML, with texts of several lines as they are."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""

    def represent_text(self, text: str) -> yaml.Node:
        """A node of a text."""
        style = "|" if "\n" in text else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper.represent_text)


def name_finding(library: str, symptom: str, layer: str, signature: str) -> str:
    """Library, layer, symptom and a hash, as the name of a folder."""
    digest = hashlib.sha256(signature.encode()).hexdigest()[:6]
    words = re.sub(r"[^a-z0-9]+", "-", f"{library} {layer} {symptom}".lower()).strip("-")
    return f"{words}-{digest}"


def names_place(signature: str) -> bool:
    """Whether a signature says where something goes wrong: a layer, or a frame of the library.

    One of a failure without a frame is its exception or signal alone, which many bugs share.
    """
    return "(" in signature or " at " in signature


def read_collection(collection: Path) -> list[CollectedFinding]:
    """All findings of a collection, by name.

    Raises:
        UserError: a folder's facts are damaged or those of another one, or a link leads elsewhere.
    """
    return [
        read_collected_finding(collection, path.parent.name)
        for path in sorted(collection.glob(f"*/{FACTS}"))
    ]


def read_collected_finding(collection: Path, name: str) -> CollectedFinding:
    """One finding of a collection, which has the name of its folder, and its files there.

    Raises:
        UserError: it is not.
    """
    folder = resolve_inside(collection, name, str(collection))
    list_plain_files(folder)
    value = read_yaml(folder / FACTS)
    try:
        entry = record_from(CollectedFinding, _flat(value))
    except UserError as error:
        raise UserError(f"{folder / FACTS} is damaged: {error}") from None
    if entry.name != name:
        raise UserError(f"{folder / FACTS} names {entry.name!r}: its folder is called {name!r}")
    return entry


def _flat(value: Any) -> Any:
    """The fields of an entry, from the layout of its file."""
    if not isinstance(value, dict) or not isinstance(value.get("seen"), dict):
        raise UserError("it has no facts below `seen`")
    own = {f.name for f in fields(Diagnosis)}
    told = {name: part for name, part in value.items() if name in own}
    rest = {name: part for name, part in value.items() if name not in own and name != "seen"}
    return {**value["seen"], **rest, "told": told}


#: Parameters whose words name a function that many layers apply.
_FUNCTIONS = {"activation", "recurrent_activation"}
#: Operators and layers that share their code: what one loses, the others lose.
_KIN = (
    ("ArgMax", "ArgMin"),
    ("Max", "Min"),
    ("ReduceMax", "ReduceMin"),
    ("Softmax", "LogSoftmax"),
    ("GRU", "LSTM", "RNN"),
)


def place_of(layer: str, parameters: dict[str, str], symptom: str) -> tuple[str, frozenset[str]]:
    """Where a cause lies: a family of layers, and the names of the parameters that it takes.

    Layers of one, two and three axes are one family. A function that a layer applies to its
    output is a place of its own, in whatever layer.

    Args:
        layer: type of the layer or operator.
        parameters: that are needed.
        symptom: what goes wrong.
    """
    if parameters and set(parameters) <= _FUNCTIONS:
        return f"function {' '.join(sorted(set(parameters.values())))}", frozenset()
    family = re.sub(r"[123]D", "", layer)
    family = next((kin[0] for kin in _KIN if family in kin), family)
    if family.startswith("Reduce") and symptom == WRONG_SHAPE:
        family = "Reduce"
    return family, frozenset(parameters)
