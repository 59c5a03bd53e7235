"""What mends a connection to the API server that fails, for `supervise status` and `supervise doctor`."""

from __future__ import annotations

import re
import shlex
from typing import Final

from actors.shared.linux.services import set_clock

from .errors import ApiError, Forbidden, NoCredentials, NodeLost, NotFound, ServerError, TooManyRequests, Unauthorized

NEW_CERTIFICATE: Final = "kubeadm token create --print-join-command; its token into the file of --bootstrap-kubeconfig"
"""How a node comes by a client certificate again."""
AUTHORIZATION: Final = "--authorization-mode=Node,RBAC at the API server; kubectl get clusterrolebindings"
SERVER_HEALTH: Final = "kubectl get --raw '/readyz?verbose'"
NOT_REGISTERED: Final = "restart the agent, which registers it; with registerNode: false, create it with kubectl"
"""For a node that was deleted, too."""
_NODE_USER: Final = "system:node:"
_USER: Final = re.compile(r'User "([^"]*)"')
_DNS: Final = "correct `server` in the kubeconfig, or the DNS of this host"
_BY_SIGN: Final = tuple(
    (re.compile(sign, re.IGNORECASE), remedy)
    for sign, remedy in (
        ("hostname mismatch|ip address mismatch|is not valid for",
         "correct `server` in the kubeconfig, or set tls-server-name there: the API server's certificate names others"),
        ("certificate has expired",
         "renew the API server's certificate (kubeadm certs renew all), or set this host's clock: {clock}"),
        ("certificate is not yet valid", "set the clock: {clock}"),
        ("certificate.verify.failed", "certificate-authority in the kubeconfig must be the cluster's CA"),
        ("key.values.mismatch", "client-certificate and client-key in the kubeconfig must be a pair"),
        ("connection refused", "start the API server, or correct `server` in the kubeconfig"),
        ("name or service not known|getaddrinfo|no such host|name resolution|name has no", _DNS),
        ("no route to host|network is unreachable", "ip route get {host}"),
        ("timed out|no answer within", "it hangs, or a firewall or a route is in the way: curl -k {server}/version"),
    )
)  # fmt: skip
"""(pattern of an error, its remedy); the first match counts. `clock`: the command that sets it."""
_SERVER: Final = re.compile(r"(https?://(\[[^\]\s]+\]|[^/:\s]+)(?::\d+)?)")


def of_connection(error: str, server: str = "") -> str:
    """For a connection that fails, by the text of the error, of whatever library. `server`: the address of the API
    server, where the text does not have it."""
    found = next((text for sign, text in _BY_SIGN if sign.search(error)), "curl -k {server}/version")
    named = _SERVER.search(server or error)
    host = named[2].strip("[]") if named else "HOST"
    return found.format(clock=set_clock(), server=named[1] if named else "https://HOST:PORT", host=host)


def of_rights(user: str, node: str) -> str:
    """For a user of the API server without the rights of a node. The node authorizer serves the users system:node:NAME
    only: any other user needs a binding to the role."""
    if user.startswith(_NODE_USER):
        return AUTHORIZATION
    return f"kubectl create clusterrolebinding node-{node} --clusterrole=system:node --user={shlex.quote(user)}"


def of_error(error: ApiError, node: str) -> str:
    """For a request that fails; '' if the error says all that is known. `node`: the name of this node."""
    if isinstance(error, NodeLost):
        return (
            "restore a newer backup of the API server; or restart the agent: it registers the node, and ends its pods"
        )
    if isinstance(error, NotFound) and error.message == f'nodes "{node}" not found':
        return NOT_REGISTERED
    if isinstance(error, NoCredentials):
        return "supervise doctor: it says what is wrong with the kubeconfig"
    if isinstance(error, Unauthorized):
        return NEW_CERTIFICATE
    if isinstance(error, Forbidden):
        return _of_refusal(error.message, node)
    if isinstance(error, ServerError | TooManyRequests):
        return SERVER_HEALTH
    return "" if error.status else of_connection(str(error))


def _of_refusal(message: str, node: str) -> str:
    found = _USER.search(message)
    user = found[1] if found else f"{_NODE_USER}{node}"
    if user == f"{_NODE_USER}{node}":  # the answer does not say which of the two it is
        return "supervise doctor: is the node in the group system:nodes, and the Node authorizer on"
    if user.startswith(_NODE_USER):
        name = user.removeprefix(_NODE_USER)
        return f"the credentials are those of the node {name}: --hostname-override={name}, or credentials of {node}"
    return of_rights(user, node)
