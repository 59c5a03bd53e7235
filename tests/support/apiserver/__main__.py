"""python -m tests.support.apiserver FOLDER [--port N] [--option name=value ...]

Writes FOLDER/ready.json when it listens: url, pid, paths of kubeconfigs. Objects are kept in FOLDER, also after a kill.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import msgspec

from .server import ApiServer


def credentials(server: ApiServer, path: Path, nodes: list[str]) -> dict[str, Any]:
    """Paths of kubeconfigs. Those of the first start are kept, for somebody may be reading them."""
    if not path.exists():
        made = {"admin": server.kubeconfig(), "bootstrap": server.bootstrap_kubeconfig()}
        path.write_bytes(msgspec.json.encode({**made, "nodes": {name: server.node_kubeconfig(name) for name in nodes}}))
    found: dict[str, Any] = msgspec.json.decode(path.read_bytes())
    return found


async def serve(arguments: argparse.Namespace) -> None:
    options = {}
    for text in arguments.option:
        name, _, value = text.partition("=")
        options[name] = msgspec.json.decode(value)
    async with ApiServer(
        arguments.folder, port=arguments.port, address=arguments.address, keep=True, **options
    ) as server:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, ended.set)
        ready = {
            "url": server.url,
            "port": server.port,
            "pid": os.getpid(),
            "ca": str(server.authority.path),
            **credentials(server, arguments.folder / "credentials.json", arguments.node),
        }
        path = arguments.folder / "ready.json"
        path.with_suffix(".new").write_bytes(msgspec.json.encode(ready))
        path.with_suffix(".new").replace(path)
        await ended.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="apiserver")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--node", action="append", default=[], help="write a kubeconfig for this node")
    parser.add_argument("--option", action="append", default=[], help="NAME=JSON, a field of Options")
    asyncio.run(serve(parser.parse_args()))


main()
