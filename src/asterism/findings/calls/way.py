"""A way: how a function's result is computed by something other than the library's plain call."""

from __future__ import annotations

from dataclasses import dataclass

from asterism.core.parameters.registry import Registry


@dataclass(frozen=True)
class Way:
    """A way to run a call that must give what the plain call gives.

    Args:
        framework: whose calls it takes.
        library: to blame where it goes wrong.
        lines: Python text that computes ``actual`` of ``f`` and ``inputs``.
        expected: text that computes what must come.
        imports: lines beside the framework's own.
        packages: distributions whose versions matter beside the framework's own.
        unsupported: patterns of messages by which it says that it does not do something.
        finest: the finest dtype that it computes in, as its documentation says.
        checks: whether it must fail where the plain call fails.
    """

    framework: str
    library: str
    lines: str
    expected: str = "expected = f(*inputs)"
    imports: str = ""
    packages: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    finest: str = "float64"
    checks: bool = False


#: All ways, by ``library:way``; of two that show a finding the first one by ``order`` has it.
WAYS: Registry[Way] = Registry("way", "asterism.findings.calls.ways")


def way(name: str, given: Way) -> Way:
    """File a way under a name."""
    return WAYS.register(name)(given)


#: How OpenVINO runs a model, and what it says where it does not know an operator.
_OPENVINO_RUN = """hints = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model(model, "CPU", hints)
actual = list(compiled([np.array(x) for x in inputs]).values())"""
_OPENVINO_UNSUPPORTED = (
    r"This is OpenVINO internal type",
    r"Incorrect input parameters",
    r"No conversion rule",
    r"[Uu]nsupported",
)


def openvino_way(framework: str, model: str, unsupported: tuple[str, ...]) -> Way:
    """OpenVINO on what its frontend for a framework reads.

    Args:
        framework: whose calls it takes.
        model: lines that make ``model`` of ``f`` and ``inputs``.
        unsupported: more patterns of messages by which it says that it does not do something.
    """
    return Way(
        framework,
        "openvino",
        f"{model}\n{_OPENVINO_RUN}",
        imports="import openvino as ov",
        packages=("openvino",),
        finest="float32",
        unsupported=(*_OPENVINO_UNSUPPORTED, *unsupported),
    )
