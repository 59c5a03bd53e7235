"""The function that performs each effect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from actors.pod_workers.phases import effects

from . import admission, cleanup, post_start, resizing, resource_claims, starts, termination, unlisted_pods
from .execution import Execution


async def _read_runtime(run: Execution, effect: effects.ReadRuntime) -> None:
    await run.look()


async def _read_runtime_again(run: Execution, effect: effects.ReadRuntimeAgain) -> None:
    await run.read_runtime_again()


async def _publish(run: Execution, effect: effects.Publish) -> None:
    run.publish()


async def _announce(run: Execution, effect: effects.Announce) -> None:
    run.announce(effect.kind, effect.reason, effect.text, effect.container)


PERFORMS: Final[Mapping[type[effects.Effect], Callable[[Execution, Any], Awaitable[None]]]] = {
    effects.ReadRuntime: _read_runtime,
    effects.ReadRuntimeAgain: _read_runtime_again,
    effects.AwaitListed: unlisted_pods.await_listed,
    effects.Publish: _publish,
    effects.Announce: _announce,
    effects.AskForKillOrder: admission.ask_for_kill_order,
    effects.Admit: admission.admit,
    effects.AllocateResize: resizing.allocate,
    effects.ActuateResize: resizing.actuate,
    effects.StopPod: termination.stop_pod,
    effects.StopContainers: termination.stop_containers,
    effects.RestartAll: termination.restart_all,
    effects.StartContainers: starts.start_containers,
    effects.RunPostStart: post_start.run_post_start,
    effects.CollectGarbage: cleanup.collect_garbage,
    effects.Count: cleanup.count,
    effects.FreeResources: cleanup.free_requests,
    effects.ReleaseResources: cleanup.release_resources,
    effects.Unprepare: resource_claims.unprepare,
    effects.Unmount: cleanup.unmount,
    effects.Release: cleanup.release,
    effects.RemoveTraces: cleanup.remove_traces,
}
