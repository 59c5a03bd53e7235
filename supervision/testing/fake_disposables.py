"""The functions that run in place of disposable processes for the actor in a test's harness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ..actor import DisposableError
from ..class_names import load
from ..errors import error_text
from ..readable_texts import packed, readable

DisposableFake = Callable[..., Any] | BaseException
"""A function, or an exception to raise."""


class FakeDisposables:
    """Runs the fake of a function or, without one, the function itself, in the test's process."""

    def __init__(self) -> None:
        self.fakes: dict[str, DisposableFake] = {}
        """By `module:function`."""
        self.calls: list[tuple[str, dict[str, Any]]] = []
        """(function, arguments) of every call, oldest first."""

    def run(self, function: str, arguments: dict[str, Any]) -> Any:
        """The result, as the actor gets it from the process. Raises DisposableError, the exception of the fake, or
        TypeError for arguments or a result that are no plain data."""
        self.calls.append((function, arguments))
        chosen = self.fakes.get(function)
        if isinstance(chosen, BaseException):
            raise chosen
        call = chosen or load(function)
        try:
            result = call(**msgspec.msgpack.decode(msgspec.msgpack.encode(arguments)))
        except DisposableError:
            raise
        except Exception as error:
            raise DisposableError(
                type(error).__name__, readable(error_text(error)), getattr(error, "errno", None) or 0
            ) from error
        return msgspec.msgpack.decode(packed(result))
