"""URLs of probes and hooks, as Go reads and writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.http_get.url import UrlError, parse, probe_url, resolved


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("", "/"),
        ("x", "/x"),
        ("/x?", "/x?"),
        ("?a=b", "/?a=b"),
        ("/x?a=b c&d=%zz", "/x?a=b c&d=%zz"),
        ("/x#part", "/x"),
        ("/x#part?q", "/x"),
        ("//x", "/"),
        ("//x/y//z", "/y//z"),
        ("///x", "///x"),
        ("//user:word@x:1/y", "/y"),
        ("ftp://x/y?q", "/y?q"),
        ("/a%2fb/%41", "/a%2fb/%41"),
        ("/a b%2Fc", "/a%20b/c"),
        ("/[x]!'()*", "/[x]!'()*"),
        ('/"x"[y]', "/%22x%22%5By%5D"),
        ("/é", "/%C3%A9"),
        ("*", "/*"),
    ],
)
def test_a_path_that_is_a_url_is_requested_without_scheme_host_and_fragment(path, sent):
    url = probe_url("HTTP", "10.1.0.2", 80, path)
    assert (url.scheme, url.host, url.request_target) == ("http", "10.1.0.2:80", sent)


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/a%zz", "/a%25zz"),
        ("/a%zz?b#c", "/a%25zz%3Fb%23c"),
        ("/100%", "/100%25"),
        ("/x#%", "/x%23%25"),
        ("/a\tb\n?c", "/a%09b%0A%3Fc"),
        ("1:b?c", "/1:b%3Fc"),
        (":b", "/:b"),
        ("//x y/z", "//x%20y/z"),
        ("//x:port/z", "//x:port/z"),
    ],
)
def test_an_invalid_path_is_requested_as_it_is(path, sent):
    assert probe_url("HTTP", "10.1.0.2", 80, path).request_target == sent


def test_a_path_that_starts_like_a_scheme_leaves_no_host():
    url = probe_url("HTTP", "10.1.0.2", 80, "healthz:live")
    assert (url.host, str(url)) == ("", "http:live")


@pytest.mark.parametrize(
    ("host", "hostname", "port"), [("fd00::1", "fd00::1", 80), ("fe80::1%eth0", "fe80::1%eth0", 80), ("h", "h", 80)]
)
def test_host_and_port_are_separated(host, hostname, port):
    url = probe_url("HTTPS", host, port, "/")
    assert (url.hostname, url.port, url.scheme) == (hostname, port, "https")


@pytest.mark.parametrize(("text", "port"), [("http://h/", 80), ("https://h", 443), ("http://[::1]:81/", 81)])
def test_a_url_without_a_port_has_that_of_its_scheme(text, port):
    assert parse(text).port == port


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("a b", 'parse "http://a%20b:80/": invalid URL escape "%20"'),
        ("a\0b", 'parse "http://a%00b:80/": invalid URL escape "%00"'),
        ("a/b", 'parse "http://a%2Fb:80/": invalid URL escape "%2F"'),
    ],
)
def test_a_host_that_can_be_in_no_url_is_named(host, text):
    with pytest.raises(UrlError) as refused:
        probe_url("HTTP", host, 80, "/")
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("http://h:x/", 'invalid port ":x" after host'),
        ("http://[::1/", "missing ']' in host"),
        ("http://h/%q", 'invalid URL escape "%q"'),
        ("a\nb", "net/url: invalid control character in URL"),
        (":b", "missing protocol scheme"),
    ],
)
def test_a_wrong_url_is_refused_in_gos_words(text, why):
    with pytest.raises(UrlError, match="parse ") as refused:
        parse(text)
    assert str(refused.value).endswith(f": {why}")


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/b", "http://h:1/b"),
        ("b?c", "http://h:1/a/b?c"),
        ("//h/c", "http://h/c"),
        ("https://h:2/d%20e f", "https://h:2/d%20e%20f"),
    ],
)
def test_a_location_is_resolved_against_the_url_that_answered(location, url):
    assert str(resolved(parse("http://h:1/a/x"), location)) == url


@given(st.text(max_size=30))
def test_any_path_gives_a_request_of_one_line_that_reads_back(path):
    url = probe_url("HTTP", "h", 80, path)
    assert not {"\r", "\n"} & set(url.request_target)
    assert parse(str(url)).request_target == url.request_target
