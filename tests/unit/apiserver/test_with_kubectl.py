"""kubectl against the server as a process of its own."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api_process import ApiProcess
from tests.unit.apiserver.test_certificates import request_of

pytestmark = [
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="NOT TESTED: no kubectl here"),
    pytest.mark.slow,
]
MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  nodeName: n1
  containers:
  - {name: a, image: "busybox:1"}
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiProcess]:
    with ApiProcess(tmp_path / "api") as made:
        yield made


def test_kubectl_applies_gets_patches_and_deletes(server: ApiProcess, tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(MANIFEST)
    assert server.kubectl("apply", "-f", str(path)) == "pod/web created\n"
    path.write_text(MANIFEST.replace("busybox:1", "busybox:2").replace("app: web", "app: web2"))
    assert server.kubectl("apply", "-f", str(path)) == "pod/web configured\n"
    listed = server.kubectl("get", "pods", "-l", "app=web2", "-o", "wide").splitlines()
    assert listed[0].split()[:5] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert listed[1].split()[:3] == ["web", "0/1", "Pending"]
    server.kubectl("patch", "pod", "web", "--type=json", "-p", '[{"op":"add","path":"/metadata/labels/x","value":"y"}]')
    found = json.loads(server.kubectl("get", "pod", "web", "-o", "json"))
    assert found["metadata"]["labels"] == {"app": "web2", "x": "y"}
    assert found["spec"]["containers"][0]["image"] == "busybox:2"
    server.kubectl("delete", "pod", "web", "--wait=false")
    assert "Terminating" in server.kubectl("get", "pods")
    server.kubectl("delete", "pod", "web", "--force", "--grace-period=0")
    assert server.kubectl("get", "pods", "-o", "name") == ""


def test_config_maps_secrets_and_tokens_are_made_by_kubectl(server: ApiProcess) -> None:
    server.kubectl("create", "configmap", "c", "--from-literal=a=b")
    server.kubectl("create", "secret", "generic", "s", "--from-literal=p=q")
    assert json.loads(server.kubectl("get", "cm", "c", "-o", "json"))["data"] == {"a": "b"}
    assert json.loads(server.kubectl("get", "secret", "s", "-o", "json"))["data"] == {"p": "cQ=="}
    assert server.kubectl("create", "token", "default").count(".") == 2


def test_stored_objects_survive_a_kill(server: ApiProcess) -> None:
    server.kubectl("create", "namespace", "kept")
    server.signal(signal.SIGKILL)
    server.start()
    assert "kept" in server.kubectl("get", "namespaces")


def test_a_certificate_is_approved_by_kubectl_and_signed(tmp_path: Path) -> None:
    with ApiProcess(tmp_path / "api", auto_approve=False) as server:
        made = {**request_of("n1"), "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
        made["spec"]["signerName"] = "kubernetes.io/kube-apiserver-client"
        server.kubectl("create", "-f", "-", data=json.dumps(made))
        assert "Pending" in server.kubectl("get", "csr")
        server.kubectl("certificate", "approve", "csr-n1")
        server.kubectl("wait", "csr/csr-n1", "--for=jsonpath={.status.certificate}", "--timeout=5s")
        assert "Approved,Issued" in server.kubectl("get", "csr")
