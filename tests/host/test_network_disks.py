"""Network disks for real: iscsi by open-iscsi and a target of the kernel, a disk of scsi_debug as one of fc."""

from __future__ import annotations

from pathlib import Path

import pytest

from supervision import testing
from tests.host.guest.disk_scenarios import SCENARIOS
from tests.host.guest.machine import Machine

SECONDS = 1800.0
GUEST = Path(__file__).parent / "guest"

pytestmark = [pytest.mark.host, pytest.mark.timeout(2 * SECONDS)]


@pytest.fixture(scope="module")
def disks(machine: Machine) -> Machine:
    """A guest with a target."""
    machine.write("/root/target.sh", (GUEST / "target.sh").read_text(), "0755")
    machine.write("/root/disk_scenarios.py", (GUEST / "disk_scenarios.py").read_text())
    folder = machine.out("dirname $(/opt/troupelet/bin/python -c 'import supervision; print(supervision.__file__)')")
    for path in Path(testing.__file__).parent.glob("*.py"):  # it is not installed
        machine.write(f"{folder}/testing/{path.name}", path.read_text())
    machine.out("/root/target.sh")
    return machine


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_disk_is_attached_used_and_detached_without_a_trace(disks: Machine, scenario: str) -> None:
    disks.out(f"/opt/troupelet/bin/python /root/disk_scenarios.py {scenario}", seconds=SECONDS)
