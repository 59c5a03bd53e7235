"""Counts the calls to a runtime and their time, as kubelet_runtime_operations_*."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from functools import cache
from typing import Final

from supervision.metrics import Metrics

from .errors import CriError
from .methods import Method, Request, Response
from .transport import Transport

_TOTAL: Final = "kubelet_runtime_operations_total"
_ERRORS: Final = "kubelet_runtime_operations_errors_total"
_SECONDS: Final = "kubelet_runtime_operations_duration_seconds"


@cache
def operation_type(method: str) -> str:
    """The kubelet's name of a CRI method: `run_podsandbox` of RunPodSandbox."""
    if method == "UpdateContainerResources":
        return "update_container"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", method.replace("PodSandbox", "Podsandbox")).lower()


class MeasuredTransport:
    """Forwards calls to another transport and measures them."""

    def __init__(self, inner: Transport, metrics: Metrics) -> None:
        self._inner, self._metrics = inner, metrics

    async def call(self, method: Method[Request, Response], request: Request, timeout: float | None) -> Response:
        operation = operation_type(method.name)
        self._metrics.count(_TOTAL, operation_type=operation)
        started_at = time.monotonic()
        try:
            return await self._inner.call(method, request, timeout)
        except CriError:
            self._metrics.count(_ERRORS, operation_type=operation)
            raise
        finally:
            self._metrics.observe(_SECONDS, time.monotonic() - started_at, operation_type=operation)

    async def stream(self, method: Method[Request, Response], request: Request) -> AsyncIterator[Response]:
        operation = operation_type(method.name)
        self._metrics.count(_TOTAL, operation_type=operation)
        try:
            async for response in self._inner.stream(method, request):
                yield response
        except CriError:
            self._metrics.count(_ERRORS, operation_type=operation)
            raise

    async def close(self) -> None:
        await self._inner.close()
