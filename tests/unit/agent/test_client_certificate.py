"""The client certificate that is looked at is the one that the agent uses."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest

from actors.agent.client_certificate import in_use
from actors.agent.status import certificates
from actors.config_controller.messages import Flagz
from tests.support.apiserver.authority import Authority

DAY = 86_400
NODE, OTHER = ("system:node:n1", "system:nodes"), ("system:node:n2", "system:nodes")


class Site:
    """A kubeconfig and a stored pair."""

    def __init__(self, folder: Path) -> None:
        self.kubeconfig, self.stored = folder / "kubelet.conf", folder / "pki" / "kubelet-client-current.pem"
        self.stored.parent.mkdir()
        self._authority = Authority(folder)

    def pem(self, *user: str, days: float) -> tuple[bytes, bytes]:
        certificate, key = self._authority.client(*user, seconds=int(days * DAY))
        return certificate.read_bytes(), key.read_bytes()

    def embed(self, *user: str, days: float) -> bytes:
        """In the kubeconfig; the certificate."""
        certificate, key = self.pem(*user, days=days)
        self.write({f"client-{name}-data": base64.b64encode(data).decode() for name, data in
                    (("certificate", certificate), ("key", key))})  # fmt: skip
        return certificate

    def write(self, user: dict[str, Any]) -> None:
        cluster = {"server": "https://192.0.2.1:6443", "insecure-skip-tls-verify": True}
        entries = {"clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": user}]}
        contexts = [{"name": "x", "context": {"cluster": "c", "user": "u"}}]
        document = {"apiVersion": "v1", "kind": "Config", **entries, "contexts": contexts, "current-context": "x"}
        self.kubeconfig.write_text(json.dumps(document))

    def store(self, *user: str, days: float) -> bytes:
        certificate, key = self.pem(*user, days=days)
        self.stored.write_bytes(certificate + key)
        return certificate

    def where(self) -> str:
        found = in_use(str(self.kubeconfig), str(self.stored), time.time())
        return found.where if found is not None else ""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_the_certificate_in_the_kubeconfig_is_used_by_default(site: Site) -> None:
    assert site.where() == ""
    own = site.embed(*NODE, days=3)
    found = in_use(str(site.kubeconfig), str(site.stored), time.time())
    assert found is not None
    assert (found.where, found.pem, found.stored) == (f"that of {site.kubeconfig}", own, False)


@pytest.mark.parametrize(("user", "days", "stored"), [(NODE, 30, True), (NODE, 1, False), (OTHER, 30, False)])
def test_a_stored_certificate_of_the_node_that_is_valid_for_longer_wins(
    site: Site, user: tuple[str, str], days: float, stored: bool
) -> None:
    site.embed(*NODE, days=3)
    site.store(*user, days=days)
    assert site.where() == (str(site.stored) if stored else f"that of {site.kubeconfig}")


def test_an_expired_certificate_in_the_kubeconfig_loses_to_a_stored_one(site: Site) -> None:
    site.embed(*NODE, days=-0.01)
    site.store(*NODE, days=-0.02)
    assert site.where() == f"that of {site.kubeconfig}"
    site.store(*NODE, days=5)
    assert site.where() == str(site.stored)


def test_a_certificate_file_of_the_kubeconfig_is_read(site: Site) -> None:
    site.store(*NODE, days=5)
    own, key = site.pem(*OTHER, days=1)
    (site.kubeconfig.parent / "own.pem").write_bytes(own)
    (site.kubeconfig.parent / "own.key").write_bytes(key)
    site.write({"client-certificate": "own.pem", "client-key": "own.key"})
    found = in_use(str(site.kubeconfig), str(site.stored), time.time())
    assert found is not None
    assert (found.where, found.pem) == (f"that of {site.kubeconfig}", own)
    site.write({"client-certificate": "pki/kubelet-client-current.pem", "client-key": str(site.stored)})
    found = in_use(str(site.kubeconfig), str(site.stored), time.time())
    assert found is not None
    assert (found.where, found.stored) == (str(site.stored), False)


def test_a_kubeconfig_without_a_certificate_or_that_cannot_be_read_has_none(site: Site) -> None:
    site.write({"token": "t"})
    assert site.where() == ""
    site.kubeconfig.write_text("{")
    assert site.where() == ""


def test_status_checks_the_certificate_in_use(site: Site) -> None:
    site.embed(*NODE, days=3)
    flagz = Flagz({"kubeconfig": str(site.kubeconfig)}, ("kubeconfig",), {}, "v")
    (found,) = certificates(flagz, str(site.stored.parents[1]))
    assert (found.subject, found.path) == ("client certificate", f"that of {site.kubeconfig}")
    site.store(*NODE, days=30)
    (found,) = certificates(flagz, str(site.stored.parents[1]))
    assert found.path == str(site.stored)
