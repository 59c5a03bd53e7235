"""What a configuration may have, and an operator should know of."""

from __future__ import annotations

from typing import Any

import pytest

from actors.shared.config.fields.groups import (
    AnonymousAuthentication,
    Authentication,
    Authorization,
)
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.validation.rules import warnings

ANYBODY = Authentication(anonymous=AnonymousAuthentication(enabled=True))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"clusterDNS": ["10.96.0.10", "dns.example"]}, "clusterDNS: dns.example is not an IP address and is ignored"),
        ({"authentication": ANYBODY}, "authentication.anonymous.enabled: callers without credentials are accepted"),
        (
            {"authorization": Authorization(mode="AlwaysAllow")},
            "authorization.mode: AlwaysAllow lets every authenticated caller do everything",
        ),
        ({"readOnlyPort": 10255}, "readOnlyPort: port 10255 answers everybody"),
        (
            {"enableControllerAttachDetach": False},
            "enableControllerAttachDetach: the agent attaches no volumes itself, so that pods wait for those of CSI "
            "drivers that must be attached",
        ),
        (
            {"kubeReservedCgroup": "/kube", "kubeletCgroups": "/kubelet"},
            "kubeletCgroups: /kubelet is not below kubeReservedCgroup",
        ),
        ({"qosReserved": {"memory": "50%"}}, "qosReserved: has no effect without the feature gate QOSReserved"),
        ({"featureGates": {"AllowDNSOnlyNodeCSR": True}}, "featureGates: AllowDNSOnlyNodeCSR is deprecated"),
    ],
)
def test_a_setting_has_a_warning_of_its_own(fields: dict[str, Any], text: str) -> None:
    assert warnings(KubeletConfiguration(**fields)) == [text]


def test_a_certificate_that_nobody_would_sign_is_warned_about() -> None:
    bootstrap = KubeletConfiguration(serverTLSBootstrap=True)
    assert warnings(bootstrap) == []
    assert warnings(bootstrap, standalone=True) == [
        "serverTLSBootstrap: without --kubeconfig nobody signs a certificate; a self-signed one serves"
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"clusterDNS": ["10.96.0.10", "fd00::10"]},
        {"kubeReservedCgroup": "/kube/", "kubeletCgroups": "/kube/kubelet"},
        {"kubeReservedCgroup": "/kube", "kubeletCgroups": "/kube"},
        {"kubeReservedCgroup": "/kube"},
        {"kubeletCgroups": "/kubelet"},
        {"featureGates": {"MemoryQoS": True, "NoSuchGate": True}},
    ],
)
def test_ordinary_settings_have_none(fields: dict[str, Any]) -> None:
    assert warnings(KubeletConfiguration(**fields)) == []
