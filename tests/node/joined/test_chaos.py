"""A short chaos run of a joined agent and its API server; `make chaos CHAOS_FLAGS=--joined` makes longer ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.chaos import faults
from tests.chaos.cluster import MOST_PODS, SORTS, Cluster
from tests.chaos.cluster_checks import of_a_cluster
from tests.chaos.plan import plan
from tests.chaos.run import Chaos
from tests.chaos.target import ACTORS
from tests.support.api_process import ApiProcess
from tests.support.joined import Joined

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="NOT TESTED: no kubectl here")
SEED, SECONDS = 10, 40.0


@pytest.mark.alone  # what a machine that is too busy takes for a hang is an incident that nobody ordered
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_only_the_desired_state_remains_after_random_faults_on_both_sides(
    own: Joined, server: ApiProcess, tmp_path: Path
) -> None:
    said: list[str] = []
    target = Cluster(own, server)
    try:
        target.prepare()
        chaos = Chaos(target, faults.IN_A_CLUSTER, of_a_cluster(), tmp_path / "history.jsonl", said.append)
        wrong = chaos.run(plan(SEED, SECONDS, faults.IN_A_CLUSTER, ACTORS, SORTS, MOST_PODS))
    finally:
        target.repair()
    assert wrong == [], "\n".join([*wrong, *said])
