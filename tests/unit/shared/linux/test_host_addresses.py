"""The addresses of the host that the tests run on."""

from actors.shared.linux.host_addresses import THIS_HOST, look_up


def test_this_host_has_its_loopback_and_not_a_documentation_address():
    assert THIS_HOST.has("127.0.0.1")
    assert not THIS_HOST.has("192.0.2.77")
    assert "127.0.0.1" in look_up("localhost")
    assert look_up("no-such-name.invalid") == []
