"""The cluster's certificate authority. Its key is kept, so that a server that was restarted is the same one."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NO_CHECK_TIME = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME: an expired client certificate is answered 401 and not cut off, as Go's server does."""
NAMES = ("localhost", "kubernetes", "kubernetes.default.svc")
"""Of the server, in its certificate."""
_DAY = 86_400


class Authority:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / "ca.crt"
        key_path = folder / "ca.key"
        if key_path.exists():
            loaded = serialization.load_pem_private_key(key_path.read_bytes(), None)
            assert isinstance(loaded, ec.EllipticCurvePrivateKey)
            self._key = loaded
            self._certificate = x509.load_pem_x509_certificate(self.path.read_bytes())
            return
        folder.mkdir(parents=True, exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
        key_id = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        builder = _builder(name, name, self._key.public_key(), 365 * _DAY)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self._certificate = builder.add_extension(key_id, critical=False).sign(self._key, hashes.SHA256())
        key_path.write_bytes(private_pem(self._key))
        key_path.chmod(0o600)
        self.path.write_bytes(self.pem)

    @property
    def pem(self) -> bytes:
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def sign(
        self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey, seconds: int, *extensions: x509.ExtensionType
    ) -> bytes:
        """A certificate (PEM) for as long; negative: one that is over."""
        builder = _builder(subject, self._certificate.subject, public_key, seconds)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def client(self, user: str, *groups: str, seconds: int = 30 * _DAY) -> tuple[Path, Path]:
        """Paths of a new client certificate and its key."""
        names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, user)])
        key = ec.generate_private_key(ec.SECP256R1())
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        return self._write(user.replace(":", "-"), self.sign(subject, key.public_key(), seconds, usage), key)

    def serving(self, *addresses: str, names: tuple[str, ...] = NAMES) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
        alternatives += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        pem = self.sign(subject, key.public_key(), 30 * _DAY, usage, x509.SubjectAlternativeName(alternatives))
        return self._write("apiserver", pem, key)

    def _write(self, name: str, pem: bytes, key: ec.EllipticCurvePrivateKey) -> tuple[Path, Path]:
        cert_path, key_path = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        cert_path.write_bytes(pem)
        key_path.write_bytes(private_pem(key))
        key_path.chmod(0o600)
        return cert_path, key_path

    def server_context(self, *addresses: str, names: tuple[str, ...] = NAMES) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.serving(*addresses, names=names))
        context.load_verify_locations(self.path)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.verify_flags |= NO_CHECK_TIME
        return context


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, seconds: int
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(seconds=300 if seconds > 0 else 7200))
        .not_valid_after(now + datetime.timedelta(seconds=seconds))
    )
