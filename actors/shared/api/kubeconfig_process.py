"""The process in which the `kubernetes` package loads a kubeconfig or runs a credential plugin.

It is a script: it reads one JSON request on stdin, prints one JSON answer and ends. So only this process imports the
package (0.4 s, 48 MiB), a hung plugin is killed with its process group, and excessive output harms no other process.
Data fields of the kubeconfig become files in a directory in memory that the caller makes and removes; the answer
carries their content. `kubeconfig.py` and `exec_plugin.py` are the callers."""

from __future__ import annotations

import base64
import copy
import functools
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final

from supervision.errors import error_reason

MOST_BYTES: Final = 1 << 30
"""The address space of this process, because the package reads a plugin's whole output. The plugin itself has no such
limit."""
MOST_TEXT: Final = 4096
"""Characters of an error."""
MOST_ANSWER: Final = 16 << 20


def load(document: dict[str, Any], path: str, scratch: str) -> dict[str, Any]:
    """Load the current context: `ca`, `cert` and `key` in base64, and the paths of those that are files.

    `path`: the kubeconfig's own, to which the paths in it are relative; `scratch`: an empty directory for what the
    loader writes. Plugins and token files are not used here: both are read repeatedly later. Raises ConfigException,
    OSError.
    """
    from kubernetes.client import Configuration
    from kubernetes.config.kube_config import KubeConfigLoader

    loader = KubeConfigLoader(_without_later(document), config_base_path=os.path.dirname(path), temp_file_path=scratch)
    found = Configuration()
    loader.load_and_set(found)
    kind, _, secret = str(found.api_key.get("BearerToken", "")).partition(" ")
    user, _, password = base64.b64decode(secret).decode().partition(":") if kind == "Basic" else ("", "", "")
    answer = {
        "server": found.host,
        "server_name": found.tls_server_name or "",
        "insecure": not found.verify_ssl,
        "proxy": getattr(loader, "proxy", ""),
        "token": secret if kind == "Bearer" else "",
        "username": user,
        "password": password,
        "namespace": loader.current_context["context"].get("namespace") or "default",
    }
    for name, file in (("ca", found.ssl_ca_cert or ""), ("cert", found.cert_file or ""), ("key", found.key_file or "")):
        is_data = os.path.dirname(file) == scratch
        answer[f"{name}_file"] = "" if is_data else file
        answer[name] = _base64(file) if is_data or (file and name == "ca") else ""
    return answer


def _without_later(document: dict[str, Any]) -> dict[str, Any]:
    """The document without the plugins, and without tokens beside a tokenFile, which wins (client-go)."""
    document = copy.deepcopy(document)
    for entry in document.get("users") or []:
        user = entry.get("user") or {}
        user.pop("exec", None)
        if user.pop("tokenFile", None):
            user.pop("token", None)
    return document


def _base64(path: str) -> str:
    with open(path, "rb") as file:
        return base64.b64encode(file.read()).decode()


def run_plugin(plugin: dict[str, Any], cluster: dict[str, Any] | None, directory: str) -> dict[str, Any]:
    """The status of the ExecCredential that a plugin printed. `plugin` is `exec` of a kubeconfig, `cluster` is
    spec.cluster for it. Raises ConfigException, OSError."""
    from kubernetes.config.exec_provider import ExecProvider
    from kubernetes.config.kube_config import ConfigNode

    # the runtimes of Java and Node.js reserve more address space than this process's limit
    subprocess.Popen = functools.partial(subprocess.Popen, preexec_fn=_limit_memory)  # type: ignore[assignment,misc]
    cluster_node = ConfigNode("cluster", cluster) if cluster is not None else None
    status: Any = ExecProvider(ConfigNode("exec", plugin), directory, cluster_node).run()
    if not isinstance(status, dict):
        raise TypeError("status is not a mapping")
    return status | {"certificateValid": _valid(status.get("clientCertificateData"))}


def _valid(pem: Any) -> tuple[float, float] | None:
    """Begin and end of a certificate, seconds since 1970."""
    if not isinstance(pem, str):
        return None
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(pem.encode())
    except ValueError:
        return None  # the connection reports the error
    return found.not_valid_before_utc.timestamp(), found.not_valid_after_utc.timestamp()


def _limit_memory(most: int = -1) -> None:
    """Limit the address space; by default to the agent's own limit."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard if most < 0 else most if hard < 0 else min(most, hard), hard))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request: {"found": ...} or {"kind": name of the error, "text": what it says}."""
    functions: dict[str, Callable[..., dict[str, Any]]] = {"load": load, "run_plugin": run_plugin}
    try:
        return {"found": functions[request.pop("do")](**request)}
    except Exception as error:  # noqa: BLE001 - it is the answer; the package raises what it likes
        text = error_reason(error)
        return {"kind": type(error).__name__, "text": text[:MOST_TEXT]}


def main() -> int:
    """One request, one answer."""
    _limit_memory(MOST_BYTES)
    import kubernetes.config.kube_config  # noqa: F401 - while the caller may still be at something else

    request = json.loads(sys.stdin.buffer.read())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    text = json.dumps(answer(request))
    print(text if len(text) <= MOST_ANSWER else '{"kind": "MemoryError", "text": ""}', flush=True)  # noqa: T201 - the answer
    return 0


if __name__ == "__main__":
    sys.exit(main())
