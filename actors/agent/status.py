"""The reasons of `supervise status` beyond the tree: the runtime's socket, manifests, certificates, files that are
missing or damaged, settings that wait."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from actors.agent import host_files
from actors.agent.certificate_lifetime import ends_soon
from actors.agent.client_certificate import in_use
from actors.agent.inspection.node_pods import kept_while_unread
from actors.agent.remedies import (
    MEND_MANIFEST,
    MEND_POD,
    awaits_restart,
    of_configuration,
    of_serving,
    other_version,
    unread,
)
from actors.agent.runtime_limits import file_shortage
from actors.config_controller.messages import CONFIG_CONTROLLER, Flagz, GetFlagz
from actors.container_runtime.instance import ManagedRuntime
from actors.container_runtime.messages import CONTAINER_RUNTIME
from actors.pod_config.messages import POD_CONFIG, GetSources, PodSources
from actors.shared.api.remedies import NEW_CERTIFICATE
from actors.shared.config.endpoints import SCHEME
from actors.shared.config.paths import MANAGED_ROOT, managed_state_dir, state_dir_of
from actors.shared.config.version import git_version
from actors.shared.cri.program_log import last_line
from actors.shared.cri.reachability import unreached
from actors.shared.cri.remedies import RuntimeRemedies
from actors.shared.kube.names import SOURCE_API
from actors.shared.linux.presence import is_missing
from actors.shared.linux.services import set_clock
from supervision.cli.answers import Answers
from supervision.cli.command import Context
from supervision.cli.health import Reason
from supervision.errors import error_reason
from supervision.hanging_disks import REMEDY, Hangs, in_time
from supervision.protocol import ActorState, Tree

RUNTIME: Final = "container runtime"
_CLIENT: Final = "client certificate"


class CertificateInUse(msgspec.Struct, frozen=True):
    """A certificate in use. Without `begin` and `end`: it cannot be read, and `error` is the reason."""

    subject: str
    path: str
    """Its path, or the file that contains it."""
    begin: datetime | None = None
    end: datetime | None = None
    error: str = ""
    renewal: str = ""
    """How another one takes its place."""


class StatusInput(msgspec.Struct, frozen=True, kw_only=True):
    """All that the status follows from."""

    now: datetime
    sources: PodSources | None = None
    """None: pod_config was not asked or did not answer, and so `waiting` of the config controller."""
    waiting: tuple[str, ...] = ()
    """Fields that act only after a restart of the agent."""
    running: str = ""
    """The version that the agent runs if another one is installed; '' if not."""
    restart: str = ""
    """The command that restarts the agent."""
    refused: tuple[str, ...] = ()
    """Why the configuration in the files is not in force."""
    rolled_back: str = ""
    """Its hash if it is valid, and was rolled back."""
    unanswered: tuple[Reason, ...] = ()
    """Actors that were asked and did not answer."""
    endpoint: str = ""
    """Address of the runtime."""
    runtime_log: str = ""
    """The log file of a managed runtime."""
    runtime: str = ""
    """Why the runtime's socket cannot be reached."""
    runtime_reported: bool = False
    """An actor has already reported that the runtime does not answer."""
    runtime_process: tuple[Reason, ...] = ()
    """What its process and its log tell."""
    certificates: tuple[CertificateInUse, ...] = ()
    files: tuple[Reason, ...] = ()
    """What is wrong with files of this host."""


class _FilesOfHost(msgspec.Struct, frozen=True):
    certificates: tuple[CertificateInUse, ...] = ()
    files: tuple[Reason, ...] = ()


