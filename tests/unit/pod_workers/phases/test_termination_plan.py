"""With how much grace, and in which order, containers end."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pod_workers.containers.container_config import container_annotations
from actors.pod_workers.phases.actions import Start
from actors.pod_workers.phases.termination_plan import Termination, grace_of, plan, waits_for
from actors.shared.cri.model import CriContainer, CriContainerState
from actors.shared.kube import names as known
from actors.shared.kube.container import Container, ContainerPort
from actors.shared.kube.handlers import ExecAction, Lifecycle, LifecycleHandler, Probe
from actors.shared.kube.meta import ObjectMeta
from actors.shared.kube.pod import Pod, PodSpec

HOOK = LifecycleHandler(exec=ExecAction(command=["bye"]))


def ran(name: str = "a", state: CriContainerState = CriContainerState.RUNNING, **annotations: str) -> CriContainer:
    return CriContainer(id=name, name=name, pod_uid="u", state=state, annotations=annotations)


def pod(*, grace: int | None = 30, deletion: int | None = None, probe: int | None = None) -> Pod:
    container = Container(name="a", livenessProbe=Probe(terminationGracePeriodSeconds=probe))
    metadata = ObjectMeta(name="p", deletionGracePeriodSeconds=deletion)
    return Pod(metadata=metadata, spec=PodSpec(containers=[container], terminationGracePeriodSeconds=grace))


@pytest.mark.parametrize(
    ("given_pod", "override", "probe", "seconds"),
    [
        (pod(grace=40), None, "", 40),
        (pod(grace=40, deletion=5), None, "", 5),
        (pod(grace=40, probe=7), None, "liveness", 7),
        (pod(grace=40, probe=7), None, "", 40),
        (pod(grace=40, probe=7, deletion=5), None, "liveness", 5),
        (pod(grace=40, deletion=5), 1, "", 1),
        (pod(grace=40, probe=7), None, "startup", 40),
        (pod(grace=40, probe=None), None, "liveness", 40),
        (pod(grace=40, deletion=0), None, "", 0),
        (pod(grace=40, deletion=5), 0, "", 0),
        (pod(grace=0), None, "", 0),
        (pod(grace=None), None, "", 30),
        (None, None, "", 30),
        (None, 3, "", 3),
    ],
)
def test_the_grace_is_the_overrides_the_deletions_the_probes_the_pods(given_pod, override, probe, seconds):
    assert grace_of(ran(), given_pod, override, probe) == seconds


def test_a_container_of_an_unknown_pod_ends_as_its_annotations_say():
    container = Container(
        name="a", ports=[ContainerPort(containerPort=80, name="web")], lifecycle=Lifecycle(preStop=HOOK)
    )
    wanted = Pod(spec=PodSpec(containers=[container], terminationGracePeriodSeconds=12))
    written = container_annotations(wanted, Start(container, 3, 2))
    termination = plan(msgspec.structs.replace(ran(), annotations=written), None)
    assert (termination.grace, termination.pre_stop, [port.name for port in termination.ports]) == (12, HOOK, ["web"])


@pytest.mark.parametrize(
    ("deletion", "termination", "seconds"),
    [
        ("5", "12", 5),
        ("0", "12", 0),
        ("", "12", 12),
        ("x", "12", 12),
        ("-1", "1e3", 30),
        ("", "0", 0),
        (None, None, 30),
    ],
)
def test_the_annotated_grace_of_an_unknown_pod_is_that_of_its_deletion_or_its_own(deletion, termination, seconds):
    annotations = {known.POD_DELETION_GRACE_PERIOD: deletion, known.POD_TERMINATION_GRACE_PERIOD: termination}
    written = {name: text for name, text in annotations.items() if text is not None}
    assert grace_of(ran(**written), None) == seconds


def test_what_a_known_pod_says_goes_before_the_annotations_of_its_container():
    """They are from an earlier version of it."""
    container = Container(name="a", ports=[ContainerPort(containerPort=80)], lifecycle=Lifecycle(preStop=HOOK))
    spec = PodSpec(containers=[container], terminationGracePeriodSeconds=12)
    earlier = msgspec.structs.replace(ran(), annotations=container_annotations(Pod(spec=spec), Start(container, 0)))
    now = plan(earlier, pod(grace=None))
    assert (now.grace, now.pre_stop, now.ports) == (12, None, [])
    removed = plan(msgspec.structs.replace(earlier, name="b"), pod(grace=40), probe="liveness")
    assert (removed.grace, removed.pre_stop, [one.containerPort for one in removed.ports]) == (40, HOOK, [80])
    hooked = Pod(spec=PodSpec(containers=[container]))
    assert (plan(ran(), hooked).pre_stop, plan(ran(), hooked).ports) == (HOOK, container.ports)
    assert plan(ran(), Pod(spec=PodSpec(containers=[Container(name="a", lifecycle=Lifecycle())]))).pre_stop is None


@given(st.dictionaries(st.sampled_from(sorted(container_annotations(pod(), Start(Container(name="a"), 0)))), st.text()))
def test_invalid_annotations_do_not_prevent_a_termination(annotations):
    assert plan(ran(**annotations), None).grace >= 0


def test_a_sidecar_ends_after_regular_containers_and_the_sidecars_behind_it():
    side = [Container(name=name, restartPolicy="Always") for name in ("s1", "s2")]
    wanted = Pod(spec=PodSpec(containers=[Container(name="a"), Container(name="b")], initContainers=side))
    terminations = [Termination(instance=ran(name), grace=1) for name in ("s1", "a", "s2", "b")]
    assert waits_for(wanted, terminations) == {"a": set(), "b": set(), "s2": {"a", "b"}, "s1": {"a", "b", "s2"}}


def test_no_container_waits_for_an_init_or_ephemeral_container_to_stop():
    side = Container(name="s", restartPolicy="Always")
    debug = Container(name="debug")
    spec = PodSpec(
        containers=[Container(name="a")], initContainers=[side, Container(name="i")], ephemeralContainers=[debug]
    )
    terminations = [Termination(instance=ran(name), grace=1) for name in ("s", "i", "debug")]
    assert waits_for(Pod(spec=spec), terminations) == {"s": set(), "i": set(), "debug": set()}


def test_the_containers_of_an_unknown_pod_wait_for_none():
    terminations = [Termination(instance=ran(name), grace=1) for name in ("a", "s")]
    assert waits_for(None, terminations) == {"a": set(), "s": set()}
