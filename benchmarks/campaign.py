"""A campaign on a cluster, simulated: how long it takes, what moves, and what saturates first.

    python benchmarks/campaign.py [--points 10000] [--nodes 100] [--varies STAGE …] [--logs logs/]

Points of a sweep are jobs, one on a node at a time. Sizes of outputs and the stages' graph are read
from dvc.lock, times of stages from the logs of a run. What all nodes share is modelled as servers
that handle one request at a time: the file system (bytes and operations), the sweep's own process
(it composes every point's parameters before the first starts), and the project's git repository
(each point's experiment is fetched under a lock). The nodes' work is simulated event by event.
"""

from __future__ import annotations

import argparse
import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]

#: Operations on the file system: to write an object and link it, to link one, to clone a workspace.
WRITE, LINK, CLONE = 6, 3, 1500


@dataclass(frozen=True)
class Stage:
    """A stage as dvc.lock and the logs know it."""

    name: str
    seconds: float
    reads: frozenset[str]
    upstream: tuple[str, ...]
    size: int
    files: int


@dataclass
class Server:
    """Handles requests one after another, in the order of their arrival."""

    name: str
    free: float = 0.0
    busy: float = 0.0

    def serve(self, arrival: float, seconds: float) -> float:
        """When a request that arrives now is done."""
        self.free = max(self.free, arrival) + seconds
        self.busy += seconds
        return self.free


@dataclass
class Outcome:
    """What a campaign took and moved."""

    seconds: float
    computed: float
    written: float = 0
    linked: float = 0
    objects: int = 0
    runs: int = 0
    servers: list[Server] = field(default_factory=list)


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    arguments.add_argument("--points", type=int, default=10_000)
    arguments.add_argument("--nodes", type=int, default=100)
    arguments.add_argument("--logs", type=Path, default=ROOT / "logs")
    arguments.add_argument("--varies", nargs="*", default=[], help="stages; all if none")
    arguments.add_argument("--overhead", type=float, default=5.0, help="s of a point beside stages")
    arguments.add_argument("--stage-overhead", type=float, default=0.5, help="s of DVC for a stage")
    arguments.add_argument("--compose", type=float, default=0.4, help="s of composing for a point")
    arguments.add_argument("--reference", type=float, default=0.1, help="s to fetch an experiment")
    arguments.add_argument("--bandwidth", type=float, default=1000, help="file system, MB/s")
    arguments.add_argument("--operations", type=float, default=5000, help="file system, 1/s")
    arguments.add_argument("--remote", type=float, default=100, help="remote, MB/s")
    given = arguments.parse_args()
    stages = read_stages(ROOT / "dvc.lock", given.logs)
    varied = downstream(stages, given.varies)
    done = simulate(stages, varied, given)
    report(stages, varied, done, given)
    depth(stages, given)


def read_stages(lock: Path, logs: Path) -> list[Stage]:
    """Stages in the order of dvc.lock, which is one in which they can run."""
    entries = yaml.safe_load(lock.read_text(encoding="utf-8"))["stages"]
    produced = {out["path"]: name for name, entry in entries.items() for out in entry["outs"]}
    stages = []
    for name, entry in entries.items():
        record = json.loads((logs / f"{name.replace('@', '-')}.run.json").read_text())
        read = [dep["path"] for dep in entry.get("deps", [])]
        upstream = {
            stage for dep in read for out, stage in produced.items() if overlap(dep, out)
        }  # fmt: skip
        outs = entry["outs"]
        stages.append(
            Stage(
                name,
                record["seconds"],
                frozenset(read),
                tuple(sorted(upstream)),
                sum(out.get("size", 0) for out in outs),
                sum(out.get("nfiles", 1) for out in outs),
            )
        )
    return stages


def overlap(one: str, other: str) -> bool:
    a, b = Path(one), Path(other)
    return a == b or a in b.parents or b in a.parents


def downstream(stages: Sequence[Stage], names: Sequence[str]) -> set[str]:
    """The named stages and all that read what they write; all stages where none is named."""
    if not names:
        return {stage.name for stage in stages}
    found = {stage.name for stage in stages if stage.name.partition("@")[0] in names}
    while True:
        more = {s.name for s in stages if found.intersection(s.upstream)} - found
        if not more:
            return found
        found |= more


