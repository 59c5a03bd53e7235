"""A disposable process, as its caller sees it: the order, and the result or error in the answer."""

from __future__ import annotations

from typing import Any

import msgspec

from .actor import AskError, DisposableError, DisposableTimeout
from .message import Message
from .process_messages import DisposableResult, RunDisposable
from .protocol import FORK_SERVER
from .readable_texts import readable
from .time_scale import scaled


def order_of(function: str, arguments: dict[str, Any], deadline: float) -> RunDisposable:
    """`deadline`: seconds, not scaled. Raises DisposableError for a text that is not UTF-8: names of files go as bytes
    (os.fsencode)."""
    try:
        encoded = msgspec.msgpack.encode(arguments)
    except UnicodeEncodeError as error:
        raise DisposableError(type(error).__name__, f"{readable(error.object)} is not UTF-8") from None
    return RunDisposable(function, encoded, scaled(deadline))


def result_of(answer: Message, function: str, deadline: float) -> Any:
    """The function's result. Raises DisposableTimeout, DisposableError; AskError for another answer."""
    if not isinstance(answer, DisposableResult):
        raise AskError(f"{FORK_SERVER} answered RunDisposable with {type(answer).__name__}")
    if answer.timed_out:
        raise DisposableTimeout("Timeout", answer.text or f"{function} still ran after {deadline:g} s")
    if answer.kind:
        raise DisposableError(answer.kind, answer.text, answer.errno)
    return msgspec.msgpack.decode(answer.result)
