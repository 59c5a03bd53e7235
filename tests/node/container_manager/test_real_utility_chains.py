"""The chains of iptables, in a network namespace of the test's own."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = [pytest.mark.node, pytest.mark.timeout(60)]
ROOT = Path(__file__).parents[3]
_libc = ctypes.CDLL(None, use_errno=True)
KEEP = "import asyncio; from actors.container_manager.utility_chains import *; " + (
    "print(asyncio.run(UtilityChains(families()).keep()))"
)


class Namespace:
    """One with a neighbour at the other end of a pair of links: 192.0.2.1 is ours, 192.0.2.2 the neighbour's."""

    def __init__(self, name: str) -> None:
        self.name, self.neighbour = name, f"{name}-n"

    def make(self) -> None:
        for one in (self.name, self.neighbour):
            _do("ip", "netns", "add", one)
        ends = ("name", "ours", "netns", self.name), ("name", "theirs", "netns", self.neighbour)
        _do("ip", "link", "add", *ends[0], "type", "veth", "peer", *ends[1])
        self.run("ip", "link", "set", "lo", "up")  # the neighbour has none, for it would stand in the attack's way
        for one, link, address in ((self.name, "ours", "192.0.2.1/24"), (self.neighbour, "theirs", "192.0.2.2/24")):
            self.run("ip", "address", "add", address, "dev", link, within=one)
            self.run("ip", "link", "set", link, "up", within=one)

    def run(self, *argv: str, within: str = "", check: bool = True) -> str:
        command = ["ip", "netns", "exec", within or self.name, *argv]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=30)
        assert not check or done.returncode == 0, f"{argv}: {done.stderr}"
        return done.stdout

    def keep(self) -> str:
        return self.run(sys.executable, "-c", KEEP).strip()

    def rules(self) -> list[str]:
        saved = self.run("iptables-save") + self.run("ip6tables-save")
        return sorted(line.partition(" [")[0] for line in saved.splitlines() if "KUBE" in line)

    def remove(self) -> None:
        for one in (self.name, self.neighbour):
            subprocess.run(["ip", "netns", "del", one], check=False, capture_output=True)


def _do(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True, timeout=30)


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    if os.geteuid() != 0 or not shutil.which("iptables") or not shutil.which("ip"):
        pytest.skip("NOT TESTED: needs root, iptables and ip")
    namespace = Namespace(f"trp{os.getpid()}")
    try:
        namespace.make()
        yield namespace
    finally:
        namespace.remove()


def test_chains_are_created_once_and_again_after_a_flush(namespace: Namespace) -> None:
    assert namespace.keep() == "[]"
    made = namespace.rules()
    assert made.count("-A INPUT -j KUBE-FIREWALL") == made.count("-A OUTPUT -j KUBE-FIREWALL") == 1
    assert (made.count(":KUBE-IPTABLES-HINT -"), made.count(":KUBE-KUBELET-CANARY -")) == (2, 6)
    assert len([rule for rule in made if rule.startswith("-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8")]) == 1
    assert namespace.keep() == "[]"
    assert namespace.rules() == made
    namespace.run("iptables", "-F", "OUTPUT")
    assert namespace.keep() == "[]"
    assert namespace.rules() == made
    for table in ("filter", "nat", "mangle"):  # as firewalld does when it is reloaded
        for tool in ("iptables", "ip6tables"):
            namespace.run(tool, "-t", table, "-F")
            namespace.run(tool, "-t", table, "-X")
    assert namespace.rules() == []
    assert namespace.keep() == "[]"
    assert namespace.rules() == made


def test_a_neighbour_does_not_reach_what_listens_on_localhost(namespace: Namespace) -> None:
    """CVE-2020-8558: with route_localnet, which service proxies set, packets to 127.0.0.1 come in from outside."""
    allow = "for one in /proc/sys/net/ipv4/conf/*; do echo 1 > $one/route_localnet; echo 0 > $one/rp_filter; done"
    namespace.run("sh", "-c", allow)
    namespace.run("sh", "-c", allow, within=namespace.neighbour)
    namespace.run("ip", "route", "add", "127.0.0.1/32", "via", "192.0.2.1", within=namespace.neighbour)
    with _listening(namespace.name) as port:
        assert _reaches(namespace, port), "the attack works, without the chains"
        assert namespace.keep() == "[]"
        assert not _reaches(namespace, port)
        assert _reaches(namespace, port, within=namespace.name), "what is on the node itself does"


@contextmanager
def _listening(name: str) -> Iterator[int]:
    """A listener on 127.0.0.1 in the namespace; gives its port."""
    made: list[socket.socket] = []

    def make() -> None:
        with open(f"/run/netns/{name}") as there:
            assert _libc.setns(there.fileno(), 0) == 0, os.strerror(ctypes.get_errno())
        made.append(socket.create_server(("127.0.0.1", 0)))

    thread = threading.Thread(target=make)  # of its own, for a namespace is a thread's
    thread.start()
    thread.join()
    with made[0] as sock:
        yield int(sock.getsockname()[1])


def _reaches(namespace: Namespace, port: int, within: str = "") -> bool:
    """Whether a connection to 127.0.0.1 comes about, from the neighbour unless told otherwise."""
    source = "" if within else ", source_address=('192.0.2.2', 0)"
    script = f"import socket; socket.create_connection(('127.0.0.1', {port}), timeout=2{source}); print('there')"
    there = namespace.run(sys.executable, "-c", script, within=within or namespace.neighbour, check=False)
    return "there" in there
