"""The certificate manager with faked servers: first run, restart, files that change or are broken."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from actors.cert_manager import local_serving
from actors.cert_manager.actor import CHECK_SECONDS, CertManager
from actors.cert_manager.messages import GetServingCertificate, ServingCertificate
from actors.cert_manager.self_signed import create
from actors.http_servers.messages import NODE_SERVER
from actors.shared.config.agent import Agent
from actors.shared.config.fields.groups import Authentication, X509Authentication
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.status_manager.messages import STATUS_MANAGER
from supervision.process_messages import Hello
from supervision.testing.harness import Harness


def agent(tmp_path: Path, **config: Any) -> Agent:
    return Agent(node_name="node-1", cert_dir=str(tmp_path / "pki"), config=KubeletConfiguration(**config))


def run(coroutine):
    return asyncio.run(coroutine)


def test_the_first_start_creates_a_pair_and_notifies_the_server(tmp_path):
    async def story():
        async with Harness(CertManager, name="cert_manager", context=agent(tmp_path)) as harness:
            serving = await harness.wait_sent(ServingCertificate)
            assert Path(serving.cert_file).read_bytes().count(b"BEGIN CERTIFICATE") == 2
            assert serving.version == 1
            assert await harness.deliver(GetServingCertificate()) == serving

    run(story())


def test_a_restart_keeps_the_pair(tmp_path):
    async def start() -> bytes:
        async with Harness(CertManager, name="cert_manager", context=agent(tmp_path)) as harness:
            return Path((await harness.wait_sent(ServingCertificate)).cert_file).read_bytes()

    assert run(start()) == run(start())


def test_a_deleted_pair_is_created_again_and_the_server_is_notified(tmp_path):
    async def story():
        async with Harness(CertManager, name="cert_manager", context=agent(tmp_path)) as harness:
            first = await harness.wait_sent(ServingCertificate)
            Path(first.key_file).unlink()
            harness.outbox.clear()
            await harness.advance(CHECK_SECONDS)
            again = await harness.wait_sent(ServingCertificate)
            assert again.version == 2
            assert Path(again.key_file).exists()

    run(story())


def test_a_pair_that_is_over_since_the_clock_was_set_is_replaced_at_the_next_check(tmp_path):
    """A machine without a clock starts in 1970, and is told the time later."""
    set_forward = 0.0

    class Set(CertManager):
        def __init__(self) -> None:
            super().__init__(wall=lambda: time.time() + set_forward)

    async def story():
        nonlocal set_forward
        async with Harness(Set, name="cert_manager", context=agent(tmp_path)) as harness:
            await harness.wait_sent(ServingCertificate)
            harness.outbox.clear()
            await harness.advance(CHECK_SECONDS)
            assert not harness.sent(ServingCertificate)
            set_forward = 400 * 86400.0
            await harness.advance(CHECK_SECONDS)
            assert (await harness.wait_sent(ServingCertificate)).version == 2

    run(story())


def test_broken_files_of_the_operator_are_never_replaced(tmp_path):
    cert, key = tmp_path / "t.crt", tmp_path / "t.key"
    cert.write_text("no")
    key.write_text("no")

    async def story():
        context = agent(tmp_path, tlsCertFile=str(cert), tlsPrivateKeyFile=str(key))
        async with Harness(CertManager, name="cert_manager", context=context) as harness:
            await harness.advance(CHECK_SECONDS)
            assert not harness.sent(ServingCertificate)

    run(story())
    assert (cert.read_text(), key.read_text()) == ("no", "no")


@pytest.mark.parametrize(
    ("changed", "gate", "on", "serving"),
    [
        ("ca.crt", "ReloadKubeletClientCAFile", True, 2),
        ("ca.crt", "ReloadKubeletClientCAFile", False, 1),
        ("t.crt", "ReloadKubeletServerCertificateFile", True, 2),
        ("t.crt", "ReloadKubeletServerCertificateFile", False, 1),
    ],
)
def test_files_of_the_operator_are_read_again_when_they_change_unless_a_gate_is_off(
    tmp_path, changed, gate, on, serving
):
    files = {name: tmp_path / name for name in ("t.crt", "t.key", "ca.crt")}
    create(str(files["t.crt"]), str(files["t.key"]), "n", ["n"])
    files["ca.crt"].write_text("a")

    async def story():
        context = agent(
            tmp_path,
            tlsCertFile=str(files["t.crt"]),
            tlsPrivateKeyFile=str(files["t.key"]),
            authentication=Authentication(x509=X509Authentication(clientCAFile=str(files["ca.crt"]))),
            featureGates={gate: on},
        )
        async with Harness(CertManager, name="cert_manager", context=context) as harness:
            await harness.wait_sent(ServingCertificate)
            files[changed].write_bytes(files[changed].read_bytes() + b"\n")
            await harness.advance(CHECK_SECONDS)
            assert len(harness.sent(ServingCertificate)) == serving

    run(story())


def test_a_standalone_node_uses_no_cluster_and_only_reads_a_good_pair(tmp_path):
    async def start(**config: Any) -> Harness:
        harness = Harness(CertManager, name="cert_manager", context=agent(tmp_path, **config))
        async with harness:
            await harness.wait_sent(ServingCertificate)
        return harness

    run(start())
    again = run(start(serverTLSBootstrap=True, rotateCertificates=True))
    assert [function for function, _ in again.disposed] == ["actors.cert_manager.certificate_store:read_pair"]
    assert {type(message) for _, message in again.outbox} == {ServingCertificate}


def test_a_server_that_starts_gets_the_pair_and_no_other_actor_does(tmp_path):
    async def story():
        async with Harness(CertManager, name="cert_manager", context=agent(tmp_path)) as harness:
            serving = await harness.wait_sent(ServingCertificate)
            harness.clear()
            await harness.deliver(Hello(NODE_SERVER, 2))
            await harness.deliver(Hello(STATUS_MANAGER, 2))
            assert harness.outbox == [(NODE_SERVER, serving)]

    run(story())


def test_a_server_that_starts_before_there_is_a_pair_gets_none(tmp_path):
    async def story():
        harness = Harness(CertManager, name="cert_manager", context=agent(tmp_path))
        harness.disposables["actors.cert_manager.self_signed:create"] = refuse
        async with harness:
            await harness.settle()
            await harness.deliver(Hello(NODE_SERVER, 1))
            assert harness.sent(ServingCertificate) == []

    def refuse(**_: Any) -> None:
        raise OSError("no room")

    run(story())


class RoutelessSocket:
    """The host has no route of IPv4."""

    def __init__(self, family: socket.AddressFamily, kind: socket.SocketKind) -> None:
        self.family = family

    def __enter__(self) -> RoutelessSocket:
        return self

    def __exit__(self, *error: object) -> None: ...

    def connect(self, address: tuple[str, int]) -> None:
        if self.family is socket.AF_INET:
            raise OSError("Network is unreachable")

    def getsockname(self) -> tuple[str, int, int, int]:
        return ("2001:db8::7", 9, 0, 0)


def test_on_a_host_without_a_route_of_one_family_the_pair_names_the_address_of_the_other(monkeypatch):
    monkeypatch.setattr(socket, "socket", RoutelessSocket)
    assert local_serving._addresses() == ["2001:db8::7"]
