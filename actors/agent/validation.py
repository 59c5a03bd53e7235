"""Validates the input of `supervise start`: flags and files, including kubeconfigs and the supervision policy.

Nothing is started, and the host is not checked: the configuration may be for another host.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from actors.container_runtime.declaration import POLICY
from actors.container_runtime.messages import CONTAINER_RUNTIME
from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigErrors, ConfigProblem
from actors.shared.config.flags import parsing
from actors.shared.config.loading import agent_flags, load
from actors.shared.config.paths import default_policy_file
from actors.shared.config.sources.policy_layer import read_policy, split_policy
from actors.tree import OPTIONAL, tree
from supervision.spec import ChildSpec, Policy
from supervision.supervisor.policy import load as load_policy
from supervision.supervisor.policy import load_text
from supervision.supervisor.policy_file import PolicyError

_SOME_PROGRAM: Final = ChildSpec(name=CONTAINER_RUNTIME, program=("containerd",), policy=POLICY)
"""A placeholder for the real program: only the name and the default policy matter here."""


def validate(argv: Sequence[str]) -> tuple[tuple[str, ...], tuple[ConfigProblem, ...]]:
    """Warnings and problems. A start reports the same ones, and may add problems of the host."""
    try:
        agent = load_with_all(argv, recover=False)
    except ConfigErrors as error:
        return (), error.problems
    wrong = list(kubeconfigs(agent, whole=True))
    policies(agent, wrong)
    return agent.warnings, tuple(wrong)


def load_with_all(argv: Sequence[str], *, recover: bool = True) -> Agent:
    """Like load; the error also has the problems of the kubeconfigs and the policy."""
    try:
        return load(argv, recover=recover)
    except ConfigErrors as error:
        agent = _agent_of_flags(argv)
        wrong = list(kubeconfigs(agent))
        policies(agent, wrong)
        raise ConfigErrors([*error.problems, *wrong]) from None


def _agent_of_flags(argv: Sequence[str]) -> Agent:
    """The agent that the flags alone describe, if the rest cannot be read."""
    flags = agent_flags(parsing.parse(argv).values, os.getcwd())
    try:
        _, policy = split_policy(read_policy(flags["policy"]))
        policy_file = flags["policy"]
    except ConfigErrors:
        policy, policy_file = "", ""  # an unreadable file is already a problem
    return Agent(
        policy=policy,
        policy_file=policy_file,
        standalone=not flags["kubeconfig"],
        kubeconfig=flags["kubeconfig"],
        bootstrap_kubeconfig=flags["bootstrap-kubeconfig"],
        cert_dir=flags["cert-dir"],
        flags=flags,
    )


def policies(agent: Agent, wrong: list[ConfigProblem]) -> dict[str, Policy]:
    """The policies by actor; problems of the policy are added to `wrong`."""
    spec = tree(agent, _SOME_PROGRAM if agent.managed_runtime else None)
    file = agent.policy_file or default_policy_file()
    try:
        return (
            load_text(agent.policy, file, spec, OPTIONAL) if agent.policy else load_policy(Path(file), spec, OPTIONAL)
        )
    except PolicyError as error:
        wrong += [ConfigProblem(one.path, "", one.rule, f"{one.file}:{one.line}") for one in error.problems]
        return {}


def kubeconfigs(agent: Agent, *, whole: bool = False) -> Iterator[ConfigProblem]:
    """The kubeconfig, or else the bootstrap kubeconfig, must be valid. `whole`: also load it with the package, which
    takes half a second; a start does that concurrently."""
    if agent.standalone:
        return
    wrong = _wrong_kubeconfig("--kubeconfig", agent.kubeconfig, whole)
    # cert_manager repairs a damaged pair of our own, or reports it
    wrong = [problem for problem in wrong if f"{agent.cert_dir}/" not in problem.rule]
    if wrong and agent.bootstrap_kubeconfig:
        also = _wrong_kubeconfig("--bootstrap-kubeconfig", agent.bootstrap_kubeconfig, whole)
        wrong = [*wrong, *also] if also else []
    yield from wrong


def _wrong_kubeconfig(flag: str, path: str, whole: bool) -> list[ConfigProblem]:
    from actors.shared.api.kubeconfig import KubeconfigError, check_file, load

    try:
        load(path) if whole else check_file(path)
    except KubeconfigError as error:
        return [ConfigProblem(flag, "", problem, path) for problem in error.problems]
    return []
