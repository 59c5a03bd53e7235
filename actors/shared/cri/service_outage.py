"""Reports a container runtime or image service that does not work in `supervise status`, with the time since.

An open socket proves nothing: a stopped or hanging program accepts connections but never answers. An answer proves
little: a runtime with a broken store answers each question with an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from actors.shared.cri.reachability import unreached
from actors.shared.cri.remedies import RuntimeRemedies
from supervision.actor import Actor
from supervision.process_messages import ServiceState
from supervision.protocol import FORK_SERVER
from supervision.time_scale import scaled

POLL_SECONDS: Final = 5.0
SILENT_SECONDS: Final = 10.0
"""Seconds without any answer, or with only errors to one question. Single calls may be slow, but a working runtime
answers several calls a second."""
TEXT_SIZE: Final = 200
"""Characters of an error."""
RUNTIME: Final = "container runtime"
IMAGE_SERVICE: Final = "image service"


class ServiceOutage:
    """Watches one service; checks the clock every few seconds."""

    def __init__(
        self, actor: Actor, service: str, endpoint: str, log: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`log`: the log file of a managed runtime."""
        self._actor, self._service, self._endpoint, self._clock = actor, service, endpoint, clock
        self._remedies = RuntimeRemedies(endpoint, log)
        self._answered_at = clock()
        self._errors: dict[str, tuple[float, str]] = {}
        """By question: since when each answer is an error, and the first of them."""
        self._lack: tuple[str, str] = ("", "")
        """What the service answers without, and what mends it; empty: nothing, or it did not answer."""
        self._reported: str | None = None
        """None: this incarnation has reported nothing yet."""
        actor.every(POLL_SECONDS, self._check)

    def answered(self, question: str = "") -> None:
        """The service has answered this question."""
        self._answered_at = self._clock()
        self._lack = ("", "")
        self._errors.pop(question, None)
        self._check()
        if self._reported is None and not self._errors:
            self._tell("", "", self._answered_at)  # what an earlier incarnation may have reported

    def refused(self, question: str, error: str) -> None:
        """The service has answered this question with an error."""
        self._answered_at = self._clock()
        self._errors.setdefault(question, (self._answered_at, " ".join(error.split())[:TEXT_SIZE]))
        self._check()

    def lacking(self, text: str, remedy: str) -> None:
        """It answers each question that it lacks what is needed to answer, as `without CRI: ...`."""
        self._lack = (text, remedy)
        self._check()

    def silent(self) -> None:
        """It has not answered the last question at all."""
        self._lack = ("", "")
        self._check()

    def _check(self) -> None:
        now, limit = self._clock(), scaled(SILENT_SECONDS)
        if now - self._answered_at >= limit:
            self._tell(*self._without_answer(), self._answered_at)
            return
        since, error = min(self._errors.values(), default=(now, ""))
        if now - since >= limit:
            self._tell(f"{self._endpoint} answers with errors: {error}", self._remedies.errors, since)
        elif self._reported:
            self._tell("", "", since)

    def _without_answer(self) -> tuple[str, str]:
        """Why the service has given no answer of use, and what mends it."""
        lack, remedy = self._lack
        if lack:
            return f"{self._endpoint} answers {lack}", remedy
        if absent := unreached(self._endpoint):
            return absent, self._remedies.absent
        return f"{self._endpoint} does not answer", self._remedies.silent

    def _tell(self, text: str, remedy: str, since: float) -> None:
        if text == self._reported:
            return
        if text:
            self._actor.log.warning("%s: %s", self._service, text)
        elif self._reported:
            self._actor.log.info("%s: %s works again", self._service, self._endpoint)
        self._reported = text
        self._actor.tell(FORK_SERVER, ServiceState(self._service, text, since, remedy))
