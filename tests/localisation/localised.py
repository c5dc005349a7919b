"""Localising as one call, and what it has to find and repair."""

from asterism.localisation.localising import BlamedNodes
from asterism.localisation.quantised_nodes import match_nodes
from asterism.localisation.reading import pair_graphs
from asterism.localisation.repair import build_repair_curve
from asterism.localisation.trials import TrialRunner


def localise(pair, feeds, deviation, evaluations, most=None, enough=1.0):
    """The culprits of a pair, and the set of float nodes that grows until enough is gone."""
    return BlamedNodes(TrialRunner(pair, feeds, deviation), evaluations, most).grown(enough)


def repaired_damages(original, compressed, cases, feeds, deviation):
    """The best single repair of each damage that does more than quantisation itself.

    The damaged node is ranked first, and its repair removes the damage.
    """
    clean = TrialRunner(
        match_nodes(pair_graphs(original, compressed)), feeds, deviation
    ).base.deviation
    for site, kind, broken in cases:
        pair = match_nodes(pair_graphs(original, broken))
        curve = build_repair_curve(pair, feeds, deviation, len(pair.nodes) + 2, most=1, enough=0.9)
        harm = curve.files[0].remaining
        if harm < 2 * clean:
            continue
        blamed = pair.nodes[curve.localisation.ranking[0].index]
        names = {blamed.name, *(pair.opened.original.name_of(i) for i in blamed.members)}
        assert site.node in names, (site, kind)
        single = [f for f in curve.files if len(f.floats) + len(f.finer) == 1]
        best = min(single, key=lambda file: file.remaining)
        assert harm - best.remaining >= 0.9 * (harm - clean), (site, kind)
        yield best
