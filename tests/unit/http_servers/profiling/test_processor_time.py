"""Where processor time goes."""

import asyncio
import signal

import pytest

from actors.http_servers.profiling import processor_time, stacks
from actors.http_servers.profiling.processor_time import ProfilingInUse


async def spin(until: asyncio.Task[object]) -> None:
    while not until.done():
        sum(range(2000))
        await asyncio.sleep(0)


def test_functions_that_use_the_cpu_are_in_the_profile():
    async def story():
        sampling = asyncio.ensure_future(processor_time.sample(0.3))
        await spin(sampling)
        return sampling.result()

    found = asyncio.run(story())
    names = {frame.function for stack in found.samples for frame in stack}
    assert "spin" in names
    assert all(time == count * 10_000_000 for count, time in found.samples.values())
    assert signal.getsignal(signal.SIGPROF) is signal.SIG_DFL, "as before"


def test_a_second_profile_at_a_time_is_refused_and_the_first_continues():
    async def story():
        first = asyncio.ensure_future(processor_time.sample(0.05))
        await asyncio.sleep(0)
        with pytest.raises(ProfilingInUse):
            await processor_time.sample(0.05)
        return await first

    assert asyncio.run(story()).seconds == 0.05


def test_tasks_that_wait_at_the_same_place_are_counted_together():
    async def waits(event: asyncio.Event) -> None:
        await event.wait()

    async def story():
        event = asyncio.Event()
        tasks = [asyncio.ensure_future(waits(event)) for _ in range(5)]
        await asyncio.sleep(0)
        found = stacks.of_tasks()
        event.set()
        await asyncio.gather(*tasks)
        return found

    found = asyncio.run(story())
    (counted,) = [values for stack, values in found.samples.items() if any("waits" in one.function for one in stack)]
    assert counted == (5,)
