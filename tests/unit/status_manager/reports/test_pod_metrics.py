"""Labels of metrics of pods."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.status_manager.reports.pod_metrics import REJECTIONS, rejection_label


@pytest.mark.parametrize(
    ("reason", "label"),
    [
        ("OutOfcpu", "OutOfcpu"),
        ("NodeShutdown", "NodeShutdown"),
        ("OutOfexample.com/gpu", "OutOfExtendedResources"),
        ("SomethingElse", "Other"),
        ("", "Other"),
    ],
)
def test_a_reason_for_a_rejection_has_a_label(reason, label):
    assert rejection_label(reason) == label


@given(st.text())
def test_no_reason_makes_a_new_label(reason):
    assert rejection_label(reason) in REJECTIONS | {"OutOfExtendedResources", "Other"}
