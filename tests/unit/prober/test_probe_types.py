"""The registry of probe types: each reads its own field, and a new one is one class."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import pytest

from actors.prober import probe_types
from actors.prober.outcome import ProbeOutcome, success
from actors.prober.probe_type import ProbeTools, ProbeType, Subject
from actors.prober.probe_types import PROBE_TYPES, ProbeTypes
from actors.shared.kube import codec
from actors.shared.kube.container import Container
from actors.shared.kube.handlers import ExecAction, Probe
from tests.support.present import present

UNUSED: Any = None
TOOLS = ProbeTools(runtime=lambda: UNUSED)


def probe(**fields: object) -> Probe:
    return codec.decode(msgspec.json.encode(fields), Probe)


@pytest.mark.parametrize(
    ("fields", "name", "needs_pod_ip"),
    [
        ({"exec": {"command": ["x"]}}, "ExecProbe", False),
        ({"httpGet": {"port": 80}}, "HttpProbe", True),
        ({"httpGet": {"port": 80, "host": "h"}}, "HttpProbe", False),
        ({"tcpSocket": {"port": 80}}, "TcpProbe", True),
        ({"tcpSocket": {"port": 80, "host": "h"}}, "TcpProbe", False),
        ({"grpc": {"port": 80}}, "GrpcProbe", True),
    ],
)
def test_a_probe_is_of_the_type_whose_field_it_has(fields, name, needs_pod_ip):
    probe_type, action = present(ProbeTypes(TOOLS).of(probe(**fields)))
    assert (type(probe_type).__name__, probe_type.needs_pod_ip(action)) == (name, needs_pod_ip)


def test_a_probe_without_an_action_has_no_type():
    assert ProbeTypes(TOOLS).of(probe(periodSeconds=1)) is None


def test_each_type_reads_a_field_of_its_own_and_every_action_of_the_api_has_a_type():
    fields = [probe_type.field for probe_type in PROBE_TYPES]
    actions = [each.name for each in msgspec.structs.fields(Probe) if "Action" in str(each.type)]
    assert sorted(fields) == sorted(actions)


class Always(ProbeType[ExecAction]):
    field: ClassVar[str] = "exec"

    async def run(self, action: ExecAction, subject: Subject) -> ProbeOutcome:
        return success(" ".join(action.command))


async def test_a_new_type_is_one_class_in_the_registry(monkeypatch):
    monkeypatch.setattr(probe_types, "PROBE_TYPES", (Always,))
    probe_type, action = present(ProbeTypes(TOOLS).of(probe(exec={"command": ["x", "y"]})))
    subject = Subject(("u", "a", "liveness"), Container(name="a"), "c", "", 1)
    assert await probe_type.run(action, subject) == success("x y")
