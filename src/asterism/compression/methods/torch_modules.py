"""A copy of the model in PyTorch, quantised by TorchAO, or pruned or distilled by PyTorch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from asterism.compression.methods import COMPRESSORS, Compressor, TrainingData
from asterism.compression.methods.keras import Distillation, build_student
from asterism.compression.methods.pruning import MagnitudePruning
from asterism.core.parameters.construction import NoOptions
from asterism.core.parameters.params import ParameterSection
from asterism.models.foreign.torch_operators import import_quietly
from asterism.models.formats.torch_export import save_program
from asterism.models.training.fitting import dropped_rate

if TYPE_CHECKING:
    import keras
    import torch

    from asterism.models.training.torch_copies import TorchCopy
    from asterism.models.training.torch_fitting import Loss


class TorchCompressor(Compressor):
    """Compresses a copy in PyTorch, and exports it; a subclass says how it is compressed.

    The copy takes images ``(N, C, H, W)``.
    """

    suffix: ClassVar[str] = ".pt2"

    @classmethod
    def compress(
        cls, model: keras.Model, options: Any, training: TrainingData, target: Path
    ) -> None:
        """See :class:`asterism.compression.methods.Compressor`."""
        from asterism.models.training.torch_copies import TorchCopy, as_torch_takes
        from asterism.models.training.torch_fitting import deterministic

        example = as_torch_takes(training.inputs[:2])
        with deterministic(training.seed, "compress", "torch"):
            small = cls.smaller(TorchCopy(model), options, training)
            program = export_program(small, example)
        save_program(program, target)

    @staticmethod
    @abstractmethod
    def smaller(copy: TorchCopy, options: Any, training: TrainingData) -> torch.nn.Module:
        """The compressed module, which may be the copy itself."""


def export_program(module: torch.nn.Module, rows: torch.Tensor) -> torch.export.ExportedProgram:
    """A module as a program for any number of inputs, at least two of which are given."""
    import torch

    free = ({0: torch.export.Dim("images")},)
    return torch.export.export(module, (rows,), dynamic_shapes=free)


def quantise_graph(module: torch.nn.Module, rows: torch.Tensor) -> torch.fx.GraphModule:
    """A module's graph, quantised by PT2E to 8 bits for processors of x86.

    Args:
        module: takes one tensor, and stays as it is.
        rows: inputs that the ranges of activations are measured on, ``(n, ...)``, n at least 2.
    """
    import torch

    pt2e = import_quietly("torchao.quantization.pt2e.quantize_pt2e")
    x86 = import_quietly("torchao.quantization.pt2e.quantizer.x86_inductor_quantizer")
    quantiser = x86.X86InductorQuantizer()
    quantiser.set_global(x86.get_default_x86_inductor_quantization_config())
    prepared = pt2e.prepare_pt2e(export_program(module, rows).module(), quantiser)
    with torch.no_grad():
        prepared(rows)
    converted = pt2e.convert_pt2e(prepared)
    # It still has the weights in floating point; a new module has those that the graph reads.
    return torch.fx.GraphModule(converted, converted.graph)


def _quantised(copy: TorchCopy, chosen: Callable[[Any], Any]) -> TorchCopy:
    """A copy whose dense layers are quantised; weights become plain tensors, as files need them.

    Args:
        copy: is changed.
        chosen: gives a configuration of TorchAO's module ``quantization``.
    """
    quantisation = import_quietly("torchao.quantization")
    quantisation.quantize_(copy, chosen(quantisation))
    import_quietly("torchao.utils").unwrap_tensor_subclass(copy)
    return copy


@COMPRESSORS.register("torch_dynamic_int8")
class DynamicInt8Quantisation(TorchCompressor):
    """TorchAO: dense layers with 8-bit weights; activations are quantised as they come."""

    @staticmethod
    def smaller(copy: TorchCopy, options: NoOptions, training: TrainingData) -> TorchCopy:
        """See :meth:`TorchCompressor.smaller`."""
        return _quantised(copy, lambda ao: ao.Int8DynamicActivationInt8WeightConfig())


@COMPRESSORS.register("torch_weight_only")
class WeightOnlyQuantisation(TorchCompressor):
    """TorchAO: dense layers with weights of few bits, which are kept in bytes in the file."""

    class Options(ParameterSection):
        """How weights are rounded."""

        bits: Literal[2, 3, 4, 5, 6, 7, 8] = Field(description="of a weight")

    @staticmethod
    def smaller(copy: TorchCopy, options: Options, training: TrainingData) -> TorchCopy:
        """See :meth:`TorchCompressor.smaller`."""
        import torch

        kind = getattr(torch, f"int{options.bits}")
        return _quantised(copy, lambda ao: ao.IntxWeightOnlyConfig(weight_dtype=kind))


@COMPRESSORS.register("torch_static_pt2e")
class StaticPt2eQuantisation(TorchCompressor):
    """TorchAO's PT2E: 8-bit weights and activations, whose ranges are measured on images."""

    class Options(ParameterSection):
        """How the ranges of activations are measured."""

        calibration_images: int = Field(ge=2, description="first n training images to measure on")

    @staticmethod
    def smaller(copy: TorchCopy, options: Options, training: TrainingData) -> torch.nn.Module:
        """See :meth:`TorchCompressor.smaller`."""
        from asterism.models.training.torch_copies import as_torch_takes

        return quantise_graph(copy, as_torch_takes(training.inputs[: options.calibration_images]))


