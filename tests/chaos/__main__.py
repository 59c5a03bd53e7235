"""`make chaos DURATION=300 SEED=n`: exit code 0 when everything held."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.support.api_process import ApiProcess
from tests.support.faulty_node import FaultyNode
from tests.support.joined import joined
from tests.support.runtime import RealRuntime, runtime_running

from . import faults
from .cluster import MOST_PODS, SORTS, Cluster
from .cluster_checks import of_a_cluster
from .plan import plan
from .run import Chaos
from .target import ACTORS, StaticPods, of_static_pods

SYNC = {"syncFrequency": "10s"}
"""Of the joined agent, so that a changed secret is seen to arrive soon."""


def alone(runtime: RealRuntime, arguments: argparse.Namespace, history: Path) -> list[str]:
    """Static pods; what does not hold, and the agent's last words then."""
    target = StaticPods(FaultyNode(runtime))
    try:
        target.node.start()
        chaos = Chaos(target, faults.ALONE, of_static_pods(), history, print)
        wrong = chaos.run(plan(arguments.seed, arguments.duration, faults.ALONE, ACTORS, [("calm", 1)], most=10))
        return [*wrong, target.node.last_words()] if wrong else []
    finally:
        target.remove()


def in_a_cluster(runtime: RealRuntime, arguments: argparse.Namespace, history: Path) -> list[str]:
    """Pods of the API server for tests, which is injured too."""
    with joined(runtime, "chaos", **SYNC) as found:
        assert isinstance(found.cluster, ApiProcess), "a real cluster is not injured"
        target = Cluster(found, found.cluster)
        try:
            target.prepare()
            chaos = Chaos(target, faults.IN_A_CLUSTER, of_a_cluster(), history, print)
            steps = plan(arguments.seed, arguments.duration, faults.IN_A_CLUSTER, ACTORS, SORTS, MOST_PODS)
            wrong = chaos.run(steps)
        finally:
            target.repair()
        return [*wrong, found.node.last_words()] if wrong else []


def main() -> int:
    parser = argparse.ArgumentParser(description="Random faults while pods come and go.")
    parser.add_argument("--duration", type=float, default=300.0, help="seconds (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same run (default: %(default)s)")
    parser.add_argument("--joined", action="store_true", help="an agent in a cluster, whose API server is injured too")
    parser.add_argument("--history", type=Path, help="file for the history (default: one in the temporary directory)")
    arguments = parser.parse_args()
    history = arguments.history or Path(tempfile.gettempdir()) / f"chaos-{arguments.seed}.jsonl"
    history.unlink(missing_ok=True)
    print(f"seed {arguments.seed}, {arguments.duration:g} s, history in {history}")
    with runtime_running() as runtime:
        wrong = (in_a_cluster if arguments.joined else alone)(runtime, arguments, history)
    for line in wrong:
        print(line)
    print("everything held" if not wrong else f"{len(wrong) - 1} things did not hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
