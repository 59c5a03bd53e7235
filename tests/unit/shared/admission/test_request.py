"""What a pod takes of the node."""

from __future__ import annotations

from actors.shared.admission.request import Demand, demand_of, host_ports
from actors.shared.kube.container import Container, ContainerPort, ResourceRequirements
from actors.shared.kube.pod import Pod, PodSpec


def test_host_ports_are_those_of_containers_and_sidecars_and_all_with_the_hosts_network() -> None:
    ports = [ContainerPort(containerPort=80, hostPort=8080), ContainerPort(containerPort=90)]
    init = Container(name="i", ports=[ContainerPort(containerPort=1, hostPort=1)])
    sidecar = Container(name="s", restartPolicy="Always", ports=[ContainerPort(containerPort=2, hostPort=2)])
    containers, init_containers = [Container(name="c", ports=ports)], [init, sidecar]

    own = PodSpec(containers=containers, initContainers=init_containers)
    assert host_ports(Pod(spec=own)) == {("", 8080, "TCP"), ("", 2, "TCP")}
    of_host = PodSpec(containers=containers, initContainers=init_containers, hostNetwork=True)
    assert ("", 90, "TCP") in host_ports(Pod(spec=of_host))


def test_a_demand_is_made_from_the_pod() -> None:
    resources = ResourceRequirements(requests={"cpu": "250m"})
    pod = Pod(spec=PodSpec(containers=[Container(name="c", resources=resources)]))
    assert demand_of("u", pod) == Demand("u", {"cpu": 250}, frozenset(), "Burstable")
