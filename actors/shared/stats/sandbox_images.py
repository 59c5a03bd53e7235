"""The images of sandboxes, which the runtime tells in the status of each one, not in a list: each is asked for once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Final, Protocol

from actors.shared.cri.errors import CriError

_AT_ONCE: Final = 8


class SandboxStatuses(Protocol):
    async def pod_sandbox_image(self, sandbox_id: str) -> str: ...


class SandboxImages:
    """Remembers the images of the existing sandboxes."""

    def __init__(self, runtime: SandboxStatuses) -> None:
        self._runtime = runtime
        self._known: dict[str, str] = {}

    async def of(self, sandboxes: Iterable[str]) -> dict[str, str]:
        """The images by ID of the sandbox, without those whose status the runtime does not give."""
        ids = list(dict.fromkeys(sandboxes))
        self._known = {one: self._known[one] for one in ids if one in self._known}
        unknown = [one for one in ids if one not in self._known]
        for start in range(0, len(unknown), _AT_ONCE):
            some = unknown[start : start + _AT_ONCE]
            answers = await asyncio.gather(*map(self._ask, some))
            self._known |= {one: image for one, image in zip(some, answers, strict=True) if image is not None}
            if None in answers:
                break  # a runtime that does not answer is asked again with the next page
        return dict(self._known)

    async def _ask(self, sandbox: str) -> str | None:
        with contextlib.suppress(CriError):
            return await self._runtime.pod_sandbox_image(sandbox)
        return None
