"""All readers: functions of Asterism's that read files, and who writes whole files for them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from readers.examples import Places

_FILES = "asterism.core.files.artifacts"


@dataclass(frozen=True)
class Reader:
    """A function that reads files, and is given damaged ones.

    Args:
        name: for people, unique.
        family: the libraries that it needs: a server serves one family.
        main: the file that it is given in an example's folder; ``.`` for the folder.
        read: reads, and uses what it has read; raises UserError for what it rejects. As
            ``module:function``, or a function of the family's module.
        whole: of the family's module, without ``_files``: writes whole examples.
        isolated: how Asterism opens such files, where that is a process of their own only: so a
            library that dies of one is an answer there. Empty where ``read`` is all.
    """

    name: str
    family: str
    main: str
    read: str
    whole: str
    isolated: str = ""

    def function(self, name: str) -> Callable[[Path], object]:
        """One of its functions: ``read``, ``isolated``."""
        module, _, path = name.rpartition(":")
        start: Any = importlib.import_module(module or _MODULES[self.family])
        function: Callable[[Path], object] = reduce(getattr, path.split("."), start)
        return function

    def write_whole(self, place: Places) -> None:
        write: Any = self.function(f"{self.whole}_files")
        write(place)


_MODULES = {
    "data": "readers.of_data",
    "results": "readers.of_results",
    "project": "readers.of_project",
    **dict.fromkeys(("onnx", "litert", "torch", "keras"), "readers.of_models"),
    "planted": __name__,
}
#: Those whose libraries take seconds to load, and whose files take long to read.
HEAVY = ("onnx", "litert", "torch", "keras")

_ROWS = (
    ("json", "data", "facts.json", f"{_FILES}:read_json", "json"),
    ("npz", "data", "arrays.npz", f"{_FILES}:read_arrays", "npz"),
    ("npy", "data", "states.npy", "use_mapped", "npy"),
    ("sparse", "data", "counts.npz", "use_sparse", "sparse"),
    ("csv", "data", "table.csv", f"{_FILES}:read_table", "csv"),
    ("idx", "data", "images-idx3-ubyte.gz", "asterism.data.sources.downloaded:read_idx", "idx"),
    ("cifar10", "data", "data_batch_1.bin", "asterism.data.sources.downloaded:read_batch", "cifar"),
    ("data=npz", "data", "images.npz", "read_own_data", "own_data"),
    ("inputs .npy", "data", "states.npy", "read_tensors", "npy"),
    ("inputs and labels", "data", "inputs.npz", "read_tensors", "labelled"),
    ("inputs .wav", "data", "a.wav", "read_sound", "sound"),
    ("inputs, a folder", "data", ".", "read_bytes", "folder"),
    ("own images", "data", "own.npz", "read_natural", "natural"),
    ("driving", "data", ".", "read_driving", "driving"),
    ("models.json", "results", ".", "use_models", "models"),
    ("weights.npz", "results", "weights.npz", "use_weights", "weights"),
    ("findings.json", "results", "findings.json", "read_found", "findings"),
    ("known issues", "results", "known.yaml", "read_known", "known"),
    ("outcomes", "results", ".", "use_record", "record"),
    ("islands", "results", ".", "Island.load", "island"),
    ("chain of states", "results", ".", "use_trace_model", "trace_model"),
    ("profile", "results", ".", "asterism.deepstellar.model.profile:Profile.load", "profile"),
    ("seeds", "results", ".", "SeedInputs.load", "seeds"),
    ("population", "results", ".", "Population.load", "population"),
    ("corpus", "results", ".", "use_corpus", "corpus"),
    ("triggers", "results", ".", "use_triggers", "triggers"),
    ("augmentations", "results", ".", "use_augmentations", "augmentations"),
    ("params.yaml", "project", "params.yaml", "read_parameters", "parameters"),
    ("machine.yaml", "project", ".", "read_machine", "machine"),
    ("resources.yaml", "project", ".", "use_resources", "resources"),
    ("dvc.lock", "project", "dvc.lock", "read_lock", "lock"),
    ("sweep", "project", ".", "read_sweep", "sweep"),
    ("order", "project", ".", "read_orders", "orders"),
    ("checkpoint", "project", ".", "use_checkpoint", "checkpoint"),
    ("parts", "project", ".", "use_parts", "parts"),
    ("state", "project", ".", "use_state", "parts"),
    ("run-cache entry", "project", ".", "read_cache_entry", "cache_entry"),
    ("folder's list", "project", "list.json", "read_file_list", "file_list"),
    ("graph.svg", "project", "graph.svg", "show_drawing", "drawing"),
    ("classifier .onnx", "onnx", "model.onnx", "run_classifier", "onnx", "run_isolated"),
    ("rnn .onnx", "onnx", "rnn.onnx", "run_rnn", "rnn_onnx", "run_rnn_isolated"),
    ("signature .onnx", "onnx", "model.onnx", "served_signature", "onnx",
     "asterism.models.signatures.reading:read_signature"),
    ("libraries .onnx", "torch", "model.onnx", "run_libraries", "onnx", "end_of_worker"),
    ("classifier .tflite", "litert", "model.tflite", "run_classifier", "tflite", "run_isolated"),
    ("signature .tflite", "litert", "model.tflite", "litert_tables", "tflite"),
    ("classifier .pt2", "torch", "model.pt2", "run_classifier", "pt2", "run_isolated"),
    ("keras .keras", "keras", "model.keras", "read_keras", "keras"),
    ("keras .h5", "keras", "model.h5", "read_keras", "h5"),
    ("keras 2 .json", "keras", "model.json", "read_keras", "keras_2"),
    ("signature .keras", "keras", "model.keras", "asterism.models.signatures.keras:keras_signature",
     "keras"),
    ("signature .h5", "keras", "model.h5", "asterism.models.signatures.keras:keras_signature",
     "h5"),
    ("architecture .json", "keras", "model.json", "read_architecture", "architecture"),
    ("user model .keras", "keras", "model.keras", "read_user_model", "keras"),
    ("rnn .keras", "keras", "rnn.keras", "run_rnn", "rnn_keras", "run_rnn_isolated"),
    ("classifier .keras", "keras", "model.keras", "run_classifier", "classifier_keras",
     "run_isolated"),
)  # fmt: skip
READERS = {row[0]: Reader(*row) for row in _ROWS}


def do_as_told(path: Path) -> None:
    """Do what a file says, for the harness to notice; no part of Asterism."""
    exec(compile(path.read_text(), __file__, "exec"), {"path": path})


def planted_files(place: Places) -> None:
    (place(0) / "file.txt").write_text("pass")


PLANTED = Reader("planted", "planted", "file.txt", "do_as_told", "planted")
