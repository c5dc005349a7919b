"""MXNet as a plug-in of Asterism: two libraries under test, and the converter to Keras 2.

``ASTERISM_LIBRARIES=asterism_mxnet`` loads it, with this folder's parent on ``PYTHONPATH``.
"""

from __future__ import annotations

from asterism_mxnet import converter, keras_mxnet, onnx_importer

__all__ = ["converter", "keras_mxnet", "onnx_importer"]
