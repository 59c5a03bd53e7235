"""Each kind of probe against a real server on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from actors.prober.exec_probe import ExecProbe
from actors.prober.grpc_probe import METHOD, probe_grpc
from actors.prober.http_probe import probe_http
from actors.prober.outcome import OUTPUT_BYTES, ProbeOutcome
from actors.prober.probe_type import ProbeTools, Subject
from actors.prober.tcp_probe import probe_tcp
from actors.shared.cri.errors import AnswerTooLarge, DeadlineExceeded, Unavailable
from actors.shared.cri.model import ExecResult
from actors.shared.http_get.url import probe_url
from actors.shared.kube.container import Container, EnvVar
from actors.shared.kube.handlers import ExecAction

Answer = bytes | Callable[[str], bytes] | None


@contextlib.asynccontextmanager
async def server(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Gives that answer to each request; None: never. Its port."""
    hanging = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            if answer is None:
                await hanging.wait()
            else:
                writer.write(answer(head) if callable(answer) else answer)
                await writer.drain()
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        hanging.set()
        listener.close()


def answer(status: str, body: bytes = b"", *headers: str) -> bytes:
    head = "".join(f"{header}\r\n" for header in (f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}"))
    return head.encode() + b"\r\n" + body


async def get(port: int, path: str = "/", timeout: float = 5.0, scheme: str = "HTTP"):
    return await probe_http(probe_url(scheme, "127.0.0.1", port, path), [], timeout)


@pytest.mark.parametrize(
    ("said", "result", "text"),
    [
        (answer("200 OK", b"fine"), "success", "fine"),
        (answer("399 X"), "success", ""),
        (answer("304 Not Modified"), "success", ""),
        (answer("400 Bad"), "failure", "HTTP probe failed with statuscode: 400"),
        (answer("503 No"), "failure", "HTTP probe failed with statuscode: 503"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + answer("200 OK"), "success", ""),
        (b"HTTP/1.0 200 OK\r\n\r\nold", "success", "old"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "success", "ok"),
        (
            b"SSH-2.0-x\r\n\r\n",
            "failure",
            'net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0-x"',
        ),
        (b"HTTP/1.1 2x0 OK\r\n\r\n", "failure", 'malformed HTTP status code "2x0"'),
        (b"HTTP/2 200 OK\r\n\r\n", "failure", 'malformed HTTP version "HTTP/2"'),
        (b"HTTP/1.0 200\n\nbare", "success", "bare"),
        (b"HTTP/1.1  200 OK\nContent-Length: 2\n\nok", "success", "ok"),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\nContent-Length: 2\r\n\r\nok", "success", "ok"),
        (b"HTTP/1.1 200 OK\r\nodd\r\n\r\n", "failure", 'malformed MIME header: missing colon: "odd"'),
        (b"HTTP/1.1 200 OK\r\n odd\r\n\r\n", "failure", "malformed MIME header initial line:  odd"),
        (b"", "failure", "EOF"),
        (b"HTTP/1.1 200 OK\r\nA: b", "failure", "transport connection broken: unexpected EOF"),
        (b"just text", "failure", 'transport connection broken: malformed HTTP status code "text"'),
        (b"HTTP/1.1 200 OK", "failure", "transport connection broken: unexpected EOF"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "failure", 'connection broken: bad Content-Length "-5"'),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n", "failure", "bad Content-Length"),
        (b"HTTP/1.1 204 OK\r\nContent-Length: -5\r\n\r\n", "success", ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", "success", "ok"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
            "failure",
            'http: message cannot contain multiple Content-Length headers; got ["5" "6"]',
        ),
        (
            b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
            "failure",
            "net/http: server response headers exceeded 65536 bytes; aborted",
        ),
        (answer("302 Go", b"", "Location: http://elsewhere.invalid/"), "success", "Probe terminated redirects"),
    ],
)
async def test_the_http_status_decides(said, result, text):
    async with server(said) as port:
        outcome = await get(port)
    assert outcome.result == result, outcome
    assert text in outcome.text
    assert outcome.warning is (b"HTTP/1.1 3" in said)


async def test_a_connection_that_is_reset_is_named_with_both_of_its_ends():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        outcome = await get(port)
    assert re.fullmatch(
        rf'Get "http://127.0.0.1:{port}/": read tcp 127.0.0.1:[0-9]+->127.0.0.1:{port}: '
        "read: connection reset by peer",
        outcome.text,
    ), outcome.text


async def test_a_server_that_is_gone_before_the_request_is_named_too(monkeypatch):
    """The kernel no longer knows the address of a peer that has reset the connection when it is looked at first."""

    class Gone(asyncio.Transport):
        def get_extra_info(self, name, default=None):
            return ("10.0.0.1", 4000) if name == "sockname" else default

        def write(self, data):
            pass

        def is_closing(self):
            return True

        def close(self):
            pass

    async def dialled(*args, **options):
        reader = asyncio.StreamReader()
        reader.set_exception(ConnectionResetError())
        loop = asyncio.get_running_loop()
        return reader, asyncio.StreamWriter(Gone(), asyncio.StreamReaderProtocol(reader), reader, loop)

    monkeypatch.setattr("actors.shared.http_get.exchange.dial", dialled)
    outcome = await get(8080)
    assert outcome.text.endswith(": read tcp 10.0.0.1:4000->127.0.0.1:8080: read: connection reset by peer")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "unexpected EOF"),
        (b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf", "unexpected EOF"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok", "unexpected EOF"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nok\r\n", "invalid byte in chunk length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n", "malformed chunked encoding"),
    ],
)
async def test_a_truncated_body_gives_an_unknown_result(said, text):
    async with server(said) as port:
        outcome = await get(port)
    assert (outcome.result, outcome.state, outcome.text) == ("error", "failure", text)


