"""Makers of model files on small files, and the small files themselves."""

import json

import numpy as np
import onnxruntime
from real_pairs.entry import with_options
from real_pairs.making import MAKERS, Material

from asterism.models.tensor_models.feeding import FeedingParams
from onnx_texts import write_onnx

FILE = {"package": "p", "path": "f", "sha256": "0" * 64}
RNG = np.random.default_rng(0)
FEEDING = FeedingParams(
    input=None, outputs=None, constants=[], step=None, context=0, pad=0, preprocessing=None
)


def make(name, source, target, options=(), **material):
    found = Material(
        material.get("calibration", lambda: []), lambda file: material["files"][file.path]
    )
    with_options(MAKERS, name, dict(options))(source, target, found)
    return target


def answers(path, feed):
    return onnxruntime.InferenceSession(path).run(None, feed)[0]


def convolution(path):
    text = """(float[n,3,h,w2] x) => (float[n,4,1,1] y) {
        c = Conv (x, w)
        r = Relu (c)
        y = GlobalAveragePool (r)
    }"""
    weights = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
    return write_onnx(path, text, opset=11, w=weights)


def write_safetensors(path, tensors):
    header, content = {}, b""
    for name, values in tensors.items():
        end = len(content) + values.nbytes
        shape = list(values.shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(content), end]}
        content += values.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content)
    return path
