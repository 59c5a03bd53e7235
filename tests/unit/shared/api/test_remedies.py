"""What mends a connection to the API server, by its error."""

from __future__ import annotations

import pytest

from actors.shared.api.errors import (
    ApiError,
    Conflict,
    Forbidden,
    NoCredentials,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from actors.shared.api.remedies import NEW_CERTIFICATE, NOT_REGISTERED, SERVER_HEALTH, of_connection, of_error

REFUSED = 'leases.coordination.k8s.io "n1" is forbidden: User "{}" cannot update resource "leases"'


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("GET https://h:6443/api: connect: connection refused", "start the API server, "),
        ("[Errno 111] Connection refused", "start the API server, "),
        ("lookup h: no such host", "correct `server` in the kubeconfig, or the DNS"),
        ("[Errno -2] Name or service not known", "correct `server` in the kubeconfig, or the DNS"),
        ("GET /x: no answer within 10 s", "it hangs, or a firewall or a route is in the way: curl -k https://HOST:PORT/version"),
        ("certificate verify failed: self-signed certificate", "certificate-authority in the kubeconfig must be"),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch, certificate is not valid for "
         "'h'", "correct `server` in the kubeconfig, or set tls-server-name"),
        ("certificate verify failed: certificate has expired", "renew the API server's certificate"),
        ("certificate verify failed: certificate is not yet valid", "set the clock"),
        ("[X509: KEY_VALUES_MISMATCH] key values mismatch", "client-certificate and client-key in the kubeconfig"),
        ("something else", "curl -k "),
        ("PUT https://h:6443/apis/x: no answer within 10 s",
         "it hangs, or a firewall or a route is in the way: curl -k https://h:6443/version"),
        ("GET https://[fd00::1]:6443/api: connect: no route to host", "ip route get fd00::1"),
    ],
)  # fmt: skip
def test_a_connection_that_fails_is_mended_by_its_cause(error: str, remedy: str) -> None:
    assert of_connection(error).startswith(remedy)
    assert of_error(Unreachable(0, "Unreachable", error), "n1") == of_connection(error)


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (NoCredentials(0, "NoCredentials", "/k: no such file"), "supervise doctor"),
        (Unauthorized(401, "Unauthorized", "Unauthorized"), NEW_CERTIFICATE),
        (Forbidden(403, "Forbidden", REFUSED.format("jane")),
         "kubectl create clusterrolebinding node-n1 --clusterrole=system:node --user=jane"),
        (Forbidden(403, "Forbidden", REFUSED.format("system:node:n1")), "supervise doctor: is the node in the group"),
        (Forbidden(403, "Forbidden", REFUSED.format("system:node:n2")),
         "the credentials are those of the node n2: --hostname-override=n2"),
        (NotFound(404, "NotFound", 'nodes "n1" not found'), NOT_REGISTERED),
        (ServerError(500, "InternalError", "etcdserver: no leader"), SERVER_HEALTH),
        (TooManyRequests(429, "TooManyRequests", "later"), SERVER_HEALTH),
    ],
)  # fmt: skip
def test_a_request_that_is_refused_is_mended_by_its_cause(error: ApiError, remedy: str) -> None:
    assert of_error(error, "n1").startswith(remedy)


def test_an_error_that_says_all_has_no_remedy() -> None:
    assert of_error(Conflict(409, "Conflict", "changed"), "n1") == ""
    assert of_error(NotFound(404, "NotFound", 'leases.coordination.k8s.io "n1" not found'), "n1") == ""
