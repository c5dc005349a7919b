"""What a library under test and a converter are: plug-ins of one file each.

Their modules are imported everywhere, so they import the library itself only when they run: in a
worker process that has the right Keras backend.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asterism.core.parameters.registry import Registry
from asterism.libraries.adapters.model_under_test import ModelUnderTest

Arrays = list[NDArray[Any]]

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


class WrongBuffersError(ArithmeticError):
    """An output lies otherwise in memory, or in other memory, than the model run eagerly says."""


class Plugin(ABC):
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

    def start(self) -> None:  # noqa: B027  (most have nothing to do)
        """Import what is needed and fix threads; once for each worker process."""

    def versions(self) -> dict[str, str]:
        """Installed versions of its distributions.

        Raises:
            PackageNotFoundError: one is missing.
        """
        return {package: metadata.version(package) for package in self.packages}


class Library(Plugin):
    """A library that can run models.

    A backend is one way to run a model in it: ``options`` are its names, such as ``eager`` and
    ``xla``. One that reads files is a :class:`FileLibrary`.
    """

    #: Names of its backends, where they do not follow from the converters.
    options: ClassVar[tuple[str, ...]] = ()
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
        return cls.options

    def source(self, option: str) -> str | None:
        """The converter whose file the backend reads; None where it builds from Keras."""
        return None

    def precision(self, option: str) -> str | None:
        """The dtype that the backend rounds to, where it is coarser than the model's; or None."""
        return None

    @abstractmethod
    def script(self, option: str) -> str:
        """Source of ``run(model, inputs)`` for a reproducer: this backend, without Asterism.

        ``model`` is the Keras model or, where the backend reads one, the path of its file.
        """

    def script_after(self, option: str, first: str) -> str:
        """Source of ``run(model, inputs)`` where the compiled model sees other inputs before.

        The same as :meth:`script` where that makes no difference.

        Args:
            option: the backend.
            first: an expression that makes the other one of an input ``i``, an array.
        """
        return self.script(option)

    def question_script(self, option: str, question: str) -> str:
        """Source of ``run(model, inputs)`` that gives what :meth:`answer` gives.

        Where it is given layer by layer, ``LAYERS`` holds the layers in their order.
        """
        raise NotImplementedError(f"{question} is not supported in {self.name}")

    @abstractmethod
    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """Build, load and compile the model; what is returned goes to :meth:`run`."""

    def passes(self, model_under_test: ModelUnderTest, option: str) -> tuple[str, ...]:
        """Names of the graph passes that change the model, where each can be disabled by name.

        :meth:`compile` leaves out those that the model under test names as disabled.
        """
        return ()

    @abstractmethod
    def run(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs of the model in inference mode, for inputs in the model's order."""

    def run_overwritten(self, compiled: Any, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """Outputs as they are after the inputs' memory was written over and the model ran again.

        Raises:
            WrongBuffersError: an output has other strides, or shares other memory, than it must.
        """
        given = [i.copy() for i in inputs]
        outputs = self.run(compiled, given)
        for array in given:
            array[...] = 1
        self.run(compiled, given)
        return outputs

    def overwritten_script(self, option: str) -> str:
        """Source of ``run(model, inputs)`` that does the same."""
        return f"""{self.script(option)}

run_alone = run


def run(model, inputs):
    given = [i.copy() for i in inputs]
    outputs = run_alone(model, given)
    for array in given:
        array[...] = 1
    return outputs
"""

    def answer(self, compiled: Any, question: str, inputs: Sequence[NDArray[Any]]) -> Arrays:
        """What one of :data:`~asterism.libraries.adapters.questions.QUESTIONS` asks for.

        Derivatives are those of the outputs, summed with
        :func:`~asterism.libraries.adapters.questions.cotangent`: by each floating input, or by
        the weights of each layer. A step of training gives the loss, and each layer's weights.
        """
        raise NotImplementedError(f"{question} is not supported in {self.name}")


class Converter(Plugin):
    """Writes a model to a file of another format."""

    suffix: ClassVar[str]
    #: The library whose worker runs it.
    host: ClassVar[str]
    #: Versions of the format that it can write, where there are several worth trying.
    opsets: ClassVar[tuple[int, ...]] = ()
    #: Whether it gets a worker of its own, so that a slow conversion holds up nothing else.
    own_worker: ClassVar[bool] = False

    @abstractmethod
    def script(self) -> str:
        """Source of ``convert(model, path)``, which writes the file."""

    @abstractmethod
    def convert(self, model_under_test: ModelUnderTest, target: Path) -> None:
        """Write the model to ``target``."""


#: Environment variable that names modules with libraries and converters of the user's own.
EXTRA_MODULES = "ASTERISM_LIBRARIES"

LIBRARIES: Registry[type[Library]] = Registry(
    "library", "asterism.libraries.adapters.libraries", EXTRA_MODULES
)
CONVERTERS: Registry[type[Converter]] = Registry(
    "converter", "asterism.libraries.adapters.converters", EXTRA_MODULES
)


#: Option of the backends that run a model which is given as a file, in place of a converter's name.
GIVEN = "file"


class FileLibrary(Library):
    """A library that runs the files of every converter to its format, and files of the user's.

    So a converter that is added brings a backend in each library that reads what it writes.
    """

    #: Suffix of the files that it reads, as converters declare theirs.
    suffix: ClassVar[str]
    #: Endings of a converter's name, one for each way to run its files.
    endings: ClassVar[tuple[str, ...]] = ("",)

    @classmethod
    def all_options(cls) -> tuple[str, ...]:
        """A backend for each converter to the format, given files, and each way to run them."""
        converters = [name for name in CONVERTERS if CONVERTERS[name].suffix == cls.suffix]
        return tuple(name + ending for name in (*converters, GIVEN) for ending in cls.endings)

    def source(self, option: str) -> str | None:
        """The converter whose file the backend reads: the option without its ending."""
        written = self._written(option)
        return None if written == GIVEN else written

    def path(self, model_under_test: ModelUnderTest, option: str) -> Path:
        """The file that the backend reads."""
        return model_under_test.file(self._written(option), self.suffix)

    def readable(self, content: bytes, batch: int | None) -> bytes:
        """A file's content as this library reads it, for batches of that size; mostly as it is."""
        return content

    def _written(self, option: str) -> str:
        ending = max((e for e in self.endings if option.endswith(e)), key=len)
        return option.removesuffix(ending)


def numpy_list(outputs: Any) -> Arrays:
    """One output or several as a list of arrays."""
    many = outputs if isinstance(outputs, list | tuple) else [outputs]
    return [np.asarray(o) for o in many]
