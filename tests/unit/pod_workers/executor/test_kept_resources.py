"""What an earlier incarnation left of the resources of pods."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from actors.pod_workers.executor.kept_resources import KeptResources
from actors.shared.kube.container import ResourceRequirements
from actors.shared.pod_records import ALLOCATED, PodRecord, encode
from actors.shared.state_files import StateFiles
from tests.support.shard_harness import pod

LOG = logging.getLogger("test")
GIVEN = ResourceRequirements(requests={"cpu": "1"})


def test_kept_resources_are_returned_once(tmp_path: Path) -> None:
    (tmp_path / ALLOCATED).write_bytes(encode({"u": PodRecord(ContainerResources={"a": GIVEN})}))
    kept = KeptResources(StateFiles(str(tmp_path), f"{tmp_path}/run", LOG))
    found = kept.take("u", pod())
    assert found is not None
    assert found.allocated == {"a": GIVEN}
    assert kept.take("u", pod()) is None
    assert kept.take("v", pod("v")) is None


def test_pods_have_the_resources_of_their_specs_when_a_file_is_damaged_under_a_running_agent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ALLOCATED).write_text("{")
    assert KeptResources(StateFiles(str(tmp_path), f"{tmp_path}/run", LOG)).take("u", pod()) is None
    assert f'"{tmp_path}/{ALLOCATED}"' in caplog.text
