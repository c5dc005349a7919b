"""How well localisation finds damaged nodes, and what it takes and repairs on real pairs.

    python benchmarks/localisation.py damage [--every 1] [--network residual]
    python benchmarks/localisation.py pair ORIGINAL COMPRESSED INPUTS.npz [--batch 20] [--orders 20]
    python benchmarks/localisation.py real [NAME ...] [--evaluations 160] [--inputs 24]
    python benchmarks/localisation.py time [--nodes 100]

``damage`` breaks every quantised node of three small trained networks in every way of
``tests/localisation/damages.py``, one at a time, and counts how often that node is ranked first
and how often the repair of one node removes at least 90% of what the damage did. Damage that less
than doubles the deviation of quantisation itself is left out, and counted.

``pair`` prints the curve of repaired files, judged on inputs that were held out. With ``--orders``
it compares instead the order in which localisation puts nodes into float with the one that
``onnxruntime.quantization.qdq_loss_debug`` gives, by what is gone on held-out inputs. The nodes
of both are put into float by the same code. ``INPUTS.npz`` holds the
model's inputs by name, float or integer, ``(N, ...)``; only those on which the two models deviate
are used. Deviations are other labels (``--compare label``), other decisions at 0.5 of any value
(``--compare decisions``), other decoded sequences (``--compare ctc``), or a cosine below 0.99
(``--compare cosine``).

``real`` takes pairs of ``real_pairs`` whose wheels are there, with their own inputs and
comparison. It prints how many nodes have to be in float, by both orders, until so much of the
deviations on held-out inputs is gone. Both orders are made from the same inputs. Localisation may
spend ``--evaluations`` on single nodes and on growing sets; the other order needs two runs, and
more would not change it.

``time`` localises a chain of random layers with as many quantised nodes.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "localisation")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from figures import write_figures  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402
from onnxruntime import quantization  # noqa: E402
from onnxruntime.quantization import qdq_loss_debug  # noqa: E402
from real_pairs.entry import read_pair  # noqa: E402
from real_pairs.preparing import prepare  # noqa: E402

from asterism.localisation.localising import localise  # noqa: E402
from asterism.localisation.quantised_nodes import match  # noqa: E402
from asterism.localisation.reading import open_pair, pair_of  # noqa: E402
from asterism.localisation.repair import judged, latency, repair_curve  # noqa: E402
from asterism.localisation.running import Session, batches  # noqa: E402
from asterism.localisation.trials import TrialRunner  # noqa: E402
from asterism.vetting.onnx_pairs import opened_as_onnx  # noqa: E402
from asterism.vetting.opening import open_vetted  # noqa: E402


def first_of(outputs):
    return next(iter(outputs.values()))


def label(original, compressed):
    return first_of(original).argmax(axis=-1) != first_of(compressed).argmax(axis=-1)


def decisions(original, compressed):
    differ = [(original[n] > 0.5) != (compressed[n] > 0.5) for n in original]
    return np.any([d.reshape(len(d), -1).any(axis=1) for d in differ], axis=0)


def ctc(original, compressed):
    one, other = (decoded(first_of(outputs)) for outputs in (original, compressed))
    return np.array([a != b for a, b in zip(one, other, strict=True)])


def decoded(scores):
    for row in scores.argmax(axis=-1):
        yield [c for i, c in enumerate(row) if c and (not i or c != row[i - 1])]


def cosine(original, compressed):
    one, other = (first_of(o).reshape(len(first_of(o)), -1) for o in (original, compressed))
    norms = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return (one * other).sum(axis=1) < 0.99 * norms


COMPARISONS = {"label": label, "decisions": decisions, "ctc": ctc, "cosine": cosine}


def probabilities(outputs):
    scores = np.exp(outputs["logits"] - outputs["logits"].max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def difference(original, compressed):
    return np.abs(probabilities(original) - probabilities(compressed)).sum(axis=1) / 2


def damage(arguments):
    from damages import cases
    from quantised_networks import (
        NETWORKS,
        QUANTISATIONS,
        digits,
        model,
        quantised,
        trained,
    )

    feeds = batches({"images": digits()[0][1400:1460]}, 20)
    total = np.zeros(4, int)
    for network in arguments.network or NETWORKS:
        for how in QUANTISATIONS:
            clean = match(pair_of(model(trained(network)), model(quantised(network, how))))
            base = TrialRunner(clean, feeds, difference).base.deviation
            counts = np.zeros(4, int)  # weak, strong, ranked first, removed
            for site, kind, broken in list(cases(model(quantised(network, how))))[
                :: arguments.every
            ]:
                pair = match(pair_of(model(trained(network)), broken))
                curve = repair_curve(pair, feeds, difference, len(pair.nodes) + 2, most=1)
                harm = curve.files[0].remaining
                if harm < 2 * base:
                    counts[0] += 1
                    continue
                blamed = curve.localisation.ranking[0].node
                names = {blamed.name, *(pair.opened.original.name_of(i) for i in blamed.members)}
                single = [f for f in curve.files if len(f.floats) + len(f.finer) == 1]
                is_removed = any(harm - f.remaining >= 0.9 * (harm - base) for f in single)
                counts += [0, 1, site.node in names, is_removed]
                if site.node not in names or not is_removed:
                    left = min(f.remaining for f in single)
                    print(f"    {site.node} {site.part} {kind}: {blamed.name} is first, {base:.2f}")
                    print(f"      undamaged, {harm:.2f} damaged, {left:.2f} repaired")
            total += counts
            said = dict(zip(("weak", "cases", "first", "removed"), counts.tolist(), strict=True))
            print(f"  {network} {how}: {len(clean.nodes)} nodes, {said}", flush=True)
    weak, strong, first, removed = total.tolist()
    print(f"ranked first {first} of {strong} ({first / strong:.2%}), removed {removed} of {strong}")
    print(f"({removed / strong:.2%}); {weak} did less than quantisation and were left out")


def loss_debug_order(pair, original, compressed, feeds):
    """Nodes in the order of qdq_loss_debug: the largest error of their own quantisers first.

    It tells the errors of activations (before and behind a quantiser) and of weights; a node has
    the worse one of its weight and its output. Both are signal-to-noise ratios in decibels.
    """

    with tempfile.TemporaryDirectory() as folder:
        values = []
        for number, path in enumerate((original, compressed)):
            augmented = str(Path(folder) / f"{number}.onnx")
            qdq_loss_debug.modify_model_output_intermediate_tensors(str(path), augmented)
            values.append(qdq_loss_debug.collect_activations(augmented, iter(feeds)))
    matching = qdq_loss_debug.create_activation_matching(values[1], values[0])
    told = {}
    for name, arrays in matching.items():
        told[name] = qdq_loss_debug.compute_signal_to_quantization_noice_ratio(
            [a.ravel() for a in arrays["pre_qdq"]], [a.ravel() for a in arrays["post_qdq"]]
        )
    weights = qdq_loss_debug.compute_weight_error(
        qdq_loss_debug.create_weight_matching(str(original), str(compressed)),
        lambda one, other: qdq_loss_debug.compute_signal_to_quantization_noice_ratio(
            np.atleast_1d(one),
            np.atleast_1d(other),  # it fails on scalars
        ),
    )
    graph = pair.opened.original
    scores = []
    for index, node in enumerate(pair.nodes):
        given = [n for i in node.members for n in graph.nodes[i].input]
        made = [n for i in node.members for n in graph.nodes[i].output] + list(node.outputs)
        found = [told[n] for n in made if n in told] + [weights[n] for n in given if n in weights]
        # Values that are infinite before a quantiser make its ratio no number: the worst error.
        scores.append((np.nan_to_num(found, nan=-np.inf).min(initial=np.inf), index))
    return [index for _, index in sorted(scores)]


def compare_pair(arguments):
    arrays = dict(np.load(arguments.inputs))
    deviation = COMPARISONS[arguments.compare]
    pair = match(open_pair(arguments.original, arguments.compressed))
    sessions = [Session(p.read_bytes(), p) for p in (arguments.original, arguments.compressed)]
    names = pair.opened.original.outputs
    chosen = []
    for feed in batches(arrays, arguments.batch):
        runs = [dict(zip(names, s.run(feed).values(), strict=True)) for s in sessions]
        chosen += list(deviation(*runs))
    places = np.flatnonzero(chosen)
    print(f"{arguments.compressed.name}: {len(pair.nodes)} quantised nodes")
    print(f"  {len(places)} of {len(chosen)} inputs deviate", flush=True)
    places = np.random.default_rng(0).permutation(places)[: arguments.most]
    split = len(places) // 2
    feeds, held = (
        batches({n: a[part] for n, a in arrays.items()}, arguments.batch)
        for part in (places[:split], places[split:])
    )
    if arguments.orders:
        compare_orders(arguments, pair, feeds, held, deviation)
        return
    evaluations = int(1.3 * len(pair.nodes)) + 3
    started, spent = time.perf_counter(), time.process_time()
    curve = repair_curve(pair, feeds, deviation, evaluations, enough=0.95)
    seconds = time.perf_counter() - started, time.process_time() - spent
    print(
        f"  curve: {curve.evaluations} evaluations, {seconds[0]:.1f} s, {seconds[1]:.1f} s of CPU"
    )
    for ranked in curve.localisation.ranking[:5]:
        told = f"{ranked.explained:.0%}" if ranked.explained is not None else "not tried"
        print(f"    {ranked.node.operator} {ranked.node.name}: {told}, own {ranked.own:.3f}")
    original = pair.opened.original_file
    print(f"    the original: {len(original)} bytes, {1e3 * latency(original, feeds[0]):.2f} ms")
    for file in curve.files:
        base, left = judged(file.content, pair, held, deviation)
        gone = 1 - left.deviation / base.deviation
        print(
            f"    {len(file.floats)} float ({file.float_share:.0%}), {len(file.finer)} finer, "
            f"{file.bits} bits: gone "
            f"{file.gone:.0%}, held-out {gone:.0%}, {file.size} bytes, "
            f"{1e3 * latency(file.content, feeds[0]):.2f} ms",
            flush=True,
        )


def compare_orders(arguments, pair, feeds, held, deviation):
    """Deviations and squared error that are gone with growing sets in float, by both orders."""
    most = min(len(pair.nodes), arguments.orders)
    found = localise(pair, feeds, deviation, len(pair.nodes) + most + 2, most=most)
    theirs = loss_debug_order(pair, arguments.original, arguments.compressed, feeds)
    check = TrialRunner(pair, held, deviation)
    for name, order in (("localisation", found.order), ("qdq_loss_debug", theirs)):
        shares = []
        for size in arguments.sizes:
            if size <= len(order):
                trial, _ = check.run(order[:size])
                gone = 1 - trial.deviation / check.base.deviation
                shares.append(f"{size}: {gone:.0%} ({1 - trial.error:.0%})")
        print(f"  {name}: deviations (squared error) gone on held-out inputs by nodes in float:")
        print(f"    {', '.join(shares)}", flush=True)


#: Shares of the deviations for which ``real`` counts nodes.
SHARES = (0.25, 0.5, 0.75, 0.9)
#: Pairs whose compressed file is static int8, which is what qdq_loss_debug reads.
REAL = ("magika", "ppocr-direction", "ppocr-detector", "ppocr-recogniser")


def compare_real(arguments):
    for name in arguments.names:
        prepared = prepare(name, read_pair(name), ROOT / "conf")
        with open_vetted(prepared.params, 0) as vetted:
            items = vetted.inputs.items[vetted.deviates]
            items = items[np.random.default_rng(0).permutation(len(items))[: 2 * arguments.inputs]]
            print(f"{name}: {vetted.deviates.sum()} of {len(vetted.deviates)} inputs deviate")
            if len(items) < 4:
                print("  too few to compare orders", flush=True)
                continue
            with opened_as_onnx(vetted) as pair:
                orders_of_real(arguments, pair, items)


def orders_of_real(arguments, pair, items):
    """Nodes needed by both orders for one pair."""
    half = len(items) // 2
    seen, held = pair.runs(items[:half]), pair.runs(items[half:])
    matched = match(open_pair(pair.original, pair.compressed))
    most = min(len(matched.nodes), arguments.most or max(5, -(-len(matched.nodes) // 5)))
    evaluations = min(arguments.evaluations, len(matched.nodes) + most + 1)
    started = time.process_time()
    found = localise(matched, seen, pair.deviation(), evaluations, most)
    orders = {
        "localisation": [*found.order, *(r.index for r in found.ranking)],
        "qdq_loss_debug": loss_debug_order(matched, pair.original, pair.compressed, seen),
    }
    print(
        f"  {len(matched.nodes)} quantised nodes, {half} inputs seen, {len(items) - half} held out"
    )
    seconds = time.process_time() - started
    print(f"  {found.evaluations} evaluations and both orders: {seconds:.0f} s of processor time")
    check = TrialRunner(matched, held, pair.deviation())
    for name, order in orders.items():
        gone = {}
        for size in range(1, most + 1):
            trial, _ = check.run(list(dict.fromkeys(order))[:size])
            gone[size] = 1 - trial.deviation / check.base.deviation
            if gone[size] >= SHARES[-1]:
                break
        needed = [next((k for k, g in gone.items() if g >= s), None) for s in SHARES]
        told = (f"{s:.0%}: {k or f'over {most}'}" for s, k in zip(SHARES, needed, strict=True))
        print(f"  {name}: nodes in float until so much is gone: {', '.join(told)}; most gone")
        print(
            f"    {max(gone.values()):.0%}, by size {[round(g, 2) for g in gone.values()]}",
            flush=True,
        )


class Rows(quantization.CalibrationDataReader):
    """Rows of a matrix, one by one, as calibration asks for them."""

    def __init__(self, rows):
        self._rows = iter(rows)

    def get_next(self):
        row = next(self._rows, None)
        return None if row is None else {"x": row[None]}


def time_of(arguments):
    rng = np.random.default_rng(0)
    width, nodes, constants, tensor = 64, [], [], "x"
    for layer in range(arguments.nodes):
        weights = rng.normal(0, 1.4 / width**0.5, (width, width)).astype(np.float32)
        constants.append(numpy_helper.from_array(weights, f"w{layer}"))
        nodes.append(helper.make_node("MatMul", [tensor, f"w{layer}"], [f"m{layer}"], f"l{layer}"))
        nodes.append(helper.make_node("Relu", [f"m{layer}"], [f"r{layer}"], f"relu{layer}"))
        tensor = f"r{layer}"
    values = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", width])
        for name in ("x", tensor)
    ]
    graph = helper.make_graph(nodes, "chain", values[:1], values[1:], constants)
    original = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    data = rng.normal(0, 1, (200, width)).astype(np.float32)

    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "original.onnx", Path(folder) / "quantised.onnx"
        onnx.save(original, source)
        quantization.quantize_static(source, target, Rows(data[:50]))
        compressed = onnx.load(target)
    started, spent = time.perf_counter(), time.process_time()
    pair = match(pair_of(original, compressed))
    feeds = batches({"x": data[50:]}, 50)
    found = localise(pair, feeds, label, len(pair.nodes) + 12)
    seconds = time.perf_counter() - started, time.process_time() - spent
    print(
        f"{len(pair.nodes)} nodes, {found.evaluations} evaluations of 150 inputs: "
        f"{seconds[0]:.1f} s, {seconds[1]:.1f} s of processor time"
    )
    if arguments.write:
        header = ("nodes", "evaluations of 150 inputs", "s by the clock", "s of processor time")
        row = [str(len(pair.nodes)), str(found.evaluations), *(f"{s:.1f}" for s in seconds)]
        write_figures("localisation", "a chain of matrix products", header, [row])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    broken = commands.add_parser("damage")
    broken.add_argument("--every", type=int, default=1)
    broken.add_argument("--network", action="append")
    broken.set_defaults(work=damage)
    pairs = commands.add_parser("pair")
    for name in ("original", "compressed", "inputs"):
        pairs.add_argument(name, type=Path)
    pairs.add_argument("--compare", choices=COMPARISONS, default="label")
    pairs.add_argument("--batch", type=int, default=20)
    pairs.add_argument("--most", type=int, default=80)
    pairs.add_argument("--orders", type=int, default=0, help="compare orders up to so many nodes")
    pairs.add_argument("--sizes", type=int, nargs="*", default=[1, 2, 3, 5, 8, 12, 20, 30, 45])
    pairs.set_defaults(work=compare_pair)
    real = commands.add_parser("real")
    real.add_argument("names", nargs="*", default=REAL)
    real.add_argument("--evaluations", type=int, default=160)
    real.add_argument("--inputs", type=int, default=24, help="deviating inputs, seen and held out")
    real.add_argument("--most", type=int, default=0, help="nodes in float; 0: a fifth of them")
    real.set_defaults(work=compare_real)
    timed = commands.add_parser("time")
    timed.add_argument("--nodes", type=int, default=100)
    timed.add_argument("--write", action="store_true", help="into docs/measurements")
    timed.set_defaults(work=time_of)
    arguments = parser.parse_args()
    arguments.work(arguments)


if __name__ == "__main__":
    main()
