from __future__ import annotations

import pytest

from actors.pod_config.sources.http_source import FetchError, UrlSource
from actors.shared.config.errors import shown
from actors.shared.config.url_passwords import lacks_password, without_passwords


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://user:secret@host:8443/pods?a=b", "https://user:xxxxx@host:8443/pods?a=b"),
        ("https://:secret@host", "https://:xxxxx@host"),
        ('{"a":"http://u:secret@h/x"} and http://v:secret@i', '{"a":"http://u:xxxxx@h/x"} and http://v:xxxxx@i'),
        ("https://host:8443/a:b@c", "https://host:8443/a:b@c"),
        ("https://user@host/", "https://user@host/"),
        ("a:b@c", "a:b@c"),
    ],
)
def test_a_url_is_shown_without_its_password(text: str, expected: str) -> None:
    assert without_passwords(text) == expected
    assert lacks_password(expected) is (text != expected)
    assert not lacks_password(text)


def test_neither_a_value_of_the_configuration_nor_an_error_of_the_static_pod_url_shows_its_password() -> None:
    assert shown("https://user:secret@host/") == '"https://user:xxxxx@host/"'
    source = UrlSource("https://user:secret@host/")
    source.failed(FetchError("status 500"))
    assert source.errors == ["https://user:xxxxx@host/: status 500"]
    source.answered(b"", [])
    assert source.errors == ["https://user:xxxxx@host/: the answer is empty: no pods"]
