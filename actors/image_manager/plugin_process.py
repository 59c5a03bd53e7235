"""Runs a credential plug-in once: the JSON request on its stdin, the answer on its stdout."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import Final

import msgspec

from actors.shared.config.fields.duration import Duration, DurationError
from actors.shared.config.sources.credential_providers import Provider
from actors.shared.linux.program import PIPE, kill, running
from supervision.errors import UNREADABLE
from supervision.time_scale import scaled

DEADLINE_SECONDS: Final = 60.0
MAX_OUTPUT: Final = 1 << 20
MAX_STDERR: Final = 500
_BLOCK: Final = 64 << 10
_CACHE_KEYS: Final = ("Image", "Registry", "Global")


class PluginFailed(Exception):
    """The plug-in gave no credentials. The text is for the log and has no secret."""


class CredentialProviderRequest(msgspec.Struct, frozen=True):
    """`image`: its full name without tag."""

    image: str
    token: str = ""
    annotations: dict[str, str] = {}


class CredentialProviderResponse(msgspec.Struct, frozen=True):
    cache_key: str
    """Image, Registry or Global."""
    cache_seconds: float | None
    """None: defaultCacheDuration of the configuration; 0 or less: not cached."""
    auth: dict[str, tuple[str, str]]
    """(user name, password) by pattern of images."""


class _Auth(msgspec.Struct):
    username: str = ""
    password: str = ""


class _Answer(msgspec.Struct):
    kind: str = ""
    apiVersion: str = ""
    cacheKeyType: str = ""
    cacheDuration: str | None = None
    auth: dict[str, _Auth] | None = None


async def ask(provider: Provider, bin_dir: str, request: CredentialProviderRequest) -> CredentialProviderResponse:
    """Run it. Raises PluginFailed."""
    return read(provider, await _run(provider, bin_dir, encode(provider, request)))


def encode(provider: Provider, request: CredentialProviderRequest) -> bytes:
    """A line, so that a script can read it as one."""
    body: dict[str, object] = {"kind": "CredentialProviderRequest", "apiVersion": provider.apiVersion}
    optional = {"serviceAccountToken": request.token, "serviceAccountAnnotations": request.annotations}
    given = {name: value for name, value in optional.items() if value}
    return msgspec.json.encode({**body, "image": request.image, **given}) + b"\n"


def read(provider: Provider, output: bytes) -> CredentialProviderResponse:
    """Raises PluginFailed."""
    try:
        answer = msgspec.json.decode(output, type=_Answer)
        seconds = None if answer.cacheDuration is None else float(Duration.parse(answer.cacheDuration))
    except (DurationError, *UNREADABLE):
        # the parser's message may quote a password
        raise PluginFailed("printed no valid CredentialProviderResponse") from None
    if answer.kind != "CredentialProviderResponse" or answer.apiVersion != provider.apiVersion:
        found = f"{answer.kind[:40]!r} of {answer.apiVersion[:60]!r}"
        raise PluginFailed(f"printed {found}, not CredentialProviderResponse of {provider.apiVersion}")
    if answer.cacheKeyType not in _CACHE_KEYS:
        raise PluginFailed(f"cacheKeyType {answer.cacheKeyType[:40]!r} is not one of {', '.join(_CACHE_KEYS)}")
    pairs = {pattern: (auth.username, auth.password) for pattern, auth in (answer.auth or {}).items()}
    return CredentialProviderResponse(answer.cacheKeyType, seconds, pairs)


async def _run(provider: Provider, bin_dir: str, request: bytes) -> bytes:
    environment = {**os.environ, **{variable.name: variable.value for variable in provider.env}}
    argv = [f"{bin_dir}/{provider.name}", *provider.args]
    try:
        async with running(argv, env=environment, cwd=bin_dir, stdin=PIPE) as process:
            output, stderr = await asyncio.wait_for(_communicate(process, request), scaled(DEADLINE_SECONDS))
    except TimeoutError:
        raise PluginFailed(f"gave no answer within {DEADLINE_SECONDS:g} s") from None
    except (OSError, ValueError) as error:
        raise PluginFailed(f"cannot be run: {getattr(error, 'strerror', None) or error}") from None
    if len(output) > MAX_OUTPUT:
        raise PluginFailed(f"printed more than {MAX_OUTPUT >> 20} MiB")
    if process.returncode:
        text = stderr.decode(errors="replace").strip()[-MAX_STDERR:]
        raise PluginFailed(f"ended with {process.returncode}: {text}")
    return output


async def _communicate(process: asyncio.subprocess.Process, request: bytes) -> tuple[bytes, bytes]:
    """Returns its output, and the end of its stderr. A plugin that prints too much is killed, before that fills the
    memory."""
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None and stdout is not None and stderr is not None  # noqa: S101, PT018 - they are pipes

    async def give() -> None:
        with suppress(ConnectionError):  # it does not read
            stdin.write(request)
            await stdin.drain()
        stdin.close()

    async def output() -> bytes:
        found = bytearray()
        while part := await stdout.read(_BLOCK):
            if len(found) > MAX_OUTPUT:
                continue  # asyncio reports the exit only after the pipes are read to the end
            found += part
            if len(found) > MAX_OUTPUT:
                kill(process)
        return bytes(found)

    async def errors() -> bytes:
        found = b""
        while part := await stderr.read(_BLOCK):
            found = (found + part)[-4 * MAX_STDERR :]
        return found

    _, printed, complaints = await asyncio.gather(give(), output(), errors())
    await process.wait()
    return printed, complaints
