"""Calls that the runtime does not answer for long: the report of the pod names them."""

from __future__ import annotations

import asyncio

from actors.shared.cri.calls_in_progress import SLOW_SECONDS
from tests.support.fake_cri import Fault
from tests.support.shard_harness import Driven, pod


async def test_a_call_that_the_runtime_does_not_answer_is_reported_until_it_is_over(tmp_path):
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        held = asyncio.Event()
        node.fake.faults.add("StartContainer", Fault(held=held, times=1))
        await node.want(pod())
        await node.until(lambda: node.count_of("StartContainer") == 1)
        assert node.observed().slow_call == ""
        began = node.clock()
        await node.pass_time(SLOW_SECONDS)
        assert (node.observed().slow_call, node.observed().slow_since) == ("StartContainer", began)
        held.set()
        await node.until(lambda: node.running("a"))
        await node.until(lambda: node.observed().slow_call == "")
