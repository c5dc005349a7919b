"""Models that are saved and loaded before they run: each format must give the same model.

A reproducer holds the source of :func:`reloaded`, which therefore imports what it needs itself.
"""

import inspect
import re
from typing import Any

from asterism.libraries.adapters.whole_graphs import program_of

#: Endings of Keras' formats, by the option that goes through them.
SUFFIXES = {"keras_file": ".keras", "h5_file": ".h5"}


def reloaded(model: Any, suffix: str) -> Any:
    """What Keras loads of the file to which it saves a model."""
    import tempfile

    import keras

    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model{suffix}")
        return keras.saving.load_model(f"{folder}/model{suffix}", compile=False)


def saved_model(model: Any) -> Any:
    """What TensorFlow loads of the SavedModel to which Keras exports a model's inference."""
    import tempfile

    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        model.export(folder, format="tf_saved_model", verbose=False)
        return tf.saved_model.load(folder)


def exported(model: Any, batch: int) -> Any:
    """What PyTorch loads of the file to which it exports a model, as a function of its inputs.

    The size of batches is free, except of none and one, which PyTorch always fixes.
    """
    import tempfile

    import torch

    examples = tuple(
        torch.zeros((batch, *i.shape[1:]), dtype=getattr(torch, i.dtype)) for i in model.inputs
    )
    with tempfile.TemporaryDirectory() as folder:
        torch.export.save(program_of(model, examples, free=True), f"{folder}/model.pt2")
        loaded = torch.export.load(f"{folder}/model.pt2").module()

    def call(inputs: Any, training: Any = False) -> Any:
        return loaded(*(inputs if isinstance(inputs, (list, tuple)) else [inputs]))

    return call


def source_of(function: Any) -> str:
    """The text of one of these functions without annotations, for a script."""
    text = inspect.getsource(function)
    return "\n" + re.sub(r"( ->|(?<=\w):) (Any|None|str|int|bool)(?=[,:)= \n])", "", text)
