"""The supervision policies that the config controller puts in force."""

from actors.config_controller.actor import ConfigController
from actors.config_controller.declaration import DECLARATION
from actors.config_controller.trial import TRIAL_SECONDS
from actors.tree import RELATIONS
from supervision.protocol import GetTree, RollingRestart
from supervision.spec import SetPolicies
from supervision.testing.harness import Harness
from tests.support.controlled_node import Node, changed, run


def restarts_of_workers(harness):
    """max_restarts of pod_workers, in each order."""
    return [order.policies["pod_workers"].max_restarts for order in harness.sent(SetPolicies)]


def test_a_changed_policy_is_set_and_again_by_the_next_incarnation(tmp_path):
    node, policy = Node(tmp_path), tmp_path / "policy.yaml"
    node.flags = [f"--policy={policy}"]
    node.write("maxPods: 10\n")
    policy.write_text("version: 1\nactors:\n  pod_workers: {max_restarts: 4}\n")

    async def test():
        async with node.running() as harness:
            context = harness.actor.context
            await harness.advance(TRIAL_SECONDS + 10)
            assert restarts_of_workers(harness) == []
            policy.write_text("version: 1\nactors:\n  pod_workers: {max_restarts: 5}\n")
            await changed(harness)
            assert restarts_of_workers(harness) == [5]
        again = Harness(
            ConfigController,
            name="config_controller",
            context=context,
            arguments={"clock": node.wall, "monotonic": node.clock, **DECLARATION.arguments(RELATIONS)},
            clock=node.clock,
        )
        again.answer(GetTree, node.tree)
        again.answer(RollingRestart, node.renew)
        async with again:
            assert restarts_of_workers(again) == [5]
            await again.stop()

    run(test())
