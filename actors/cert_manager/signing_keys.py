"""Creates private keys and signs requests with them. Runs in a disposable process, because the cryptography library is
large, and so that keys never enter the actor's memory.
"""

from __future__ import annotations

import hashlib
import ipaddress
import warnings
from pathlib import Path
from typing import Any

from supervision.state_file import read_private, write_private


def request(
    key_file: str, in_use: str, signer: str, usages: list[str], user: str, group: str, names: list[str]
) -> dict[str, Any]:
    """A signing request for `user` of `group` with these names and addresses, signed by the key in `key_file`.

    A key is created when there is no usable one, and stays until its certificate is installed, so that a process that
    replaces a killed one creates a request with the same name. The key of the pair `in_use` is never used again.
    Returns `name` (a digest of the whole request), `request` (PEM), `usages`. Raises OSError.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.x509.oid import NameOID

    key = _key(Path(key_file), Path(in_use))
    if isinstance(key, rsa.RSAPrivateKey):
        usages = ["key encipherment", *usages]
    with warnings.catch_warnings():
        # a name may be longer than the 64 characters of RFC 5280; the cluster accepts it
        warnings.simplefilter("ignore")
        common_name = x509.NameAttribute(NameOID.COMMON_NAME, user, _validate=False)
    subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, group), common_name])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    public = key.public_key().public_bytes(serialization.Encoding.DER, form)
    text = "\0".join([signer, user, group, *usages, *names])
    signed = builder.sign(key, hashes.SHA256())
    return {
        "name": "csr-" + hashlib.sha256(public + text.encode()).hexdigest()[:40],
        "request": signed.public_bytes(serialization.Encoding.PEM),
        "usages": usages,
    }


def _key(path: Path, in_use: Path) -> Any:
    """The key in the file, or a new ECDSA P-256 key, which is written to it."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = _load(path)
    if key is not None and _public(key) != _public(_load(in_use)):
        return key
    key = ec.generate_private_key(ec.SECP256R1())
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    write_private(path, key.private_bytes(pem, form, serialization.NoEncryption()))
    return key


def _load(path: Path) -> Any:
    """The EC or RSA key in the file; None when there is no usable one (half-written, another kind)."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    try:
        key = serialization.load_pem_private_key(_only_key(read_private(path)), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) else None


def _only_key(pem: bytes) -> bytes:
    """The key block of a file that has a certificate too."""
    begin = pem.rfind(b"-----BEGIN", 0, pem.find(b"PRIVATE KEY-----"))
    return pem[max(begin, 0) :]


def _public(key: Any) -> bytes:
    from cryptography.hazmat.primitives import serialization

    if key is None:
        return b""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    der: bytes = key.public_key().public_bytes(serialization.Encoding.DER, form)
    return der


def _general(name: str) -> Any:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
