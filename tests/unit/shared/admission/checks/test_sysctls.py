"""Which sysctls a pod may set."""

from __future__ import annotations

from typing import Any

import pytest

from actors.shared.admission.checks.sysctls import forbidden
from actors.shared.kube.codec import decode_pod, encode


def refused(name: str, *allowed: str, **spec: Any) -> str:
    body = {"securityContext": {"sysctls": [{"name": name, "value": "1"}]}, **spec}
    return forbidden(decode_pod(encode({"metadata": {}, "spec": body})), allowed)


@pytest.mark.parametrize(
    ("name", "allowed", "expected"),
    [
        ("kernel.shm_rmid_forced", [], True),
        ("kernel/shm_rmid_forced", [], True),
        ("kernel.msgmax", [], False),
        ("kernel.msgmax", ["kernel.msgmax"], True),
        ("kernel/msgmax", ["kernel.msgmax"], True),
        ("kernel.msgmax", ["kernel/msgmax"], True),
        ("kernel.msgmax", ["kernel.msg*"], True),
        ("kernel.msgmax", ["kernel.msg"], False),
        ("kernel.sem", ["kernel.msg*"], False),
        ("net/ipv4/conf/eth0.100/forwarding", ["net.ipv4.conf.eth0/100.*"], True),
        ("net.ipv4.conf.eth0/100.forwarding", ["net/ipv4/conf/eth0.100/*"], True),
        ("net.ipv4.conf.eth0.100.forwarding", ["net/ipv4/conf/eth0.100/*"], False),
    ],
)
def test_a_safe_or_an_allowed_sysctl_may_be_set(name: str, allowed: list[str], expected: bool) -> None:
    assert (refused(name, *allowed) == "") is expected


@pytest.mark.parametrize(
    ("name", "spec", "namespace"),
    [
        ("net.ipv4.tcp_syncookies", {"hostNetwork": True}, "Net"),
        ("net.ipv4.tcp_syncookies", {"hostIPC": True}, ""),
        ("kernel.shm_rmid_forced", {"hostIPC": True}, "IPC"),
        ("kernel/shm_rmid_forced", {"hostIPC": True}, "IPC"),
        ("kernel.shm_rmid_forced", {"hostNetwork": True}, ""),
    ],
)
def test_no_sysctl_of_a_namespace_of_the_host_is_set(name: str, spec: dict[str, bool], namespace: str) -> None:
    dotted = name.replace("/", ".")
    text = f'forbidden sysctl: "{dotted}" not allowed with host {namespace} enabled' if namespace else ""
    assert refused(name, **spec) == text
