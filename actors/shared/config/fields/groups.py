"""The parts of a KubeletConfiguration that are objects of their own. JSON names are the attributes.

The text under a field is its documentation: `supervise config explain FIELD` prints it.
"""

from __future__ import annotations

import msgspec

from .duration import Duration


class Group(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the configuration types: immutable, by name, unknown fields refused."""


# -- authentication ---------------------------------------------------------------------------------------------------
class X509Authentication(Group, frozen=True):
    clientCAFile: str = ""
    """PEM bundle of CAs. A caller with a client certificate signed by one of them is the user of that certificate.
    Empty: none."""


class WebhookAuthentication(Group, frozen=True):
    enabled: bool = True
    """Ask the API server (TokenReview) for the user of a bearer token."""
    cacheTTL: Duration = Duration(120)
    """How long an answer is cached."""


class AnonymousAuthentication(Group, frozen=True):
    enabled: bool = False
    """Treat callers without credentials as the user system:anonymous; if off, they are refused."""


class Authentication(Group, frozen=True):
    """How callers of the main server are authenticated."""

    x509: X509Authentication = X509Authentication()
    """Users by client certificate."""
    webhook: WebhookAuthentication = WebhookAuthentication()
    """Users by bearer token."""
    anonymous: AnonymousAuthentication = AnonymousAuthentication()
    """Callers without credentials."""


# -- authorization ----------------------------------------------------------------------------------------------------
class WebhookAuthorization(Group, frozen=True):
    cacheAuthorizedTTL: Duration = Duration(300)
    """How long a permission is cached."""
    cacheUnauthorizedTTL: Duration = Duration(30)
    """How long a denial is cached."""


class Authorization(Group, frozen=True):
    """What a caller of the main server may do."""

    mode: str = "Webhook"
    """Webhook asks the API server (SubjectAccessReview); AlwaysAllow lets every authenticated caller do everything."""
    webhook: WebhookAuthorization = WebhookAuthorization()
    """Caches of the webhook."""


# -- logging ----------------------------------------------------------------------------------------------------------
class VModule(Group, frozen=True):
    filePattern: str = ""
    """Glob on the name of an actor or source file, without = and comma."""
    verbosity: int = 0
    """Verbosity of the actors and files that match."""


class FormatOptions(Group, frozen=True):
    splitStream: bool = False
    """Errors to stderr, the rest to stdout."""
    infoBufferSize: str | int = "0"
    """Bytes, as a quantity, that the information stream may hold back; 0 is unbuffered."""


class LoggingOptions(Group, frozen=True):
    text: FormatOptions = FormatOptions()
    """Options of the text format."""
    json: FormatOptions = FormatOptions()
    """Options of the JSON format."""


class Logging(Group, frozen=True):
    """What is logged, and how."""

    format: str = "text"
    """text (klog lines) or json."""
    flushFrequency: Duration = Duration(5)
    """Maximum time between two flushes of buffered lines; an integer is nanoseconds."""
    verbosity: int = 0
    """A higher number logs more: 0 is for operators, 4 for debugging, 6 and above everything."""
    vmodule: list[VModule] = []
    """Verbosity of single actors or files, text format only."""
    options: LoggingOptions = LoggingOptions()
    """Options of each format."""


class Tracing(Group, frozen=True):
    """Export of OpenTelemetry spans."""

    endpoint: str | None = None
    """gRPC collector, plaintext; unset is localhost:4317."""
    samplingRatePerMillion: int | None = None
    """Number of spans in a million that are sampled; unset: as the caller decides, else none."""


# -- resources and the rest -------------------------------------------------------------------------------------------
class MemorySwap(Group, frozen=True):
    swapBehavior: str = ""
    """NoSwap (what empty means) keeps workloads out of swap; LimitedSwap lets Burstable pods use a share, cgroup v2."""


class MemoryReservation(Group, frozen=True):
    numaNode: int = 0
    """Number of the NUMA node."""
    limits: dict[str, str | int] = {}
    """Quantity by memory or hugepages-<size>."""


class CrashLoopBackOff(Group, frozen=True):
    maxContainerRestartPeriod: Duration | None = Duration(300)
    """Maximum delay between restarts of a crashing container, 1s to 300s."""


class UserNamespaces(Group, frozen=True):
    idsPerPod: int | None = None
    """IDs mapped into a pod with a user namespace: a multiple of 65536; unset is 65536."""


class PriorityGracePeriod(Group, frozen=True):
    priority: int = 0
    """Lowest priority of the pods in this step."""
    shutdownGracePeriodSeconds: int = 0
    """Seconds that these pods have to end."""


class Taint(Group, frozen=True):
    key: str = ""
    """Qualified name."""
    value: str = ""
    """Label value."""
    effect: str = ""
    """NoSchedule, PreferNoSchedule or NoExecute."""
    timeAdded: str | None = None
    """Must not be set here: the control plane writes it."""
