"""An exec, a log that is followed and a forwarded port outlive the restart of every actor but their server."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.chaos.world import ACTORS
from tests.support.joined import Joined, container, pod

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="NOT TESTED: no kubectl here")
SERVERS = ("root", "http_servers", "http_servers/node_server")
"""The streams are in the last; a supervisor takes its own along."""
TALKS = "n=0; trap 'exit 0' TERM; while :; do echo line $n; n=$((n+1)); sleep 0.3; done"
ANSWERS = "trap 'exit 0' TERM; while :; do nc -l -p 8080 -e cat; done & while :; do sleep 0.2; done"
STREAM_SECONDS = 40.0


class Lines:
    """What a command prints, as it comes."""

    def __init__(self, joined: Joined, *command: str) -> None:
        self.process = subprocess.Popen(
            ["kubectl", f"--kubeconfig={joined.cluster.admin}", *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.lines: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.append(line.rstrip("\n"))

    def say(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def wait(self, count: int, after: str) -> None:
        """Until there are so many lines."""
        end = time.monotonic() + STREAM_SECONDS
        while len(self.lines) < count:
            ended = self.process.poll()
            assert ended is None, f"after {after}: ended with {ended}: {self.lines[-3:]}"
            assert time.monotonic() < end, f"after {after}: nothing more came: {self.lines[-3:]}"
            time.sleep(0.02)


@contextmanager
def kubectl(joined: Joined, *command: str) -> Iterator[Lines]:
    found = Lines(joined, *command)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.wait()


@contextmanager
def forwarded(joined: Joined) -> Iterator[socket.socket]:
    with kubectl(joined, "port-forward", "pod/streams", ":8080") as forward:
        forward.wait(1, "its begin")
        found = re.search(r"127.0.0.1:(\d+) -> 8080", forward.lines[0])
        assert found, forward.lines
        with socket.create_connection(("127.0.0.1", int(found[1])), timeout=STREAM_SECONDS) as sock:
            yield sock


def test_streams_outlive_the_restart_of_every_other_actor(own: Joined) -> None:
    both = [container("talks", "sh", "-c", TALKS), container("answers", "sh", "-c", ANSWERS)]
    own.create(pod("streams", *both, terminationGracePeriodSeconds=1))
    own.wait_pods_ready("streams", seconds=60)
    own.node.wait_whole()
    with (
        kubectl(own, "exec", "-i", "streams", "-c", "answers", "--", "cat") as cat,
        kubectl(own, "logs", "-f", "streams", "-c", "talks", "--tail=1") as log,
        forwarded(own) as sock,
    ):
        answers = sock.makefile()
        for number, name in enumerate(["nothing", *(one for one in ACTORS if one not in SERVERS)]):
            if number:
                was = own.node.actors()[name].incarnation
                own.node.inject(name, "crash")
                own.node.wait_replaced(name, was)
            cat.say(name)
            cat.wait(number + 1, name)
            assert cat.lines[-1] == name
            log.wait(len(log.lines) + 2, name)
            sock.sendall(f"{name}\n".encode())
            assert answers.readline() == f"{name}\n", f"the port after {name}"
    numbers = [int(line.split()[1]) for line in log.lines]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
