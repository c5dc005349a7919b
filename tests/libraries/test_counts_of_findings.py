"""Counting unique findings by library and by symptom."""

from asterism.differential.oracle.finding import Finding
from asterism.differential.report.writing import counts_of


def found(library, symptom):
    return Finding(0, symptom, "run", library, (f"{library}:x",))


def test_tested_libraries_and_converters_without_a_finding_count_zero():
    findings = [
        found("tf2onnx", "crash"), found("tf2onnx", "values differ"), found("jax", "crash"),
    ]  # fmt: skip
    backends = ["tensorflow:eager", "onnxruntime:tf2onnx_optimised", "onnxruntime:keras_onnx"]
    assert counts_of(findings, backends) == {
        "by_library": {
            "jax": 1,
            "keras": 0,
            "keras_onnx": 0,
            "onnxruntime": 0,
            "tensorflow": 0,
            "tf2onnx": 2,
        },
        "by_symptom": {"crash": 2, "values differ": 1},
    }


def test_no_finding_counts_nothing():
    assert counts_of([], ["tensorflow:eager"]) == {
        "by_library": {"keras": 0, "tensorflow": 0},
        "by_symptom": {},
    }
