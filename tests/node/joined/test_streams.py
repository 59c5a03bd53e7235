"""An exec, a log that is followed and a forwarded port outlive the restart of every actor but their server."""

from __future__ import annotations

import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import pytest
from websocket import ABNF, WebSocket, WebSocketBadStatusException, create_connection

from actors.http_servers.streaming import spdy
from actors.http_servers.streaming.stream_translator import TUNNEL, V5
from tests.chaos.target import ACTORS
from tests.support.api_process import ApiProcess
from tests.support.joined import NODE, Joined, account_token, container, pod, status

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


def websockets(joined: Joined, subresource: str) -> float:
    """How many streams of that kind have come to the node as WebSockets."""
    page = joined.kubectl("get", "--raw", f"/api/v1/nodes/{NODE}/proxy/metrics")
    name = f'kubelet_websocket_streaming_requests_total{{subresource="{subresource}"}}'
    return sum(float(line.split()[-1]) for line in page.splitlines() if line.startswith(name))


def test_an_api_server_passes_websockets_on_to_a_node_that_declares_it(own: Joined) -> None:
    if isinstance(own.cluster, ApiProcess):
        pytest.skip("NOT TESTED: the tests' own API server translates no streams")
    own.create(pod("streams", container("answers", "sh", "-c", ANSWERS), terminationGracePeriodSeconds=1))
    own.wait_pods_ready("streams", seconds=60)
    found = own.cluster.run_kubectl("exec", "-i", "streams", "--", "sh", "-c", "cat; exit 3", data="x" * 100_000)
    assert (found.returncode, found.stdout) == (3, "x" * 100_000), found.stderr[-2000:]
    with forwarded(own) as sock:
        sock.sendall(b"through the tunnel\n")
        assert sock.makefile().readline() == "through the tunnel\n"
    assert (websockets(own, "exec"), websockets(own, "portforward")) >= (1, 1)


def websocket_to(site: Joined, path: str, token: str, *protocols: str) -> WebSocket:
    """A connection straight to the node server."""
    told = status(site.nodes.now[f"/{NODE}"])
    address = next(one["address"] for one in told["addresses"] if one["type"] == "InternalIP")
    return create_connection(
        f"wss://{address}:{told['daemonEndpoints']['kubeletEndpoint']['Port']}{path}",
        timeout=30, subprotocols=list(protocols), header=[f"Authorization: Bearer {token}"],
        sslopt={"cert_reqs": ssl.CERT_NONE, "check_hostname": False},
    )  # fmt: skip


def all_of(connection: WebSocket) -> dict[int, bytes]:
    """What comes on each channel until the end."""
    found: dict[int, bytes] = {}
    while True:
        kind, payload = connection.recv_data()
        if kind == ABNF.OPCODE_CLOSE:
            return found
        found[payload[0]] = found.get(payload[0], b"") + payload[1:]


def test_a_websocket_straight_to_the_node_is_translated_for_the_runtime(own: Joined) -> None:
    if not isinstance(own.cluster, ApiProcess):
        pytest.skip("NOT TESTED: of a real cluster's permissions nothing is known")
    token, stranger = account_token(own, "streamer"), account_token(own, "stranger")
    subject = "system:serviceaccount:default:streamer"
    own.create(pod("streams", container("answers", "sh", "-c", ANSWERS), terminationGracePeriodSeconds=1))
    own.wait_pods_ready("streams", seconds=60)
    path = "/exec/default/streams/answers?input=1&output=1&error=1&command=sh&command=-c&command="
    with pytest.raises(WebSocketBadStatusException) as refused:
        websocket_to(own, f"{path}true", stranger, V5)
    assert refused.value.status_code == 403
    own.cluster.order("POST", "grants", {"subject": subject, "verbs": ["get"], "resources": ["nodes/proxy"]})

    cat = websocket_to(own, f"{path}{quote('cat; echo end >&2; exit 3')}", token, V5, "v4.channel.k8s.io")
    assert cat.getsubprotocol() == V5
    cat.send_binary(b"\x00" + b"x" * 100_000)
    cat.send_binary(b"\xff\x00")  # the end of its input, which v4 cannot say
    found = all_of(cat)
    assert (found[1], found[2]) == (b"x" * 100_000, b"end\n")
    ended = json.loads(found[3])
    assert (ended["status"], ended["reason"]) == ("Failure", "NonZeroExitCode")
    assert ended["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]

    forward = websocket_to(own, "/portForward/default/streams", token, TUNNEL)
    assert str(forward.getsubprotocol()).lower() == TUNNEL.lower()  # the client writes it so
    encoder, decoder, heard = spdy.Encoder(), spdy.SpdyDecoder(), b""
    for number, kind in ((1, "error"), (3, "data")):
        headers = {"streamType": kind, "port": "8080", "requestID": "0"}
        forward.send_binary(encoder.open(number, headers))
    forward.send_binary(spdy.data(1, b"", final=True) + spdy.data(3, b"through the tunnel\n"))
    while b"\n" not in heard:
        for one in decoder.feed(forward.recv_data()[1]):
            heard += one.payload if isinstance(one, spdy.SpdyDataFrame) and one.stream == 3 else b""
    assert heard == b"through the tunnel\n"
    forward.close()
