"""/logs/{path}: files below /var/log, and with a query the journal of services (KEP-2258)."""

from __future__ import annotations

import asyncio
import mimetypes
import shutil
from typing import BinaryIO, Final, cast

import msgspec
from tornado.iostream import StreamClosedError

from actors.http_servers.serving.endpoint import Endpoint
from actors.http_servers.serving.handler import ServerHandler
from actors.http_servers.serving.http_error import HttpError
from actors.http_servers.system_logs.files import DirectoryListing, OpenFile, listing, look
from actors.http_servers.system_logs.query import NodeLogQuery, command, parse, probe
from actors.http_servers.system_logs.ranges import NoSuchRange, is_unchanged, part
from actors.shared.config.feature_gates import enabled
from actors.shared.linux.program import DEVNULL, STDOUT, running
from supervision.time_scale import scaled

ROOT: Final = "/var/log"
JOURNALCTL: Final = "journalctl"
BLOCK_BYTES: Final = 64 << 10
JOURNAL_SECONDS: Final = 30.0
"""Time limit without a byte from journalctl."""


async def get(handler: ServerHandler, path: str | None = None) -> None:
    config = handler.state.agent.config
    with_query = config.enableSystemLogQuery and enabled("NodeLogQuery", config.featureGates)
    given = {key: handler.get_query_arguments(key) for key in handler.request.query_arguments} if with_query else {}
    query = parse(given, path or "")
    if query is not None and not query.services:
        await _path(handler, query.file)
    elif query is not None:
        await _services(handler, query)
    elif path is None:
        handler.redirect(f"{handler.request.path}/", status=307)
    else:
        await _path(handler, path)


async def _path(handler: ServerHandler, path: str) -> None:
    found = look(ROOT, path)
    if isinstance(found, DirectoryListing):
        await _directory(handler, found, path)
    elif path.endswith("/"):
        found.file.close()
        handler.redirect(f"../{path.rstrip('/').rpartition('/')[2]}", permanent=True)
    else:
        await _file(handler, found, path)


async def _directory(handler: ServerHandler, found: DirectoryListing, path: str) -> None:
    if path and not path.endswith("/"):
        handler.redirect(f"{path.rpartition('/')[2]}/", permanent=True)
        return
    handler.set_header("Content-Type", "text/html; charset=utf-8")
    await handler.finish(listing(found))


async def _file(handler: ServerHandler, found: OpenFile, path: str) -> None:
    kind = mimetypes.guess_type(path)[0] or "text/plain; charset=utf-8"
    # text or bytes only, never a type that a browser executes
    handler.set_header("Content-Type", kind if kind.startswith("application/") else "text/plain; charset=utf-8")
    headers = handler.request.headers
    with found.file as file:
        if is_unchanged(headers.get("If-Modified-Since", ""), found.modified):
            handler.set_header("Last-Modified", found.modified)
            handler.set_status(304)
            handler.finish()
            return
        try:
            wanted = part(headers.get("Range", ""), found.size)
        except NoSuchRange as error:
            if error.of_size:
                handler.set_header("Content-Range", f"bytes */{found.size}")
            raise
        if headers.get("If-Range", found.modified) != found.modified:
            wanted = None
        start, length = wanted or (0, found.size)
        if wanted is not None:
            handler.set_status(206)
            handler.set_header("Content-Range", f"bytes {start}-{start + length - 1}/{found.size}")
            file.seek(start)
        handler.set_header("Accept-Ranges", "bytes")
        handler.set_header("Content-Length", str(length))
        handler.set_header("Last-Modified", found.modified)
        try:
            if await _send(handler, file, length):
                handler.finish()
        except StreamClosedError:
            return


async def _send(handler: ServerHandler, file: BinaryIO, left: int) -> bool:
    """Send the file up to its size when it was opened. False: it was truncated meanwhile, the connection must end."""
    while left > 0:
        block = file.read(min(BLOCK_BYTES, left))
        if not block:
            handler.detach().close()
            return False
        left -= len(block)
        handler.write(block)
        await handler.flush()
    return True


async def _services(handler: ServerHandler, query: NodeLogQuery) -> None:
    """The journals of services that have one, then the log files of the others. Missing logs are named in the text,
    because callers do not see the text of a 404 through the API server."""
    with_journal = [name for name in query.services if await _has_journal(name)]
    others = [name for name in query.services if name not in with_journal]
    try:
        if with_journal:
            await _journal(handler, msgspec.structs.replace(query, services=with_journal))
        if others and query.has_options:
            names = " ".join(others)
            handler.write(
                f"\noptions present and query resolved to log files for [{names}]\ntry without specifying options\n"
            )
        else:
            for name in others:
                if not await _service_file(handler, name):
                    return
        await handler.finish()
    except StreamClosedError:
        pass


async def _has_journal(service: str) -> bool:
    if shutil.which(JOURNALCTL) is None:
        return False
    try:
        async with running([JOURNALCTL, *probe(service)], stderr=DEVNULL) as process:
            output, _ = await asyncio.wait_for(process.communicate(), scaled(JOURNAL_SECONDS))
    except TimeoutError:
        return False
    return bool(output.strip())


async def _journal(handler: ServerHandler, query: NodeLogQuery) -> None:
    """Send the journal. Raises StreamClosedError when the client has disconnected."""
    async with running([JOURNALCTL, *command(query)], stderr=STDOUT) as process:
        output = cast(asyncio.StreamReader, process.stdout)
        try:
            while block := await asyncio.wait_for(output.read(BLOCK_BYTES), scaled(JOURNAL_SECONDS)):
                handler.write(block)
                await handler.flush()
        except TimeoutError:
            handler.write("\njournalctl does not answer\n")


async def _service_file(handler: ServerHandler, name: str) -> bool:
    """Send the usual log file of a service of this name. False: the connection must end."""
    found = _open_service_file(name)
    if found is None:
        handler.write(f"\nlog not found for {name}\n")
        return True
    with found.file as file:
        return await _send(handler, file, found.size)


def _open_service_file(name: str) -> OpenFile | None:
    for path in (name, f"{name}.log", f"{name}/{name}.log"):
        try:
            found = look(ROOT, path)
        except HttpError:
            continue
        if isinstance(found, OpenFile):
            return found
    return None


ENDPOINT = Endpoint(
    paths=("/logs/{path*}", "/logs"),
    answers={"GET": get},
    subresources=("log",),
    switch=lambda config: config.enableSystemLogHandler,
    what="logs",
    answers_405_when_disabled=True,
)