async def test_a_body_that_does_not_end_in_time_gives_an_unknown_result():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nlive")
        with contextlib.suppress(ConnectionError):
            await reader.read()  # until the probe gives up
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
        outcome = await get(listener.sockets[0].getsockname()[1], timeout=0.1)
    late = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
    assert (outcome.result, outcome.state, outcome.text) == ("error", "failure", late)


async def test_redirects_on_the_same_host_are_followed_through_ten_requests():
    def hop(head: str) -> bytes:
        number = int(head.split()[1].removeprefix("/"))
        return answer("200 OK", b"there") if number == 10 else answer("302 Go", b"", f"Location: /{number + 1}")

    async with server(hop) as port:
        assert (await get(port, "/1")).text == "there"
        outcome = await get(port, "/11")
    assert (outcome.result, "10 redirects" in outcome.text) == ("failure", True)


async def test_the_body_is_cut():
    async with server(answer("200 OK", b"x" * 100_000)) as port:
        assert len((await get(port)).text) == OUTPUT_BYTES


async def test_a_hanging_or_missing_target_fails_in_time_with_the_kubelets_message():
    async with server(None) as port:
        outcome = await get(port, timeout=0.05)
        late = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        assert (outcome.result, outcome.text) == ("failure", f'Get "http://127.0.0.1:{port}/": {late}')
    outcome = await get(port)
    refused = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    assert (outcome.result, outcome.text) == ("failure", f'Get "http://127.0.0.1:{port}/": {refused}')


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this host has no IPv6")
async def test_an_address_of_the_sixth_version_is_probed_and_named_in_brackets():
    with socket.socket(socket.AF_INET6) as free:
        free.bind(("::1", 0))
        port = free.getsockname()[1]
    outcome = await probe_http(probe_url("HTTP", "::1", port, "/"), [], 5.0)
    refused = f"dial tcp [::1]:{port}: connect: connection refused"
    assert outcome.text == f'Get "http://[::1]:{port}/": {refused}'
    assert (await probe_tcp("::1", port, 5.0)).text == refused
    listener = await asyncio.start_server(lambda _, writer: writer.close(), "::1", port)
    async with listener:
        assert (await probe_tcp("::1", port, 5.0)).result == "success"


async def test_plain_http_where_tls_is_expected_is_named():
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer("400 Bad Request"))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        outcome = await get(port, scheme="HTTPS")
    text = "http: server gave HTTP response to HTTPS client"
    assert (outcome.result, outcome.text) == ("failure", f'Get "https://127.0.0.1:{port}/": {text}')


