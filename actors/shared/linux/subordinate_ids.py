"""The user and group IDs that the node may give to user namespaces of pods: the ranges of the user `kubelet` in
/etc/subuid and /etc/subgid, as getsubids reads them."""

from __future__ import annotations

import asyncio
import pwd
import shutil
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from supervision.time_scale import scaled

from .program import running

USER: Final = "kubelet"
PROGRAM: Final = "getsubids"
ALL_IDS: Final = 1 << 32
SECONDS: Final = 5.0


class SubordinateIdsError(Exception):
    """The IDs of the user are not usable."""


class IdRange(msgspec.Struct, frozen=True):
    """The IDs from `first` on the host, `length` of them."""

    first: int
    length: int


async def output_of(argv: list[str]) -> str:
    """The program's output. Raises SubordinateIdsError."""
    try:
        async with running(argv) as process:
            out, problem = await asyncio.wait_for(process.communicate(), scaled(SECONDS))
    except TimeoutError:
        raise SubordinateIdsError(f"{' '.join(argv)}: no answer within {SECONDS:.0f} s") from None
    except OSError as error:
        raise SubordinateIdsError(f"{' '.join(argv)}: {error.strerror}") from None
    if process.returncode:
        raise SubordinateIdsError(f"{' '.join(argv)}: {problem.decode(errors='replace').strip()}")
    return out.decode(errors="replace")


def program() -> str:
    """The path of getsubids; '' without it, or without the user: then the default range is used."""
    try:
        pwd.getpwnam(USER)
    except KeyError:
        return ""
    return shutil.which(PROGRAM) or ""


async def assigned(path: str, ask: Callable[[list[str]], Awaitable[str]] = output_of) -> IdRange:
    """The user's IDs, which must be the same for users and groups. Raises SubordinateIdsError."""
    users = await ask([path, USER])
    groups = await ask([path, "-g", USER])
    if users != groups:
        raise SubordinateIdsError(
            f"the subuids and subgids of user {USER} must be equal, not {users.strip()!r} and {groups.strip()!r}"
        )
    return parse(users)


def parse(text: str) -> IdRange:
    """From `0: kubelet 65536 7208960`. Raises SubordinateIdsError."""
    lines = text.strip().splitlines()
    fields = lines[0].split() if len(lines) == 1 else []
    if len(fields) != 4 or not all(field.isascii() and field.isdigit() for field in fields[2:]):
        raise SubordinateIdsError(
            f"user {USER} must have exactly one line of subuids, as `0: {USER} <first> <count>`, not {text.strip()!r}"
        )
    return IdRange(int(fields[2]), int(fields[3]))


def default_range(ids_per_pod: int) -> IdRange:
    """All IDs but the host's."""
    return IdRange(ids_per_pod, ALL_IDS - ids_per_pod)


def check(found: IdRange, ids_per_pod: int, pods: int) -> None:
    """The kubelet's rules for the range, which ends with the largest ID of the kernel. Raises SubordinateIdsError."""
    if found.first + found.length > ALL_IDS:
        text = f"kubelet user assigned {found.length} IDs from {found.first} on, beyond the largest ID {ALL_IDS - 1}"
        raise SubordinateIdsError(text)
    if found.first % ids_per_pod:
        raise SubordinateIdsError(f"kubelet user assigned ID {found.first} is not a multiple of {ids_per_pod}")
    if found.first < ids_per_pod:
        text = f"kubelet user assigned ID {found.first} must be greater or equal to {ids_per_pod}"
        raise SubordinateIdsError(text)
    if found.length % ids_per_pod:
        text = f"kubelet user assigned IDs length {found.length} is not a multiple of {ids_per_pod}"
        raise SubordinateIdsError(text)
    if found.length // ids_per_pod < pods:
        raise SubordinateIdsError(f"kubelet user assigned IDs are not enough to support {pods} pods")
