"""Sums of 8-bit products that ONNX Runtime cuts off on some processors."""

import platform
from pathlib import Path

import numpy as np
import pytest
from onnxruntime.quantization import QuantType, quantize_static

from asterism.compression.onnx_quantiser import make_calibration_reader
from asterism.vetting.integer_sums import cuts_sums_off
from asterism.vetting.measurement import compare_with_device
from asterism.vetting.opening import open_vetted
from models.onnx_networks import linear
from vetting.small_vetting import vet_params

#: Two products of the first class fit into 16 bits, and two of the second do not.
WEIGHT = np.repeat(np.float32([[0.9, 1.6]]), 16, axis=0)
ITEMS = np.random.default_rng(0).uniform(0.9, 1, (60, 16)).astype(np.float32)


def is_known_to_cut():
    """Whether this is an x86 processor without VNNI; None where that is not known."""
    flags = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not flags.exists():
        return None
    return not {"avx512_vnni", "avx_vnni"} & set(flags.read_text().split())


@pytest.mark.parametrize("bits", [7, 8])
def test_answers_that_cut_sums_change_are_told_where_the_processor_cuts_them(tmp_path, bits):
    original, compressed = linear(tmp_path / "model.onnx", WEIGHT), tmp_path / "int8.onnx"
    reader = make_calibration_reader({"x": item[np.newaxis]} for item in ITEMS)
    quantize_static(
        original, compressed, reader, activation_type=QuantType.QUInt8, reduce_range=bits == 7
    )
    np.save(tmp_path / "inputs.npy", ITEMS)
    params = vet_params(
        "tensors",
        original=str(original),
        compressed=str(compressed),
        inputs=str(tmp_path / "inputs.npy"),
        comparison={"kind": "top_label", "options": {}},
    )
    with open_vetted(params, 0) as vetted:
        found = compare_with_device(vetted)
        assert vetted.deviates.any() == bool(found.told)
    assert bool(found.told) == (bits == 8 and cuts_sums_off())
    known = is_known_to_cut()
    assert known is None or cuts_sums_off() == known
