"""The DNS servers that pods get, and whether they answer."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from actors.agent.host_files import unreadable_resolver
from actors.shared.config.agent import Agent
from actors.shared.linux.resolv_conf import MAX_SERVERS, exceeded, parse_resolv_conf

from .finding import Finding, failure, ok, warning

_REAL_SERVERS: Final = ("/run/systemd/resolve/resolv.conf", "/run/NetworkManager/no-stub-resolv.conf")
"""Where programs that resolve names on a host write the servers that they ask."""
_PORT: Final = 53
_ANSWER_SECONDS: Final = 1.0
"""Seconds to wait for an answer. There are two tries, because a datagram may be lost."""
_QUERY: Final = b"\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01"
"""A query for the root servers, `. NS IN` (RFC 1035, 4): every DNS server answers it, at least with a refusal."""


def dns(
    agent: Agent, root: str = "/", silent: Callable[[Sequence[str]], Sequence[str]] | None = None
) -> Iterator[Finding]:
    """The resolver configuration that pods get. `silent`: returns those of the given servers that do not answer."""
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
    if text := unreadable_resolver(file, root):
        yield failure("DNS", f"resolvConf: {text}", f"write {file}, or set resolvConf to another file")
        return
    text = Path(root, file.lstrip("/")).read_text(errors="replace")
    servers = parse_resolv_conf(text).servers
    yield from _limits(file, text, len(servers), cluster_domain=bool(config.clusterDomain))
    local = [server for server in servers if server.startswith("127.") or server == "::1"]
    if local:
        text = f"{file} names {', '.join(local)}, which is another host to a pod"
        yield warning("DNS", text, _without_stub(file, root))
    elif not servers:
        yield warning("DNS", f"{file} names no server", f"add a nameserver to {file}")
    elif wrong := (silent or silent_of)(servers):
        silence = f"{', '.join(wrong)} of {file} {'does' if len(wrong) == 1 else 'do'} not answer"
        text = f"{silence}: names are found late or never"
        yield warning("DNS", text, f"correct {file}, or let UDP to port 53 of {wrong[0]} through")
    else:
        yield ok("DNS", f"{file} names {', '.join(servers)}")


def _without_stub(file: str, root: str) -> str:
    """How pods get the servers that the resolver in `file` asks. Only a file that is there is named: without it no
    pod would start."""
    there = (one for one in _REAL_SERVERS if one != file and Path(root, one.lstrip("/")).is_file())
    real = next(there, "")
    return f"resolvConf: {real or 'a file that you write, with the servers that this one asks'}"


def _limits(file: str, text: str, servers: int, *, cluster_domain: bool) -> Iterator[Finding]:
    """What of the file pods do not get."""
    if limit := exceeded(file, text, cluster_domain=cluster_domain):
        yield warning("DNS", limit, f"shorten the search line of {file}, or set resolvConf to another file")
    if servers > MAX_SERVERS:
        said = f"{file} names {servers} servers: pods get the first {MAX_SERVERS}"
        yield warning("DNS", said, f"remove those that are not needed from {file}, or set resolvConf to another file")


def silent_of(servers: Sequence[str]) -> Sequence[str]:
    """The servers that do not answer a query."""
    with ThreadPoolExecutor(len(servers)) as threads:
        found = list(threads.map(answers, servers))
    return [server for server, does in zip(servers, found, strict=True) if not does]


def answers(server: str, port: int = _PORT, seconds: float = _ANSWER_SECONDS) -> bool:
    """Whether the server answers one of two queries, each within `seconds`."""
    for _ in range(2):
        try:
            family, kind, protocol, _name, address = socket.getaddrinfo(
                server, port, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST
            )[0]
            with socket.socket(family, kind, protocol) as sock:
                sock.settimeout(seconds)
                sock.connect(address)  # so that recv fails at once if the port is closed
                sock.send(_QUERY)
                if sock.recv(4096)[:2] == _QUERY[:2]:
                    return True
        except OSError:
            continue
    return False
