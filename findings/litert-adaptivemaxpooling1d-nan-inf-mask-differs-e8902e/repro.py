"""NaN/Inf mask differs | litert | AdaptiveMaxPooling1D(). Seen with ai-edge-litert 2.3.0, keras 3.15.1, tensorflow 2.21.0; see check.py."""
import os

os.environ.update(KERAS_BACKEND='tensorflow', TF_ENABLE_ONEDNN_OPTS='1')

import keras
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

inputs = [np.full((2, 2, 1), np.inf, 'float32')]
n0 = keras.Input((2, 1), dtype='float32')
n1 = keras.layers.AdaptiveMaxPooling1D(output_size=[2])(n0)
model = keras.Model(n0, n1)
fixed = [keras.Input(batch_shape=x.shape, dtype=x.dtype.name) for x in inputs]
model = keras.Model(fixed, model(fixed if len(fixed) > 1 else fixed[0]))
content = tf.lite.TFLiteConverter.from_keras_model(model).convert()
open("model.tflite", "wb").write(content)
kernels = OpResolverType.BUILTIN_REF
interpreter = Interpreter("model.tflite", experimental_op_resolver_type=kernels)
runner = interpreter.get_signature_runner()
given = dict(zip(sorted(runner.get_input_details()), inputs))
outputs = [o for _, o in sorted(runner(**given).items())]
print('expected [[[inf], [inf]], [[inf], [inf]]]')
print("actual  ", *(np.asarray(o).tolist() for o in outputs))
