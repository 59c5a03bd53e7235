"""What makes a ClusterTrustBundle Invalid (422)."""

from __future__ import annotations

import re

from cryptography import x509

from .objects import Obj, dig
from .pod_rules import SUBDOMAIN, Cause, name_causes

_BLOCK = re.compile(r"-----BEGIN ([A-Z ]+)-----\n(.*?)-----END \1-----", re.DOTALL)
_MOST_BYTES = 1 << 20
_BUNDLE = "spec.trustBundle"


def signer_causes(path: str, name: str) -> list[Cause]:
    domain, slash, rest = name.partition("/")
    if slash and "/" not in rest and "." in domain and SUBDOMAIN.fullmatch(domain) and SUBDOMAIN.fullmatch(rest):
        return []
    if not name:
        return [(path, "FieldValueRequired", "Required value")]
    why = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
    return [(path, "FieldValueInvalid", f'Invalid value: "{name}": {why}')]


def bundle_name_causes(bundle: Obj) -> list[Cause]:
    """The name of a bundle of a signer begins with the signer's."""
    name, signer = bundle["metadata"].get("name", ""), dig(bundle, "spec.signerName", "")
    if signer:
        prefix = signer.replace("/", ":") + ":"
        if not name.startswith(prefix):
            why = f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"
            return [("metadata.name", "FieldValueInvalid", f'Invalid value: "{name}": {why}')]
        return name_causes({"metadata": {"name": name.removeprefix(prefix)}})
    if ":" in name:
        why = 'ClusterTrustBundle without signer name must not have ":" in its name'
        return [("metadata.name", "FieldValueInvalid", f'Invalid value: "{name}": {why}')]
    return name_causes(bundle)


def bundle_causes(new: Obj, old: Obj | None) -> list[Cause]:
    spec = new.get("spec") or {}
    signer, text = spec.get("signerName", ""), spec.get("trustBundle", "")
    causes = signer_causes("spec.signerName", signer) if signer else []
    if old is not None and dig(old, "spec.signerName", "") != signer:
        causes.append(("spec.signerName", "FieldValueInvalid", f'Invalid value: "{signer}": field is immutable'))
    if old is None or dig(old, _BUNDLE, "") != text:
        causes += _anchor_causes(text)
    return causes


def _anchor_causes(text: str) -> list[Cause]:
    """Certificates of authorities, each once, at least one."""
    if len(text) > _MOST_BYTES:
        return [(_BUNDLE, "FieldValueTooLong", f"Too long: may not be more than {_MOST_BYTES} bytes")]
    wrong, seen = list[str](), list[bytes]()
    for place, block in enumerate(_BLOCK.finditer(text)):
        if block[1] != "CERTIFICATE":
            wrong.append(f"entry {place} has bad block type: {block[1]}")
            continue
        if ":" in block[2]:
            wrong.append(f"entry {place} has PEM block headers")
            continue
        try:
            certificate = x509.load_pem_x509_certificate(block[0].encode())
        except ValueError:
            wrong.append(f"entry {place} does not parse as X.509")
            continue
        if not _is_authority(certificate):
            wrong.append(f"entry {place} does not have the CA bit set")
        seen.append(certificate.tbs_certificate_bytes)
    if not wrong and not seen:
        wrong.append("at least one trust anchor must be provided")
    if not wrong and len(set(seen)) < len(seen):
        wrong.append("duplicate trust anchor")
    return [(_BUNDLE, "FieldValueInvalid", f'Invalid value: "<value omitted>": {why}') for why in wrong]


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False
