"""Getting one certificate signed: round by round, until it is in the store.

Nothing is remembered that matters: the key waits in its file, the request at the server under a name that follows from
the key. Whoever is killed in between, or is told otherwise, goes on from there.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from actors.shared.api.access import Access
from actors.shared.api.errors import AlreadyExists, ApiError, NotFound, Unreachable
from supervision.actor import Actor, DisposableError, Timer

from . import signing_request
from .certificate_store import Store
from .rotation import Tries, Trouble, useful_pause
from .signing_request import Seen, Standing

if TYPE_CHECKING:
    from actors.shared.api.client import ApiClient

WORK_SECONDS: Final = 20.0
STORE: Final = "actors.cert_manager.certificate_store"
ROUND_SECONDS: Final = 60.0
"""So long a round watches a request; then it is looked at again."""
POLL_SECONDS, POLLS, SLOW_POLL_SECONDS = 2.0, 30, 15.0
"""Between rounds; the longer one after so many."""
SAY_SECONDS: Final = 15 * 60.0
"""A request that is pending for so long is said again, and loudly."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for, and of whom."""

    store: Store
    signer: str
    usages: tuple[str, ...]
    user: str
    group: str
    names: tuple[str, ...] = ()
    """DNS names and addresses, in an order of their own."""
    access: Access
    """The server, and the credentials to ask with."""


class _Stop(Exception):
    """The round has come to nothing."""

    def __init__(self, trouble: Trouble, text: str, retry_after: float = 0.0) -> None:
        self.trouble, self.text, self.retry_after = trouble, text, retry_after
        super().__init__(text)


Wanted = Callable[[], "Order | None"]
Installed = Callable[[Order], Awaitable[None]]


class Pursuit:
    """Of one certificate for one actor. `wanted` says what is to be asked for now, None for nothing; it is asked again
    before each round. `installed` is told of each success, `failed` of each failure."""

    def __init__(self, actor: Actor, title: str, wanted: Wanted, installed: Installed) -> None:
        self._actor, self._title, self._wanted, self._installed = actor, title, wanted, installed
        self.failed: Callable[[], None] = lambda: None
        self.rng: Callable[[], float] = random.random
        self.wall: Callable[[], float] = time.time
        self._task: asyncio.Task[Any] | None = None
        self._order: Order | None = None
        """What the round under way is about."""
        self._timer: Timer | None = None
        self._tries = Tries()
        self._made: tuple[Order, dict[str, Any]] | None = None
        self.monotonic: Callable[[], float] = time.monotonic
        self._said, self._pending_rounds, self._pending_said = "", 0, 0.0

    def wake(self) -> None:
        """There may be something to do. A round, or a pause, goes on if it is about what is wanted still."""
        order = self._wanted()
        if order != self._order:
            self._drop()
        if self._task is None and self._timer is None and order is not None:
            self._order = order
            self._task = self._actor.start_task(self._round(order), self._title)

    def hurry(self) -> None:
        """Something has changed that may help: the pause is over."""
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

    async def _round(self, order: Order) -> None:
        pause = await self._attempt(order)
        self._task = None
        if pause:
            self._timer = self._actor.after(pause, self._pause_over)

    def _pause_over(self) -> None:
        self._timer = None
        self.wake()

    async def _attempt(self, order: Order) -> float:
        """One round. Returns the seconds until the next one, 0 when it is done."""
        try:
            seen, name = await self._ask(order)
            if seen.standing is Standing.PENDING:
                return self._pending(name)
            await self._finish(order, seen, name)
        except _Stop as stop:
            return self._stopped(stop)
        self._actor.log.info("%s: signed and in place, %s", self._title, order.store.current_path)
        self._made, self._said, self._pending_rounds = None, "", 0
        await self._installed(order)
        return self._satisfied(order)

    def _satisfied(self, order: Order) -> float:
        """Whether what was signed is what was wanted: 0. If not, the next request is made when that may help."""
        if self._wanted() is None:
            self._tries = Tries()
            return 0.0
        self._tries = self._tries.after(Trouble.REFUSED)
        left = order.store.seconds_left(self.wall())
        pause = useful_pause(self._tries.pause(self.rng), left)
        self._actor.log.warning(
            "%s: the one that was signed (for %s, %.0f s left by this host's clock) is due for another at once, "
            "which is asked for in %.0f s",
            self._title,
            ", ".join((order.user, *order.names)),
            left,
            pause,
        )
        return pause

    def _stopped(self, stop: _Stop) -> float:
        self._tries = self._tries.after(stop.trouble)
        pause = self._tries.pause(self.rng, stop.retry_after)
        if stop.text != self._said:
            self._actor.log.error("%s: %s; tried again in %.0f s, and so on", self._title, stop.text, pause)
        self._said = stop.text
        self.failed()
        return pause

    def _pending(self, name: str) -> float:
        """It is watched again, after a pause: a watch that is refused at once is not asked for in a circle."""
        self._pending_rounds += 1
        text = f"{self._title}: request {name} is pending; to approve it: kubectl certificate approve {name}"
        now = self.monotonic()
        if self._pending_rounds == 1:
            self._pending_said = now
            self._actor.log.info("%s", text)
        elif now - self._pending_said >= SAY_SECONDS:
            self._pending_said = now
            self._actor.log.warning("%s", text)
        return POLL_SECONDS if self._pending_rounds <= POLLS else SLOW_POLL_SECONDS

    # -- one round ------------------------------------------------------------------------------------------------
    async def _ask(self, order: Order) -> tuple[Seen, str]:
        """The request as it stands after it was sent, found or watched. Raises _Stop."""
        from actors.shared.api.client import ApiClient

        made = await self._request(order)
        client = ApiClient(order.access)
        try:
            seen = await _sent_or_found(client, order, made)
            if seen.standing is Standing.PENDING:
                seen = await _watched(client, made["name"], seen)
        except ApiError as error:
            raise _Stop(*_meaning(error), error.retry_after) from None
        finally:
            await client.close()
        if seen.standing is Standing.UNKNOWN:
            raise _Stop(Trouble.ERROR, f"{order.access.server} answered with no CertificateSigningRequest: {seen.text}")
        return seen, made["name"]

    async def _request(self, order: Order) -> dict[str, Any]:
        """Made once for an order; the key file says whether that still holds."""
        kept = self._made
        if kept is not None and kept[0] == order and order.store.has_key:
            return kept[1]
        arguments = {
            "key_file": order.store.key_path,
            "in_use": order.store.current_path,
            "signer": order.signer,
            "usages": list(order.usages),
            "user": order.user,
            "group": order.group,
            "names": list(order.names),
        }
        what = "cannot make a key and its request"
        made: dict[str, Any] = await self._disposable("actors.cert_manager.signing_keys:request", arguments, what)
        self._made, self._pending_rounds = (order, made), 0
        return made

    async def _finish(self, order: Order, seen: Seen, name: str) -> None:
        """Raises _Stop for anything but a certificate that is ours."""
        if seen.standing is not Standing.ISSUED:
            self._give_up(order)
            said = f"request {name} was denied" if seen.standing is Standing.DENIED else f"request {name} failed"
            raise _Stop(Trouble.REFUSED, f"{said} ({seen.text or 'no reason given'}); the next one is a new one")
        store = order.store
        arguments = {"directory": store.directory, "prefix": store.prefix, "certificate": seen.certificate}
        try:
            await self._disposable(
                "actors.cert_manager.certificate_store:install", arguments, "cannot install the certificate"
            )
        except _Stop as stop:
            if stop.trouble is Trouble.REFUSED:
                self._give_up(order)
            raise

    def _give_up(self, order: Order) -> None:
        """The next request has another key, and so another name."""
        self._made = None
        with suppress(OSError):
            Path(order.store.key_path).unlink()

    async def _disposable(self, function: str, arguments: dict[str, Any], what: str) -> Any:
        try:
            return await self._actor.disposable(function, arguments, deadline=WORK_SECONDS)
        except DisposableError as error:
            bad = error.kind == "BadCertificate"
            raise _Stop(Trouble.REFUSED if bad else Trouble.ERROR, f"{what}: {error}") from None


