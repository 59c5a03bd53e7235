"""Runs a short host command with a clean environment and a deadline."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from supervision.time_scale import scaled

from .program import DEVNULL, PIPE, running

SECONDS: Final = 5.0
_OUTPUT_BYTES: Final = 4096


class CommandRunner(Protocol):
    """Runs a command with this input; returns its error text, '' on success."""

    async def __call__(self, argv: list[str], given: bytes = b"") -> str: ...


async def run(argv: list[str], given: bytes = b"") -> str:
    """Run the command with `given` as its input; return its error text, '' on success."""
    try:
        async with running(argv, stdin=PIPE if given else DEVNULL, stdout=DEVNULL, env={}) as process:
            _, text = await asyncio.wait_for(process.communicate(given or None), scaled(SECONDS))
    except TimeoutError:
        return f"{argv[0]} did not end within {scaled(SECONDS):g} s"
    except OSError as error:
        return f"{argv[0]}: {error.strerror}"
    return text[:_OUTPUT_BYTES].decode("utf-8", "replace").strip() or "failed" if process.returncode else ""
