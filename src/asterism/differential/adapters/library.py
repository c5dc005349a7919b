"""What a library under test and a converter are: plug-ins of one file each.

Their modules are imported everywhere, so they import the library itself only when they run: in a
worker process that has the right Keras backend.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.parameters.registry import Registry
from asterism.differential.adapters.code import (
    SHAPES,
    Arrays,
    BackendCode,
    Prepared,
    as_function,
    execute,
    fill_given,
    overwritten,
)
from asterism.differential.adapters.fixed_draws import fixed_draws
from asterism.differential.adapters.model_under_test import ModelUnderTest
from asterism.differential.adapters.questions import (
    BY_INPUTS,
    FIRST_INPUTS,
    OVERWRITTEN,
    QUESTIONS,
    TRAINING,
    restoring_weights,
)
from asterism.differential.reference.runs import ReferenceRuns, change_for_run
from asterism.memo.graphs.keras_build import layer_name

#: Messages by which a library says that it does not do something: no defect.
UNSUPPORTED = (
    r"not (yet )?(currently )?(supported|implemented)",
    r"(is|are) unsupported",
    r"[Uu]nsupported",
    r"does not (yet )?(currently )?support",
    r"do not (yet )?(currently )?support",
    r"only supports? ",
    r"[Oo]nly [^.]{1,200} (is|are) supported",
    r"NotImplemented",
)


class LibraryPlugin(ABC):
    """What libraries and converters have in common."""

    name: ClassVar[str]
    #: Distributions whose versions identify it.
    packages: ClassVar[tuple[str, ...]]
    #: Backend that Keras must run on in its worker; None where it needs no Keras.
    keras_backend: ClassVar[str | None] = None
    #: Whether importing Keras on that backend starts no thread, so that workers can be forked.
    forks: ClassVar[bool] = False
    #: More messages that mean "unsupported", as regular expressions.
    unsupported: ClassVar[tuple[str, ...]] = ()
    #: Warnings by which it says that what it computes is not what the model says: a stated limit.
    stated_limits: ClassVar[tuple[str, ...]] = ()

    def start(self) -> None:
        """Import the library, once for each worker process.

        PyTorch gets one thread, so that sums are added up in the same order every time.
        """
        if "torch" in self.packages:
            import torch

            torch.set_num_threads(1)

    def versions(self) -> dict[str, str]:
        """Installed versions of its distributions.

        Raises:
            PackageNotFoundError: one is missing.
        """
        return {package: metadata.version(package) for package in self.packages}


class Library(LibraryPlugin):
    """A library that can run models.

    A backend is one way to run a model in it: ``options`` are its names, such as ``eager`` and
    ``xla``. One that reads files is a :class:`FileLibrary`.
    """

    #: Names of its backends, where they follow neither from the converters nor from :attr:`codes`.
    options: ClassVar[tuple[str, ...]] = ()
    #: How each of its backends runs a model, where that needs no :meth:`code` of its own.
    codes: ClassVar[Mapping[str, BackendCode]] = {}
    #: Whether its models are built with zeros for initial values, which their weights replace:
    #: some backends of Keras compile every initializer anew.
    zero_initializers: ClassVar[bool] = False
    #: Whether a model, once compiled, takes batches of any size.
    resizes: ClassVar[bool] = True
    #: Whether it can differentiate and train models.
    differentiates: ClassVar[bool] = False

    @classmethod
    def all_options(cls) -> tuple[str, ...]:
        """Names of all its backends."""
        return cls.options or tuple(cls.codes)

    def source(self, option: str) -> str | None:
        """The converter whose file the backend reads; None where it builds from Keras."""
        return None

    def precision(self, option: str) -> str | None:
        """The dtype that the backend rounds to, where it is coarser than the model's; or None."""
        return None

    def code(self, option: str) -> BackendCode:
        """How the backend runs a model: its only description, which workers execute."""
        return self.codes[option]

    def question(self, option: str, question: str) -> str:
        """Lines that set ``outputs`` to what one of the questions asks for, after the preparation.

        They read ``inputs``, ``model`` and ``layers``, a list of its layers. Derivatives are those
        of the outputs, summed with cosines as weights: by each floating input, or by the weights of
        each layer. A step of training gives the loss, and each layer's weights.

        Args:
            option: the backend.
            question: of :data:`~asterism.differential.adapters.questions.QUESTIONS`.

        Raises:
            NotImplementedError: it has no answer.
        """
        raise NotImplementedError(f"{question} is not supported in {self.name}")

    def overwritten(self, option: str) -> str:
        """Lines that set ``outputs``, and write over the inputs' memory before they are read."""
        return overwritten(self.code(option).call)

    def lines(self, option: str, kind: str) -> str:
        """Lines that set ``outputs`` to what a kind of inputs asks for, after the preparation."""
        if kind in QUESTIONS:
            return self.question(option, kind)
        if kind == OVERWRITTEN:
            return self.overwritten(option)
        code = self.code(option)
        call = code.call
        if kind not in FIRST_INPUTS or code.serves == SHAPES:  # where each shape has its own model
            return call
        first = f"run([{FIRST_INPUTS[kind]} for x in inputs])"
        return f"{as_function(call)}\n{first}\noutputs = run(inputs)"

    def dtype(self, option: str) -> str | None:
        """The dtype that models are built in, where it is another than their own; or None."""
        return "float64" if option == "float64" else None

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """Prepare the model; what is returned goes to :meth:`run`."""
        model = model_under_test.keras(
            dtype=self.dtype(option), zero_initializers=self.zero_initializers
        )
        return self.prepared(model, model_under_test, option)

    def prepared(self, model: Any, model_under_test: ModelUnderTest, option: str) -> Prepared:
        """A Keras model as the backend runs it."""
        graph = model_under_test.graph
        layers = [model.get_layer(layer_name(i, graph.nodes[i])) for i in graph.layers]
        names = {"keras": import_module("keras"), "model": model, "layers": layers}
        return Prepared(self.code(option).given(len(model.inputs)), names, option)

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]], kind: str = "") -> Arrays:
        """Outputs of the model in inference mode, or what a kind of inputs asks for.

        Args:
            compiled: what :meth:`compile` has returned.
            inputs: in the model's order.
            kind: of the inputs; those that ask for outputs need not be named.
        """
        if kind in BY_INPUTS and all(array.dtype.kind != "f" for array in inputs):
            return []  # there is nothing to differentiate by
        lines = fill_given(self.lines(compiled.option, kind), len(inputs)) if kind else ""
        outputs: Arrays
        if kind not in TRAINING:
            outputs = compiled.run(inputs, lines)
            return outputs
        with restoring_weights(compiled.space(inputs)["model"]), fixed_draws():
            outputs = compiled.run(inputs, lines)
            return outputs


