"""Names of backends: every library's are taken apart as they were put together, others rejected."""

import pytest

from asterism.core.messages.errors import UserError
from asterism.differential.adapters.backend_names import (
    FLOAT64,
    check_backends,
    converter_of,
    float64_runs,
    is_backend,
    library_of,
    option_of,
    reads_given,
    under_test,
)
from asterism.differential.adapters.library import CONVERTERS, LIBRARIES

ALL = [(name, option) for name in LIBRARIES for option in LIBRARIES[name].all_options()]
GIVEN = [f"{name}:{option}" for name, option in ALL if reads_given(f"{name}:{option}")]
BACKENDS = [one for one in ALL if under_test([":".join(one)]) and ":".join(one) not in GIVEN]


@pytest.mark.parametrize(("library", "option"), BACKENDS)
def test_every_librarys_backends_are_known(library, option):
    backend = f"{library}:{option}"
    check_backends([backend])
    assert (library_of(backend), option_of(backend)) == (library, option)
    source = converter_of(backend)
    # A library that has no Keras of its own reads a file, and the others build.
    assert (source in CONVERTERS) == (LIBRARIES[library].keras_backend is None)


@pytest.mark.parametrize("backend", GIVEN)
def test_backends_of_given_files_run_no_generated_models(backend):
    assert is_backend(backend) and converter_of(backend) is None
    assert bool(under_test([backend])) == (backend not in float64_runs())
    with pytest.raises(UserError, match="has no backend"):
        check_backends([backend])


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
