"""A real cluster for the joined tests: its administrator's kubeconfig, and a certificate for the node asked of it."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"


class RealCluster:
    """Everything by kubectl. Each test that joins has the node made again; the last Node object is left for the
    cluster's owner."""

    def __init__(self, admin: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.admin, self._folder = admin, folder

    @property
    def ca(self) -> str:
        """Of what the server shows to nodes: the cluster's CA, as kubeadm has it."""
        path = self._folder / "ca.crt"
        view = json.loads(self.kubectl("config", "view", "--raw", "--minify", "-o", "json"))
        path.write_bytes(base64.b64decode(view["clusters"][0]["cluster"]["certificate-authority-data"]))
        return str(path)

    def node_kubeconfig(self, node: str) -> str:
        """By a CertificateSigningRequest that the administrator approves."""
        key = ec.generate_private_key(ec.SECP256R1())
        form = serialization.PrivateFormat.PKCS8
        pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        view = json.loads(self.kubectl("config", "view", "--raw", "--minify", "-o", "json"))
        user = {
            "client-certificate-data": self._certificate(node, key),
            "client-key-data": base64.b64encode(pem).decode(),
        }
        view["users"] = [{"name": view["users"][0]["name"], "user": user}]
        path = self._folder / f"{node}.kubeconfig"
        path.write_text(json.dumps(view))
        return str(path)

    def forget(self, node: str) -> None:
        """Delete what is left of the node of the test before."""
        self.kubectl("delete", "node", node, "--ignore-not-found")
        self.kubectl("delete", "lease", node, "--namespace=kube-node-lease", "--ignore-not-found")

    def _certificate(self, node: str, key: ec.EllipticCurvePrivateKey) -> str:
        names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes")]
        names.append(x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{node}"))
        request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names)).sign(key, hashes.SHA256())
        encoded = base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()
        name = f"troupelet-test-{int(time.time())}"
        spec = {"request": encoded, "signerName": SIGNER, "usages": ["client auth", "digital signature"]}
        csr = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name}}
        self.kubectl("create", "-f", "-", data=json.dumps({**csr, "spec": spec}))
        self.kubectl("certificate", "approve", name)
        self.kubectl("wait", f"csr/{name}", "--for=jsonpath={.status.certificate}", "--timeout=20s")
        return self.kubectl("get", "csr", name, "-o", "jsonpath={.status.certificate}")

    def kubectl(self, *arguments: str, data: str = "", seconds: float = 30.0, check: bool = True) -> str:
        done = self.run_kubectl(*arguments, data=data, seconds=seconds)
        assert not check or done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def run_kubectl(self, *arguments: str, data: str = "", seconds: float = 30.0) -> subprocess.CompletedProcess[str]:
        command = ["kubectl", f"--kubeconfig={self.admin}", *arguments]
        return subprocess.run(command, input=data, capture_output=True, text=True, timeout=seconds, check=False)
