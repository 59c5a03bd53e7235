"""CertificateSigningRequests: who is approved without being asked about, and what the signers give."""

from __future__ import annotations

import base64
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from .authority import Authority
from .errors import invalid
from .objects import Obj, timestamp
from .options import Options

CLIENT, SERVING = "kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"
SIGNERS = (CLIENT, SERVING, "kubernetes.io/kube-apiserver-client")


def check(csr: Obj) -> None:
    """Raises StatusError 422 for a request that is none."""
    spec, causes = csr.get("spec") or {}, list[tuple[str, str, str]]()
    try:
        x509.load_pem_x509_csr(base64.b64decode(spec.get("request", "")))
    except ValueError as error:
        causes.append(("spec.request", "FieldValueInvalid", f"Invalid value: {error}"))
    for field in ("usages", "signerName"):
        if not spec.get(field):
            causes.append((f"spec.{field}", "FieldValueRequired", "Required value"))
    if causes:
        invalid("CertificateSigningRequest.certificates.k8s.io", csr["metadata"].get("name", ""), causes)


def condition(csr: Obj, kind: str) -> Obj | None:
    found: list[Obj] = csr.get("status", {}).get("conditions") or []
    return next((one for one in found if one["type"] == kind), None)


def approve(csr: Obj, options: Options) -> None:
    """Changes `csr`: a node that asks for itself, or with a bootstrap token for one, gets what it asks for."""
    spec = csr["spec"]
    node = "system:bootstrappers" in spec["groups"] or "system:nodes" in spec["groups"]
    wanted = options.auto_approve if spec["signerName"] == CLIENT else options.approve_serving
    if node and wanted and spec["signerName"] in (CLIENT, SERVING):
        decide(csr, "Approved", "AutoApproved", "Auto approving kubelet certificate after SubjectAccessReview.")


def decide(csr: Obj, kind: str, reason: str, message: str) -> None:
    """Changes `csr`. `kind`: Approved, Denied, Failed."""
    if condition(csr, "Approved") or condition(csr, "Denied"):
        return
    now = timestamp()
    made = {"type": kind, "status": "True", "reason": reason, "message": message, "lastUpdateTime": now,
            "lastTransitionTime": now}  # fmt: skip
    csr.setdefault("status", {}).setdefault("conditions", []).append(made)


def issue(csr: Obj, authority: Authority, options: Options) -> None:
    """Changes `csr`: the certificate of an approved one, or the condition Failed."""
    spec = csr["spec"]
    if not options.sign or not condition(csr, "Approved") or condition(csr, "Failed"):
        return
    if csr["status"].get("certificate") or spec["signerName"] not in SIGNERS:
        return
    request = x509.load_pem_x509_csr(base64.b64decode(spec["request"]))
    if why := _refusal(request, spec):
        now = timestamp()
        failed = {"type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": why,
                  "lastUpdateTime": now, "lastTransitionTime": now}  # fmt: skip
        csr["status"]["conditions"].append(failed)
        return
    csr["status"]["certificate"] = base64.b64encode(_signed(request, spec, authority, options)).decode()


def _refusal(request: x509.CertificateSigningRequest, spec: Obj) -> str:
    """What the signers of kube-controller-manager check of nodes' certificates; empty: fine."""
    if not isinstance(request.public_key(), ec.EllipticCurvePublicKey):
        return "only elliptic curves are signed here"
    if not request.is_signature_valid:
        return "the request's signature is not its key's"
    if spec["signerName"] not in (CLIENT, SERVING):
        return ""
    groups = [one.value for one in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    names = [str(one.value) for one in request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if groups != ["system:nodes"] or not (names and names[0].startswith("system:node:")):
        return "subject organization is not system:nodes"
    serving = spec["signerName"] == SERVING
    if serving and spec["username"] != names[0]:
        return "the requestor is not the subject"
    if ("server auth" if serving else "client auth") not in spec["usages"]:
        return "usages did not match"
    alternatives = _alternatives(request)
    if serving and not alternatives:
        return "DNS or IP subjectAltName is required"
    return "" if serving or not alternatives else "DNS and IP subjectAltNames are not allowed"


def _alternatives(request: x509.CertificateSigningRequest) -> x509.SubjectAlternativeName | None:
    try:
        return request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return None


def _signed(request: x509.CertificateSigningRequest, spec: Obj, authority: Authority, options: Options) -> bytes:
    seconds = min(options.certificate_seconds, int(spec.get("expirationSeconds") or options.certificate_seconds))
    server = spec["signerName"] == SERVING
    usage = ExtendedKeyUsageOID.SERVER_AUTH if server else ExtendedKeyUsageOID.CLIENT_AUTH
    extensions: list[Any] = [x509.ExtendedKeyUsage([usage])]
    if (found := _alternatives(request)) is not None:
        extensions.append(found)
    key = request.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    return authority.sign(request.subject, key, seconds, *extensions)
