"""Validates what `supervise start` is given: flags and files, the kubeconfigs and the supervision policy they name.

Nothing is started, and the host is not checked: a configuration may be for another one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from actors.container_runtime.messages import CONTAINER_RUNTIME
from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigErrors, Problem
from actors.shared.config.flags import parsing
from actors.shared.config.loading import load, standing_alone
from actors.shared.config.paths import default_policy_file
from actors.shared.config.sources.policy_layer import apart, read_policy
from actors.tree import OPTIONAL, tree
from supervision.policy import load as load_policy
from supervision.policy import load_text
from supervision.policy_file import PolicyError
from supervision.spec import ChildSpec, Policy

_SOME_PROGRAM: Final = ChildSpec(name=CONTAINER_RUNTIME, program=("containerd",))
"""Stands for the one that is made later: to a policy only the name matters."""


def validate(argv: Sequence[str]) -> tuple[tuple[str, ...], tuple[Problem, ...]]:
    """Warnings and problems: a start is refused with the same, and may be with more, about the host."""
    try:
        agent = load_with_all(argv, recover=False)
    except ConfigErrors as error:
        return (), error.problems
    wrong = list(kubeconfigs(agent, whole=True))
    policies(agent, wrong)
    return agent.warnings, tuple(wrong)


def load_with_all(argv: Sequence[str], *, recover: bool = True) -> Agent:
    """As load; the error also has the problems of the kubeconfigs and the policy."""
    try:
        return load(argv, recover=recover)
    except ConfigErrors as error:
        named = _as_far_as_flags_go(argv)
        wrong = list(kubeconfigs(named))
        policies(named, wrong)
        raise ConfigErrors([*error.problems, *wrong]) from None


def _as_far_as_flags_go(argv: Sequence[str]) -> Agent:
    """The agent with the files that the flags name, where the rest cannot be read."""
    alone = standing_alone(parsing.parse(argv).values, os.getcwd())
    try:
        _, policy = apart(read_policy(alone["policy"]))
        policy_file = alone["policy"]
    except ConfigErrors:
        policy, policy_file = "", ""  # that it cannot be read is a problem already
    return Agent(
        policy=policy,
        policy_file=policy_file,
        standalone=not alone["kubeconfig"],
        kubeconfig=alone["kubeconfig"],
        bootstrap_kubeconfig=alone["bootstrap-kubeconfig"],
        cert_dir=alone["cert-dir"],
        flags=alone,
    )


def policies(agent: Agent, wrong: list[Problem]) -> dict[str, Policy]:
    """How each actor is supervised; what is wrong with the policy is added to `wrong`."""
    spec = tree(agent, _SOME_PROGRAM if agent.managed_runtime else None)
    file = agent.policy_file or default_policy_file()
    try:
        return (
            load_text(agent.policy, file, spec, OPTIONAL) if agent.policy else load_policy(Path(file), spec, OPTIONAL)
        )
    except PolicyError as error:
        wrong += [Problem(one.path, "", one.rule, f"{one.file}:{one.line}") for one in error.problems]
        return {}


def kubeconfigs(agent: Agent, *, whole: bool = False) -> Iterator[Problem]:
    """The kubeconfig, or else the one to obtain it with, must be of use. `whole`: also to the package that loads it,
    which takes half a second; a start has that done meanwhile."""
    if agent.standalone:
        return
    wrong = _wrong_kubeconfig("--kubeconfig", agent.kubeconfig, whole)
    # cert_manager repairs a damaged pair of our own, or reports it
    wrong = [problem for problem in wrong if f"{agent.cert_dir}/" not in problem.rule]
    if wrong and agent.bootstrap_kubeconfig:
        also = _wrong_kubeconfig("--bootstrap-kubeconfig", agent.bootstrap_kubeconfig, whole)
        wrong = [*wrong, *also] if also else []
    yield from wrong


def _wrong_kubeconfig(flag: str, path: str, whole: bool) -> list[Problem]:
    from actors.shared.api.kubeconfig import KubeconfigError, check_file, load

    try:
        load(path) if whole else check_file(path)
    except KubeconfigError as error:
        return [Problem(flag, "", problem, path) for problem in error.problems]
    return []
