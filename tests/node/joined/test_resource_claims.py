"""Resource claims: a driver, a process of its own, prepares them before a pod starts and unprepares them at its end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.shared.cri.cdi import ignores_cdi
from actors.shared.cri.client import CriClient
from tests.node.joined.test_pod_features import events, within
from tests.support.cdi import specified
from tests.support.dra_driver import SampleDriver
from tests.support.joined import NODE, PODS, Joined, container, pod

SECONDS = 60.0
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
NAME = "gpu.test"
SERVICES = ("v1.DRAPlugin", "v1alpha1.DRAResourceHealth")
VERSIONS = ("v1", "v1beta1")


class DriverProcess:
    """`files`: what the driver has on disk."""

    def __init__(self, root_dir: Path, services: tuple[str, ...] = SERVICES) -> None:
        self._root_dir, self._services = root_dir, services
        self.files = SampleDriver(root_dir, NAME)
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.support.dra_driver", str(self._root_dir), NAME, *self._services]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._expect("started")

    @property
    def version(self) -> str:
        return self._services[0].partition(".")[0]

    @property
    def unprepare(self) -> str:
        """The method, as its calls have it."""
        return f"{self.version}.NodeUnprepareResources"

    def wait_registered(self) -> None:
        """Until the agent has taken it."""
        self._expect("registered")

    def _expect(self, word: str) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == f"{word}\n"

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def kill_and_start(self) -> None:
        self.kill()
        self.start()


@pytest.fixture
def driver(own: Joined) -> Iterator[DriverProcess]:
    """Its devices have no CDI names: whatever the runtime is, the pods start."""
    yield from started(own, DriverProcess(Path(own.node.home, "root")))


@pytest.fixture(params=VERSIONS)
def versioned(own: Joined, request: pytest.FixtureRequest) -> Iterator[DriverProcess]:
    """A driver that has one version of the service."""
    yield from started(own, DriverProcess(Path(own.node.home, "root"), (f"{request.param}.DRAPlugin",)))


def started(own: Joined, found: DriverProcess) -> Iterator[DriverProcess]:
    found.files.name_by_cdi(names=False)
    found.start()
    try:
        yield found
    finally:
        found.kill()


def user(name: str, claim: str) -> dict[str, Any]:
    uses = {"claims": [{"name": "gpu"}]}
    return pod(name, container("main", resources=uses), resourceClaims=[{"name": "gpu", "resourceClaimName": claim}])


def make_claim(site: Joined, name: str) -> None:
    devices = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.test"}}]}
    site.api.call("POST", CLAIMS, {"metadata": {"name": name}, "spec": {"devices": devices}})


def allocate(site: Joined, name: str, *pods: str) -> None:
    """As the scheduler does."""
    result = {"request": "gpu", "driver": NAME, "pool": "pool", "device": "gpu-0"}
    users = [{"resource": "pods", "name": one, "uid": site.pod(one)["metadata"]["uid"]} for one in pods]
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": users}
    site.api.merge(f"{CLAIMS}/{name}/status", {"status": status})


def create(site: Joined, name: str, claim: str) -> None:
    site.create(user(name, claim))
    site.pods.until(lambda: bool(site.pod(name)), f"{name} seen", SECONDS)


def stored(site: Joined) -> list[str]:
    """Names of the claims in the state file."""
    file = json.loads(Path(site.node.home, "root", "dra_manager_state").read_text())
    return [claim["ClaimName"] for claim in json.loads(file["Data"])["ClaimInfoStateList"] or []]


def test_a_pod_waits_for_its_claim_and_holds_it_until_it_has_ended(own: Joined, driver: DriverProcess) -> None:
    make_claim(own, "one")
    create(own, "first", "one")
    within(SECONDS, lambda: any("is not allowed to use" in text for _, text in events(own, "first")), "event")
    assert driver.files.calls == []
    driver.files.behave(health={"gpu-0": "Unhealthy"}, message="too hot")
    create(own, "second", "one")
    allocate(own, "one", "first", "second")
    own.wait_pods_ready("first", "second", seconds=SECONDS)
    assert [one["name"] for one in driver.files.prepared.values()] == ["one"]
    health = {"resourceID": f"{NAME}/pool/gpu-0", "health": "Unhealthy", "message": "too hot"}

    def shown() -> Any:
        return own.pod("first")["status"]["containerStatuses"][0].get("allocatedResourcesStatus")

    own.pods.until(lambda: shown() == [{"name": "claim:gpu", "resources": [health]}], "health", SECONDS)
    own.delete("first")
    own.wait_no_pod("first", seconds=SECONDS)
    assert len(driver.files.prepared) == 1
    driver.files.behave(error={"one": "still busy"})
    own.delete("second")
    within(SECONDS, lambda: driver.files.methods().count(driver.unprepare) > 1, "a second try")
    assert own.pod("second")["status"]["phase"] == "Running"
    driver.files.behave()
    own.wait_no_pod("second", seconds=SECONDS)
    assert driver.files.prepared == {}
    assert stored(own) == []


def ignores(site: Joined) -> bool:
    """Whether the runtime would start a container without its CDI devices."""

    async def ask(client: CriClient) -> bool:
        return ignores_cdi(await client.version(), await client.info())

    return site.node.ask_runtime(ask)


def test_a_pod_is_not_started_by_a_runtime_that_ignores_its_devices(own: Joined, driver: DriverProcess) -> None:
    if not ignores(own):
        pytest.skip("NOT TESTED: this runtime knows CDI")
    driver.files.name_by_cdi(names=True)
    make_claim(own, "one")
    create(own, "web", "one")
    allocate(own, "one", "web")

    def why() -> str:
        [status] = own.pod("web")["status"].get("containerStatuses") or [{}]
        waiting = status.get("state", {}).get("waiting", {})
        return f"{waiting.get('reason')}: {waiting.get('message')}"

    version = own.node.ask_runtime(lambda client: client.version())
    said = f"CreateContainerConfigError: {version.name} {version.version} ignores CDI devices, and the container has "
    own.pods.until(lambda: why().startswith(f"{said}{NAME}/gpu=one: "), "its reason", SECONDS)
    assert not [one for one in own.node.containers() if one.pod_name == "web"]
    own.delete("web")
    own.wait_no_pod("web", seconds=SECONDS)
    within(SECONDS, lambda: driver.files.prepared == {}, "nothing prepared")


def test_prepared_devices_are_in_the_container(own: Joined, driver: DriverProcess) -> None:
    if ignores(own):
        pytest.skip("NOT TESTED: this runtime ignores CDI")
    driver.files.name_by_cdi(names=True)
    make_claim(own, "one")
    with specified("gpu.test/gpu", "one"):
        create(own, "web", "one")
        allocate(own, "one", "web")
        own.wait_pods_ready("web", seconds=SECONDS)
        [found] = [one for one in own.node.containers() if one.pod_name == "web"]
        seen = own.node.ask_runtime(
            lambda client: client.exec_sync(found.id, ["sh", "-c", "echo $CDI_ONE; ls /dev/cdi-one"], 10)
        )
        assert seen.stdout == b"one\n/dev/cdi-one\n"
        own.delete("web")
        own.wait_no_pod("web", seconds=SECONDS)


def hang(site: Joined) -> None:
    """Until its supervisor has had the device manager replaced."""
    before = site.node.actors()["device_manager"].incarnation
    site.node.signal_actors("device_manager".__eq__, signal.SIGSTOP)
    site.node.wait_replaced("device_manager", before)


FAULTS: dict[str, Callable[[Joined, DriverProcess], None]] = {
    "device_manager": lambda site, driver: site.node.signal_actors("device_manager".__eq__, signal.SIGKILL),
    "hang": lambda site, driver: hang(site),
    "worker": lambda site, driver: site.node.kill_workers(),
    "driver": lambda site, driver: driver.kill_and_start(),
    "agent": lambda site, driver: site.node.kill_fork_server_and_start(),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_kill_during_a_call_loses_nothing_and_leaves_nothing(
    own: Joined, versioned: DriverProcess, fault: str
) -> None:
    driver = versioned
    make_claim(own, "one")
    driver.files.behave(hang=2)
    create(own, "web", "one")
    allocate(own, "one", "web")
    within(SECONDS, lambda: bool(driver.files.calls), "prepare")
    FAULTS[fault](own, driver)
    driver.files.behave()
    own.wait_pods_ready("web", seconds=2 * SECONDS)
    assert [one["name"] for one in driver.files.prepared.values()] == ["one"]
    driver.files.behave(hang=2)
    own.delete("web")
    within(SECONDS, lambda: driver.unprepare in driver.files.methods(), "unprepare")
    FAULTS[fault](own, driver)
    driver.files.behave()
    own.wait_no_pod("web", seconds=2 * SECONDS)
    within(SECONDS, lambda: driver.files.prepared == {}, "nothing prepared")
    within(SECONDS, lambda: stored(own) == [], "nothing stored")
    assert {method.partition(".")[0] for method in driver.files.methods()} == {driver.version}


def test_the_slices_of_a_driver_that_stays_away_are_deleted(own: Joined, driver: DriverProcess) -> None:
    spec = {"driver": NAME, "nodeName": NODE, "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 1}}
    for name, node in (("mine", NODE), ("elsewhere", "another")):
        own.api.call("POST", SLICES, {"metadata": {"name": name}, "spec": {**spec, "nodeName": node}})
    driver.wait_registered()  # one that was never there is not missed
    driver.kill()
    within(SECONDS + 30.0, lambda: own.api.find(f"{SLICES}/mine") is None, "end of the slice")
    assert own.api.find(f"{SLICES}/elsewhere") is not None


EXTENDED = "gpu.test/card"


def bind_with_extended(site: Joined, name: str) -> str:
    """A pod that asks for an extended resource, and what the scheduler does for it where a claim provides that: it
    makes the claim, says so in the pod's status, and binds the pod. The claim's name."""
    made = pod(name, container("main", resources={"limits": {EXTENDED: "1"}}), schedulerName="none")
    uid = site.api.call("POST", PODS, made)["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid, "controller": True}
    claim = f"{name}-extended"
    devices = {"requests": [{"name": "container-0-request-0", "exactly": {"deviceClassName": "gpu.test"}}]}
    body = {"metadata": {"name": claim, "ownerReferences": [owner]}, "spec": {"devices": devices}}
    site.api.call("POST", CLAIMS, body)
    result = {"request": "container-0-request-0", "driver": NAME, "pool": "pool", "device": "gpu-0"}
    users = [{"resource": "pods", "name": name, "uid": uid}]
    allocation = {"allocation": {"devices": {"results": [result]}}, "reservedFor": users}
    site.api.merge(f"{CLAIMS}/{claim}/status", {"status": allocation})
    mapping = {"containerName": "main", "resourceName": EXTENDED, "requestName": "container-0-request-0"}
    status = {"extendedResourceClaimStatus": {"resourceClaimName": claim, "requestMappings": [mapping]}}
    site.api.merge(f"{PODS}/{name}/status", {"status": status})
    binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": NODE}}
    site.api.call("POST", f"{PODS}/{name}/binding", binding)
    return claim


@pytest.mark.parametrize("fault", [None, "device_manager", "agent"])
def test_an_extended_resource_that_a_claim_provides_is_prepared_and_given_back(
    own: Joined, driver: DriverProcess, fault: str | None
) -> None:
    driver.wait_registered()
    if fault is not None:
        driver.files.behave(hang=2)
    claim = bind_with_extended(own, "web")
    within(SECONDS, lambda: bool(driver.files.calls), "prepare")
    if fault is not None:
        FAULTS[fault](own, driver)
        driver.files.behave()
    own.wait_pods_ready("web", seconds=2 * SECONDS)
    assert [one["name"] for one in driver.files.prepared.values()] == [claim]
    assert stored(own) == [claim]
    driver.files.behave(hang=2)  # so that no prepare that was given up ends after it
    own.delete("web")
    own.wait_no_pod("web", seconds=SECONDS)
    within(SECONDS, lambda: driver.files.prepared == {}, "nothing prepared")
    within(SECONDS, lambda: stored(own) == [], "nothing stored")
