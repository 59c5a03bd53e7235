"""The sources of the configuration: the file or a ConfigMap, the drop-ins, and the command-line flags."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import msgspec

from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigErrors, ConfigProblem
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.sources.checkpoints import REQUESTS
from actors.shared.config.sources.documents import Document, read
from actors.shared.config.sources.effective import effective
from actors.shared.config.sources.layers import check_header, read_layers, resolve_paths
from actors.shared.config.sources.policy_layer import read_policy, split_policy
from actors.shared.config.start.host import host_facts
from supervision.addresses import ActorName
from supervision.protocol import FORK_SERVER, ROOT, ActorState, Tree
from supervision.spec import ChildSpec, Policy, PolicySettings
from supervision.supervisor.policy_file import PolicyError

from .messages import ConfigMapAssigned
from .watched_directories import directories_of


class ValidConfiguration(msgspec.Struct, frozen=True):
    """A configuration and a policy that passed validation."""

    config: KubeletConfiguration
    policy: str
    """The text of the policy file; empty without one."""
    policies: dict[str, Policy]
    """By actor; empty without a policy file."""


class ConfigSources:
    """Reads and validates the sources. Every method that reads raises ConfigErrors."""

    def __init__(self, agent: Agent, optional: Sequence[str]) -> None:
        """`optional`: actors that a policy may name although they are not in the tree."""
        self._agent, self._optional = agent, tuple(optional)
        self._remote: ConfigMapAssigned | None = None
        self._tree: ChildSpec | None = None
        """A policy is validated against it: the names of all actors, and the supervisors among them."""

    def learn_tree(self, tree: ChildSpec) -> None:
        """Learn the tree: from now on a policy is validated."""
        self._tree = tree

    def use_config_map(self, assigned: ConfigMapAssigned | None) -> None:
        """It takes the place of the file; None: the file again."""
        self._remote = assigned

    @property
    def lacks_tree(self) -> bool:
        """Whether there is a policy that cannot be validated yet, because the tree is not known."""
        return bool(self._agent.policy_file) and self._tree is None

    def read(self) -> list[Document]:
        """The layers, read now."""
        agent, remote = self._agent, self._remote
        policy = read_policy(agent.policy_file)
        if remote is None:
            return [*read_layers(agent.config_file, agent.config_dir), *policy]
        document = read(remote.data, f"configmap {remote.namespace}/{remote.name}")
        check_header(document)
        resolve_paths(document.data, os.path.dirname(agent.config_file) or "/")
        return [document, *read_layers("", agent.config_dir), *policy]

    def validate(self, documents: list[Document]) -> ValidConfiguration:
        """The configuration from the layers and the flags, and the policies."""
        layers, text = split_policy(documents)
        problems: list[ConfigProblem] = []
        policies: dict[str, Policy] = {}
        try:
            policies = self._policies(text)
        except PolicyError as error:
            problems += [ConfigProblem(each.path, "", each.rule, f"{each.file}:{each.line}") for each in error.problems]
        try:
            context = msgspec.structs.replace(host_facts().context, standalone=self._agent.standalone)
            lenient = bool(self._agent.flags.get("lenient-config"))
            config = effective(layers, self._agent.field_flags, context, lenient=lenient).config
        except ConfigErrors as error:
            raise ConfigErrors([*error.problems, *problems]) from None
        if problems:
            raise ConfigErrors(problems)
        return ValidConfiguration(config, text, policies)

    def _policies(self, text: str) -> dict[str, Policy]:
        """Empty without a policy file, or while the tree is not known."""
        if not text or self._tree is None:
            return {}
        from supervision.supervisor.policy import load_text

        return load_text(text, self._agent.policy_file, self._tree, self._optional)

    def directories(self) -> list[str]:
        """The directories to watch for changes of the sources and for rollback requests."""
        agent = self._agent
        files = [agent.config_file, agent.policy_file]
        return directories_of(files, [agent.config_dir, f"{agent.config_checkpoint_dir}/{REQUESTS}"])

    def described(self) -> dict[str, str]:
        """The name and version of the ConfigMap for the checkpoint; empty for local files."""
        remote = self._remote
        if remote is None:
            return {}
        return {
            "namespace": remote.namespace,
            "name": remote.name,
            "uid": remote.uid,
            "resourceVersion": remote.resource_version,
            "key": remote.key,
        }


def spec_of(tree: Tree, policies: Mapping[ActorName, PolicySettings]) -> ChildSpec:
    """The specs of a running tree, with what a policy needs: names, children and declared settings of policies.

    `policies`: the declared settings by name; a name may end in `*`.
    """
    below: dict[str, list[ActorState]] = {}
    for state in tree.actors:
        below.setdefault(state.parent, []).append(state)

    def spec(state: ActorState) -> ChildSpec:
        prefix = "" if state.parent in (FORK_SERVER, ROOT) else f"{state.parent}/"
        declared = (policy for pattern, policy in policies.items() if fnmatchcase(state.name, pattern))
        is_supervisor = state.kind == "supervisor"
        return ChildSpec(
            name=state.name.removeprefix(prefix),
            actor="" if is_supervisor else state.actor,
            policy=next(declared, PolicySettings()),
            children=tuple(spec(child) for child in below.get(state.name, ())) if is_supervisor else (),
        )

    return spec(below[FORK_SERVER][0])
