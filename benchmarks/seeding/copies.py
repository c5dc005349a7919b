"""Copies of backends that have one seeded fault each: an option for every fault."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from asterism.differential.adapters.library import LIBRARIES, Library
from asterism.differential.adapters.model_under_test import ModelUnderTest
from asterism.differential.backends.jax import Jax
from asterism.differential.backends.onnxruntime import OnnxRuntime
from asterism.differential.backends.pytorch import PyTorch
from asterism.differential.backends.tensorflow import TensorFlow
from asterism.memo.graphs.keras_build import layer_name
from seeding.layer_faults import LAYER_FAULTS
from seeding.onnx_faults import ONNX_FAULTS, edited

#: How the name of a copy begins.
COPY = "seeded_"


class Faulty(ModelUnderTest):
    """A model whose layers of one type have a fault."""

    def __init__(self, sound: ModelUnderTest, fault: str) -> None:
        super().__init__(sound.folder, sound.weights, sound.outputs, sound.opset, sound.batch)
        self._fault = LAYER_FAULTS[fault]

    def keras(self, *, dtype: str | None = None, zero_initializers: bool = False) -> Any:
        """The model with the fault."""
        model = super().keras(dtype=dtype, zero_initializers=zero_initializers)
        graph = self.graph
        for identity in graph.layers:
            node = graph.nodes[identity]
            if node.type == self._fault.layer:
                self._fault.seed(model.get_layer(layer_name(identity, node)))
        return model


class KerasCopy(Library):
    """What copies of Keras' backends have in common."""

    options = tuple(LAYER_FAULTS)

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """The faulty model, run eagerly."""
        return super().compile(Faulty(model_under_test, option), "eager")


for _sound in (PyTorch, TensorFlow, Jax):
    _name = f"{COPY}{_sound.name}"
    _copy = type(f"{_sound.__name__}Copy", (KerasCopy, _sound), {"name": _name})
    LIBRARIES.register(_name)(_copy)


@LIBRARIES.register(f"{COPY}onnxruntime")
class OnnxRuntimeCopy(OnnxRuntime):
    """ONNX Runtime on files with faults."""

    name = f"{COPY}onnxruntime"
    endings = dict.fromkeys((f"+{fault}" for fault in ONNX_FAULTS), "ORT_DISABLE_ALL")

    @classmethod
    def all_options(cls) -> tuple[str, ...]:
        """The files of one converter."""
        return tuple(o for o in super().all_options() if o.startswith("keras_onnx+"))

    def source(self, option: str) -> str:
        """The converter whose file is edited."""
        return option.partition("+")[0]

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """A session of the edited file."""
        converter, _, fault = option.partition("+")
        sound = model_under_test.file(converter, self.suffix)
        content = edited(sound.read_bytes(), fault)
        if content is None:
            raise NotImplementedError(f"{fault} is not supported by this model")
        return super().compile(FaultyFile(model_under_test, option, content), option)


class FaultyFile(ModelUnderTest):
    """A model whose file, whoever converted it, has other content."""

    def __init__(self, sound: ModelUnderTest, option: str, content: bytes) -> None:
        super().__init__(sound.folder, None, sound.outputs)
        self._file = sound.folder / f"{option}.onnx"
        self._file.write_bytes(content)

    def file(self, converter: str, suffix: str) -> Path:
        """The file with the fault."""
        return self._file
