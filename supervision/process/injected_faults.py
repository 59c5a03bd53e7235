"""The faults injected into one process, on the way of its messages. `faults.py` is loaded with the first one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..protocol import Inject


class FaultHook(Protocol):
    """`faults.Faults`, the faults injected into this process."""

    def order(self, inject: Inject) -> Any:
        """Inject the fault now, or keep it for later messages. May raise, hang or end the process.

        A coroutine that it returns is run beside the handlers.
        """

    def intercept(self, message: Any) -> bool:
        """Before a message is handled: False drops it. May raise, sleep or hang."""


class InjectedFaults:
    """`lost` is called for each message that a fault drops."""

    def __init__(self, lost: Callable[[], None]) -> None:
        self._lost = lost
        self._faults: FaultHook | None = None

    def order(self, inject: Inject) -> Any:
        """See `FaultHook.order`."""
        if self._faults is None:
            from ..faults import Faults

            self._faults = Faults()
        return self._faults.order(inject)

    def intercept(self, message: Any) -> bool:
        """See `FaultHook.intercept`."""
        if self._faults is None or self._faults.intercept(message):
            return True
        self._lost()
        return False
