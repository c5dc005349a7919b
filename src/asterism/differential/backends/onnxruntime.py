"""ONNX Runtime on the files of all ONNX converters, at each level of graph optimisation."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from asterism.differential.adapters.code import BackendCode, Prepared
from asterism.differential.adapters.library import LIBRARIES, FileLibrary
from asterism.differential.adapters.model_under_test import ModelUnderTest

#: ONNX Runtime's names of the levels, by the ending of an option.
LEVELS = {
    "": "ORT_DISABLE_ALL",
    "_basic": "ORT_ENABLE_BASIC",
    "_extended": "ORT_ENABLE_EXTENDED",
    "_layout": "ORT_ENABLE_LAYOUT",
    "_optimised": "ORT_ENABLE_ALL",
}

#: Rewrite rules that can be disabled by name. The log names only the pass that applies them all.
RULES = (
    "CastChainElimination",
    "CastElimination",
    "ClipQuantRewrite",
    "ConvAddFusion",
    "ConvBNFusion",
    "ConvMulFusion",
    "DivMulFusion",
    "EliminateDropout",
    "EliminateIdentity",
    "EliminateSlice",
    "ExpandElimination",
    "FuseReluClip",
    "GemmSumFusion",
    "GemmTransposeFusion",
    "MatMul_BatchNormalization_Fusion",
    "NoopElimination",
    "NotWhereFusion",
    "Pad_Fusion",
    "PreShapeNodeElimination",
    "ReluQuantRewrite",
    "UnsqueezeElimination",
)

#: What the log says of each pass that changed the graph, once it is verbose.
_CHANGED = re.compile(r"GraphTransformer (\S+) modified: 1 ")
_RULE_BASED = re.compile(r"Level\d_RuleBasedTransformer")


@LIBRARIES.register("onnxruntime")
class OnnxRuntime(FileLibrary):
    """ONNX Runtime on the CPU."""

    name = "onnxruntime"
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    suffix = ".onnx"
    endings: ClassVar[Mapping[str, str]] = LEVELS
    unsupported: ClassVar[tuple[str, ...]] = (
        r"Could not find an implementation",
        r"NOT_IMPLEMENTED",
        r"is under development and support for this is limited",  # operators newer than it
    )

    def start(self) -> None:
        """Say errors only."""
        import onnxruntime as ort

        super().start()
        ort.set_default_logger_severity(3)

    def code(self, option: str) -> BackendCode:
        """See :class:`Library`; converters keep the order of a model's inputs."""
        return BackendCode(
            ("import onnxruntime as ort",),
            f"""options = ort.SessionOptions()
options.intra_op_num_threads = 1
options.graph_optimization_level = ort.GraphOptimizationLevel.{self.way(option)}
session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])""",
            "outputs = session.run("
            "None, {i.name: x for i, x in zip(session.get_inputs(), inputs)})",
        )

    def compile(self, model_under_test: ModelUnderTest, option: str) -> Any:
        """See :class:`Library`."""
        return self._session(model_under_test, option, tuple(model_under_test.disabled))

    def passes(self, model_under_test: ModelUnderTest, option: str) -> tuple[str, ...]:
        """The passes that change the graph, as ONNX Runtime's own log names them.

        Rewrite rules are applied by one pass. Each is tried alone, to see whether it applies.
        """
        found: list[str] = []
        for name in self._changing(model_under_test, option, ()):
            if not _RULE_BASED.fullmatch(name):
                found.append(name)
                continue
            others = ((rule, tuple(r for r in RULES if r != rule)) for rule in RULES)
            found += [
                rule
                for rule, disabled in others
                if name in self._changing(model_under_test, option, disabled)
            ]
        return tuple(dict.fromkeys(found))

    def _changing(
        self, model_under_test: ModelUnderTest, option: str, disabled: tuple[str, ...]
    ) -> list[str]:
        """Names of the passes that change the graph, in their order."""
        import onnxruntime as ort

        kept = os.dup(2)
        with tempfile.TemporaryFile() as log:
            os.dup2(log.fileno(), 2)  # the log has no other end
            ort.set_default_logger_severity(0)
            try:
                self._session(model_under_test, option, disabled)
            finally:
                ort.set_default_logger_severity(3)
                os.dup2(kept, 2)
                os.close(kept)
            log.seek(0)
            text = log.read().decode(errors="replace")
        return list(dict.fromkeys(_CHANGED.findall(text)))

    def _session(
        self, model_under_test: ModelUnderTest, option: str, disabled: tuple[str, ...]
    ) -> Prepared:
        """A session of one thread, without some graph passes."""
        code = self.code(option)
        if disabled:
            more = f", disabled_optimizers={list(disabled)})"
            code = replace(code, prepare=code.prepare.removesuffix(")") + more)
        return Prepared(code, {"path": str(self.path(model_under_test, option))}, option)
