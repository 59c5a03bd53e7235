"""Admission of a pod: asks the container manager, and then mounts the volumes."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import quote

from msgspec.structs import replace

from actors.api_clients.kube_client.messages import KUBE_CLIENT, ApiCall, ObjectRef
from actors.container_manager.messages import CONTAINER_MANAGER, AdmissionFailed, AdmitPod, PodAdmitted, PodRejected
from actors.pod_workers.containers import allocation
from actors.pod_workers.containers.api_objects import state_of
from actors.pod_workers.messages import KillPod
from actors.pod_workers.phases.effects import Admit, AskForKillOrder
from actors.pod_workers.pod.orders import KillOrdered
from actors.pod_workers.pod.resizes import FirstAllocated
from actors.pod_workers.pod.results import Admitted, Counted, Postponed, Refused, VolumesPending
from actors.pod_workers.pod.runtime import alive, created
from actors.shared.admission.checks.groups_policy import wants_strict_groups
from actors.shared.admission.checks.node_affinity import NODE_AFFINITY, node_matters
from actors.shared.admission.node_object import NodeObject, read_node
from actors.shared.cri.client import CriClient
from actors.shared.cri.model import PodRuntime
from actors.shared.kube.names import POD_NAME_LABEL, POD_NAMESPACE_LABEL
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import is_static
from actors.shared.linux.directories import make_path
from actors.volume_manager.messages import VOLUME_MANAGER, MountVolumes, VolumesFailed, VolumesMounted
from supervision.actor import AskError

from .execution import Execution
from .volumes import VOLUME_SECONDS

ADMIT_SECONDS = 10.0
NODE_SECONDS = 5.0
MOUNT_REPORT_SECONDS = 123.0
"""The interval of events about volumes that a pod still waits for."""
SAME_NAME_SECONDS = 0.3
LIMIT_EXCEEDED = "VolumeAttachmentLimitExceeded"
LIMIT_REACHED = "Node has reached its volume attachment limit, rejecting pod."


async def admit(run: Execution, effect: Admit) -> None:
    pod, services = run.pod, run.services
    runtime = run.state.runtime or PodRuntime(uid=run.state.uid)
    if is_static(pod) and not runtime.sandboxes and await same_name_runs(services.client, pod):
        # an edited static pod has a new UID: two pods of one name must never run at once
        run.report(Postponed(services.clock() + SAME_NAME_SECONDS))
        return
    question = await _question(run, pod, runtime)
    answer = await run.unless_terminating(run.ask(CONTAINER_MANAGER, question, ADMIT_SECONDS))
    if isinstance(answer, PodRejected) and answer.reason == NODE_AFFINITY:
        # the pod may have been scheduled here by a label that the watch of the node has not reported yet
        node = await _node_now(run)
        if node is not None:
            again = replace(question, node=node)
            answer = await run.unless_terminating(run.ask(CONTAINER_MANAGER, again, ADMIT_SECONDS))
    if isinstance(answer, PodRejected):
        _refuse(run, answer.reason, answer.message)
        return
    if not isinstance(answer, PodAdmitted):
        if isinstance(answer, AdmissionFailed) and answer.cgroup:
            text = f"unable to ensure pod container exists: {answer.message}"
            run.announce("Warning", "FailedCreatePodContainer", text)
        why = answer.message if isinstance(answer, AdmissionFailed) else type(answer).__name__
        raise AskError(f"container_manager answered: {why}")
    run.report(Counted())
    requested = allocation.of(pod)
    if run.state.resizing.allocated is None and requested:
        # before the volumes, for which it may wait long: other resources are a resize from now on, which cannot fail it
        run.report(FirstAllocated(requested))
    # only after admission, so that a refused pod mounts nothing and leaves no directory on the host
    with suppress(OSError):  # the first who needs it reports that
        make_path(services.agent.pod_dir(run.state.uid), 0o750)  # also without volumes: by it `reset` knows the pod
    mounted = await run.unless_terminating(_mount(run, pod))
    if mounted is None:
        return
    run.report(Admitted(answer.cgroup_parent, mounted.paths, mounted.groups, answer.containers, answer.prepare))


async def ask_for_kill_order(run: Execution, effect: AskForKillOrder) -> None:
    """Raises AskError if the node has ended the pod: the order to end it, with the reason, follows."""
    question = AdmitPod(run.state.uid, run.state.wanted.data, over=True)
    answer = await run.unless_terminating(run.ask(CONTAINER_MANAGER, question, ADMIT_SECONDS))
    if not isinstance(answer, PodAdmitted):
        raise AskError("the node ends it")


async def same_name_runs(client: CriClient, pod: Pod) -> bool:
    """Whether another pod of this name has a ready sandbox or a container that may have a process. Raises CriError."""
    labels = {POD_NAME_LABEL: pod.metadata.name, POD_NAMESPACE_LABEL: pod.metadata.namespace}
    sandboxes = [one for one in await client.list_pod_sandboxes(labels) if one.pod_uid != pod.metadata.uid]
    if not sandboxes or any(sandbox.ready for sandbox in sandboxes):
        return bool(sandboxes)
    containers = await client.list_containers(labels)
    others = [one for one in containers if one.pod_uid != pod.metadata.uid]
    return bool(alive(PodRuntime(uid="", containers=others)))


async def _question(run: Execution, pod: Pod, runtime: PodRuntime) -> AdmitPod:
    """The question, with the facts that the container manager does not have. Raises CriError."""
    agent = run.services.agent
    return AdmitPod(
        run.state.uid,
        run.state.wanted.data,
        running=bool(alive(runtime) or created(runtime) or run.state.unlisted.running),
        node=await _node(run, pod, runtime),
        strict_groups=wants_strict_groups(pod) and (await run.services.client.status()).supplemental_groups_policy,
        apparmor=run.services.apparmor,
        claims=agent.gate("DynamicResourceAllocation") and not agent.standalone,
        extended_claims=agent.gate("DRAExtendedResource"),
    )


async def _node(run: Execution, pod: Pod, runtime: PodRuntime) -> NodeObject | None:
    """The node; None without an API server, and for a running pod, which is not checked against the Node object."""
    agent = run.services.agent
    if agent.standalone or not node_matters(pod) or alive(runtime) or run.state.unlisted.running:
        return None
    found = await run.unless_terminating(state_of(run.services.actor, ObjectRef("Node", agent.node_name)))
    return read_node(found.body) if found.body else None


async def _node_now(run: Execution) -> NodeObject | None:
    """The node as the API server has it; None when it does not answer."""
    name = quote(run.services.agent.node_name, safe="")
    call = ApiCall(method="GET", path=f"/api/v1/nodes/{name}", timeout=NODE_SECONDS)
    try:
        answer = await run.unless_terminating(run.ask(KUBE_CLIENT, call, NODE_SECONDS + 1.0))
    except AskError:
        return None
    return read_node(answer.body) if answer.ok else None


def _refuse(run: Execution, reason: str, message: str) -> None:
    run.announce("Warning", reason, message)
    run.report(Refused(reason, message))


async def _mount(run: Execution, pod: Pod) -> VolumesMounted | None:
    """Mount the volumes; None while they are not mounted. Raises AskError."""
    if not pod.spec.volumes:
        return VolumesMounted(run.state.uid, {})
    answer = await run.ask(VOLUME_MANAGER, MountVolumes(run.state.uid, run.state.wanted.data), VOLUME_SECONDS)
    if isinstance(answer, VolumesMounted):
        return answer
    if not isinstance(answer, VolumesFailed):
        raise AskError(f"volume_manager answered {type(answer).__name__}")
    for event in answer.pod_events:
        run.announce("Warning", event.reason, event.text)
    now, due = run.services.clock(), run.state.mount_report_due
    if due is not None and now >= due:
        if answer.exhausted:
            _end_without_room(run, answer)
            return None
        if not answer.pod_events:  # the pod only waits, and nothing says for what
            run.announce("Warning", "FailedMount", overdue(answer.volumes, answer.unattached))
    if due is None or not now < due <= now + MOUNT_REPORT_SECONDS:
        due = now + MOUNT_REPORT_SECONDS  # also replaces a time from before the clock was set back
    run.report(VolumesPending(answer.message, due))
    run.failed(answer.message)
    return None


def _end_without_room(run: Execution, answer: VolumesFailed) -> None:
    """Reject the pod: no more volumes can be attached to the node. Its remains on the node are cleaned up."""
    message = f"{LIMIT_REACHED} {_not_mounted(answer.volumes, answer.unattached)}"
    run.announce("Warning", LIMIT_EXCEEDED, message)
    run.report(KillOrdered(KillPod(run.state.uid, LIMIT_EXCEEDED, f"Pod was rejected: {message}", 0)))


def overdue(volumes: list[str], unattached: list[str]) -> str:
    """The text in the kubelet's log."""
    return f"Unable to attach or mount volumes: {_not_mounted(volumes, unattached)}"


def _not_mounted(volumes: list[str], unattached: list[str]) -> str:
    lists = f"unmounted volumes=[{' '.join(sorted(volumes))}], unattached volumes=[{' '.join(sorted(unattached))}]"
    return f"{lists}, failed to process volumes=[]: context deadline exceeded"
