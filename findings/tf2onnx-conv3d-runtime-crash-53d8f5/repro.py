"""tf2onnx leaves a call of a function in the model of a grouped Conv3D."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import onnxruntime as ort
import tensorflow as tf
import tf2onnx

layer = keras.layers.Conv3D(4, 1, groups=4)
x = tf.ones((1, 1, 1, 1, 4))
print("expected", layer(x).shape)
spec = [tf.TensorSpec((1, 1, 1, 1, 4), tf.float32, "x")]
try:
    model, _ = tf2onnx.convert.from_function(tf.function(layer, spec), spec, opset=18)
    actual = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x.numpy()})
except Exception as error:
    print("actual  ", type(error).__name__, str(error)[-300:])
    sys.exit(1)
print("actual  ", actual[0].shape)
