"""A disposable process, as its caller sees it: the order, and the result or error in the answer."""

from __future__ import annotations

from typing import Any

import msgspec

from .actor import AskError, DisposableError, DisposableTimeout
from .message import Message
from .process_messages import DisposableResult, RunDisposable
from .protocol import FORK_SERVER
from .time_scale import scaled


def order_of(function: str, arguments: dict[str, Any], deadline: float) -> RunDisposable:
    """`deadline`: seconds, not scaled."""
    return RunDisposable(function, msgspec.msgpack.encode(arguments), scaled(deadline))


def result_of(answer: Message, function: str, deadline: float) -> Any:
    """The function's result. Raises DisposableTimeout, DisposableError; AskError for another answer."""
    if not isinstance(answer, DisposableResult):
        raise AskError(f"{FORK_SERVER} answered RunDisposable with {type(answer).__name__}")
    if answer.timed_out:
        raise DisposableTimeout("Timeout", answer.text or f"{function} still ran after {deadline:g} s")
    if answer.kind:
        raise DisposableError(answer.kind, answer.text, answer.errno)
    return msgspec.msgpack.decode(answer.result)
