"""Collections that can be listed, read and watched, as the script of a `ScriptedServer`: no rules, no versions."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.scripted_server import Asked, answer, begin_stream, chunk


class FakeCluster:
    """Answers lists with what is in `objects`, and passes what is put into it on to the watches."""

    def __init__(self) -> None:
        self.objects: dict[str, list[dict[str, Any]]] = {}
        self.lists: list[str] = []
        self.watches: dict[str, list[asyncio.Queue[bytes | None]]] = {}
        self.refuse: dict[str, tuple[int, bytes]] = {}
        self.users: list[str] = []

    async def __call__(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        url = urlsplit(asked.path)
        self.users.append(asked.user)
        for prefix, (status, body) in self.refuse.items():
            if url.path.startswith(prefix):
                answer(writer, status, body)
                return
        if "watch" in parse_qs(url.query):
            await self._watch(url.path, writer)
        elif asked.method == "GET" and url.path.rsplit("/", 1)[0] in self.objects:
            self._one(url.path, writer)
        elif asked.method == "GET":
            self.lists.append(url.path)
            items = self.objects.get(url.path, [])
            answer(writer, 200, json.dumps({"metadata": {"resourceVersion": "5"}, "items": items}).encode())
        else:
            answer(writer, 200, asked.body or b"{}")

    def _one(self, path: str, writer: asyncio.StreamWriter) -> None:
        self.lists.append(path)
        folder, name = path.rsplit("/", 1)
        found = [each for each in self.objects[folder] if each["metadata"]["name"] == name]
        answer(writer, 200 if found else 404, json.dumps(found[0]).encode() if found else b'{"reason":"NotFound"}')

    async def _watch(self, path: str, writer: asyncio.StreamWriter) -> None:
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.watches.setdefault(path, []).append(queue)
        begin_stream(writer)
        try:
            while (line := await queue.get()) is not None:
                chunk(writer, line)
                await writer.drain()
            writer.transport.abort()
        finally:
            self.watches[path].remove(queue)

    def send(self, path: str, kind: str, thing: dict[str, Any]) -> None:
        for queue in self.watches[path]:
            queue.put_nowait(json.dumps({"type": kind, "object": thing}).encode() + b"\n")

    def reset(self, path: str) -> None:
        for queue in self.watches[path]:
            queue.put_nowait(None)
