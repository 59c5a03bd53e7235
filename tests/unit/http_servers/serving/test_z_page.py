"""Which form of /flagz and /statusz an Accept header asks for."""

from __future__ import annotations

import contextlib
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.http_servers.serving.http_error import HttpError
from actors.http_servers.serving.z_page import Form, negotiated


@pytest.mark.parametrize(
    ("accept", "media", "version"),
    [
        ("application/json;as=Flagz;v=v1beta1;g=config.k8s.io", "application/json", "v1beta1"),
        ("application/json; g=config.k8s.io; v=v1alpha1; as=Flagz, text/plain", "application/json", "v1alpha1"),
        ("application/yaml;as=Flagz;v=v1beta1;g=config.k8s.io, */*", "application/yaml", "v1beta1"),
    ],
)
def test_the_first_form_that_is_served_is_taken(accept, media, version):
    assert negotiated(accept, "Flagz") == Form(media, version, "Flagz")


@pytest.mark.parametrize(
    "accept",
    ["", "*/*", "text/plain", "text/html, text/*;q=0.8", "application/json;as=Statusz;v=v1beta1;g=config.k8s.io,*/*"],
)
def test_text_is_served_on_request_or_without_an_accept_header(accept):
    assert negotiated(accept, "Flagz") is None


@pytest.mark.parametrize(
    "accept",
    ["application/json", "application/yaml", "application/json;as=Flagz;v=v9;g=config.k8s.io", "application/json;as"],
)
def test_an_unknown_format_is_refused_with_the_known_ones(accept):
    with pytest.raises(HttpError, match="v=v1beta1;as=Flagz") as refused:
        negotiated(accept, "Flagz")
    assert refused.value.status == 406


@given(st.text())
def test_any_header_is_text_a_form_or_refused(accept):
    with contextlib.suppress(HttpError):
        found = negotiated(accept, "Flagz")
        assert found is None or found.version in ("v1beta1", "v1alpha1")


@pytest.mark.parametrize(
    ("media", "read"), [("application/json", json.loads), ("application/yaml", msgspec.yaml.decode)]
)
def test_each_format_declares_its_content_type_and_kind(media, read):
    form = Form(media, "v1beta1", "Flagz")
    assert read(form.page({"flags": {"v": "2"}})) == {
        "kind": "Flagz", "apiVersion": "config.k8s.io/v1beta1", "metadata": {"name": "kubelet"}, "flags": {"v": "2"},
    }  # fmt: skip
    assert form.headers == {"Content-Type": f"{media};g=config.k8s.io;v=v1beta1;as=Flagz"}


def test_an_old_version_is_served_with_a_warning():
    assert Form("application/json", "v1alpha1", "Statusz").headers["Warning"] == (
        '299 - "This version of the statusz endpoint is deprecated. Please use a newer version."'
    )