def simulate(stages: Sequence[Stage], varied: set[str], given: argparse.Namespace) -> Outcome:
    """Every node takes the next point when it has ended one; stages run in their order.

    A node's step 0 makes the workspace; of stage k, step 2k + 1 computes, or waits for who does,
    and step 2k + 2 writes or links its outputs; the last step hands over the experiment.
    """
    files = Server("file system")
    sweeper = Server("the sweep's process, composing points")
    git = Server("the git repository, taking experiments")
    done = Outcome(0, 0, servers=[files, sweeper, git])
    begin = sweeper.serve(0, given.points * given.compose)
    nodes = [(begin, node, 0) for node in range(min(given.nodes, given.points))]
    waiting = given.points - len(nodes)
    finished: dict[str, float] = {}  # shared stages: when they were, or will have been, computed
    computing: set[int] = set()  # nodes that have computed the stage whose outputs come next

    def move(now: float, size: float, operations: float) -> float:
        seconds = size / (given.bandwidth * 1e6) + operations / given.operations
        return files.serve(now, seconds)

    while nodes:
        now, node, step = heapq.heappop(nodes)
        stage = stages[min((step - 1) // 2, len(stages) - 1)]
        if step == 0:
            now = move(now, 0, CLONE) + given.overhead
        elif step > 2 * len(stages):
            now, step = git.serve(now, given.reference), -1
            done.seconds = max(done.seconds, now)
            if not waiting:
                continue
            waiting -= 1
        elif step % 2 and stage.name not in varied and stage.name in finished:
            now = max(now, finished[stage.name])
        elif step % 2:
            now += given.stage_overhead + stage.seconds
            finished[stage.name] = now
            computing.add(node)
            done.computed += stage.seconds
            done.runs += 1
        elif node in computing:
            computing.remove(node)
            done.written += stage.size
            done.objects += stage.files
            now = move(now, stage.size, WRITE * stage.files)
        else:
            done.linked += stage.size
            now = move(now, 0, LINK * stage.files)
        heapq.heappush(nodes, (now, node, step + 1))
    return done


def report(
    stages: Sequence[Stage], varied: set[str], done: Outcome, given: argparse.Namespace
) -> None:
    row("points", f"{given.points:,}", f"on {given.nodes} nodes")
    own = sum(stage.seconds for stage in stages)
    row("work of one point alone", f"{own:,.0f} s", f"{len(stages)} stages, {len(varied)} vary")
    row("stages run in all", f"{done.runs:,}", f"{done.computed / 3600:,.0f} node hours")
    row("the campaign takes", hours(done.seconds), "")
    ideal = done.computed / given.nodes
    row("beyond the stages' own work", f"{done.seconds / ideal - 1:.1%}", "")
    row("written to the cache", f"{done.written / 1e9:,.1f} GB", f"{done.objects:,} objects")
    row("linked from it instead", f"{done.linked / 1e9:,.1f} GB", "no data moves")
    rate = done.written / done.seconds / 1e6
    row("traffic of the cache, mean", f"{rate:,.1f} MB/s", f"of {given.bandwidth:,.0f} MB/s")
    push = done.written / given.remote / 1e6
    row("pushing it all to the remote", hours(push), f"at {given.remote:,.0f} MB/s")
    for server in sorted(done.servers, key=lambda s: -s.busy):
        share = server.busy / done.seconds
        row(server.name, f"{share:.1%} busy", f"full at {given.nodes / share:,.0f} nodes")


def depth(stages: Sequence[Stage], given: argparse.Namespace) -> None:
    """The long stages of one run whose budgets are as many times the default, in shards."""
    described = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    for stage in stages:
        entry = described[stage.name.partition("@")[0]]
        if (entry.get("do", entry).get("meta") or {}).get("shards"):
            work, size = stage.seconds * given.points, stage.size * given.points
            row(
                f"{stage.name}, budget × {given.points:,}",
                hours(work / given.nodes),
                f"in shards; {size / 1e9:,.1f} GB, compressed, for one process to merge",
            )


def hours(seconds: float) -> str:
    return f"{seconds / 3600:,.1f} h"


def row(what: str, measured: str, told: str) -> None:
    print(f"{what:44}{measured:>16}   {told}")


if __name__ == "__main__":
    main()
