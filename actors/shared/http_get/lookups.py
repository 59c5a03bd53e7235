"""Addresses of the hosts that probes and hooks name.

The C library's resolver blocks its thread; if a name server is silent, for much longer than a probe's timeout. So each
lookup has a thread of its own, and an owner with too many lookups under way waits only for its own.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import threading
from contextlib import suppress
from typing import Final

PER_OWNER: Final = 2
"""The most concurrent lookups (threads) of one owner, a pod."""


class Owner:
    """The lookups of one pod."""

    def __init__(self) -> None:
        self.permits = asyncio.Semaphore(PER_OWNER)
        self.under_way: dict[str, asyncio.Future[list[str]]] = {}
        """By host. A lookup runs to its end even without a waiting caller."""
        self.waiting = 0


class Lookups:
    """The lookups of one process."""

    def __init__(self) -> None:
        self._owners: dict[str, Owner] = {}

    async def addresses(self, whose: str, host: str) -> list[str]:
        """The numeric addresses of the host, in the resolver's order; a numeric host is returned itself. `whose`: the
        owner.

        Raises OSError (socket.gaierror: no such host), or UnicodeError for an invalid host name. The caller sets the
        deadline."""
        if _is_numeric(host):
            return [host]
        owner = self._owners.setdefault(whose, Owner())
        owner.waiting += 1
        try:
            if host not in owner.under_way:
                await owner.permits.acquire()
                if host in owner.under_way:
                    owner.permits.release()
                else:
                    self._start_lookup(whose, owner, host)
            return await asyncio.shield(owner.under_way[host])
        finally:
            owner.waiting -= 1
            self._forget(whose, owner)

    def _start_lookup(self, whose: str, owner: Owner, host: str) -> None:
        """Raises OSError when no thread can be started."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[str]] = loop.create_future()

        def ended(outcome: list[str] | OSError | UnicodeError) -> None:
            del owner.under_way[host]
            owner.permits.release()
            self._forget(whose, owner)
            if isinstance(outcome, list):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)
                future.exception()  # marks it as retrieved: the caller may be gone

        def look_up() -> None:
            outcome: list[str] | OSError | UnicodeError
            try:
                outcome = _resolve(host)
            except (OSError, UnicodeError) as problem:
                outcome = problem
            with suppress(RuntimeError):  # the loop is closed: the process ends
                loop.call_soon_threadsafe(ended, outcome)

        try:
            threading.Thread(target=look_up, name="lookup", daemon=True).start()
        except RuntimeError:
            owner.permits.release()
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
        owner.under_way[host] = future

    def _forget(self, whose: str, owner: Owner) -> None:
        if not owner.waiting and not owner.under_way and self._owners.get(whose) is owner:
            del self._owners[whose]


LOOKUPS: Final = Lookups()


def _resolve(host: str) -> list[str]:
    """Raises OSError, UnicodeError."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _is_numeric(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError, ValueError):
            socket.inet_pton(family, host.partition("%")[0])
            return True
    return False
