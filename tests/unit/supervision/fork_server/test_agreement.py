"""A supervisor and the fork server agree about the children in the end, whatever was late."""

from __future__ import annotations

from random import Random

import pytest

from supervision.spec import Strategy
from tests.support.asynchronous_tree import AsynchronousTree
from tests.support.examples import examples

pytestmark = pytest.mark.slow
STEPS = 50
TURNS = 1000
"""Many more than an agreement takes."""


@pytest.mark.parametrize("strategy", ["one_for_one", "one_for_all", "rest_for_one"])
def test_every_child_is_in_service_and_supervised_after_any_history(strategy: Strategy) -> None:
    """Most histories end well whatever the answers say, so there are many; the seeds are always the same."""
    for seed in range(examples(200)):
        with pytest.MonkeyPatch.context() as patch:
            tree = AsynchronousTree(strategy, Random(seed), patch)
            for _ in range(STEPS):
                tree.act(faults=True)
            tree.share_of_failed_forks = 0.0
            turns = 0
            while not tree.agrees:
                turns += 1
                assert turns < TURNS, (seed, [(child.name, child.state, child.incarnation) for child in tree.table])
                tree.act(faults=False)