class Converter(LibraryPlugin):
    """Writes a model to a file of another format."""

    suffix: ClassVar[str]
    #: The library that it is of; its worker is one of its own, so that it holds up nothing else.
    host: ClassVar[str]
    #: Versions of the format that it can write, where there are several worth trying.
    opsets: ClassVar[tuple[int, ...]] = ()
    #: Whether models are built with zeros for initial values, see :class:`Library`.
    zero_initializers: ClassVar[bool] = True

    @abstractmethod
    def code(self, opset: int | None = None) -> BackendCode:
        """The lines that write ``model`` to ``path``; ``batch`` is the number of items in a batch.

        Args:
            opset: version of the format, one of :attr:`opsets`; None for its own.
        """

    def convert(self, model_under_test: ModelUnderTest, target: Path) -> None:
        """Write the model to ``target``."""
        model = model_under_test.keras(zero_initializers=self.zero_initializers)
        code = self.code(model_under_test.opset)
        space = {"np": np, "keras": import_module("keras"), "model": model, "path": str(target)}
        space |= {"batch": model_under_test.batch}
        execute("\n".join((*code.imports, code.prepare)), space)


#: Environment variable that names modules with libraries and converters of the user's own.
EXTRA_MODULES = "ASTERISM_LIBRARIES"

LIBRARIES: Registry[type[Library]] = Registry(
    "library", "asterism.differential.backends", EXTRA_MODULES
)
CONVERTERS: Registry[type[Converter]] = Registry(
    "converter", "asterism.differential.converters", EXTRA_MODULES
)


#: Option of the backends that run a model which is given as a file, in place of a converter's name.
GIVEN = "file"


class FileLibrary(Library):
    """A library that runs the files of every converter to its format, and files of the user's.

    So a converter that is added brings a backend in each library that reads what it writes.
    """

    #: Suffix of the files that it reads, as converters declare theirs.
    suffix: ClassVar[str]
    #: By the ending of a converter's name, what sets each way to run its files apart.
    endings: ClassVar[Mapping[str, str]] = {"": ""}

    @classmethod
    def all_options(cls) -> tuple[str, ...]:
        """A backend for each converter to the format, given files, and each way to run them."""
        converters = [name for name in CONVERTERS if CONVERTERS[name].suffix == cls.suffix]
        return tuple(name + ending for name in (*converters, GIVEN) for ending in cls.endings)

    def setting_of(self, option: str) -> str:
        """What :attr:`endings` says of an option."""
        return self.endings[self._ending(option)]

    def source(self, option: str) -> str | None:
        """The converter whose file the backend reads: the option without its ending."""
        written = self._written(option)
        return None if written == GIVEN else written

    def path(self, model_under_test: ModelUnderTest, option: str) -> Path:
        """The file that the backend reads."""
        return model_under_test.file(self._written(option), self.suffix)

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """Prepare the file; what is returned goes to :meth:`run`."""
        path = self.path(model_under_test, option)
        return Prepared(self.code(option), {"path": str(path)}, option)

    def readable(self, content: bytes, batch: int | None) -> bytes:
        """A file's content as this library reads it, for batches of that size; mostly as it is."""
        return content

    def _ending(self, option: str) -> str:
        return max((ending for ending in self.endings if option.endswith(ending)), key=len)

    def _written(self, option: str) -> str:
        return option.removesuffix(self._ending(option))


class FileReference(FileLibrary):
    """What given files of a format compute, in float64; no library under test.

    Its backends run the file as it is, off by rounding, and without special numbers in the inputs.
    """

    #: Its runs, and what is known of it.
    references: ClassVar[ReferenceRuns]

    @classmethod
    @abstractmethod
    def trivial(cls) -> bytes:
        """A file that all libraries of the format can run: whether one works is tried with it.

        It adds its input of three numbers to itself.
        """

    @classmethod
    def all_options(cls) -> tuple[str, ...]:
        """The runs of its references."""
        return tuple(run.partition(":")[2] for run in cls.references.all)

    @abstractmethod
    def open(self, path: Path, option: str) -> Callable[[Sequence[NDArray[Any]]], Arrays]:
        """The file in float64, with weights as the option changes them: gives outputs for a batch.

        The batch's arrays are as the option changes them already.
        """

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """See :class:`Library`."""
        return self.open(self.path(model_under_test, option), option), option

    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]], kind: str = "") -> Arrays:
        """See :class:`Library`."""
        evaluate, option = compiled
        outputs: Arrays = evaluate([change_for_run(array, option) for array in inputs])
        return outputs

    def code(self, option: str) -> BackendCode:
        """Raise an error: a reference is no library under test, and no script runs it."""
        raise NotImplementedError(f"{self.name} is no library under test")

    def _written(self, option: str) -> str:
        return GIVEN
