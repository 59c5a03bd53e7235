"""A service that does not answer is told to the fork server, and so is its coming back."""

from __future__ import annotations

import socket
from pathlib import Path

from actors.shared.cri.remedies import RuntimeRemedies
from actors.shared.cri.service_outage import POLL_SECONDS, SILENT_SECONDS, ServiceOutage
from supervision.actor import Actor
from supervision.process_messages import ServiceState
from supervision.protocol import FORK_SERVER
from supervision.testing.harness import Harness

REMEDIES = RuntimeRemedies("tcp://x")


class Watcher(Actor):
    """Waits for the answers of one service; its clock is the test's."""

    clock = 0.0

    async def on_start(self) -> None:
        self.silence = ServiceOutage(self, "runtime", "tcp://x", clock=lambda: self.clock)


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
        silent = ServiceState("runtime", "tcp://x does not answer", 100.0, REMEDIES.silent)
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
            ServiceState("runtime", "tcp://x answers without CRI: no plug-in", 0.0, "mend it"),
            ServiceState("runtime", "tcp://x does not answer", 0.0, REMEDIES.silent),
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
        broken = ServiceState("runtime", "tcp://x answers with errors: store is broken", POLL_SECONDS, REMEDIES.errors)
        assert (await passes(60, "another"))[1:] == [broken], "once, as it began"
        harness.actor.clock += SILENT_SECONDS
        await harness.advance(POLL_SECONDS)
        assert harness.sent(ServiceState, FORK_SERVER)[-1].text == "tcp://x does not answer"
        silence.answered("lists")
        assert harness.sent(ServiceState, FORK_SERVER)[-1].text == ""


async def test_a_socket_on_which_nobody_listens_is_named_as_the_cause(tmp_path: Path) -> None:
    path = f"{tmp_path}/r.sock"

    class OfSocket(Watcher):
        async def on_start(self) -> None:
            self.silence = ServiceOutage(self, "runtime", f"unix://{path}", clock=lambda: self.clock)

    harness = Harness(OfSocket)
    async with harness:

        async def last() -> ServiceState:
            harness.actor.clock += SILENT_SECONDS
            await harness.advance(POLL_SECONDS)
            return harness.sent(ServiceState, FORK_SERVER)[-1]

        gone = await last()
        assert gone.text == f"unix://{path} cannot be reached: No such file or directory"
        assert gone.remedy == RuntimeRemedies(f"unix://{path}").absent
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(path)
            listener.listen()
            hanging = await last()
        assert hanging.text == f"unix://{path} does not answer"
        assert hanging.remedy == RuntimeRemedies(f"unix://{path}").silent
