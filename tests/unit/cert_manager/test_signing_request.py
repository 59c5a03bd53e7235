"""CertificateSigningRequests: their bodies, and the answers of the server."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.cert_manager.signing_request import RequestState, body, read


def answer(status: object) -> bytes:
    return json.dumps(
        {"kind": "CertificateSigningRequest", "metadata": {"resourceVersion": "7"}, "status": status}
    ).encode()


def condition(kind: str, **more: str) -> dict[str, str]:
    return {"type": kind, "status": "True", "reason": "R", "message": "m", **more}


CERTIFICATE = base64.b64encode(b"PEM").decode()


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (None, RequestState.PENDING),
        ({}, RequestState.PENDING),
        ({"conditions": None}, RequestState.PENDING),
        ({"conditions": [condition("Approved")]}, RequestState.PENDING),
        ({"conditions": [condition("Approved")], "certificate": CERTIFICATE}, RequestState.ISSUED),
        ({"conditions": [condition("Denied")]}, RequestState.DENIED),
        ({"conditions": [condition("Approved"), condition("Failed")]}, RequestState.FAILED),
        ({"conditions": [condition("Approved"), condition("Denied")], "certificate": CERTIFICATE}, RequestState.DENIED),
        ({"conditions": [condition("Denied", status="False")]}, RequestState.PENDING),
        ({"certificate": "not base64!"}, RequestState.UNKNOWN),
    ],
)
def test_the_state_of_a_request_is_read(status, state):
    assert read(answer(status)).state is state


def test_a_certificate_and_the_reason_of_a_denial_are_read():
    assert read(answer({"certificate": CERTIFICATE})).certificate == b"PEM"
    assert read(answer({"conditions": [condition("Denied")]})).text == "R: m"


def test_the_body_has_the_request_in_base64():
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
def test_random_bytes_have_the_state_unknown(rubbish):
    assert read(rubbish).state in RequestState
