"""A service that does not answer is told to the fork server, and so is its coming back."""

from __future__ import annotations

from actors.shared.cri.service_outage import POLL_SECONDS, SILENT_SECONDS, ServiceOutage
from supervision.actor import Actor
from supervision.process_messages import ServiceState
from supervision.protocol import FORK_SERVER
from supervision.testing.harness import Harness


class Watcher(Actor):
    """Waits for the answers of one service; its clock is the test's."""

    clock = 0.0

    async def on_start(self) -> None:
        self.silence = ServiceOutage(self, "runtime", "unix:///x.sock", lambda: self.clock)


async def test_silence_is_reported_once_with_the_time_since_and_withdrawn() -> None:
    harness = Harness(Watcher)

    def told() -> list[ServiceState]:
        return harness.sent(ServiceState, FORK_SERVER)

    async def passes(seconds: float) -> None:
        harness.actor.clock += seconds
        await harness.advance(POLL_SECONDS)

    async with harness:
        harness.actor.clock = 100.0
        harness.actor.silence.answered()
        assert told() == [ServiceState("runtime", "", 100.0)], "an earlier incarnation may have told of a silence"
        await passes(SILENT_SECONDS - 1)
        assert len(told()) == 1
        await passes(1)
        await passes(60)
        silent = ServiceState("runtime", "unix:///x.sock does not answer", 100.0)
        assert told()[1:] == [silent]
        harness.actor.silence.answered()
        assert told()[2:] == [ServiceState("runtime", "", harness.actor.clock)]


async def test_a_service_that_answers_without_what_is_needed_is_reported_so_until_it_is_silent() -> None:
    harness = Harness(Watcher)
    async with harness:
        harness.actor.silence.answered()
        harness.actor.clock = SILENT_SECONDS
        harness.actor.silence.lacking("without CRI: no plug-in", "mend it")
        harness.actor.silence.silent()
        harness.actor.silence.answered()
        assert harness.sent(ServiceState, FORK_SERVER)[1:] == [
            ServiceState("runtime", "unix:///x.sock answers without CRI: no plug-in", 0.0, "mend it"),
            ServiceState("runtime", "unix:///x.sock does not answer", 0.0),
            ServiceState("runtime", "", SILENT_SECONDS),
        ]


async def test_a_question_that_is_answered_with_errors_alone_is_reported_though_others_are_answered() -> None:
    harness = Harness(Watcher)
    async with harness:
        silence = harness.actor.silence

        async def passes(seconds: float, error: str) -> list[ServiceState]:
            for _ in range(round(seconds / POLL_SECONDS)):
                harness.actor.clock += POLL_SECONDS
                silence.refused("lists", error)
                silence.answered("status")
                await harness.advance(POLL_SECONDS)
            return harness.sent(ServiceState, FORK_SERVER)

        silence.answered("status")
        assert await passes(SILENT_SECONDS, "store\n is broken") == [ServiceState("runtime", "", 0.0)]
        broken = ServiceState("runtime", "unix:///x.sock answers with errors: store is broken", POLL_SECONDS)
        assert (await passes(60, "another"))[1:] == [broken], "once, as it began"
        harness.actor.clock += SILENT_SECONDS
        await harness.advance(POLL_SECONDS)
        assert harness.sent(ServiceState, FORK_SERVER)[-1].text == "unix:///x.sock does not answer"
        silence.answered("lists")
        assert harness.sent(ServiceState, FORK_SERVER)[-1].text == ""
