"""Models that ``torch.export.save`` wrote (``.pt2``)."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from asterism.core.messages.errors import UserError
from asterism.models.classifiers.formats import FORMATS, Batch, Format
from asterism.models.classifiers.formats.layout import Layout, require_vector
from asterism.models.foreign.torch_archive import rewritten


class TorchRuntime:
    """An exported PyTorch program on the CPU."""

    def __init__(self, path: Path) -> None:
        import torch

        self._torch, self._path = torch, path
        self._module = rewritten(path).module()
        shapes = [
            [size if isinstance(size, int) else None for size in node.meta["val"].shape]
            for node in self._module.graph.nodes
            if node.op == "placeholder"
        ]
        if len(shapes) != 1:
            raise UserError(f"{path} has {len(shapes)} inputs; a classifier has one")
        self._layout = Layout(shapes[0], path)
        self.input_shape = self._layout.input_shape
        # PyTorch's kernels give other last bits for other batch sizes, as TensorFlow's do.
        self.fixed_batch: int | None = self._layout.fixed_batch or 32
        self.notes: tuple[str, ...] = (f"runs in PyTorch, in batches of {self.fixed_batch}",)
        probe = self.run(np.zeros((self.fixed_batch, *self.input_shape), np.float32))
        self.outputs = require_vector(probe.shape, path)
        self.output_step = 0.0

    def run(self, batch: Batch) -> Batch:
        """See :meth:`asterism.models.classifiers.formats.Runtime.run`."""
        with self._torch.inference_mode():
            outputs = self._module(self._torch.from_numpy(self._layout.adapt(batch)))
        tensor = next((o for o in outputs if isinstance(o, self._torch.Tensor)), None)
        if tensor is None:
            raise UserError(f"{self._path} puts out no tensor")
        values: Batch = tensor.to(self._torch.float32).numpy()
        return values


@FORMATS.register("torch")
class TorchExport(Format):
    """An archive of ``torch.export.save``; pickled models (``.pt``, ``.pth``) are not read."""

    suffixes: ClassVar[tuple[str, ...]] = (".pt2",)

    @staticmethod
    def recognises(head: bytes, path: Path) -> bool:
        """A zip archive."""
        return path.suffix == ".pt2" and head[:4] == b"PK\x03\x04"

    @staticmethod
    def open(path: Path) -> TorchRuntime:
        """See :meth:`asterism.models.classifiers.formats.Format.open`."""
        return TorchRuntime(path)
