"""A file that changes again and again."""

from actors.config_controller.trial import TRIAL_SECONDS
from actors.config_controller.trial_checks import MOST_DEATHS
from tests.support.controlled_node import Node, changed, effective, run, status


def test_restarts_that_the_changes_order_fail_no_trial(tmp_path):
    node = Node(tmp_path)
    node.write("maxPods: 10\n")

    async def test():
        async with node.running() as harness:
            await harness.advance(TRIAL_SECONDS + 10)
            for count in range(2 * MOST_DEATHS):
                node.write(f"maxPods: {20 + count}\n")
                await changed(harness)
                node.restarts += 1
            await harness.advance(20)
            assert (await effective(harness))["maxPods"] == 20 + count
            assert "rolled back" not in [entry.what for entry in status(harness).history]

    run(test())