@COMPRESSORS.register("torch_pruned")
class TorchPruning(TorchCompressor):
    """PyTorch's pruning: the smallest weights become zero, and the others are tuned."""

    Options = MagnitudePruning.Options

    @staticmethod
    def smaller(
        copy: TorchCopy, options: MagnitudePruning.Options, training: TrainingData
    ) -> TorchCopy:
        """See :meth:`TorchCompressor.smaller`."""
        from torch import nn
        from torch.nn.utils import prune

        from asterism.models.training.torch_fitting import fit_by_torch

        layers = [part for part in copy.modules() if isinstance(part, nn.Conv2d | nn.Linear)]
        kernels = [(layer, "weight") for layer in layers]
        if options.scope == "global":
            prune.global_unstructured(kernels, prune.L1Unstructured, amount=options.sparsity)
        else:
            by_size: Any = prune.l1_unstructured
            for layer in layers:
                by_size(layer, "weight", options.sparsity)
        fit_by_torch(copy, training.inputs, training.labels, options.tuning)
        removed: Any = prune.remove
        for layer in layers:
            removed(layer, "weight")
        return copy


@COMPRESSORS.register("torch_distilled")
class TorchDistillation(TorchCompressor):
    """A smaller student learns by PyTorch, from the original's softened outputs and the labels.

    The original answers the images as they are augmented.
    """

    trains_on_device: ClassVar[bool] = True

    class Options(Distillation.Options):
        """The student and its lessons."""

        augment: bool = Field(description="whether training images are shifted and mirrored")
        learning_rate_drops: list[int] = Field(
            description="epochs from which on the learning rate is a tenth of what it was"
        )

    @staticmethod
    def smaller(copy: TorchCopy, options: Options, training: TrainingData) -> TorchCopy:
        """See :meth:`TorchCompressor.smaller`."""
        from asterism.models.devices import require_device
        from asterism.models.training.torch_copies import TorchCopy, as_torch_takes
        from asterism.models.training.torch_fitting import TorchOptions, fit_by_torch

        classes = copy.logits(as_torch_takes(training.inputs[:1])).shape[1]
        student = TorchCopy(build_student(options.student, training, classes))
        device, lessons = require_device(), options.training
        fit_options = TorchOptions(
            rate=lambda epoch, _: dropped_rate(
                lessons.learning_rate, options.learning_rate_drops, epoch
            ),
            augment=options.augment,
            device=device,
            loss=_distillation_loss(copy.to(device), options.temperature, options.alpha),
        )
        fit_by_torch(student, training.inputs, training.labels, lessons, fit_options)
        return student


def _distillation_loss(teacher: TorchCopy, temperature: float, alpha: float) -> Loss:
    """The loss of a student (Hinton et al., 2015, section 2).

    Args:
        teacher: answers the same images.
        temperature: divides the logits of both.
        alpha: weight of the labels; the rest is imitation.
    """
    import torch
    from torch.nn import functional as f

    def loss(images: torch.Tensor, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            wanted = f.log_softmax(teacher.logits(images) / temperature, dim=1)
        given = f.log_softmax(logits / temperature, dim=1)
        imitation = f.kl_div(given, wanted, reduction="batchmean", log_target=True)
        # Gradients of softened outputs shrink by the square of the temperature.
        return alpha * f.cross_entropy(logits, labels) + (1 - alpha) * temperature**2 * imitation

    return loss
