"""A certificate authority for tests, and client certificates of it."""

from __future__ import annotations

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


class Authority:
    """Keeps its files in a folder; `path` is the CA's PEM."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._key = folder, ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"test-ca {folder}"[-60:])])
        self.path = folder / "ca.crt"
        basic = x509.BasicConstraints(ca=True, path_length=None)
        self._certificate = self._builder(self._name, self._key, 3600).add_extension(basic, critical=True)
        self.path.write_bytes(self._pem(self._certificate))

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, seconds: int) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=2))
            .not_valid_after(now + datetime.timedelta(seconds=seconds))
        )

    def _pem(self, builder: x509.CertificateBuilder) -> bytes:
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def client(self, user: str, *groups: str, seconds: int = 3600) -> tuple[str, str]:
        """Paths of a client certificate and its key; `seconds` until it ends (negative: it has)."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
        names += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        builder = self._builder(x509.Name(names), key, seconds).add_extension(usage, critical=False)
        cert, key_file = self._folder / f"{user}.crt", self._folder / f"{user}.key"
        cert.write_bytes(self._pem(builder))
        form = serialization.PrivateFormat.PKCS8
        key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
        return str(cert), str(key_file)
