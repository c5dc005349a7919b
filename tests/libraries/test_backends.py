"""Names of backends: every library's are taken apart as they were put together, others rejected."""

import pytest

from asterism.core.messages.errors import UserError
from asterism.libraries.adapters.backends import (
    FLOAT64,
    check_backends,
    converter_of,
    library_of,
    option_of,
    under_test,
)
from asterism.libraries.adapters.library import CONVERTERS, LIBRARIES

BACKENDS = [
    (name, option)
    for name in LIBRARIES
    for option in LIBRARIES[name].all_options()
    if f"{name}:{option}" not in FLOAT64
]


@pytest.mark.parametrize(("library", "option"), BACKENDS)
def test_every_librarys_backends_are_known(library, option):
    backend = f"{library}:{option}"
    check_backends([backend])
    assert (library_of(backend), option_of(backend)) == (library, option)
    source = converter_of(backend)
    # A library that has no Keras of its own reads a file, and the others build.
    assert (source in CONVERTERS) == (LIBRARIES[library].keras_backend is None)


def test_a_converters_step_belongs_to_the_converter():
    assert library_of("tf2onnx") == "tf2onnx" and option_of("tf2onnx") == ""


def test_references_are_not_under_test():
    for backend in FLOAT64:
        with pytest.raises(UserError) as error:
            check_backends([backend])
        said, known = str(error.value).split("known:")
        assert repr(option_of(backend)) in said and option_of(backend) not in known
    assert under_test(("jax:jit", *FLOAT64, "litert:tflite")) == ["jax:jit", "litert:tflite"]


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        ("tensorflow:fast", "tensorflow has no backend 'fast'"),
        ("tensorflow", "tensorflow has no backend ''"),
        ("tensorflow:egaer", "did you mean 'eager'"),
        ("tensorflw:eager", "did you mean 'tensorflow'"),
    ],
)
def test_other_backends_are_rejected(backend, said):
    with pytest.raises(UserError, match=said):
        check_backends(["pytorch:eager", backend])