def reasons(facts: StatusInput) -> Iterator[Reason]:
    """The problems. Only their remedies look at the host: at what runs its services, and which runtimes answer."""
    if facts.runtime and not facts.runtime_reported:
        yield Reason(RUNTIME, facts.runtime, remedy=RuntimeRemedies(facts.endpoint, facts.runtime_log).absent)
    yield from facts.runtime_process
    for certificate in facts.certificates:
        if text := near_end(certificate, facts.now):
            early = certificate.begin is not None and facts.now < certificate.begin
            yield Reason(
                certificate.subject, text, remedy=f"set the clock: {set_clock()}" if early else certificate.renewal
            )
    yield from facts.files
    if facts.sources is not None:
        yield from _of_sources(facts.sources)
    if facts.waiting:
        fields = ", ".join(facts.waiting)
        yield Reason(
            "configuration", f"{fields} changed, and acts only after a restart of the agent", remedy=facts.restart
        )
    if facts.running:
        yield Reason("agent", other_version(facts.running), remedy=facts.restart)
    for text in facts.refused:
        yield Reason("configuration", f"not in force: {text}", remedy=of_configuration(facts.rolled_back))
    yield from facts.unanswered


def near_end(certificate: CertificateInUse, now: datetime) -> str:
    """The problem with its validity period; '' if there is none."""
    begin, end, path = certificate.begin, certificate.end, certificate.path
    if begin is None or end is None:
        return f"{path}: {certificate.error}"
    if now < begin:
        return f"{path} is valid from {_text(begin)} only"
    if now >= end:
        return f"{path} expired on {_text(end)}"
    if ends_soon(begin, end, now):
        return f"{path} ends on {_text(end)}, and no other has taken its place"
    return ""


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _of_sources(sources: PodSources) -> Iterator[Reason]:
    for source in sources.sources:
        subject, remedy = ("pod", MEND_POD) if source.name == SOURCE_API else ("manifest", MEND_MANIFEST)
        yield from (Reason(subject, error, remedy=remedy) for error in source.errors)
        if not source.ready:
            look = unread((source.name,))
            text = f"not read yet; {kept_while_unread((source.name,))}"
            yield Reason(f"pods of {source.name}", text, remedy=look)


# -- finding it out -----------------------------------------------------------------------------------------------
def agent_reasons(context: Context, tree: Tree) -> Iterable[Reason]:
    """The problems of a running agent. Raises CommandError if it ends meanwhile."""
    if tree.state in ("starting", "stopping"):
        return []
    answers = Answers(context, tree)
    sources = answers.get(POD_CONFIG, GetSources(), PodSources)
    flagz = answers.get(CONFIG_CONTROLLER, GetFlagz(), Flagz)
    endpoint = flagz.flags.get("container-runtime-endpoint", "") if flagz is not None else ""
    managed, program = _managed_runtime(context), _managed_program(tree)
    if program is not None:  # its supervisor reports one that does not run
        endpoint = managed.endpoint if program.state == "running" else ""
    facts = StatusInput(
        now=datetime.now(UTC),
        sources=sources,
        waiting=flagz.waiting if flagz is not None else (),
        refused=flagz.refused if flagz is not None else (),
        rolled_back=flagz.rolled_back if flagz is not None else "",
        running=flagz.version if flagz is not None and flagz.version != git_version() else "",
        restart=context.restart_command() if flagz is not None and awaits_restart(flagz) else "",
        unanswered=tuple(Reason("agent", one.cause, remedy=one.remedy or "supervise tree") for one in answers.errors),
        endpoint=endpoint,
        runtime_log=managed.log_file if program is not None else "",
        runtime=unreached(endpoint),
        runtime_process=tuple(runtime_reasons(context, tree, flagz)),
        runtime_reported=any(trouble.service == RUNTIME for trouble in tree.troubles),
    )
    look = _FilesOfHost() if flagz is None else _files_in_time(flagz, context.arguments.root_dir)
    return reasons(msgspec.structs.replace(facts, certificates=look.certificates, files=look.files))


