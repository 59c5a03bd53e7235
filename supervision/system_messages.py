"""The messages that the engine sends to any actor, and that all handle in the same way, as OTP's `sys` messages: Hello,
questions for metrics and message counts, log settings. An actor's own handler of such a message goes first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

from .addresses import ActorName
from .message import Message
from .metrics import Metrics
from .process_messages import Hello
from .protocol import (
    Done,
    GetMessageFlow,
    GetMetrics,
    MessageCount,
    MessageFlowCounts,
    MetricsSnapshot,
    SetLogging,
    SetLogLevel,
)


class SystemPort(Protocol):
    """`actor.Port`."""

    def message_counts(self) -> list[MessageCount]: ...


class SystemActor(Protocol):
    """`actor.Actor`."""

    @property
    def name(self) -> ActorName: ...
    @property
    def incarnation(self) -> int: ...
    @property
    def metrics(self) -> Metrics: ...
    @property
    def port(self) -> SystemPort: ...
    async def on_hello(self, name: ActorName) -> None: ...


async def _hello(actor: SystemActor, message: Hello) -> None:
    await actor.on_hello(message.name)


def _metrics(actor: SystemActor, message: GetMetrics) -> MetricsSnapshot:
    return actor.metrics.snapshot(actor.name, actor.incarnation)


def _message_flow(actor: SystemActor, message: GetMessageFlow) -> MessageFlowCounts:
    return MessageFlowCounts(actor.name, actor.incarnation, actor.port.message_counts())


def _log_level(actor: SystemActor, message: SetLogLevel) -> Done:
    from .logs import set_verbosity

    set_verbosity(message.verbosity)
    return Done()


def _logging(actor: SystemActor, message: SetLogging) -> None:
    from .logs import reconfigure

    reconfigure(verbosity=message.verbosity, form=message.form, vmodule=message.vmodule, split=message.split)


SystemHandler = Callable[[Any, Any], Message | Awaitable[None] | None]

SYSTEM_HANDLERS: Final[Mapping[type, SystemHandler]] = {
    Hello: _hello,
    GetMetrics: _metrics,
    GetMessageFlow: _message_flow,
    SetLogLevel: _log_level,
    SetLogging: _logging,
}
