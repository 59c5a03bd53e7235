"""CertificateSigningRequests: what is sent, and what is understood of the answer."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.cert_manager.signing_request import Standing, body, read


def answer(status: object) -> bytes:
    return json.dumps(
        {"kind": "CertificateSigningRequest", "metadata": {"resourceVersion": "7"}, "status": status}
    ).encode()


def condition(kind: str, **more: str) -> dict[str, str]:
    return {"type": kind, "status": "True", "reason": "R", "message": "m", **more}


CERTIFICATE = base64.b64encode(b"PEM").decode()


@pytest.mark.parametrize(
    ("status", "standing"),
    [
        (None, Standing.PENDING),
        ({}, Standing.PENDING),
        ({"conditions": None}, Standing.PENDING),
        ({"conditions": [condition("Approved")]}, Standing.PENDING),
        ({"conditions": [condition("Approved")], "certificate": CERTIFICATE}, Standing.ISSUED),
        ({"conditions": [condition("Denied")]}, Standing.DENIED),
        ({"conditions": [condition("Approved"), condition("Failed")]}, Standing.FAILED),
        ({"conditions": [condition("Approved"), condition("Denied")], "certificate": CERTIFICATE}, Standing.DENIED),
        ({"conditions": [condition("Denied", status="False")]}, Standing.PENDING),
        ({"certificate": "not base64!"}, Standing.UNKNOWN),
    ],
)
def test_how_a_request_stands(status, standing):
    assert read(answer(status)).standing is standing


def test_a_certificate_and_the_reason_of_a_denial_are_read():
    assert read(answer({"certificate": CERTIFICATE})).certificate == b"PEM"
    assert read(answer({"conditions": [condition("Denied")]})).text == "R: m"


def test_what_is_sent_has_the_request_in_base64():
    sent = json.loads(body("csr-1", b"PEM", "kubernetes.io/kubelet-serving", ["server auth"]))
    assert (sent["apiVersion"], sent["kind"]) == ("certificates.k8s.io/v1", "CertificateSigningRequest")
    assert sent["metadata"] == {"name": "csr-1"}
    assert sent["spec"] == {
        "request": CERTIFICATE,
        "signerName": "kubernetes.io/kubelet-serving",
        "usages": ["server auth"],
    }


@given(
    st.one_of(
        st.binary(max_size=60),
        st.recursive(
            st.none() | st.text(max_size=5) | st.integers(),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from(["status", "conditions", "certificate", "metadata", "type"]), inner)
            ),
            max_leaves=8,
        ).map(lambda value: json.dumps(value).encode()),
    )
)
def test_rubbish_is_called_unknown_and_never_raises(rubbish):
    assert read(rubbish).standing in Standing