def _files_in_time(flagz: Flagz, root_dir: str) -> _FilesOfHost:
    def look() -> _FilesOfHost:
        found = certificates(flagz, root_dir)
        return _FilesOfHost(tuple(found), tuple(host_files.problems(flagz.flags, state_dir_of(root_dir))))

    try:
        return in_time(look, _FilesOfHost)
    except Hangs:
        text = f"a file below {root_dir}, or another that the agent needs, cannot be looked at: its disk hangs"
        return _FilesOfHost(files=(Reason("disk", text, remedy=REMEDY),))
    except OSError as error:
        return _FilesOfHost(files=(Reason("files", f"cannot be looked at: {error_reason(error)}"),))


def runtime_reasons(context: Context, tree: Tree, flagz: Flagz | None) -> Iterator[Reason]:
    """What the process of the runtime lacks, and the last line in the log of a managed one that does not run."""
    managed, program = _managed_runtime(context), _managed_program(tree)
    if program is not None and program.state != "running":
        if said := last_line(managed.log_file):
            yield Reason(RUNTIME, f"its log ends with: {said}", remedy=f"tail {shlex.quote(managed.log_file)}")
        return
    flags = {} if flagz is None else flagz.flags
    endpoint = flags.get("container-runtime-endpoint", "") if program is None else managed.endpoint
    pid = 0 if program is None else program.pid
    managed_one = program is not None
    short = file_shortage(endpoint, managed=managed_one, pid=pid) if endpoint.startswith(SCHEME) else None
    if short is not None:
        yield Reason(RUNTIME, short.text, remedy=short.remedy)


def _managed_runtime(context: Context) -> ManagedRuntime:
    """Where it would be: whether there is one, the tree says."""
    state_dir = state_dir_of(context.arguments.root_dir)
    return ManagedRuntime(root=f"{state_dir}/{MANAGED_ROOT}", state=managed_state_dir(str(context.files.run_dir)))


def _managed_program(tree: Tree) -> ActorState | None:
    return next((actor for actor in tree.actors if actor.name == CONTAINER_RUNTIME), None)


def certificates(flagz: Flagz, root_dir: str) -> Sequence[CertificateInUse]:
    """The existing certificates that the agent uses."""
    flags = flagz.flags
    directory = flags["cert-dir"] if "cert-dir" in flagz.given else f"{root_dir}/pki"
    signed = flags.get("rotate-server-certificates") == "true"
    own = f"{directory}/kubelet-server-current.pem" if signed else f"{directory}/kubelet.crt"
    given = flags.get("tls-cert-file", "")
    serving = given or own
    found = [read("serving certificate", serving, of_serving(serving, given=bool(given)))]
    found = [] if is_missing(serving) else found
    if kubeconfig := flags.get("kubeconfig"):
        found += _client_certificate(kubeconfig, f"{directory}/kubelet-client-current.pem")
    return found


def _client_certificate(kubeconfig: str, stored: str) -> Iterator[CertificateInUse]:
    try:
        shown = in_use(kubeconfig, stored, time.time())
    except OSError as error:
        path = str(error.filename)
        yield CertificateInUse(_CLIENT, path, error=str(error.strerror), renewal=NEW_CERTIFICATE)
        return
    if shown is not None:
        yield of_pem(_CLIENT, shown.where, shown.pem, NEW_CERTIFICATE)


def read(subject: str, path: str, renewal: str = "") -> CertificateInUse:
    """The first certificate of a PEM file."""
    try:
        pem = Path(path).read_bytes()
    except OSError as error:
        return CertificateInUse(subject, path, error=str(error.strerror), renewal=renewal)
    return of_pem(subject, path, pem, renewal)


def of_pem(subject: str, where: str, pem: bytes, renewal: str = "") -> CertificateInUse:
    """The first certificate in the data. `where`: its path, or the file that contains it."""
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificates(pem)[0]
    except (ValueError, IndexError):
        return CertificateInUse(subject, where, error="it holds no certificate in PEM", renewal=renewal)
    validity = (found.not_valid_before_utc, found.not_valid_after_utc)
    return CertificateInUse(subject, where, *validity, renewal=renewal)
