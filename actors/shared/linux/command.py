"""Runs a short host command with a clean environment and a deadline."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final, Protocol

from supervision.time_scale import scaled

SECONDS: Final = 5.0
_OUTPUT_BYTES: Final = 4096


class CommandRunner(Protocol):
    """Runs a command with this input; returns its error text, '' on success."""

    async def __call__(self, argv: list[str], given: bytes = b"") -> str: ...


async def run(argv: list[str], given: bytes = b"") -> str:
    """Run the command with `given` as its input; return its error text, '' on success."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE if given else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env={},
        )
    except OSError as error:
        return f"{argv[0]}: {error.strerror}"
    try:
        _, text = await asyncio.wait_for(process.communicate(given or None), scaled(SECONDS))
    except TimeoutError:
        with suppress(ProcessLookupError):  # it has just ended
            process.kill()
        await process.wait()
        return f"{argv[0]} did not end within {scaled(SECONDS):g} s"
    return text[:_OUTPUT_BYTES].decode("utf-8", "replace").strip() or "failed" if process.returncode else ""
