"""The servers of names that pods get, and whether these answer."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from actors.shared.config.agent import Agent

from .finding import Finding, failure, ok, warning

_PORT: Final = 53
_ANSWER_SECONDS: Final = 1.0
"""Of each of two tries: a datagram may be lost."""
_QUESTION: Final = b"\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01"
"""Of the servers of the root, `. NS IN` (RFC 1035, 4): each server has an answer to that, be it a refusal."""


def dns(
    agent: Agent, root: str = "/", silent: Callable[[Sequence[str]], Sequence[str]] | None = None
) -> Iterator[Finding]:
    """The resolver configuration that pods get. `silent`: the servers, of those given, that do not answer."""
    config = agent.config
    if config.clusterDNS:
        yield ok("DNS", f"pods ask {', '.join(config.clusterDNS)}")
    elif not agent.standalone:
        yield warning(
            "DNS", "clusterDNS is empty: pods do not find the cluster's services", "set clusterDNS in the configuration"
        )
    file = config.resolvConf
    if not file:
        return
    try:
        servers = re.findall(r"^nameserver\s+(\S+)", Path(root, file.lstrip("/")).read_text(errors="replace"), re.M)
    except OSError as error:
        yield failure("DNS", f"{file}: {error.strerror}", f"write {file}, or set resolvConf to another file")
        return
    local = [server for server in servers if server.startswith("127.") or server == "::1"]
    if local:
        text = f"{file} names {', '.join(local)}, which is another host to a pod"
        yield warning("DNS", text, "resolvConf: /run/systemd/resolve/resolv.conf")
    elif not servers:
        yield warning("DNS", f"{file} names no server", f"add a nameserver to {file}")
    elif wrong := (silent or silent_of)(servers):
        silence = f"{', '.join(wrong)} of {file} {'does' if len(wrong) == 1 else 'do'} not answer"
        text = f"{silence}: names are found late or never"
        yield warning("DNS", text, f"correct {file}, or let UDP to port 53 of {wrong[0]} through")
    else:
        yield ok("DNS", f"{file} names {', '.join(servers)}")


def silent_of(servers: Sequence[str]) -> Sequence[str]:
    """Those that do not answer a question."""
    with ThreadPoolExecutor(len(servers)) as threads:
        found = list(threads.map(answers, servers))
    return [server for server, does in zip(servers, found, strict=True) if not does]


def answers(server: str, port: int = _PORT, seconds: float = _ANSWER_SECONDS) -> bool:
    """Whether it answers one of two questions, each within `seconds`."""
    for _ in range(2):
        try:
            family, kind, protocol, _name, address = socket.getaddrinfo(
                server, port, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST
            )[0]
            with socket.socket(family, kind, protocol) as sock:
                sock.settimeout(seconds)
                sock.connect(address)  # an answer that the port is closed then arrives
                sock.send(_QUESTION)
                if sock.recv(4096)[:2] == _QUESTION[:2]:
                    return True
        except OSError:
            continue
    return False
