"""The trial of a configuration while the wall clock is set."""

import pytest

from actors.config_controller.trial import TRIAL_SECONDS
from actors.shared.clock_jumps import LEAST_SECONDS, ClockJumps
from tests.support.controlled_node import Node, changed, effective, run, status

FIVE_DAYS = 5 * 86400.0


@pytest.mark.parametrize("seconds", [FIVE_DAYS, -FIVE_DAYS])
def test_a_trial_lasts_ten_minutes_whatever_the_clock_is_set_to(tmp_path, seconds):
    node = Node(tmp_path)
    node.write("maxPods: 10\n")

    async def test():
        async with node.running() as harness:
            await harness.advance(TRIAL_SECONDS + 10)
            node.write("maxPods: 20\n")
            await changed(harness)
            good = status(harness).last_known_good
            node.clock_set_by = seconds
            await harness.advance(TRIAL_SECONDS / 2)
            assert (status(harness).last_known_good, status(harness).trial_until > 0) == (good, True)
            await harness.advance(TRIAL_SECONDS / 2 + 20)
            assert (status(harness).trial_until, status(harness).history[-1].what) == (0.0, "accepted")

    run(test())


def test_a_supervisor_that_gave_up_before_a_trial_is_no_reason_after_the_clock_was_set(tmp_path):
    node = Node(tmp_path)
    node.write("maxPods: 10\n")

    async def test():
        async with node.running() as harness:
            await harness.advance(TRIAL_SECONDS + 10)
            node.gave_up = [node.clock()]
            await harness.advance(60)
            node.write("maxPods: 20\n")
            await changed(harness)
            node.clock_set_by = FIVE_DAYS
            await harness.advance(30)
            assert (await effective(harness))["maxPods"] == 20

    run(test())


def test_small_corrections_are_added_up():
    wall = [1000.0]
    jumps = ClockJumps(lambda: wall[0], lambda: 0.0)
    found = []
    for _ in range(4):
        wall[0] += LEAST_SECONDS / 2
        found.append(jumps.take())
    assert found == [0.0, LEAST_SECONDS, 0.0, LEAST_SECONDS]
