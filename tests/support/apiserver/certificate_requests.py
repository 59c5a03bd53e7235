"""What makes a PodCertificateRequest Invalid (422), when it is created and when its status is written."""

from __future__ import annotations

import base64
import binascii
import datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .certificate_rules import signer_causes
from .objects import Obj, dig, moment
from .pod_rules import Cause

_OUTCOMES = ("Issued", "Denied", "Failed")
_PROOF, _CHAIN = "spec.stubPKCS10Request", "status.certificateChain"
_DEFAULT_SECONDS = 86400
_SHORTEST, _LONGEST, _LONGEST_OF_KUBERNETES = 3600, 91 * 86400, 86400
_MARGIN = datetime.timedelta(minutes=10)


def default_request(request: Obj) -> None:
    request.setdefault("spec", {}).setdefault("maxExpirationSeconds", _DEFAULT_SECONDS)
    request["status"] = {}


def request_causes(new: Obj, old: Obj | None) -> list[Cause]:
    if old is None:
        return _spec_causes(new["spec"])
    if old["spec"] != new["spec"]:
        return [_invalid("spec", "field is immutable")]
    return _status_causes(old, new) if old.get("status") != new.get("status") else []


def _invalid(path: str, why: str) -> Cause:
    return path, "FieldValueInvalid", f"Invalid value: {why}"


def _spec_causes(spec: Obj) -> list[Cause]:
    causes = signer_causes("spec.signerName", spec.get("signerName", ""))
    needed = ("podName", "podUID", "serviceAccountName", "serviceAccountUID", "nodeName", "nodeUID")
    causes += [_invalid(f"spec.{name}", "must not be empty") for name in needed if not spec.get(name)]
    domain, seconds = spec.get("signerName", "").partition("/")[0], spec["maxExpirationSeconds"]
    of_kubernetes = domain == "kubernetes.io" or domain.endswith(".kubernetes.io")
    longest = _LONGEST_OF_KUBERNETES if of_kubernetes else _LONGEST
    if not _SHORTEST <= seconds <= longest:
        causes.append(_invalid("spec.maxExpirationSeconds", f"must be in the range [{_SHORTEST}, {longest}]"))
    for key in spec.get("unverifiedUserAnnotations") or {}:
        if "/" not in key:
            causes.append(_invalid("spec.unverifiedUserAnnotations", "must be a domain-prefixed key"))
    if not spec.get("stubPKCS10Request") or spec.get("pkixPublicKey") or spec.get("proofOfPossession"):
        why = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"
        return [*causes, _invalid("spec", why)]
    return causes + _proof_causes(spec["stubPKCS10Request"])


def _proof_causes(encoded: str) -> list[Cause]:
    try:
        proof = x509.load_der_x509_csr(base64.b64decode(encoded, validate=True))
    except (ValueError, binascii.Error):
        return [_invalid(_PROOF, "must be a valid PKCS#10 CSR")]
    key = proof.public_key()
    if isinstance(key, rsa.RSAPublicKey) and key.key_size not in (3072, 4096):
        return [_invalid(_PROOF, "RSA keys must have modulus size 3072 or 4096")]
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name not in ("secp256r1", "secp384r1", "secp521r1"):
        return [_invalid(_PROOF, "elliptic public keys must use curve P256, P384, or P521")]
    if not isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey):
        return [_invalid(_PROOF, "unknown public key type; supported types are Ed25519, ECDSA, and RSA")]
    return [] if proof.is_signature_valid else [_invalid(_PROOF, "invalid signature")]


def _status_causes(old: Obj, new: Obj) -> list[Cause]:
    status: Obj = new.get("status") or {}
    conditions = status.get("conditions") or []
    kinds = [one["type"] for one in conditions]
    causes = [_invalid("status.conditions", f"unsupported {kind}") for kind in kinds if kind not in _OUTCOMES]
    if len(kinds) > 1:
        causes.append(_invalid("status.conditions", "There may be at most one condition"))
    causes += [_invalid("status.conditions[0].status", "must be True") for one in conditions if one["status"] != "True"]
    if causes:
        return causes
    if dig(old, "status.conditions"):
        return [_invalid("status", "immutable after PodCertificateRequest is issued, denied, or failed")]
    if not kinds:
        return [_invalid("status", 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"')]
    if kinds == ["Issued"]:
        return _issued_causes(new["spec"], status)
    extra = status.keys() - {"conditions"}
    return [_invalid("status", "non-condition status fields must be empty")] if extra else []


def _issued_causes(spec: Obj, status: Obj) -> list[Cause]:
    try:
        leaf = x509.load_pem_x509_certificates(status.get("certificateChain", "").encode())[0]
    except ValueError:
        return [_invalid(_CHAIN, "issued certificate chain must contain at least one certificate")]
    proof = x509.load_der_x509_csr(base64.b64decode(spec["stubPKCS10Request"]))
    if _bytes(leaf.public_key()) != _bytes(proof.public_key()):
        return [_invalid(_CHAIN, "leaf certificate was not issued to the requested public key")]
    times = ("notBefore", "notAfter", "beginRefreshAt")
    missing = [(f"status.{name}", "FieldValueRequired", "must be present") for name in times if not status.get(name)]
    if missing:
        return missing
    begin, end, renew = (moment(status[name]) for name in times)
    if begin != leaf.not_valid_before_utc or abs(datetime.datetime.now(datetime.UTC) - begin) > _MARGIN / 2:
        return [_invalid("status.notBefore", "must be that of the leaf, and within 5 minutes of now")]
    if end != leaf.not_valid_after_utc:
        return [_invalid("status.notAfter", "must be set to the NotAfter time encoded in the leaf certificate")]
    if not _SHORTEST <= (end - begin).total_seconds() <= spec["maxExpirationSeconds"]:
        return [_invalid(_CHAIN, "leaf certificate lifetime must be >= 1 hour and <= spec.maxExpirationSeconds")]
    if not begin + _MARGIN <= renew <= end - _MARGIN:
        return [_invalid("status.beginRefreshAt", "must be at least 10 minutes after notBefore and before notAfter")]
    return []


def _bytes(key: Any) -> bytes:
    found: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return found
