"""The ledger: what fits, what conflicts, and that it never gives out more than there is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.container_manager.ledger import Entry, Ledger, conflict, entry_of, host_ports
from actors.shared.kube.container import Container, ContainerPort, ResourceRequirements
from actors.shared.kube.pod import Pod, PodSpec

NODE = {"cpu": 1000, "memory": 1000, "ephemeral-storage": 1000, "pods": 3, "hugepages-2Mi": 4}


def entry(uid, ports=(), qos="Burstable", **requests):
    return Entry(uid, {name.replace("_", "-"): value for name, value in requests.items()}, frozenset(ports), qos)


@pytest.mark.parametrize("resource", ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi"])
def test_each_resource_runs_out_by_its_own_name(resource):
    ledger = Ledger(NODE)
    ledger.add(Entry("a", {resource: 3}, frozenset(), "Burstable"))

    refusal = ledger.refuse(Entry("b", {resource: 998}, frozenset(), "Burstable"))

    assert refusal.reason == f"OutOf{resource}"
    assert refusal.message == (
        f"Node didn't have enough resource: {resource}, requested: 998, used: 3, capacity: {NODE[resource]}"
    )


def test_what_exactly_fits_is_taken():
    ledger = Ledger(NODE)
    ledger.add(entry("a", cpu=400))

    assert ledger.refuse(entry("b", cpu=600)) is None
    assert ledger.refuse(entry("b", cpu=601)).reason == "OutOfcpu"


def test_a_pod_that_asks_for_nothing_fits_on_an_overcommitted_node():
    ledger = Ledger(NODE)
    ledger.add(entry("running", cpu=5000))

    assert ledger.refuse(entry("b")) is None
    assert ledger.refuse(entry("c", cpu=1)).reason == "OutOfcpu"


def test_an_extended_resource_that_the_node_does_not_list_is_passed_over():
    assert Ledger(NODE).refuse(Entry("a", {"example.com/gpu": 1}, frozenset(), "BestEffort")) is None


def test_only_burstable_pods_make_the_burstable_tiers_share():
    ledger = Ledger(NODE)
    for uid, qos in (("a", "Burstable"), ("b", "Guaranteed"), ("c", "BestEffort")):
        ledger.add(entry(uid, qos=qos, cpu=100))

    assert ledger.requested_by("Burstable", "cpu") == 100
    assert ledger.requested() == {"cpu": 300}


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (("", 80, "TCP"), ("", 80, "TCP"), True),
        (("", 80, "TCP"), ("", 80, "UDP"), False),
        (("", 80, "TCP"), ("", 81, "TCP"), False),
        (("10.0.0.1", 80, "TCP"), ("10.0.0.2", 80, "TCP"), False),
        (("10.0.0.1", 80, "TCP"), ("0.0.0.0", 80, "TCP"), True),
        (("", 80, "TCP"), ("10.0.0.2", 80, "TCP"), True),
    ],
)
def test_ports_clash_on_the_same_or_on_any_address(one, other, clash):
    assert conflict(one, other) == conflict(other, one) == clash


def test_host_ports_are_those_of_containers_and_sidecars_and_all_with_the_hosts_network():
    ports = [ContainerPort(containerPort=80, hostPort=8080), ContainerPort(containerPort=90)]
    init = Container(name="i", ports=[ContainerPort(containerPort=1, hostPort=1)])
    sidecar = Container(name="s", restartPolicy="Always", ports=[ContainerPort(containerPort=2, hostPort=2)])
    spec = {"containers": [Container(name="c", ports=ports)], "initContainers": [init, sidecar]}

    assert host_ports(Pod(spec=PodSpec(**spec))) == {("", 8080, "TCP"), ("", 2, "TCP")}
    assert ("", 90, "TCP") in host_ports(Pod(spec=PodSpec(hostNetwork=True, **spec)))


def test_an_entry_is_made_from_the_pod():
    resources = ResourceRequirements(requests={"cpu": "250m"})
    found = entry_of("u", Pod(spec=PodSpec(containers=[Container(name="c", resources=resources)])))

    assert found == Entry("u", {"cpu": 250}, frozenset(), "Burstable")


steps = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.booleans(), st.integers(0, 700), st.integers(0, 3)), max_size=40
)


@given(steps)
def test_whatever_comes_and_goes_no_more_is_given_out_than_there_is(steps):
    ledger = Ledger(NODE)
    for uid, comes, cpu, port in steps:
        wanted = entry(uid, ports=[("", port, "TCP")] if port else [], cpu=cpu)
        if not comes:
            ledger.drop(uid)
        elif uid not in ledger and ledger.refuse(wanted) is None:
            ledger.add(wanted)
        held = list(ledger._entries.values())
        ports = [port for one in held for port in one.ports]
        assert ledger.requested().get("cpu", 0) <= NODE["cpu"]
        assert len(ledger) <= NODE["pods"]
        assert len(ports) == len(set(ports))


def test_a_resize_is_judged_without_what_the_pod_has_itself():
    ledger = Ledger({"cpu": 1000, "memory": 1000, "pods": 10})
    ledger.add(Entry("a", {"cpu": 400}, frozenset(), "Burstable"))
    ledger.add(Entry("b", {"cpu": 400}, frozenset(), "Burstable"))

    def judged(**requests: int) -> str:
        refusal = ledger.refuse_resize(Entry("a", requests, frozenset(), "Burstable"))
        return refusal.reason if refusal is not None else ""

    assert [judged(cpu=600), judged(cpu=601), judged(cpu=1001)] == ["", "Deferred", "Infeasible"]
    assert [judged(cpu=400, memory=1000), judged(memory=1001)] == ["", "Infeasible"]
    ledger.add(Entry("b", {"cpu": 900}, frozenset(), "Burstable"))
    assert judged(cpu=300) == "", "less always fits"
