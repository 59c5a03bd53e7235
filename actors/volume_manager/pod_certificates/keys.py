"""Makes private keys of pods, and proofs of their possession. Runs in a disposable process, because the cryptography
library is large, and a key of 4096 bits takes seconds.
"""

from __future__ import annotations

from typing import Any


def make(key_type: str) -> dict[str, bytes]:
    """A new key of the type (of `credential_sources.KEY_TYPES`).

    Returns `key` (PEM, PKCS #8) and `proof` (DER): a PKCS #10 request without subject and extensions, signed with the
    key. Raises ValueError for another type.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    key, digest = _key_and_digest(key_type)
    proof = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, digest)
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return {
        "key": key.private_bytes(pem, form, serialization.NoEncryption()),
        "proof": proof.public_bytes(serialization.Encoding.DER),
    }


def _key_and_digest(key_type: str) -> tuple[Any, Any]:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    match key_type:
        case "RSA3072" | "RSA4096":
            return rsa.generate_private_key(65537, int(key_type[3:])), hashes.SHA256()
        case "ECDSAP256":
            return ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()
        case "ECDSAP384":
            return ec.generate_private_key(ec.SECP384R1()), hashes.SHA384()
        case "ECDSAP521":
            return ec.generate_private_key(ec.SECP521R1()), hashes.SHA512()
        case "ED25519":
            return ed25519.Ed25519PrivateKey.generate(), None
    raise ValueError(f"unknown key type {key_type!r}")
