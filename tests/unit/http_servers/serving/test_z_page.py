"""Which form of /flagz and /statusz an Accept header asks for."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.http_servers.serving.http_error import HttpError
from actors.http_servers.serving.z_page import json_page, negotiated


@pytest.mark.parametrize(
    ("accept", "version"),
    [
        ("", ""),
        ("*/*", ""),
        ("text/plain", ""),
        ("text/html, text/*;q=0.8", ""),
        ("application/json;as=Flagz;v=v1beta1;g=config.k8s.io", "v1beta1"),
        ("application/json; g=config.k8s.io; v=v1alpha1; as=Flagz, text/plain", "v1alpha1"),
        ("application/json;as=Statusz;v=v1beta1;g=config.k8s.io,*/*", ""),
    ],
)
def test_the_first_form_that_is_served_is_taken(accept, version):
    assert negotiated(accept, "Flagz") == version


@pytest.mark.parametrize(
    "accept",
    ["application/json", "application/yaml", "application/json;as=Flagz;v=v9;g=config.k8s.io", "application/json;as"],
)
def test_a_form_that_is_not_served_is_refused_with_those_that_are(accept):
    with pytest.raises(HttpError, match="v=v1beta1;as=Flagz") as refused:
        negotiated(accept, "Flagz")
    assert refused.value.status == 406


@given(st.text())
def test_any_header_is_text_json_or_refused(accept):
    with contextlib.suppress(HttpError):
        assert negotiated(accept, "Flagz") in ("", "v1beta1", "v1alpha1")


def test_json_says_what_it_is():
    assert json.loads(json_page("Flagz", "v1beta1", {"flags": {"v": "2"}})) == {
        "kind": "Flagz", "apiVersion": "config.k8s.io/v1beta1", "metadata": {"name": "kubelet"}, "flags": {"v": "2"},
    }  # fmt: skip
