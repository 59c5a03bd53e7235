"""Which credentials fit which image."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.image_manager.keyring import Credential, Keyring, fits, read_docker_config


def ring(*keys: str) -> Keyring:
    return Keyring([(key, Credential(username=key)) for key in keys])


@pytest.mark.parametrize(
    ("key", "image", "fits"),
    [
        ("docker.io", "busybox", True),
        ("https://index.docker.io/v1/", "library/busybox", True),
        ("index.docker.io", "quay.io/a/b", False),
        ("quay.io", "quay.io/a/b", True),
        ("quay.io/a", "quay.io/a/b", True),
        ("quay.io/a", "quay.io/ab", True),
        ("quay.io/a/", "quay.io/ab", False),
        ("quay.io/a/", "quay.io/a/b", True),
        ("*.example.com/a", "r.example.com/b/a", False),
        ("*-good.example.com", "prefix-good.example.com/x", True),
        ("*example.com", "a.example.com/x", False),
        ("*.example.com", "r.example.com/x", True),
        ("*.example.com", "a.r.example.com/x", False),
        ("127.0.0.1:5001", "127.0.0.1:5001/p/b", True),
        ("127.0.0.1", "127.0.0.1:5001/p/b", False),
        ("http://127.0.0.1:5001", "127.0.0.1:5001/p/b", True),
    ],
)
def test_host_port_and_path_must_fit(key, image, fits):
    assert bool(ring(key).matching(image)) is fits


def test_the_longest_key_is_tried_first():
    assert [c.username for c in ring("quay.io", "quay.io/a/b", "quay.io/a").matching("quay.io/a/b")] == [
        "quay.io/a/b",
        "quay.io/a",
        "quay.io",
    ]


def test_keys_are_tried_in_descending_order():
    keys = ["*.quay.io/team/image", "a.quay.io", "a.*.io/team", "a.quay.io/team"]
    expected = ["a.quay.io/team", "a.quay.io", "a.*.io/team", "*.quay.io/team/image"]
    assert [c.username for c in ring(*keys).matching("a.quay.io/team/image")] == expected


@pytest.mark.parametrize("password", ["p", "pq", "pqr"])
def test_base64_may_have_no_padding(password):
    auth = base64.b64encode(f"u:{password}".encode()).decode().rstrip("=")
    document = json.dumps({"a.io": {"auth": auth}}).encode()
    assert read_docker_config([document]).entries == [("a.io", Credential("u", password))]


@pytest.mark.parametrize("auth", ["no base64!", "\u00e9", base64.b64encode(b"\xff:\xfe").decode(), "=", ""])
def test_an_entry_without_a_credential_is_left_out(auth):
    document = json.dumps({"a.io": {"auth": auth}, "b.io": {"username": "u"}})
    assert read_docker_config([document.encode()]).entries == [("b.io", Credential("u"))]


def test_text_that_is_no_utf8_costs_no_other_entry():
    document = b'{"auths": {"\xff.io": {"username": "x"}, "b.io": {"username": "u"}}}'
    assert read_docker_config([document]).matching("b.io/x") == [Credential("u")]


def test_both_file_formats_are_read_and_bad_entries_left_out():
    auth = base64.b64encode(b"u:p:q").decode()
    new = json.dumps({"auths": {"a.io": {"auth": auth}, "b.io": {"auth": "%%"}, "c.io": 5}}).encode()
    old = json.dumps({"d.io": {"username": "u", "password": "p"}}).encode()
    found = read_docker_config([new, old, b"not json", b"[]"])
    assert found.entries == [("a.io", Credential("u", "p:q")), ("d.io", Credential("u", "p"))]


@given(st.binary(max_size=100), st.text(max_size=40))
def test_any_content_and_any_name_are_taken(document, name):
    read_docker_config([document]).matching(name)


@pytest.mark.parametrize(
    ("key", "image", "fits"),
    [
        ("localhost", "localhost/a", True),
        ("docker.io", "localhost/a", False),
        ("docker.io", "host/a", True),
        ("docker.io/library", "busybox", True),
        ("docker.io/library", "host/a", False),
        ("docker.io/host", "host/a", True),
        ("quay.io/v1", "quay.io/a", True),
        ("quay.io/v2/", "quay.io/a", True),
        ("quay.io/v1/a", "quay.io/a", True),
        ("quay.io/v1/a", "quay.io/b", False),
        ("quay.io/v1x", "quay.io/a", False),
    ],
)
def test_localhost_is_a_registry_and_a_version_alone_is_no_path(key, image, fits):
    assert bool(ring(key).matching(image)) is fits


def test_the_old_key_of_the_default_registry_counts_when_no_other_fits():
    both = ring("https://index.docker.io/v1/", "docker.io/team")
    assert [one.username for one in both.matching("team/app")] == ["docker.io/team"]
    assert [one.username for one in both.matching("other/app")] == ["https://index.docker.io/v1/"]
    assert ring("index.docker.io/team", "registry-1.docker.io").matching("team/app") == []
    assert ring("index.docker.io").matching("localhost/app") == []


@pytest.mark.parametrize(
    ("pattern", "image", "expected"),
    [
        ("docker.io", "busybox", True),
        ("*.io/library", "docker.io/busybox", True),
        ("index.docker.io", "busybox", False),
        ("registry-1.docker.io", "busybox", False),
        ("https://quay.io", "quay.io/a", False),
        ("quay.io/v1", "quay.io/a", False),
        ("quay.io/v2/a", "quay.io/a", False),
    ],
)
def test_a_pattern_of_a_plugin_is_taken_as_it_is(pattern, image, expected):
    assert fits(pattern, image) is expected


def test_base64_may_have_line_ends_and_must_have_a_colon():
    auth = base64.encodebytes(b"u:" + b"p" * 80).decode()
    document = json.dumps({"a.io": {"auth": auth}, "b.io": {"auth": base64.b64encode(b"no colon").decode()}})
    assert read_docker_config([document.encode()]).entries == [("a.io", Credential("u", "p" * 80))]
