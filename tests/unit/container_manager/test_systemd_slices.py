"""What is asked of systemd."""

import pytest

from actors.container_manager.systemd_slices import SliceError, Slices
from actors.shared.linux.cgroup_limits import Limits

POD = ("kubepods", "pod1")


def systemd(*answers):
    commands, left = [], list(answers)

    async def runner(argv: list[str], given: bytes = b"") -> str:
        commands.append(argv)
        return left.pop(0) if left else ""

    return Slices(2, runner), commands


async def test_a_slice_is_started_with_its_limits():
    slices, commands = systemd()

    await slices.start(POD, Limits(pids=5))

    (argv,) = commands
    assert argv[argv.index("kubepods-pod1.slice") + 1] == "fail"
    assert argv[argv.index("TasksMax") : argv.index("TasksMax") + 3] == ["TasksMax", "t", "5"]
    properties = argv[argv.index("fail") + 2 : -1]
    assert int(argv[argv.index("fail") + 1]) * 3 == len(properties)


async def test_a_slice_that_is_there_is_updated():
    slices, commands = systemd("Call failed: Unit kubepods-pod1.slice was already loaded or has a fragment file.")

    await slices.start(POD, Limits(pids=5))

    assert "SetUnitProperties" in commands[1]


async def test_a_slice_that_is_not_there_counts_as_stopped():
    slices, _ = systemd("Call failed: Unit kubepods-pod1.slice not loaded.")

    await slices.stop(POD)


@pytest.mark.parametrize("method", ["start", "update", "stop"])
async def test_what_systemd_refuses_is_an_error_that_names_the_slice(method):
    slices, _ = systemd("Access denied")
    arguments = (POD,) if method == "stop" else (POD, Limits(pids=1))

    with pytest.raises(SliceError, match=r"kubepods-pod1\.slice: Access denied"):
        await getattr(slices, method)(*arguments)
