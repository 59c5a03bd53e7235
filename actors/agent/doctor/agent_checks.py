"""The agent itself: its tree, the pods that it runs, and the manifests that it refuses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from actors.agent.inspection.node_pods import full_name, kept_while_unread
from actors.agent.inspection.pod_rows import readiness, seconds, state, whole_seconds
from actors.agent.inspection.pod_waits import NOTHING, PodWaits
from actors.agent.remedies import MEND_MANIFEST, of_configuration, other_version, unread
from actors.api_clients.event_client.messages import RecentEvent
from actors.api_clients.heartbeat_client.managed_network import SERVICE as POD_CIDR
from actors.api_clients.heartbeat_client.server_trouble import API_SERVER
from actors.config_controller.messages import Flagz
from actors.http_servers.serving.port import is_port
from actors.pleg.runtime_health import CONDITION, NETWORK
from actors.pod_config.messages import PodSources
from actors.shared.admission.checks.node_conditions import DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE
from actors.shared.config.version import git_version
from actors.shared.cri.service_outage import IMAGE_SERVICE, RUNTIME
from supervision.cli.agent_files import RefusedStart
from supervision.cli.health import reasons_of_tree, state_of_actors, unserved_seconds
from supervision.cli.text import duration
from supervision.protocol import ActorState, Tree

from .certificate_checks import CLIENT
from .finding import Finding, failure, ok, warning
from .pod_causes import cause, last_end, running_statuses
from .pod_remedies import of_pull

_LOOKED_AT: Final = (RUNTIME, IMAGE_SERVICE, CONDITION, NETWORK, API_SERVER, POD_CIDR, CLIENT)
_PRESSURES: Final = (MEMORY_PRESSURE, DISK_PRESSURE, PID_PRESSURE)
RECENT_SECONDS: Final = 600
LATE_SECONDS: Final = 60.0
"""A pod that is still terminating this many seconds after its grace period does not end by itself."""
_ENDED: Final = ("Completed", "Succeeded")
_NOT_WATCHED: Final = ("Unknown", "ContainerStatusUnknown")


def not_running(refused: RefusedStart | None, start_words: str, prevented: Collection[str]) -> Iterator[Finding]:
    """No agent runs. `refused`: its last start, where that was refused. `start_words`: the flags that start it.
    `prevented`: why a start would be refused now; other findings say so, too."""
    text = "not running"
    if refused is not None:
        text += f"; its last start was refused, {refused.ago()}"
        known = [problem for problem in refused.problems if problem not in prevented]
        text += f": {'; '.join(known)}" if known else ", as it would be now"
    remedy = f"supervise start {start_words}"
    yield failure("agent", text, f"mend what has FAIL below; then {remedy}" if prevented else remedy)


def tree(found: Tree, stopped: Collection[int] = ()) -> Iterator[Finding]:
    """`stopped`: pids of processes that a signal has stopped."""
    away = [actor for actor in found.actors if actor.state != "running"]
    if away:
        state = state_of_actors(found, stopped)
        yield failure("agent", f"{state}: {'; '.join(map(_away_text, away))}", "supervise incidents --full")
    concerns = [*_concerns(found, stopped), *_pod_network(found)]
    yield from concerns
    if away:
        return
    replaced = list(_replaced_actors(found.actors))
    yield from replaced
    if not concerns and not replaced:
        yield ok("agent", f"{found.state}, {len(found.actors)} actors in service")


def _away_text(actor: ActorState) -> str:
    """An actor that is not in service."""
    since = f" for {duration(unserved_seconds(actor))}" if actor.pid else ""
    last = f", last incident: {actor.last_incident}" if actor.last_incident else ""
    return f"{actor.name}: {actor.state}{since}{last}"


def _concerns(found: Tree, stopped: Collection[int]) -> Iterator[Finding]:
    """The findings of `supervise status` about the tree, without those that other checks cover and those about actors
    that are not in service."""
    away = {str(actor.name) for actor in found.actors if actor.state != "running"}
    for reason in reasons_of_tree(found, stopped):
        if reason.subject in _LOOKED_AT or reason.subject in away:
            continue
        if is_port(reason.subject):
            yield failure("ports", str(reason), reason.remedy)
        elif reason.subject in _PRESSURES:
            yield failure("pressure", str(reason), reason.remedy)
        else:
            yield (failure if reason.down else warning)("agent", str(reason), reason.remedy)


def _pod_network(found: Tree) -> Iterator[Finding]:
    """Whether the managed runtime has the network that the cluster gives the node."""
    for trouble in found.troubles:
        if trouble.service == POD_CIDR:
            yield failure("pod network", trouble.text, trouble.remedy)


def _replaced_actors(actors: Sequence[ActorState]) -> Iterator[Finding]:
    """Actors that failed lately, and are in service again."""
    for actor in actors:
        if actor.last_incident and actor.incident_age < RECENT_SECONDS:
            restarts = f"{actor.restarts} restart{'' if actor.restarts == 1 else 's'} in all"
            cause = actor.last_incident.partition(" ")[0]
            text = f"{actor.name} was replaced {whole_seconds(actor.incident_age)} ago, cause: {cause}; {restarts}"
            yield warning("agent", text, f"supervise incidents {actor.name} --full")


def version(flagz: Flagz, restart: str) -> Iterator[Finding]:
    """Whether the agent runs the installed version. `restart`: the command that restarts it."""
    if flagz.version != git_version():
        yield warning("agent", other_version(flagz.version), restart)


def configuration(flagz: Flagz, restart: str, *, checked: bool) -> Iterator[Finding]:
    """The parts of the assigned configuration that are not in force. `restart`: the command that restarts the agent;
    `checked`: its problems are reported already."""
    for text in () if checked else flagz.refused:
        yield warning("configuration", text, of_configuration(flagz.rolled_back))
    if flagz.waiting:
        text = f"{', '.join(flagz.waiting)} changed, and acts only after a restart of the agent"
        yield warning("configuration", text, restart)


def pods(
    found: Sequence[dict[str, Any]],
    events: Sequence[RecentEvent] = (),
    now: float = 0.0,
    removed: Collection[str] = (),
    waits_of: Callable[[dict[str, Any]], PodWaits] = lambda pod: NOTHING,
) -> Iterator[Finding]:
    """The pods that do not run, have failed, do not end in time, or failed lately. `found`: API objects; `events`: the
    recent events of the node; `now`: seconds since 1970; `removed`: UIDs of the pods that no source has; `waits_of`:
    asks for what a pod waits for."""
    unhealthy = 0
    for pod in found:
        word, (ready, wanted) = state(pod, removed=pod["metadata"].get("uid") in removed), readiness(pod)
        runs = word == "Running" and ready == wanted
        again = _restarts(pod, now) if runs else ""
        if word in _ENDED or (runs and not again):
            continue
        late = _late(pod, now) if word == "Terminating" else 0.0
        if word == "Terminating" and late <= LATE_SECONDS:
            continue
        unhealthy += 1
        why = cause(pod, events)
        how = f"{whole_seconds(late)} after its grace period" if late else f"{ready} of {wanted} containers ready"
        waits = waits_of(pod)
        said = [f"{full_name(pod)}: {word}, {again or how}", *(f"waits for {one}" for one in waits.texts(now))]
        pulls = [image.name for image in waits.images if image.before is None]
        remedy = of_pull(pulls[0]) if pulls and not why.text else why.remedy
        yield warning("pods", "; ".join([*said, why.text] if why.text else said), remedy)
    if not unhealthy:
        yield ok("pods", f"{len(found)}, all of them well")


def _restarts(pod: dict[str, Any], now: float) -> str:
    """How often a container was restarted, if lately and because it failed; '' for none. One that ended while no
    runtime watched it (reason Unknown), as when the machine starts again, has not failed."""
    for one in running_statuses(pod.get("status", {})):
        last = last_end(one)
        if not last.get("exitCode") or last.get("reason") in _NOT_WATCHED or not last.get("finishedAt"):
            continue
        ago, count = now - seconds(last["finishedAt"]), int(one.get("restartCount") or 0)
        if 0 <= ago < RECENT_SECONDS and count:
            return f"{count} restart{'' if count == 1 else 's'} of {one['name']}, it failed {whole_seconds(ago)} ago"
    return ""


def _late(pod: dict[str, Any], now: float) -> float:
    """Seconds since the pod should have ended; 0 if it has no deletion time, because only its manifest is gone."""
    deletion = pod["metadata"].get("deletionTimestamp")
    return now - datetime.fromisoformat(deletion).timestamp() if deletion else 0.0


def manifests(sources: PodSources) -> Iterator[Finding]:
    errors = [error for source in sources.sources for error in source.errors]
    waiting = [source.name for source in sources.sources if not source.ready]
    if waiting:
        text = f"not read yet: {', '.join(waiting)}; {kept_while_unread(waiting)}"
        yield warning("manifests", text, unread(waiting))
    for error in errors:
        yield warning("manifests", error, MEND_MANIFEST)
    if not errors and not waiting:
        pods = sum(source.pods for source in sources.sources)
        yield ok("manifests", f"{pods} pod{'' if pods == 1 else 's'}, none refused")
