"""For how many seeds two rules of fitness find deviations that matter, on pairs of classifiers.

    python benchmarks/consequence.py [lenet1|resnet20|PAIR ...] [--seeds 30] [--queries 4000]

A deviation matters where the original is sure and right and the compressed model sure and wrong, as
``conf/trigger/consequence.yaml`` says. ``fitness: consequence`` looks for such inputs and ends a
seed at the first; the paper's fitness goes on after a deviation, so that both have the same
queries. The operators are natural changes. A PAIR is one that ``python benchmarks/real_pairs
--list`` names; ``lenet1`` and ``resnet20`` are the published models, which lie as in
``compressed.py``.
"""

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from compressed import SHARED, SUBJECTS, conf, trigger_params
from vetted import described

from asterism.data import DataParams, load
from asterism.dflare.comparisons.labels import TopLabel
from asterism.dflare.consequence import Consequence, ConsequenceParams
from asterism.dflare.domains.images import ImageDomain
from asterism.dflare.lockstep import PairUnderTest, SeedBudget
from asterism.dflare.pair import ModelPair, open_pair
from asterism.dflare.searches import SEARCHES
from asterism.dflare.trigger import SearchSeeds, draw_seeds
from asterism.models.keras_models.preprocessing import PreprocessingParams
from asterism.vetting.opening import open_vetted

PARAMS = trigger_params("default", "consequence")
OPTIONS = PARAMS.searches["consequence"].options


@contextmanager
def opened(name: str, count: int) -> Iterator[tuple[PairUnderTest, SearchSeeds]]:
    """A pair of image classifiers, and the seeds to start from."""
    domain = ImageDomain(PARAMS.operators)
    if name not in SUBJECTS:
        params, seed = described(name)
        with open_vetted(params, seed) as vetted:
            labels = vetted.inputs.labels
            under_test = PairUnderTest(vetted.pair, domain, vetted.comparison, labels=labels)
            yield under_test, draw_seeds(vetted.inputs.items, count, 0)
        return
    source, original, compressed, preprocessing, *_ = SUBJECTS[name]
    data = load(DataParams(name=source, path="conf/no_file", train=10, test=None))
    scaling = PreprocessingParams(**conf(f"preprocessing/{preprocessing}.yaml"))
    files = (SHARED / "models" / original, SHARED / "models" / compressed)
    with open_pair(*files, scaling) as models:
        under_test = PairUnderTest(ModelPair(*models), domain, TopLabel(), labels=data.test_labels)
        yield under_test, draw_seeds(data.test_images, count, 0)


def run(name: str, count: int, queries: int) -> None:
    """Search one pair by both rules, and print what they find."""
    judge = Consequence.of(TopLabel(), ConsequenceParams(**OPTIONS["consequence"]))
    kind = SEARCHES["dflare"]
    with opened(name, count) as (under_test, seeds):
        numbers = seeds.numbers.tolist()
        print(f"{name}: {len(numbers)} seeds, {queries} queries each", flush=True)
        for fitness, triggers in (("consequence", 1), ("paper", queries)):
            options = kind.Options(**OPTIONS | {"fitness": fitness})
            budget, started = SeedBudget(queries, triggers), time.perf_counter()
            search = kind(under_test, budget, seeds.items, numbers, 0, "dflare", options)
            first: dict[int, int] = {}
            mattering: dict[int, int] = {}
            for trigger in search.run().triggers:
                first.setdefault(trigger.seed, trigger.queries)
                assert under_test.labels is not None, "these pairs have them"
                expected = np.reshape(under_test.labels[trigger.seed], (1, 1))
                if judge.holds(trigger.f[np.newaxis], trigger.g[np.newaxis], expected)[0]:
                    mattering.setdefault(trigger.seed, trigger.queries)
            mean = f"{np.mean(list(first.values())):.1f}" if first else "-"
            print(
                f"  fitness {fitness:11} any for {len(first)} seeds, on average after {mean} "
                f"queries; consequential for {len(mattering)}, after "
                f"{sorted(mattering.values())}; {time.perf_counter() - started:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SUBJECTS), metavar="PAIR")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--queries", type=int, default=4000)
    arguments = parser.parse_args()
    for chosen in arguments.names:
        run(chosen, arguments.seeds, arguments.queries)
