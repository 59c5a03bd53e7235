"""A short command of the host, run with nothing of our environment and with a deadline."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final, Protocol

from supervision.time_scale import scaled

SECONDS: Final = 5.0
_OUTPUT_BYTES: Final = 4096


class Runner(Protocol):
    """Runs a command with this input, gives its error text: '' when it went well."""

    async def __call__(self, argv: list[str], given: bytes = b"") -> str: ...


async def run(argv: list[str], given: bytes = b"") -> str:
    """Run it, `given` being its input; the text of its error, and '' when it went well."""
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
        with suppress(ProcessLookupError):  # it has ended at this very moment
            process.kill()
        await process.wait()
        return f"{argv[0]} did not end within {scaled(SECONDS):g} s"
    return text[:_OUTPUT_BYTES].decode("utf-8", "replace").strip() or "failed" if process.returncode else ""