async def _sent_or_found(client: ApiClient, order: Order, made: dict[str, Any]) -> Seen:
    """The request at the server: sent now, or already there from an earlier round or life. Raises ApiError."""
    path = f"{signing_request.PATH}/{made['name']}"
    try:
        return signing_request.read((await client.call("GET", path)).body)
    except NotFound:
        pass
    sent = signing_request.body(made["name"], made["request"], order.signer, made["usages"])
    try:
        return signing_request.read((await client.call("POST", signing_request.PATH, body=sent)).body)
    except AlreadyExists:
        return signing_request.read((await client.call("GET", path)).body)


async def _watched(client: ApiClient, name: str, seen: Seen) -> Seen:
    """What has become of it within ROUND_SECONDS. A watch that fails is no news: the next round looks again."""
    query = {
        "fieldSelector": f"metadata.name={name}",
        "resourceVersion": seen.version,
        "timeoutSeconds": str(round(ROUND_SECONDS)),
    }
    try:
        async with aclosing(client.watch(signing_request.PATH, query, quiet=ROUND_SECONDS)) as events:
            async for event in events:
                seen = signing_request.read(event.object)
                if seen.standing is not Standing.PENDING or event.type == "DELETED":
                    break
    except ApiError:
        pass
    return seen


def _meaning(error: ApiError) -> tuple[Trouble, str]:
    """What an administrator is to make of it."""
    if isinstance(error, Unreachable):
        return Trouble.AWAY, f"the API server is not reached: {error.message}"
    hint = ""
    if error.status == 401:
        hint = " (the credentials have expired or were revoked; a new bootstrap token: kubeadm token create)"
    elif error.status == 403:
        hint = " (the user needs create, get and watch of certificatesigningrequests)"
    return Trouble.ERROR, f"{error}{hint}"