async def test_an_untrusted_certificate_is_accepted(tmp_path):
    from actors.cert_manager.self_signed import create

    create(cert_file=str(tmp_path / "c"), key_file=str(tmp_path / "k"), host="other", names=["other"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "c", tmp_path / "k")
    async with server(answer("200 OK", b"secret"), context) as port:
        assert (await get(port, scheme="HTTPS")).text == "secret"
        assert (await get(port, timeout=1.0)).result == "failure"


async def test_a_server_with_nothing_newer_than_go_takes_is_probed(tmp_path):
    key = rsa.generate_private_key(65537, 1024)
    name, day = x509.Name([]), datetime.datetime(2020, 1, 1)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, day, day + datetime.timedelta(1))
    pem = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    pem += key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "both").write_bytes(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ECDHE-RSA-AES128-SHA:@SECLEVEL=0")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(tmp_path / "both")
    async with server(answer("200 OK", b"old"), context) as port:
        assert (await get(port, scheme="HTTPS")).text == "old"


async def test_a_tcp_port_is_open_or_not():
    async with server(None) as port:
        assert (await probe_tcp("127.0.0.1", port, 1.0)).result == "success"
    outcome = await probe_tcp("127.0.0.1", port, 1.0)
    assert (outcome.result, outcome.text) == ("failure", f"dial tcp 127.0.0.1:{port}: connect: connection refused")


async def test_a_tcp_port_that_does_not_answer_is_a_timeout(monkeypatch):
    async def never(*_, **__):
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio, "open_connection", never)
    assert (await probe_tcp("10.0.0.1", 80, 0.01)).text == "dial tcp 10.0.0.1:80: i/o timeout"


@contextlib.asynccontextmanager
async def health(status: dict[str, int] | None) -> AsyncIterator[int]:
    """A gRPC server with that health by service; None: without the health service."""

    async def check(request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        service = request[2:].decode()
        if service == "slow":
            await asyncio.sleep(5)
        if service == "late":
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "by itself")
        if service not in known:
            await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return bytes([8, known[service]])

    known = status or {}
    made = grpc.aio.server()
    if status is not None:
        handler = grpc.unary_unary_rpc_method_handler(check)
        made.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(METHOD[1:].split("/")[0], {"Check": handler})]
        )
    port = made.add_insecure_port("127.0.0.1:0")
    await made.start()
    try:
        yield port
    finally:
        await made.stop(0)


async def test_grpc_health_decides():
    async with health({"": 1, "sick": 2}) as port:
        assert (await probe_grpc("127.0.0.1", port, "", 2.0)).result == "success"
        sick = await probe_grpc("127.0.0.1", port, "sick", 2.0)
        assert (sick.result, sick.text) == ("failure", 'service unhealthy (responded with "NOT_SERVING")')
        nobody = await probe_grpc("127.0.0.1", port, "nobody", 2.0)
        text = "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service"
        assert (nobody.result, nobody.text) == ("failure", text)
        slow = await probe_grpc("127.0.0.1", port, "slow", 1.0)
        assert (slow.result, slow.text) == ("failure", "timeout: health rpc did not complete within 1s")
        late = await probe_grpc("127.0.0.1", port, "late", 9.0)
        assert (late.result, late.text) == ("failure", "timeout: health rpc did not complete within 9s")
    async with health(None) as port:
        assert "does not implement" in (await probe_grpc("127.0.0.1", port, "", 2.0)).text
    closed = await probe_grpc("127.0.0.1", port, "", 1.0)
    text = f'timeout: failed to connect service "127.0.0.1:{port}" within 1s: context deadline exceeded'
    assert (closed.result, closed.text) == ("failure", text)


