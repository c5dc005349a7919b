"""Abstract the profiled states and count the Markov chain over them."""

from pathlib import Path

from asterism.core.files.artifacts import write_json, write_table
from asterism.core.parameters.params import ParameterSection
from asterism.core.svg import write_svg
from asterism.deepstellar.model.markov_chain import draw_markov_chain, write_model_checker_files
from asterism.deepstellar.model.profile import Profile
from asterism.deepstellar.model.trace_model import TraceModel
from asterism.deepstellar.params import AbstractionParams

ARTIFACTS = Path("artifacts/build_dtmc")


class Params(ParameterSection):
    """What the stage reads of ``params.yaml``."""

    abstraction: AbstractionParams


def run(params: Params) -> None:
    """Write the model, its files for model checkers and its size."""
    profile = Profile.load(Path("artifacts/profile_states"))
    classes = int(profile.labels.max()) + 1
    model = TraceModel.fit(profile.states, profile.labels, classes, params.abstraction)
    model.save(ARTIFACTS)
    write_model_checker_files(model.abstraction, model.dtmc, ARTIFACTS)
    write_svg(Path("plots/build_dtmc/graph.svg"), draw_markov_chain(model))
    explained = model.abstraction.pca.explained
    metrics = {**model.facts(), "sequences": len(profile.labels)}
    write_json(Path("metrics/build_dtmc.json"), metrics)
    components = {"component": range(1, len(explained) + 1), "explained_variance": explained}
    write_table(Path("plots/build_dtmc/components.csv"), components)
