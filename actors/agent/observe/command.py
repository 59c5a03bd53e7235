"""The options of `supervise observe`, the link that it prints, and how it ends: by Ctrl-C, SIGTERM, or its terminal's
end."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from typing import Any, Final

from supervision.cli.command import OK, REFUSED, CommandError, Context
from supervision.cli.inject import inject
from supervision.cli.parser import CODES
from supervision.cli.subcommand import CommandSettings, Subcommand, add_subcommand
from supervision.protocol import Inject

_LOOPBACK: Final = "127.0.0.1"


def register(subcommands: Any, settings: CommandSettings) -> None:
    """Add `observe`."""

    def run(context: Context) -> int:
        return asyncio.run(_serve(context, settings))

    subcommand = Subcommand(
        name="observe",
        run=run,
        text="tree, messages, incidents, pods and events in a browser; on loopback, by the link that it prints",
        examples=("supervise observe", "supervise observe --port 7070 --read-only"),
        codes={**CODES, REFUSED: "the port is taken; the agent is another user's"},
    )
    parser = add_subcommand(subcommands, settings, subcommand)
    parser.add_argument("--port", type=_port, default=0, help="the port on 127.0.0.1 (default: a free one)")
    parser.add_argument("--read-only", action="store_true", help="the page offers no faults to inject")


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port, 0 to 65535")
    return int(text)


async def _serve(context: Context, settings: CommandSettings) -> int:
    # tornado is imported only here, so that the other commands start fast
    from tornado.httpserver import HTTPServer
    from tornado.netutil import bind_sockets

    from .access import SessionAccess
    from .queries import AgentQueries
    from .server import MAX_BODY, application

    arguments = context.arguments
    queries = AgentQueries(context, settings.others or (lambda context, tree: ()), read_only=arguments.read_only)
    queries.tree()  # fails at once without an agent; the first rates on the page start now
    try:
        sockets = bind_sockets(arguments.port, _LOOPBACK)
    except OSError as error:
        text = f"port {arguments.port} cannot be opened: {error.strerror}; without --port a free one is taken"
        raise CommandError(REFUSED, text) from None
    port = sockets[0].getsockname()[1]
    access = SessionAccess()

    def order(fault: Inject) -> str:
        return inject(context, fault)[1]

    cookie = f"observe-{port}"
    server = HTTPServer(
        application(access, cookie, queries, None if arguments.read_only else order), max_body_size=MAX_BODY
    )
    server.add_sockets(sockets)
    url = f"http://{_LOOPBACK}:{port}/?token={access.token}"
    context.show({"url": url}, f"{url}\n{_hint(port)}")
    sys.stdout.flush()
    await _end()
    server.stop()
    await server.close_all_connections()
    return OK


def _hint(port: int) -> str:
    return (
        "The link opens one browser, once. To open it on another machine, run there first:\n"
        f"  ssh -L {port}:{_LOOPBACK}:{port} THIS-MACHINE\n"
        "Ctrl-C ends this; the agent goes on."
    )


async def _end() -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    await ended.wait()
