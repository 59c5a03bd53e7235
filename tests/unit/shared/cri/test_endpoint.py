"""Runtime endpoints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.config.endpoints import MAX_SOCKET_PATH, address_of
from actors.shared.cri.client import CriClient
from actors.shared.cri.endpoint import IMAGE_FLAG, socket_path
from actors.shared.cri.errors import EndpointError


@pytest.mark.parametrize("endpoint", ["unix:///run/x.sock", "/run/x.sock"])
def test_a_unix_url_and_a_bare_path_name_the_same_socket(endpoint: str) -> None:
    assert socket_path(endpoint) == "/run/x.sock"


@pytest.mark.parametrize(
    ("endpoint", "said"),
    [
        ("", "absolute path"),
        ("run/x.sock", "absolute path"),
        ("unix://run/x.sock", "absolute path"),
        ("tcp://127.0.0.1:1", "not tcp://"),
        ("npipe:////./pipe/x", "not npipe://"),
        ("/" + "x" * MAX_SOCKET_PATH, "at most 107 bytes"),
        ("/run/\0", "NUL"),
    ],
)
def test_another_scheme_is_refused_with_flag_and_value(endpoint: str, said: str) -> None:
    with pytest.raises(EndpointError, match=said) as caught:
        socket_path(endpoint, IMAGE_FLAG)
    assert str(caught.value).startswith(f"{IMAGE_FLAG}: {endpoint!r}: ")


def test_only_a_bare_path_gets_a_scheme() -> None:
    assert address_of("/run/x.sock") == "unix:///run/x.sock"
    assert address_of("unix:///run/x.sock") == "unix:///run/x.sock"
    assert address_of("tcp://127.0.0.1:1") == "tcp://127.0.0.1:1"


def test_the_client_names_the_flag_that_is_wrong() -> None:
    with pytest.raises(EndpointError, match="--container-runtime-endpoint"):
        CriClient("http://x")
    with pytest.raises(EndpointError, match="--image-service-endpoint"):
        CriClient("/run/x.sock", "http://x")


@given(st.sampled_from(["", "/", "unix:", "unix:///"]), st.text() | st.text("a/", min_size=90, max_size=120))
def test_any_text_is_a_path_that_fits_or_an_error(start: str, rest: str) -> None:
    text = start + rest
    try:
        path = socket_path(text)
    except EndpointError:
        return
    assert path.startswith("/")
    assert len(path.encode()) <= MAX_SOCKET_PATH
