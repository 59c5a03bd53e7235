"""A short chaos run; `make chaos` makes longer ones."""

from __future__ import annotations

import pytest

from tests.chaos import faults
from tests.chaos.plan import plan
from tests.chaos.run import Chaos
from tests.chaos.target import ACTORS, StaticPods, of_static_pods
from tests.support.faulty_node import FaultyNode
from tests.support.runtime import runtime_running


@pytest.mark.alone  # what a machine that is too busy takes for a hang is an incident that nobody ordered
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_only_the_desired_state_remains_after_a_minute_of_random_faults(tmp_path):
    said: list[str] = []
    with runtime_running() as runtime:
        target = StaticPods(FaultyNode(runtime))
        try:
            target.node.start()
            chaos = Chaos(target, faults.ALONE, of_static_pods(), tmp_path / "history.jsonl", said.append)
            wrong = chaos.run(plan(1, 60, faults.ALONE, ACTORS, [("calm", 1)], most=10))
        finally:
            target.remove()
    assert wrong == [], "\n".join([*wrong, *said])
