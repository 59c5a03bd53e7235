from __future__ import annotations

import pytest

from actors.shared.kube.host_port import joined


@pytest.mark.parametrize(
    ("host", "word"), [("10.0.0.1", "10.0.0.1:80"), ("name", "name:80"), ("fd00::1", "[fd00::1]:80")]
)
def test_only_an_ipv6_address_is_in_brackets(host, word):
    assert joined(host, 80) == word
