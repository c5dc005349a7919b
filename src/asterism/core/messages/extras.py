"""Packages that only some lanes need, and the extras of the installation that bring them."""

from __future__ import annotations

#: The smallest extra that brings a module, by the module's name. A test compares it with what
#: pyproject.toml declares.
EXTRAS = {
    "tensorflow": "vetting",
    "keras": "vetting",
    "ai_edge_litert": "vetting",
    "tf2onnx": "vetting",
    "sklearn": "demo",
    "torch": "torch",
    "torchao": "torch",
    "art": "importance",
    "jax": "libraries",
    "openvino": "libraries",
    "onnx2torch": "libraries",
    "onnx2pytorch": "libraries",
    "coverage": "libraries",
    "dvc_s3": "remotes",
    "dvc_ssh": "remotes",
    "dvc_webdav": "remotes",
}


#: The extra that has all that a stage may need: that of its lane.
STAGES = {
    "train_rnn": "stateful",
    "profile_states": "stateful",
    "build_dtmc": "stateful",
    "select_seeds": "stateful",
    "fuzz": "stateful",
    "measure_coverage": "stateful",
    "train_classifier": "compressed",
    "compress": "compressed",
    "trigger": "compressed",
    "repair": "compressed",
    "vet_measure": "vetting",
    "vet_search": "vetting",
    "vet_repair": "vetting",
    "vet_page": "vetting",
    "attack": "importance",
    "measure_importance": "importance",
    "measure_driving": "importance",
    "attack_rnn": "importance",
    "library_versions": "libraries",
    "reduce_models": "libraries",
    "generate_models": "libraries",
    "execute_models": "libraries",
    "judge_models": "libraries",
    "triage_findings": "libraries",
    "report": "all",
}


#: Extras of lanes that need PyTorch only where a parameter or a file asks for it.
_WITHOUT_TORCH = ("vetting", "importance", "stateful")


def missing_extra(error: BaseException, stage: str = "") -> str | None:
    """One line that names the extra, where an error says that a module of one is missing.

    Args:
        error: any.
        stage: name of the stage that met it; empty for none.
    """
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    module = error.name.partition(".")[0]
    if module not in EXTRAS:
        return None
    extra = STAGES.get(stage, EXTRAS[module])
    if EXTRAS[module] == "torch" and extra in _WITHOUT_TORCH:
        extra = f"{extra},torch"
    return f"{module} is not installed: run `pip install 'asterism[{extra}]'`"
