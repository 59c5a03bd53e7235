"""Image references and the pull policy that follows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.image_manager.image_reference import ReferenceInvalid, parse, pull_policy

SHA = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("image", "full", "policy"),
    [
        ("busybox", "busybox:latest", "Always"),
        ("busybox:latest", "busybox:latest", "Always"),
        ("busybox:1.36", "busybox:1.36", "IfNotPresent"),
        (f"busybox@{SHA}", f"busybox@{SHA}", "IfNotPresent"),
        (f"busybox:1@{SHA}", f"busybox:1@{SHA}", "IfNotPresent"),
        ("127.0.0.1:5000/a/b:v1", "127.0.0.1:5000/a/b:v1", "IfNotPresent"),
        ("localhost:5000/x", "localhost:5000/x:latest", "Always"),
        ("registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.9", "IfNotPresent"),
        ("[fd00::1]:5000/x:y", "[fd00::1]:5000/x:y", "IfNotPresent"),
    ],
)
def test_a_reference_has_a_tag_and_a_policy(image, full, policy):
    reference = parse(image)
    assert (reference.full, pull_policy("", reference)) == (full, policy)


@pytest.mark.parametrize(
    "image", ["", "Busybox", "a b", "a:b:c", "x@sha256:short", "-a", "a//b", "$(x)", "f" * 64, "a/" * 200 + "b"]
)
def test_a_wrong_image_reference_is_refused(image):
    with pytest.raises(ReferenceInvalid):
        parse(image)


def test_upper_case_is_reported_as_the_error():
    with pytest.raises(ReferenceInvalid, match="must be lowercase"):
        parse("BusyBox")


@given(st.text(max_size=60))
def test_any_text_is_a_reference_or_refused_and_a_full_one_stays(image):
    try:
        reference = parse(image)
    except ReferenceInvalid:
        return
    assert parse(reference.full).full == reference.full


def test_a_given_policy_wins():
    assert pull_policy("Never", parse("busybox")) == "Never"
