"""What a pod may take, in the files of cgroup v2, written through systemd by agent and runtime."""

from __future__ import annotations

import json

import pytest

from tests.host.site import READY, SECONDS, Site
from tests.support.api_connection import Obj
from tests.support.joined import NODE, PODS, STRATEGIC, condition, container, pod, status

pytestmark = [pytest.mark.host, pytest.mark.timeout(3 * SECONDS)]
MIB = 1 << 20
PAGE = 4096
HUGE = ("hugetlb.2MB.max", "hugetlb.1GB.max")


def amounts(cpu: str, memory: str, more_cpu: str = "", more_memory: str = "") -> Obj:
    """Requests, and limits where they are others."""
    limits = {"cpu": more_cpu or cpu, "memory": more_memory or memory}
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": limits}


def resize(site: Site, name: str, wanted: Obj) -> None:
    """Of the container `main`."""
    patch = {"spec": {"containers": [{"name": "main", "resources": wanted}]}}
    site.api.call("PATCH", f"{PODS}/{name}/resize", patch, STRATEGIC)


def test_limits_stand_in_the_files_of_each_class(site: Site) -> None:
    site.create(
        pod("guaranteed", container("main", resources=amounts("1", "64Mi"))),
        pod("burstable", container("main", resources=amounts("100m", "64Mi", "200m", "128Mi"))),
        pod("best"),
    )
    site.wait_pods_ready("guaranteed", "burstable", "best", seconds=SECONDS)

    files = ("cpu.max", "cpu.weight", "memory.max", "pids.max", *HUGE)
    of_class = site.pod_files("burstable", *files)
    assert of_class == {
        "cpu.max": "20000 100000", "cpu.weight": "4", "memory.max": str(128 * MIB), "pids.max": "300",
        "hugetlb.2MB.max": "0", "hugetlb.1GB.max": "0",
    }  # fmt: skip
    assert site.pod_files("best", *files) == {
        "cpu.max": "max 100000", "cpu.weight": "1", "memory.max": "max", "pids.max": "300",
        "hugetlb.2MB.max": "0", "hugetlb.1GB.max": "0",
    }  # fmt: skip
    # all of one processor is its own: no quota
    assert site.pod_files("guaranteed", "cpu.max", "memory.max") == {
        "cpu.max": "max 100000", "memory.max": str(64 * MIB)
    }  # fmt: skip
    whole = site.container_files("guaranteed", "main", "cpuset.cpus", "cpu.max", "memory.max", "memory.oom.group")
    assert whole == {"cpuset.cpus": "1", "cpu.max": "max 100000", "memory.max": str(64 * MIB), "memory.oom.group": "1"}
    for name in ("burstable", "best"):
        assert site.container_files(name, "main", "cpuset.cpus.effective", *HUGE) == {
            "cpuset.cpus.effective": "0", "hugetlb.2MB.max": "0", "hugetlb.1GB.max": "0",
        }  # fmt: skip
    site.delete("guaranteed")
    site.wait_no_pod("guaranteed", seconds=SECONDS)
    site.machine.out(
        f"until [ \"$(cat $(find /sys/fs/cgroup/kubepods.slice -name '*{site.container_id('best', 'main')}.scope')"
        '/cpuset.cpus.effective)" = 0-1 ]; do sleep 1; done'
    )


