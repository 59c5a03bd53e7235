"""CSRs are approved and signed as kube-controller-manager does; certificates that are over are 401."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from actors.shared.api import kubeconfig
from actors.shared.api.client import ApiClient
from actors.shared.api.errors import Unauthorized
from tests.support.apiserver import ApiServer
from tests.support.apiserver.objects import Obj

CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


def request_of(node: str, group: str = "system:nodes") -> Obj:
    key = ec.generate_private_key(ec.SECP256R1())
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)]
    names.append(x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{node}"))
    pem = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names)).sign(key, hashes.SHA256())
    encoded = base64.b64encode(pem.public_bytes(serialization.Encoding.PEM)).decode()
    spec = {"request": encoded, "signerName": "kubernetes.io/kube-apiserver-client-kubelet", "usages": ["client auth"],
            "expirationSeconds": 700}  # fmt: skip
    return {"metadata": {"name": f"csr-{node}"}, "spec": spec}


async def ask(server: ApiServer, path: str, body: Obj) -> None:
    client = ApiClient(kubeconfig.load(path))
    await client.call("POST", CSRS, body=msgspec.json.encode(body))
    await client.close()


async def until_conditions(server: ApiServer, name: str) -> Obj:
    async with asyncio.timeout(5):
        while True:
            csr = server.get("certificatesigningrequests", name) or {}
            if csr.get("status", {}).get("conditions"):
                return csr
            await asyncio.sleep(0.01)


async def test_a_node_with_a_bootstrap_token_gets_a_certificate_that_the_server_takes(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        await ask(server, server.bootstrap_kubeconfig(), request_of("n1"))
        csr = await until_conditions(server, "csr-n1")
        assert csr["spec"]["username"] == "system:bootstrap:abcdef"
        assert [one["type"] for one in csr["status"]["conditions"]] == ["Approved"]
        made = x509.load_pem_x509_certificate(base64.b64decode(csr["status"]["certificate"]))
        left = made.not_valid_after_utc - made.not_valid_before_utc
        assert 700 <= left.total_seconds() <= 1100


async def test_a_request_of_another_user_fails_and_an_unapproved_one_waits(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        await ask(server, server.bootstrap_kubeconfig(), request_of("n1", "system:masters"))
        csr = await until_conditions(server, "csr-n1")
        assert [one["type"] for one in csr["status"]["conditions"]] == ["Approved", "Failed"]
        server.options.auto_approve = False
        await ask(server, server.bootstrap_kubeconfig(), request_of("n2"))
        waiting = server.get("certificatesigningrequests", "csr-n2")
        assert waiting is not None
        assert waiting["status"] == {}


async def test_a_client_certificate_that_is_over_is_unauthorized(tmp_path: Path) -> None:
    async with ApiServer(tmp_path) as server:
        client = ApiClient(kubeconfig.load(server.node_kubeconfig("n1", seconds=-60)))
        with pytest.raises(Unauthorized):
            await client.call("GET", "/api/v1/nodes/n1")
        await client.close()
