"""From the command line to the Agent: reads the files that the flags name, merges, validates. Nothing is started.

agent = load(sys.argv[2:])      # raises ConfigErrors with every problem at once
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Any, Final

import msgspec

from actors.shared.config.endpoints import address_of

from .agent import MANAGED, Agent, checkpoint_dir, default_workers, run_dir_of
from .errors import ConfigErrors, ConfigProblem, UsageErrors
from .fields.duration import Duration
from .fields.names import is_subdomain
from .flags import parsing
from .flags.flag_table import OTHER_FLAGS, OWN_FLAGS
from .flags.values import PARSERS
from .sources import credential_providers
from .sources.checkpoints import ConfigCheckpoints, hash_of, instead_of
from .sources.documents import Document
from .sources.effective import Effective, effective
from .sources.layers import SUFFIX, read_layers, unread_drop_ins
from .sources.policy_layer import read_policy, split_policy
from .start.host import HostFacts, host_facts
from .validation import flag_checks

_PATHS: Final = (
    "config", "config-dir", "root-dir", "cert-dir", "run-dir", "policy", "log-file", "lock-file", "kubeconfig",
    "bootstrap-kubeconfig", "dynamic-config-dir", "image-credential-provider-config",
    "image-credential-provider-bin-dir",
)  # fmt: skip
"""Flags with paths that are relative to the working directory."""
TOKENS_GATE: Final = "KubeletServiceAccountTokenForCredentialProviders"


def load(
    argv: Sequence[str],
    host: HostFacts | None = None,
    *,
    recover: bool = True,
    in_force: bool = False,
    without: Collection[str] = (),
) -> Agent:
    """The agent that this command line describes. Raises ConfigErrors with every problem: UsageErrors if one of them is
    a flag that cannot be read.

    `recover`: if the configuration in the files was rolled back, use the last known good one. `in_force`: use the
    configuration in force according to the checkpoints, if they have one, instead of the files. `without`: fields at
    the top of the files that are left out, for those who look at what is valid.
    """
    host = host or host_facts()
    parsed = parsing.parse(argv)
    problems = list(parsed.problems)
    flags = agent_flags(parsed.values, host.directory)
    context = msgspec.structs.replace(host.context, standalone=not flags["kubeconfig"])
    problems += flag_checks.check(flags, parsed.values)
    path, bin_dir = flags["image-credential-provider-config"], flags["image-credential-provider-bin-dir"]
    if not problems:
        problems += credential_providers.check(path, bin_dir)
    documents, messages, unreadable = (in_force and _in_force(flags)) or _read(flags, recover)
    documents = [document.without(without) for document in documents]
    problems += unreadable
    layers, policy = split_policy(documents)
    result = None
    try:
        result = effective(layers, parsed.values, context, lenient=flags["lenient-config"])
    except ConfigErrors as error:
        # without a readable layer only the problems of the flags are certain
        problems += [one for one in error.problems if layers or not unreadable or one.source.startswith("--")]
    name = (flags["hostname-override"] or host.hostname).strip().lower()
    if not flags["hostname-override"] and not is_subdomain(name):
        rule = "the host name must be a DNS name: give --hostname-override"
        problems.append(ConfigProblem("", name, rule, "hostname"))
    if problems or result is None:
        raise (UsageErrors if parsed.problems else ConfigErrors)(problems)
    agent = _agent(result, flags, parsed, (name, host))
    if not agent.gate(TOKENS_GATE) and (forbidden := credential_providers.with_tokens(path, bin_dir)):
        raise ConfigErrors(forbidden)
    warnings = (*agent.warnings, *messages)
    return msgspec.structs.replace(agent, config_hash=hash_of(documents), policy=policy, warnings=warnings)


def _in_force(flags: dict[str, Any]) -> tuple[list[Document], list[str], list[ConfigProblem]] | None:
    """The same as `_read`, for the configuration in force; None without its checkpoint."""
    store = ConfigCheckpoints(checkpoint_dir(flags), owned=False)
    layers = store.layers(store.state().current)
    return None if layers is None else (layers.documents(), [], [])


def _read(flags: dict[str, Any], recover: bool) -> tuple[list[Document], list[str], list[ConfigProblem]]:
    """The documents to use, warnings about the choice, and the problems of unreadable files."""
    documents, unreadable = read_all(flags["config"], flags["config-dir"], flags["policy"])
    if unreadable or not recover:
        return documents, [], unreadable
    assigned = hash_of(documents)
    store = ConfigCheckpoints(checkpoint_dir(flags))
    other = instead_of(assigned, store.state())
    layers = store.layers(other) if other else None
    if layers is None:
        return documents, [], []
    note = f"configuration {assigned} was rolled back: starting with {other}, the last known good"
    return layers.documents(), [note], []


def read_all(config: str, config_dir: str, policy: str) -> tuple[list[Document], list[ConfigProblem]]:
    """The layers in the files, and the problems of unreadable files."""
    documents: list[Document] = []
    problems: list[ConfigProblem] = []
    try:
        documents += read_layers(config, config_dir)
    except ConfigErrors as error:
        problems.extend(error.problems)
    try:
        documents += read_policy(policy)
    except ConfigErrors as error:
        problems.extend(error.problems)
    return documents, problems


def agent_flags(given: dict[str, Any], directory: str) -> dict[str, Any]:
    """Every flag that sets no field, given or default, in its own type; paths are absolute."""
    found: dict[str, Any] = {}
    for flag in (*OTHER_FLAGS, *OWN_FLAGS):
        value: Any = given.get(flag.name)
        if value is None:
            value = PARSERS[flag.kind](os.environ.get(flag.environment) or flag.default, None)
        if flag.kind == "duration":
            value = Duration.parse(value)
        if flag.name in _PATHS and value and not value.startswith("/"):
            value = os.path.join(directory, value)
        found[flag.name] = value
    return found


def _agent(
    result: Effective, flags: dict[str, Any], parsed: parsing.ParsedFlags, place: tuple[str, HostFacts]
) -> Agent:
    name, host = place
    root = os.path.normpath(flags["root-dir"])
    run = flags["run-dir"] or run_dir_of(root)
    runtime, image = endpoints(result, run, host.sockets)
    cert_dir = flags["cert-dir"] if "cert-dir" in parsed.values else f"{root}/pki"
    return Agent(
        config=result.config,
        node_name=name,
        root_dir=root,
        run_dir=run,
        cert_dir=os.path.normpath(cert_dir),
        runtime_endpoint=runtime,
        image_endpoint=image,
        managed_runtime=result.config.containerRuntimeEndpoint == MANAGED,
        workers=flags["workers"] or default_workers(),
        standalone=not flags["kubeconfig"],
        node_ip=flags["node-ip"],
        policy_file=flags["policy"],
        kubeconfig=flags["kubeconfig"],
        bootstrap_kubeconfig=flags["bootstrap-kubeconfig"],
        log_file=flags["log-file"],
        flags=flags,
        flags_given=parsed.written,
        field_flags={name: value for name, value in parsed.values.items() if name not in flags},
        config_sources=result.sources,
        config_file=flags["config"],
        config_dir=flags["config-dir"],
        warnings=(
            *parsed.warnings,
            *result.warnings,
            *_manifests_among_pods(result, root),
            *_unread(flags["config-dir"]),
        ),
    )


def _unread(config_dir: str) -> list[str]:
    return [
        f"--config-dir: {path} is not read: the names of its files must end with {SUFFIX}"
        for path in (unread_drop_ins(config_dir) if config_dir else ())
    ]


def _manifests_among_pods(result: Effective, root_dir: str) -> list[str]:
    """The warning if the static pod path is in the directory of the pods, which a reset empties."""
    path, pods = os.path.normpath(result.config.staticPodPath or "/"), f"{root_dir}/pods"
    if path != pods and not path.startswith(f"{pods}/"):
        return []
    return [
        f"staticPodPath: {path} is where the agent keeps the files of pods: give manifests a directory of their own"
    ]


def endpoints(result: Effective, run_dir: str, sockets: tuple[str, ...]) -> tuple[str, str]:
    """Addresses of the runtime and of the image service, in gRPC's form.

    By default the first runtime found on the machine is used.
    """
    runtime = result.config.containerRuntimeEndpoint
    if runtime == MANAGED:
        runtime = f"{run_dir}-containerd/containerd.sock"
    elif "containerRuntimeEndpoint" not in result.sources and sockets:
        runtime = sockets[0]
    image = result.config.imageServiceEndpoint or runtime
    return address_of(runtime), address_of(image)
