"""Requests one certificate, attempt by attempt, until it is installed."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from supervision.actor import Actor, Timer
from supervision.process_messages import ServiceState
from supervision.protocol import FORK_SERVER

from . import remedies
from .clocks import CertificateClocks
from .request_attempt import AttemptFailed, PendingRequest, RequestAttempts, RequestTemplate
from .request_retries import FailureKind, Failures, PendingReports, pause_before_rotation

Template = Callable[[], "RequestTemplate | None"]
Installed = Callable[[], Awaitable[None]]
Failed = Callable[[], None]
_UNREACHABLE_TRIES: Final = 2
"""Failures before a silent server is reported, because it may just be starting."""


class CertificateRequester:
    """`template` returns the certificate to request now, None for none; it is called before each attempt. `installed`
    is called after each success, `failed` after each failure. `title` names the certificate in the log and in
    `supervise status`, which shows what an attempt waits for."""

    def __init__(
        self,
        actor: Actor,
        title: str,
        template: Template,
        installed: Installed,
        failed: Failed,
        clocks: CertificateClocks,
    ) -> None:
        self._actor, self._title, self._clocks = actor, title, clocks
        self._template, self._installed, self._failed = template, installed, failed
        self._attempts = RequestAttempts(actor, self._waits)
        self._current: RequestTemplate | None = None
        """The template of the current attempt or pause."""
        self._task: asyncio.Task[Any] | None = None
        self._timer: Timer | None = None
        self._failures, self._pending_reports, self._reported = Failures(), PendingReports(), ""
        self._trouble: str | None = None
        """The last report; None: nothing yet."""

    def wake(self) -> None:
        """Check what to request. An attempt or pause for the same template continues; one for another is dropped."""
        template = self._template()
        if template != self._current:
            self._drop()
        if self._task is None and self._timer is None and template is not None:
            self._current = template
            self._task = self._actor.start_task(self._run(template), self._title)

    def retry_now(self) -> None:
        """End the pause, because a change may let the next attempt succeed."""
        self._end_pause()
        self.wake()

    def _drop(self) -> None:
        self._end_pause()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _end_pause(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _run(self, template: RequestTemplate) -> None:
        pause = await self._attempt(template)
        self._task = None
        if pause:
            self._timer = self._actor.after(pause, self.retry_now)

    async def _attempt(self, template: RequestTemplate) -> float:
        """Make one attempt. Returns the seconds until the next one, 0 when none is needed."""
        try:
            pending = await self._attempts.attempt(template)
        except AttemptFailed as failed:
            return self._after_failure(failed)
        if pending is not None:
            return self._after_pending(pending)
        self._actor.log.info("%s: signed and installed, %s", self._title, template.store.current_path)
        self._pending_reports, self._reported = PendingReports(), ""
        self._tell("")
        await self._installed()
        return self._after_success(template)

    def _after_failure(self, failed: AttemptFailed) -> float:
        self._failures = self._failures.after(failed.kind)
        pause = self._failures.pause(random.random, failed.retry_after)
        if failed.text != self._reported:
            advice = f"; to mend it: {failed.remedy}" if failed.remedy else ""
            text = "%s: %s%s; the next attempt is in %.0f s"
            self._actor.log.error(text, self._title, failed.text, advice, pause)
        self._reported = failed.text
        if failed.kind is not FailureKind.UNREACHABLE or self._failures.consecutive > _UNREACHABLE_TRIES:
            self._tell(failed.text, failed.remedy)
        self._failed()
        return pause

    def _after_pending(self, pending: PendingRequest) -> float:
        self._pending_reports, report = self._pending_reports.after_attempt(self._clocks.monotonic(), new=pending.new)
        if report:
            write = self._actor.log.info if report == "info" else self._actor.log.warning
            text = "%s: request %s is pending; to approve it: kubectl certificate approve %s"
            write(text, self._title, pending.name, pending.name)
        return self._pending_reports.pause

    def _waits(self, name: str) -> None:
        self._tell(f"request {name} is pending", remedies.approval(name))

    def _tell(self, text: str, remedy: str = "") -> None:
        if text != self._trouble:
            self._trouble = text
            self._actor.tell(FORK_SERVER, ServiceState(self._title, text, time.monotonic(), remedy))

    def _after_success(self, template: RequestTemplate) -> float:
        """0 when the certificate needs no rotation; else a pause, because the next one may be due at once, too."""
        if self._template() is None:
            self._failures = Failures()
            return 0.0
        self._failures = self._failures.after(FailureKind.REFUSED)
        left = template.store.seconds_left(self._clocks.wall())
        pause = pause_before_rotation(self._failures.pause(random.random), left)
        self._actor.log.warning(
            "%s: the signed one (for %s, %.0f s left by this host's clock) is due for rotation already; the next "
            "request is in %.0f s",
            self._title,
            ", ".join((template.user, *template.names)),
            left,
            pause,
        )
        return pause
