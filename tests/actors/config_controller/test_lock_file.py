"""The lock file of the agent, which ends when another program opens it."""

from supervision.protocol import FORK_SERVER, Done, Shutdown
from tests.support.controlled_node import run


def test_the_agent_stops_when_another_opens_the_lock_file(node):
    async def test():
        lock = node.directory / "lock"
        lock.touch()
        node.flags = [f"--lock-file={lock}", "--exit-on-lock-contention"]
        async with node.running() as harness:
            await harness.advance(5)
            harness.answer(Shutdown, Done())
            assert Shutdown not in {type(question) for _, question in harness.asks}
            lock.read_text()
            await harness.wait(lambda: (FORK_SERVER, Shutdown()) in harness.asks, "the shutdown is ordered")

    run(test())


def test_the_lock_file_is_watched_only_with_exit_on_lock_contention(node):
    async def test():
        lock = node.directory / "lock"
        lock.touch()
        node.flags = [f"--lock-file={lock}"]
        async with node.running() as harness:
            lock.read_text()
            await harness.advance(5)
            assert Shutdown not in {type(question) for _, question in harness.asks}

    run(test())
