"""What is allowed of TLS but is warned about."""

from __future__ import annotations

import pytest

from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.validation.rules import warnings

SECURE, INSECURE = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, ""),
        ({"tlsCipherSuites": [SECURE]}, ""),
        ({"tlsCipherSuites": [SECURE, INSECURE]}, f"tlsCipherSuites: {INSECURE} is insecure"),
        ({"tlsMinVersion": "VersionTLS13"}, ""),
        ({"tlsMinVersion": "VersionTLS13", "tlsCipherSuites": [SECURE]}, "tlsCipherSuites: has no effect"),
        ({"tlsMinVersion": "VersionTLS11"}, "tlsMinVersion: VersionTLS11 is insecure"),
    ],
)
def test_insecure_choices_and_those_without_effect_are_reported(fields, said):
    found = [line for line in warnings(KubeletConfiguration(**fields)) if line.startswith("tls")]
    assert len(found) == bool(said)
    assert all(line.startswith(said) for line in found)
