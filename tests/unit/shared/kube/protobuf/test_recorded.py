"""What a real API server (1.36) answered, in protobuf and in JSON, for the objects of tests/support/api_samples.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actors.shared.kube.protobuf.envelope import from_json, is_protobuf, to_json, watch_event

RECORDED = Path(__file__).with_name("recorded")
MOST = 1 << 20


def without_nulls(value: Any) -> Any:
    """Go writes null for an empty list and for a time that is not set."""
    if isinstance(value, dict):
        return {name: without_nulls(one) for name, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("kind", sorted(file.stem for file in RECORDED.glob("*.pb")))
def test_an_answer_in_protobuf_is_read_as_that_in_json(kind: str) -> None:
    wanted = json.loads((RECORDED / f"{kind}.json").read_text())
    assert json.loads(to_json((RECORDED / f"{kind}.pb").read_bytes(), MOST)) == without_nulls(wanted)


@pytest.mark.parametrize("kind", sorted(file.stem for file in RECORDED.glob("*.pb")))
def test_an_object_is_written_without_a_loss(kind: str) -> None:
    wanted = json.loads((RECORDED / f"{kind}.json").read_text())
    written = from_json(wanted)
    assert written is not None
    assert (written.unfit, written.unknown) == ([], [])
    assert json.loads(to_json(written.data, MOST)) == without_nulls(wanted)


def test_the_events_of_a_watch_are_the_same_in_frames_and_in_lines() -> None:
    stream, found = (RECORDED / "watch.frames").read_bytes(), []
    while stream:
        end = 4 + int.from_bytes(stream[:4])
        kind, data = watch_event(stream[4:end])
        assert is_protobuf(data)
        found.append({"type": kind, "object": json.loads(to_json(data, MOST))})
        stream = stream[end:]
    assert found == [json.loads(line) for line in (RECORDED / "watch.lines").read_text().splitlines()]
