"""Pulls are measured by the size of the image, once each."""

from __future__ import annotations

import pytest

from actors.image_manager.pull_metrics import PullMetrics, size_label
from actors.shared.metrics import catalogue
from supervision.metrics import Metrics


@pytest.mark.parametrize(
    ("size", "label"),
    [
        (0, "N/A"),
        (1, "0-10MB"),
        ((10 << 20) - 1, "0-10MB"),
        (10 << 20, "10MB-100MB"),
        (700 << 20, "500MB-1GB"),
        (2 << 30, "1GB-5GB"),
        (60 << 30, "60GB-100GB"),
        (101 << 30, "GT100GB"),
    ],
)
def test_an_image_has_the_label_of_its_size(size, label):
    assert size_label(size) == label


def test_a_pull_that_several_pods_waited_for_is_measured_once():
    metrics = Metrics(catalogue(strict=True))
    pulls = PullMetrics(metrics)
    pulls.sized("here", 5)
    pulls.pulled("a", 3.0)
    pulls.sized("a", 5)
    pulls.sized("a", 5)
    (sample,) = metrics.snapshot("a", 1).samples
    assert (sample.labels, sum(sample.counts), sample.value) == ({"image_size_in_bytes": "0-10MB"}, 1, 3.0)
