"""Names of routes: every library's are taken apart as they are put together, others are refused."""

import pytest

from asterism.core.messages.errors import UserError
from asterism.libraries.adapters.library import CONVERTERS, LIBRARIES
from asterism.libraries.adapters.routes import (
    FLOAT64,
    check_routes,
    converter_of,
    library_of,
    option_of,
    under_test,
)

ROUTES = [
    (name, option)
    for name in LIBRARIES
    for option in LIBRARIES[name].all_options()
    if f"{name}:{option}" not in FLOAT64
]


@pytest.mark.parametrize(("library", "option"), ROUTES)
def test_every_librarys_routes_are_known(library, option):
    route = f"{library}:{option}"
    check_routes([route])
    assert (library_of(route), option_of(route)) == (library, option)
    source = converter_of(route)
    # A library that has no Keras of its own reads a file, and the others build.
    assert (source in CONVERTERS) == (LIBRARIES[library].keras_backend is None)


def test_a_converters_step_belongs_to_the_converter():
    assert library_of("tf2onnx") == "tf2onnx" and option_of("tf2onnx") == ""


def test_references_are_not_under_test():
    for route in FLOAT64:
        with pytest.raises(UserError) as error:
            check_routes([route])
        said, known = str(error.value).split("known:")
        assert repr(option_of(route)) in said and option_of(route) not in known
    assert under_test(("jax:jit", *FLOAT64, "litert:tflite")) == ["jax:jit", "litert:tflite"]


@pytest.mark.parametrize(
    ("route", "said"),
    [
        ("tensorflow:fast", "tensorflow has no route 'fast'"),
        ("tensorflow", "tensorflow has no route ''"),
        ("tensorflow:egaer", "did you mean 'eager'"),
        ("tensorflw:eager", "did you mean 'tensorflow'"),
    ],
)
def test_other_routes_are_refused(route, said):
    with pytest.raises(UserError, match=said):
        check_routes(["pytorch:eager", route])
