"""A signer of PodCertificateRequests: the status with which it issues, denies or fails one."""

from __future__ import annotations

import base64
import datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Obj = dict[str, Any]
NAME = "example.com/signer"


class PodSigner:
    """Its certificates are valid from now on, and name the pod."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pod signer")])
        basic = x509.BasicConstraints(ca=True, path_length=None)
        self._certificate = (
            self._builder(self._name, self._key.public_key(), 86400)
            .add_extension(basic, critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def issued(self, request: Obj, *, seconds: int = 3600, renew_after: int = 600) -> Obj:
        """The status of a request that is issued for so many seconds; `renew_after`: seconds from now."""
        spec = request["spec"]
        proof = x509.load_der_x509_csr(base64.b64decode(spec["stubPKCS10Request"]))
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, spec["podName"])])
        leaf = self._builder(subject, proof.public_key(), seconds).sign(self._key, hashes.SHA256())
        chain = "".join(f"# {number}\n{_pem(one)}" for number, one in enumerate((leaf, self._certificate)))
        begin = leaf.not_valid_before_utc
        return {
            "conditions": [condition("Issued")],
            "certificateChain": chain,
            "notBefore": _time(begin),
            "beginRefreshAt": _time(begin + datetime.timedelta(seconds=renew_after)),
            "notAfter": _time(leaf.not_valid_after_utc),
        }

    def _builder(self, subject: x509.Name, key: Any, seconds: int) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now)
            .not_valid_after(now + datetime.timedelta(seconds=seconds))
        )


def condition(kind: str, reason: str = "Because", message: str = "it is so") -> Obj:
    """`kind`: Issued, Denied, Failed."""
    now = _time(datetime.datetime.now(datetime.UTC))
    return {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now}


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _time(moment: datetime.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
