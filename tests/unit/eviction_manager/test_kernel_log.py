"""Records of the kernel log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.eviction_manager.kernel_log import OomKill, read_kill

ID = "0123456789abcdef" * 4
UID = "11111111-2222-3333-4444-555555555555"
V1 = f"/kubepods/burstable/pod{UID}/{ID}"
SLICE = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID.replace('-', '_')}.slice"
SYSTEMD = f"{SLICE}/cri-containerd-{ID}.scope"


def limit(cgroup, process="stress"):
    return (
        f"6,1234,5678901234,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset={ID},mems_allowed=0,"
        f"oom_memcg={cgroup},task_memcg={cgroup},task={process},pid=4242,uid=1000"
    )


NODE = (
    "6,1,2,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
    "task_memcg=/,task=hungry,pid=77,uid=0"
)


@pytest.mark.parametrize("cgroup", [V1, SYSTEMD])
def test_the_record_of_a_process_in_a_container_names_pod_and_container(cgroup):
    kill = read_kill(limit(cgroup))
    assert kill == OomKill(cgroup=cgroup, process="stress", pid=4242, of_node=False)
    assert kill is not None
    assert (kill.pod_uid, kill.container_id) == (UID, ID)


def test_a_process_of_the_node_belongs_to_no_pod():
    kill = read_kill(NODE)
    assert kill == OomKill(cgroup="/", process="hungry", pid=77, of_node=True)
    assert kill is not None
    assert (kill.pod_uid, kill.container_id) == ("", "")


def test_a_process_may_have_any_name():
    kill = read_kill(limit(V1, "a,pid=1,task=b"))
    assert kill is not None
    assert kill.process == "a,pid=1,task=b"


@pytest.mark.parametrize(
    "record",
    [
        "",
        "6,1,2,-;eth0: link up",
        "3,1,2,-;Memory cgroup out of memory: Killed process 4242 (stress) total-vm:1kB",
        "6,1,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null)",
        f"1{limit(V1)}",  # 16 and more: written by a program
        " SUBSYSTEM=oom-kill",
    ],
)
def test_other_records_are_ignored(record):
    assert read_kill(record) is None


@given(st.text())
def test_no_record_raises_an_error(text):
    read_kill(f"6,1,2,-;{text}")
    read_kill(f"6,1,2,-;oom-kill:constraint=CONSTRAINT_NONE,{text},task_memcg=/,task=x,pid=1,uid=0")
