"""Small real pairs for every kind of inputs: Keras models and their LiteRT copies."""

from functools import cache

import numpy as np
from kinds import OPTIONS, RATE

CLASSES = 4
#: Tokens or bytes of a row, samples of a wave.
LENGTH, SAMPLES = 16, 1024


def sounds(count, seed=0):
    """Tones of four pitches in noise, and which pitch it is."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    pitch = np.array([250, 500, 900, 1600])[labels] * rng.uniform(0.85, 1.15, count)
    time = np.arange(SAMPLES) / RATE
    waves = rng.uniform(0.05, 0.5, (count, 1)) * np.sin(2 * np.pi * pitch[:, None] * time)
    waves += rng.normal(0, 0.05, waves.shape)
    return np.clip(waves, -1, 1).astype(np.float32), labels


def sequences(count, seed=0, low=3, high=50, padding=0, dtype=np.int32):
    """Rows whose label is the range of symbols that most of them come from."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    items = np.full((count, LENGTH), padding, dtype)
    width = (high - low) // CLASSES
    for row, label in zip(items, labels, strict=True):
        length = int(rng.integers(6, LENGTH + 1))
        own = rng.integers(low + width * label, low + width * (label + 1), length)
        row[:length] = np.where(rng.random(length) < 0.6, own, rng.integers(low, high, length))
    return items, labels


def tensors(count, seed=0):
    """Sequences of four features, of which one is the largest."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    items = rng.normal(0, 1, (count, 6, CLASSES))
    items[np.arange(count), :, labels] += 1.2
    return items.astype(np.float32), labels


def images(count, seed=0):
    """Squares in one of four corners."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    items = rng.integers(0, 120, (count, 10, 10, 1))
    for image, label in zip(items, labels, strict=True):
        y, x = divmod(int(label), 2)
        image[1 + 5 * y : 4 + 5 * y, 1 + 5 * x : 4 + 5 * x] += 60
    return items.astype(np.uint8), labels


def bytes_(count, seed=0):
    return sequences(count, seed, 33, 126, OPTIONS["bytes"]["padding"], np.int16)


DATA = {
    "images": images,
    "sound": sounds,
    "tokens": sequences,
    "bytes": bytes_,
    "tensors": tensors,
}


def dtype_of(kind):
    """What the networks take."""
    return "int32" if kind in ("tokens", "bytes") else "float32"


def network(kind):
    import keras
    from keras import layers

    items, _ = DATA[kind](2)
    inputs = keras.Input(items.shape[1:], dtype=dtype_of(kind))
    if kind == "images":
        body = [layers.Rescaling(1 / 255), layers.Conv2D(6, 3, activation="relu")]
        body += [layers.MaxPooling2D(), layers.Flatten()]
    elif kind == "sound":
        body = [layers.Reshape((SAMPLES, 1)), layers.Conv1D(8, 32, 8, activation="relu")]
        body += [layers.Conv1D(8, 8, 4, activation="relu"), layers.GlobalAveragePooling1D()]
    elif kind == "tensors":
        body = [layers.Conv1D(8, 3, activation="relu"), layers.Flatten()]
    else:
        body = [layers.Embedding(300, 8), layers.Conv1D(8, 3, activation="relu")]
        body += [layers.GlobalAveragePooling1D()]
    outputs = inputs
    for layer in [*body, layers.Dense(CLASSES, activation="softmax")]:
        outputs = layer(outputs)
    return keras.Model(inputs, outputs)


@cache
def trained(kind):
    """A network that knows its data, trained for a few seconds."""
    import keras

    keras.utils.set_random_seed(0)
    items, labels = DATA[kind](600, seed=1)
    model = network(kind)
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    model.fit(items, labels, batch_size=64, epochs=12, verbose=0)
    return model


class KerasModel:
    """The model as Keras runs it, 16 rows at a time, so that no batch can matter."""

    def __init__(self, model, name="keras"):
        import tensorflow as tf

        self.name, self.classes = name, CLASSES
        self._dtype = model.inputs[0].dtype
        self._run = tf.function(lambda rows: model(rows, training=False))

    def predict(self, items):
        import tensorflow as tf

        parts = []
        for start in range(0, len(items), 16):
            rows = items[start : start + 16]
            full = np.concatenate([rows, np.repeat(rows[:1], 16 - len(rows), axis=0)])
            answers = self._run(tf.constant(full.astype(self._dtype)))
            parts.append(answers.numpy()[: len(rows)])
        return np.concatenate(parts) if parts else np.empty((0, CLASSES), np.float32)


class LiteModel:
    """The model as LiteRT runs it, row by row, with the weights rounded to 8 bits."""

    def __init__(self, content):
        from ai_edge_litert.interpreter import Interpreter

        self.name, self.classes = "litert", CLASSES
        self._interpreter = Interpreter(model_content=content)
        self._interpreter.allocate_tensors()
        (self._given,), (self._answer,) = (
            self._interpreter.get_input_details(),
            self._interpreter.get_output_details(),
        )

    def predict(self, items):
        outputs = np.empty((len(items), CLASSES), np.float32)
        for row, item in enumerate(items):
            self._interpreter.set_tensor(
                self._given["index"], item[np.newaxis].astype(self._given["dtype"])
            )
            self._interpreter.invoke()
            outputs[row] = self._interpreter.get_tensor(self._answer["index"])[0]
        return outputs


def rounded(model, step):
    """A copy of the model whose weights are multiples of a step of each weight's range."""
    import keras

    copy = keras.models.clone_model(model)
    weights = []
    for weight in model.get_weights():
        unit = step * np.abs(weight).max() or 1.0
        weights.append((np.rint(weight / unit) * unit).astype(np.float32))
    copy.set_weights(weights)
    return copy


@cache
def lite(kind, step):
    """The trained network with coarse weights as a LiteRT file's bytes."""
    import tensorflow as tf

    model = rounded(trained(kind), step)
    return tf.lite.TFLiteConverter.from_keras_model(model).convert()


def pair_of(kind, step=0.08):
    """A trained network in Keras, and a coarse copy of it in LiteRT."""
    return KerasModel(trained(kind)), LiteModel(lite(kind, step))
