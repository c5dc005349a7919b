"""ONNX files made ready for quantisation, and quantised by ONNX Runtime."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from asterism.compression.onnx_quantiser import make_calibration_reader, silence_advice
from asterism.models.foreign.onnx_files import read_onnx
from real_pairs.making import MAKERS, Material


@MAKERS.register("fixed_sizes")
def fixed_sizes(
    source: Path,
    target: Path,
    material: Material,
    *,
    sizes: dict[str, list[int | None]],
    opset: int,
) -> None:
    """The same model with the sizes of its inputs settled, in a newer operator set.

    Batch normalisations are folded into convolutions, and shapes of all tensors are inferred, as
    ONNX Runtime asks for before quantisation.

    Args:
        sizes: of each input, by its name; a size stays free where it is null.
        opset: least operator set; 13 has scales for each channel.
    """
    import onnx
    from onnxruntime.quantization import quant_pre_process

    model = read_onnx(source)
    with tempfile.TemporaryDirectory() as folder, silence_advice():
        _settle_sizes(model, sizes)
        if next(e.version for e in model.opset_import if not e.domain) < opset:
            model = onnx.version_converter.convert_version(model, opset)
        plain = Path(folder) / "plain.onnx"
        onnx.save(model, plain)
        quant_pre_process(str(plain), str(target), skip_symbolic_shape=True)


@MAKERS.register("onnx_static_int8")
def onnx_static_int8(source: Path, target: Path, material: Material, *, per_channel: bool) -> None:
    """8-bit weights and activations (QDQ), whose ranges are measured on calibration inputs.

    Args:
        per_channel: a scale for each output channel of weights.
    """
    from onnxruntime.quantization import quantize_static

    reader = make_calibration_reader(material.calibration())
    with silence_advice():
        quantize_static(source, target, reader, per_channel=per_channel)


def _settle_sizes(model: Any, sizes: dict[str, list[int | None]]) -> None:
    """Give inputs their sizes, and take weights from among the inputs (files of old versions)."""
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    del model.graph.value_info[:]  # shapes that were inferred for other sizes
    for value in model.graph.input:
        for axis, size in zip(
            value.type.tensor_type.shape.dim, sizes.get(value.name, ()), strict=False
        ):
            axis.Clear()
            if size is None:
                axis.dim_param = "N"
            else:
                axis.dim_value = size
