"""Reads the validity, subject and alternative names of a certificate (RFC 5280). Pure.

It does not use the cryptography library, so that the actor can check files every few seconds without its 10 MB. No
access depends on it: the TLS handshake authenticates the peers.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import hashlib
import ipaddress
import re
from collections.abc import Iterator
from typing import Final

import msgspec

MAX_BYTES: Final = 1 << 20
_BLOCK: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\s(.*?)-----END \1-----", re.DOTALL)
_TIME: Final = re.compile(r"[0-9]{14}Z\Z")
_COMMON_NAME: Final = b"\x55\x04\x03"
_ORGANIZATION: Final = b"\x55\x04\x0a"
_ALTERNATIVE_NAMES: Final = b"\x55\x1d\x11"
_SEQUENCE, _SET, _OID, _OCTETS, _UTC, _GENERALIZED, _BMP = 0x30, 0x31, 0x06, 0x04, 0x17, 0x18, 0x1E
_VERSION, _EXTENSIONS, _DNS, _IP = 0xA0, 0xA3, 0x82, 0x87


class Certificate(msgspec.Struct, frozen=True):
    """Times are seconds since 1970."""

    not_before: float
    not_after: float
    common_name: str = ""
    organizations: tuple[str, ...] = ()
    dns_names: tuple[str, ...] = ()
    ips: tuple[str, ...] = ()
    fingerprint: str = ""
    """SHA-256 of the DER, hexadecimal."""

    @property
    def lifetime(self) -> float:
        return self.not_after - self.not_before

    @property
    def names(self) -> frozenset[str]:
        """DNS names and addresses."""
        return frozenset((*self.dns_names, *self.ips))


class UnusableCertificate(ValueError):
    """There is no certificate, or it cannot be read."""


def read(pem: bytes) -> Certificate:
    """The first certificate of these PEM blocks, which is the leaf. Raises UnusableCertificate."""
    for kind, body in blocks(pem):
        if kind == "CERTIFICATE":
            return parse(body)
    raise UnusableCertificate("there is no PEM certificate in it")


def blocks(pem: bytes) -> Iterator[tuple[str, bytes]]:
    """(label, DER) of each PEM block (RFC 7468). Raises UnusableCertificate for one that is not base64."""
    if len(pem) > MAX_BYTES:
        raise UnusableCertificate(f"more than {MAX_BYTES >> 20} MiB")
    for block in _BLOCK.finditer(pem):
        try:
            yield block[1].decode(), base64.b64decode(b"".join(block[2].split()), validate=True)
        except (binascii.Error, ValueError):
            raise UnusableCertificate("a PEM block is not base64") from None


def parse(der: bytes) -> Certificate:
    """Raises UnusableCertificate."""
    try:
        return _certificate(der)
    except UnusableCertificate:
        raise
    except (IndexError, ValueError, OverflowError) as error:
        raise UnusableCertificate(f"not a certificate: {error}") from None


def _certificate(der: bytes) -> Certificate:
    outer = list(_items(_only(der, _SEQUENCE)))
    fields = list(_items(_expect(outer[0], _SEQUENCE)))
    if fields[0][0] == _VERSION:
        fields = fields[1:]
    # serial number, signature algorithm, issuer, validity, subject, key, ...
    begin, end = (_time(item) for item in _items(_expect(fields[3], _SEQUENCE)))
    subject = list(_subject(_expect(fields[4], _SEQUENCE)))
    dns, ips = _alternatives([body for tag, body in fields[6:] if tag == _EXTENSIONS])
    return Certificate(
        begin,
        end,
        next((value for kind, value in reversed(subject) if kind == _COMMON_NAME), ""),
        tuple(value for kind, value in subject if kind == _ORGANIZATION),
        tuple(dns),
        tuple(ips),
        hashlib.sha256(der).hexdigest(),
    )


# -- DER (X.690) ------------------------------------------------------------------------------------------------------
Item = tuple[int, bytes]
"""Tag and content."""


def _items(data: bytes) -> Iterator[Item]:
    """The elements that follow each other in `data`. Raises UnusableCertificate."""
    at = 0
    while at < len(data):
        tag, length, at = data[at], data[at + 1], at + 2
        if length & 0x80:
            size = length & 0x7F
            if not 1 <= size <= 4:
                raise UnusableCertificate("not a certificate: a length that DER does not have")
            length, at = int.from_bytes(data[at : at + size], "big"), at + size
        if at + length > len(data):
            raise UnusableCertificate("not a certificate: cut short")
        yield tag, data[at : at + length]
        at += length


def _only(data: bytes, tag: int) -> bytes:
    return _expect(next(_items(data), (-1, b"")), tag)


def _expect(item: Item, tag: int) -> bytes:
    if item[0] != tag:
        raise UnusableCertificate(f"not a certificate: tag {item[0]} where {tag} belongs")
    return item[1]


def _time(item: Item) -> float:
    """UTCTime has two digits for the year: 1950 to 2049 (RFC 5280, 4.1.2.5)."""
    text = item[1].decode("ascii")
    if item[0] == _UTC:
        text = ("19" if text[:2] >= "50" else "20") + text
    elif item[0] != _GENERALIZED:
        raise UnusableCertificate("not a certificate: no time where one belongs")
    if _TIME.match(text) is None:
        raise UnusableCertificate(f"not a certificate: {text[:20]!r} is no time")
    parts = [int(text[at:end]) for at, end in ((0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14))]
    year, month, day, hour, minute, second = parts  # no strptime: it brings half a megabyte of locales
    return datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.UTC).timestamp()


def _subject(name: bytes) -> Iterator[tuple[bytes, str]]:
    for tag, relative in _items(name):
        for pair_tag, pair in _items(_expect((tag, relative), _SET)):
            kind, value = _items(_expect((pair_tag, pair), _SEQUENCE))
            yield _expect(kind, _OID), value[1].decode("utf-16-be" if value[0] == _BMP else "utf-8", "replace")


def _alternatives(extensions: list[bytes]) -> tuple[list[str], list[str]]:
    dns: list[str] = []
    ips: list[str] = []
    for whole in extensions:
        for tag, extension in _items(_only(whole, _SEQUENCE)):
            parts = list(_items(_expect((tag, extension), _SEQUENCE)))
            if _expect(parts[0], _OID) != _ALTERNATIVE_NAMES:
                continue
            for kind, value in _items(_only(_expect(parts[-1], _OCTETS), _SEQUENCE)):
                if kind == _DNS:
                    dns.append(value.decode("ascii"))
                elif kind == _IP:
                    ips.append(str(ipaddress.ip_address(value)))
    return dns, ips
