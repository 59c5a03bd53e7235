"""Serving certificates that the cluster signs."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from actors.cert_manager.certificate import read
from actors.cert_manager.messages import GetServingCertificate, NodeAddresses, ServingCertificate
from actors.cert_manager.self_signed import create
from supervision.protocol import GetMetrics
from tests.support.certified_node import CSRS, USER, decide, joined, mode, requests, scenario


@scenario
async def test_a_serving_certificate_is_signed_for_the_nodes_addresses_and_again_when_they_change(node):
    async with node.start(serverTLSBootstrap=True) as harness:
        await joined(harness)
        assert await harness.deliver(GetServingCertificate()) == ServingCertificate("", "", "", 0)
        await harness.deliver(NodeAddresses(["10.0.0.1"], ["n1"]), "api_clients/heartbeat_client")
        serving = await harness.wait_sent(ServingCertificate, timeout=10)
        assert serving.cert_file == serving.key_file == str(node.pki / "kubelet-server-current.pem")
        assert mode(Path(serving.cert_file)) == 0o600
        found = read(Path(serving.cert_file).read_bytes())
        assert (found.dns_names, found.ips, found.common_name) == (("n1",), ("10.0.0.1",), USER)
        await harness.deliver(NodeAddresses(["10.0.0.2"], ["n1"]), "api_clients/heartbeat_client")
        await harness.wait_sent(ServingCertificate, count=2, timeout=10)
        assert read(Path(serving.cert_file).read_bytes()).ips == ("10.0.0.2",)
        assert (await harness.deliver(GetServingCertificate())).version == 2
    spec = node.server.items(CSRS)[-1]["spec"]
    assert {csr["spec"]["signerName"] for csr in node.server.items(CSRS)} >= {"kubernetes.io/kubelet-serving"}
    assert spec["usages"][0] == "digital signature"
    async with node.start(serverTLSBootstrap=True) as harness:  # a restart serves at once, with what is in the store
        assert (await harness.wait_sent(ServingCertificate)).version == 1


@scenario
async def test_the_pair_of_the_operator_serves_until_the_cluster_has_signed_one(node):
    pair = {"tlsCertFile": str(node.folder / "t.crt"), "tlsPrivateKeyFile": str(node.folder / "t.key")}
    create(pair["tlsCertFile"], pair["tlsPrivateKeyFile"], "n", ["n"])
    async with node.start(serverTLSBootstrap=True, **pair) as harness:
        given = await harness.wait_sent(ServingCertificate)
        assert (given.cert_file, given.key_file) == (pair["tlsCertFile"], pair["tlsPrivateKeyFile"])
        await joined(harness)
        await harness.deliver(NodeAddresses(["10.0.0.1"], ["n1"]), "api_clients/heartbeat_client")
        signed = await harness.wait_sent(ServingCertificate, count=2, timeout=10)
        assert signed.cert_file == str(node.pki / "kubelet-server-current.pem")


@scenario
async def test_without_a_usable_pair_the_server_waits_which_is_said_once(node, caplog):
    caplog.set_level("INFO")
    pair = {"tlsCertFile": str(node.folder / "t.crt"), "tlsPrivateKeyFile": str(node.folder / "t.key")}
    Path(pair["tlsCertFile"]).write_text("no")
    Path(pair["tlsPrivateKeyFile"]).write_text("no")
    node.server.options.approve_serving = False
    async with node.start(serverTLSBootstrap=True, **pair) as harness:
        await joined(harness)
        await node.pass_time(harness, 60)
        assert not harness.sent(ServingCertificate)
    assert caplog.text.count("the node server opens when the cluster has signed a certificate") == 1


@scenario
async def test_an_unapproved_serving_request_stays_one_request(node):
    node.server.options.approve_serving = False
    async with node.start(serverTLSBootstrap=True) as harness:
        await joined(harness)
        await harness.deliver(NodeAddresses(["10.0.0.1"], ["n1"]), "api_clients/heartbeat_client")
        names = await requests(node, harness, 2)
        await node.pass_time(harness, 120)
        assert not harness.sent(ServingCertificate)
    async with node.start(serverTLSBootstrap=True) as harness:
        await joined(harness)
        await harness.deliver(NodeAddresses(["10.0.0.1"], ["n1"]), "api_clients/heartbeat_client")
        await asyncio.sleep(0.5)
        assert await requests(node, harness, 2) == names


@scenario
async def test_a_serving_certificate_is_rotated_and_its_age_is_a_metric(node):
    node.server.options.certificate_seconds = 3600
    async with node.start(serverTLSBootstrap=True, rotate=False) as harness:
        await joined(harness)
        node.server.options.certificate_seconds = 300
        await harness.deliver(NodeAddresses(["10.0.0.1"], ["n1"]), "api_clients/heartbeat_client")
        await harness.wait_sent(ServingCertificate, timeout=10)
        node.server.options.certificate_seconds = 3000
        await node.pass_time(harness, 290)
        await harness.wait_sent(ServingCertificate, count=2, timeout=10)
        samples = (await harness.deliver(GetMetrics())).samples
    (ages,) = (one for one in samples if one.name == "kubelet_certificate_manager_server_rotation_seconds")
    assert sum(ages.counts) == 1
    assert [one for one in samples if one.name == "kubelet_certificate_manager_server_ttl_seconds"]


@scenario
async def test_addresses_from_before_the_client_certificate_are_requested_as_soon_as_it_exists(node):
    node.server.options.auto_approve = False
    async with node.start(serverTLSBootstrap=True) as harness:
        (name,) = await requests(node, harness)
        await harness.deliver(NodeAddresses(["10.0.0.1"], ["n1"]), "api_clients/heartbeat_client")
        decide(node, "Approved", name)
        await harness.wait_sent(ServingCertificate, timeout=10)  # and no time has passed


@scenario
async def test_a_signer_that_omits_names_is_not_flooded_with_requests(node, caplog):
    async with node.start(serverTLSBootstrap=True, rotate=False) as harness:
        await joined(harness)
        node.server.options.approve_serving = False
        for _ in range(30):
            await harness.deliver(NodeAddresses(["10.0.0.1"], ["n1"]), "api_clients/heartbeat_client")
            for csr in node.server.items(CSRS):
                if csr["spec"]["signerName"].endswith("serving") and "certificate" not in csr.get("status", {}):
                    sign_without_names(node, csr["metadata"]["name"])
            await node.pass_time(harness, 20)
        signed = [csr for csr in node.server.items(CSRS) if csr["spec"]["signerName"].endswith("serving")]
        assert 2 <= len(signed) <= 6
        assert harness.sent(ServingCertificate)
        assert "is due for rotation already" in caplog.text


def sign_without_names(node, name: str) -> None:
    def edit(csr: dict) -> None:
        request = x509.load_pem_x509_csr(base64.b64decode(csr["spec"]["request"]))
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        pem = node.server.authority.sign(request.subject, request.public_key(), 3600, usage)
        csr["status"] = {"certificate": base64.b64encode(pem).decode()}

    node.server.registry.change((f"{CSRS}.certificates.k8s.io", "", name), edit)