class Runtime:
    """Runs commands as the test says."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[str, ...], int]] = []
        self.release = asyncio.Event()
        self.running = self.most = 0
        self.silent = False

    async def version(self):
        if self.silent:
            await asyncio.Event().wait()

    async def exec_sync(self, container_id, command, timeout_seconds=0):
        self.calls.append((container_id, tuple(command), timeout_seconds))
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            match command:
                case ["hang"]:
                    await self.release.wait()
                case ["late", *_]:
                    raise DeadlineExceeded("ExecSync", "DEADLINE_EXCEEDED", "")
                case ["down"]:
                    raise Unavailable("ExecSync", "UNAVAILABLE", "no runtime")
                case ["brief"]:
                    await asyncio.sleep(0.01)
            return ExecResult(int(command[-1]) if command[-1].isdigit() else 0, b"out", b"err")
        finally:
            self.running -= 1


SUBJECT = Subject(("u", "a", "liveness"), Container(name="a"), "id", "", 1)


class Exec:
    """Exec probes over a runtime; each subject is one container."""

    def __init__(self, runtime: Runtime) -> None:
        tools = ProbeTools(lambda: runtime)
        self.type = ExecProbe(tools)

    async def probe(self, command: list[str], container_id: str = "id") -> ProbeOutcome:
        subject = Subject(SUBJECT.key, SUBJECT.container, container_id, "", 1)
        return await self.type.run(ExecAction(command=command), subject)


def test_a_command_that_grows_beyond_what_the_kernel_takes_is_an_error_and_not_run():
    runtime = Runtime()
    env = [EnvVar(name="A", value="x" * 1000)]
    subject = Subject(SUBJECT.key, Container(name="a", env=env), "id", "", 1)
    action = ExecAction(command=["$(A)" * 10_000])
    found = asyncio.run(Exec(runtime).type.run(action, subject))
    assert found.result == "error"
    assert "the kernel takes no more" in found.text
    assert runtime.calls == []


@pytest.mark.parametrize(
    ("command", "result", "text"),
    [
        (["exit", "0"], "success", "outerr"),
        (["exit", "3"], "failure", "outerr"),
        (["late"], "failure", 'command timed out: "late" timed out after 1s'),
        (["late", 'a "b"'], "failure", 'command timed out: "late a \\"b\\"" timed out after 1s'),
        (["down"], "error", "rpc error: code = Unavailable desc = no runtime"),
    ],
)
async def test_the_exit_code_decides(command, result, text):
    outcome = await Exec(Runtime()).probe(command)
    assert (outcome.result, outcome.text) == (result, text)


async def test_a_probe_lasts_until_the_runtime_has_ended_its_command():
    runtime = Runtime()
    probes = Exec(runtime)
    slow = asyncio.create_task(probes.probe(["hang"], "stuck"))
    assert (await probes.probe(["exit", "0"], "other")).result == "success"
    assert not slow.done()
    runtime.release.set()
    assert (await slow).result == "success"


async def test_a_runtime_that_answers_nothing_fails_no_probe(monkeypatch):
    monkeypatch.setattr("actors.prober.exec_probe.VERSION_SECONDS", 0.05)
    runtime = Runtime()
    runtime.silent = True
    assert (await Exec(runtime).probe(["late"])).result == "error"
    runtime.silent = False
    assert (await Exec(runtime).probe(["late"])).result == "failure", "it answers, and the command hangs"


async def test_no_number_of_slow_commands_delays_another_containers_probe():
    runtime = Runtime()
    probes = Exec(runtime)
    slow = [asyncio.create_task(probes.probe(["hang"], f"slow{number}")) for number in range(200)]
    await asyncio.sleep(0)
    assert (await probes.probe(["exit", "0"], "quick")).result == "success"
    assert runtime.most == 201
    runtime.release.set()
    await asyncio.gather(*slow)


@pytest.mark.parametrize(("host", "port"), [("a..b", 80), ("x" * 300, 80), ("a\0b", 80), ("127.0.0.1", 70_000)])
async def test_an_impossible_host_fails_the_probe_and_nothing_else(host, port):
    assert (await probe_tcp(host, port, 1.0)).result == "failure"
    if "\0" not in host:  # that one is in no URL
        assert (await probe_http(probe_url("HTTP", host, port, "/"), [], 1.0)).result == "failure"


async def test_a_host_name_that_does_not_resolve_is_named():
    assert (await probe_tcp("nowhere.invalid", 80, 5.0)).text == "dial tcp: lookup nowhere.invalid: no such host"


class Verbose(Runtime):
    """Its commands write much."""

    async def exec_sync(self, container_id, command, timeout_seconds=0):
        return ExecResult(int(command[-1]), b"x" * 100_000, b"")


async def test_the_beginning_of_a_long_output_is_kept():
    found = [await Exec(Verbose()).probe(["exit", code]) for code in ("0", "1")]
    assert [one.result for one in found] == ["success", "failure"]
    assert {len(one.text) for one in found} == {10 << 10}


async def test_an_output_that_no_answer_holds_is_an_error_as_in_the_kubelet():
    class Flood(Runtime):
        async def exec_sync(self, container_id, command, timeout_seconds=0):
            raise AnswerTooLarge("ExecSync", "RESOURCE_EXHAUSTED", "CLIENT: Received message larger than max")

    outcome = await Exec(Flood()).probe(["yes"])
    assert outcome.result == "error"
    assert outcome.text == "rpc error: code = ResourceExhausted desc = grpc: received message larger than max"