def test_memory_is_protected_and_throttled_by_class(site: Site) -> None:
    site.create(
        pod("fixed", container("main", resources=amounts("100m", "64Mi"))),
        pod("varying", container("main", resources=amounts("100m", "64Mi", "200m", "128Mi"))),
        pod("none"),
    )
    site.wait_pods_ready("fixed", "varying", "none", seconds=SECONDS)
    files = ("memory.min", "memory.low", "memory.high")
    kept, none = str(64 * MIB), "0"
    high = str(int((64 * MIB + (128 - 64) * MIB * 0.9) // PAGE * PAGE))
    assert site.container_files("fixed", "main", *files) == dict(zip(files, (kept, none, "max"), strict=True))
    assert site.container_files("varying", "main", *files) == dict(zip(files, (none, kept, high), strict=True))
    assert site.container_files("none", "main", "memory.min", "memory.low") == {"memory.min": "0", "memory.low": "0"}
    assert site.pod_files("fixed", *files) == dict(zip(files, (kept, none, "max"), strict=True))
    assert site.pod_files("varying", *files) == dict(zip(files, (none, kept, "max"), strict=True))
    assert site.class_files("kubepods-burstable.slice", *files) == dict(zip(files, (none, kept, "max"), strict=True))
    assert site.class_files("", "memory.min") == {"memory.min": str(2 * 64 * MIB)}


def test_swap_goes_to_burstable_pods_by_their_request_or_to_none(site: Site) -> None:
    varying = container("main", resources=amounts("100m", "64Mi", "200m", "128Mi"))
    site.create(pod("fixed", container("main", resources=amounts("100m", "64Mi"))), pod("varying", varying))
    site.wait_pods_ready("fixed", "varying", seconds=SECONDS)
    figures = dict(line.split() for line in site.machine.out("sed 's/:\\|kB//g' /proc/meminfo").splitlines())
    share = int(64 * MIB / (int(figures["MemTotal"]) << 10) * (int(figures["SwapTotal"]) << 10))
    assert site.container_files("varying", "main", "memory.swap.max") == {"memory.swap.max": str(share // PAGE * PAGE)}
    assert site.container_files("fixed", "main", "memory.swap.max") == {"memory.swap.max": "0"}

    # how much it may swap follows its request, so its memory is not resized in place
    resize(site, "varying", amounts("100m", "96Mi", "200m", "160Mi"))
    site.pods.until(lambda: condition(site.pod("varying"), "PodResizePending"), "the refusal", SECONDS)
    refused = condition(site.pod("varying"), "PodResizePending")
    assert refused["reason"] == "Infeasible"
    assert refused["message"].endswith("In-place resize of containers with swap is not supported.")
    assert site.container_files("varying", "main", "memory.max") == {"memory.max": str(128 * MIB)}

    site.configure(memorySwap={"swapBehavior": "NoSwap"})
    site.machine.out(f"systemctl restart kubelet; {READY}")
    try:
        site.create(pod("without", varying))
        site.wait_pods_ready("without", seconds=SECONDS)
        assert site.container_files("without", "main", "memory.swap.max") == {"memory.swap.max": "0"}
    finally:
        site.configure()
        site.machine.out(f"systemctl restart kubelet; {READY}")


def test_a_resize_reaches_the_files_without_a_restart(site: Site) -> None:
    # a container of which memory's request is its limit has no swap
    site.create(pod("grown", container("main", resources=amounts("100m", "64Mi", "200m"))))
    site.wait_pods_ready("grown", seconds=SECONDS)
    before = site.container_id("grown", "main")
    wanted = amounts("150m", "96Mi", "300m")
    resize(site, "grown", wanted)

    def done() -> bool:
        (found,) = status(site.pod("grown"))["containerStatuses"]
        left = [condition(site.pod("grown"), kind) for kind in ("PodResizePending", "PodResizeInProgress")]
        return found["resources"] == wanted and not any(left)

    site.pods.until(done, "resized", SECONDS)
    files = ("cpu.max", "memory.max", "memory.low")
    values = dict(zip(files, ("30000 100000", str(96 * MIB), str(96 * MIB)), strict=True))
    assert site.container_files("grown", "main", *files) == values
    assert site.pod_files("grown", *files) == values
    assert site.container_id("grown", "main") == before
    assert site.restarts()["default/grown"] == 0


def test_a_slice_that_an_operator_stops_is_there_again_with_its_limits(site: Site) -> None:
    site.create(pod("stopped", container("main", resources=amounts("100m", "64Mi", "200m", "128Mi"))))
    site.wait_pods_ready("stopped", seconds=SECONDS)
    files = ("cpu.max", "cpu.weight", "memory.max", "pids.max", *HUGE)
    before, instance = site.pod_files("stopped", *files), site.container_id("stopped", "main")
    site.machine.out("systemctl daemon-reload")
    assert site.pod_files("stopped", *files) == before
    site.machine.out(f"systemctl stop kubepods-burstable-pod{site.uid('stopped').replace('-', '_')}.slice")

    def another() -> bool:
        (found,) = status(site.pod("stopped"))["containerStatuses"]
        return "running" in found["state"] and site.container_id("stopped", "main") != instance

    site.pods.until(another, "another instance", SECONDS)
    assert site.pod_files("stopped", *files) == before


def test_an_apparmor_profile_confines_a_container_and_a_missing_one_is_refused(site: Site) -> None:
    local = {"appArmorProfile": {"type": "Localhost", "localhostProfile": "guest-reads-only"}}
    profile = "profile guest-reads-only flags=(attach_disconnected) { file, deny /kept/** w, signal, ptrace, }\n"
    site.machine.out("apparmor_parser -r", data=profile)
    written = "echo x >/kept/file && echo written || echo denied; sleep 100000"
    mounts = {"volumeMounts": [{"name": "kept", "mountPath": "/kept"}]}
    volumes = {"volumes": [{"name": "kept", "emptyDir": {}}]}
    site.create(
        pod("usual"),
        pod("free", container("main", securityContext={"appArmorProfile": {"type": "Unconfined"}})),
        pod("confined", container("main", "sh", "-c", written, securityContext=local, **mounts), **volumes),
        pod("missing", securityContext={"appArmorProfile": {"type": "Localhost", "localhostProfile": "not-there"}}),
    )
    site.wait_pods_ready("usual", "free", "confined", seconds=SECONDS)
    shown = {name: site.inside(name, "main", "cat /proc/self/attr/current") for name in ("usual", "free", "confined")}
    assert shown == {
        "usual": "cri-containerd.apparmor.d (enforce)",
        "free": "unconfined",
        "confined": "guest-reads-only (enforce)",
    }
    assert site.supervise("logs", "confined", "--pod").endswith("denied")
    site.pods.until(lambda: "not-there" in json.dumps(status(site.pod("missing"))), "the missing profile", SECONDS)


def test_a_runtime_without_user_namespaces_is_reported_and_a_pod_that_needs_them_waits(site: Site) -> None:
    site.create(pod("mapped", hostUsers=False))
    text = "can't set `spec.hostUsers: false`, runtime does not support user namespaces"

    def told() -> bool:
        events = json.loads(site.kubectl("get", "events", "-o", "json"))["items"]
        return any(text in one["message"] for one in events if one["involvedObject"]["name"] == "mapped")

    site.pods.until(told, "the reason", SECONDS)
    assert status(site.pod("mapped"))["phase"] == "Pending"
    handlers = status(site.nodes.now[f"/{NODE}"]).get("runtimeHandlers", [])
    assert [one["name"] for one in handlers if (one.get("features") or {}).get("userNamespaces")] == []
