"""What the fake has of containerd's own API: enough to end a task that is left, and to ask for a record."""

from __future__ import annotations

from proto import containerd_containers_pb2 as containers
from proto import containerd_tasks_pb2 as tasks

from .world import Container, RpcFailure, World


class TaskService:
    """Each `do_<Method>` answers that method; RpcFailure for what containerd refuses."""

    world: World

    def leave_task(self, container_id: str) -> None:
        """As when StartContainer is given up while the task is made."""
        self.world.containers[container_id].task_left = True

    def _left(self, container_id: str) -> Container:
        found = self.world.containers.get(container_id)
        if found is None or not found.task_left:
            raise RpcFailure("NOT_FOUND", f"no running task found: task {container_id} not found: not found")
        return found

    async def do_KillTask(self, request: tasks.KillRequest) -> tasks.KillResponse:
        self._left(request.container_id).ended.set()
        return tasks.KillResponse()

    async def do_DeleteTask(self, request: tasks.DeleteTaskRequest) -> tasks.DeleteResponse:
        found = self._left(request.container_id)
        if not found.ended.is_set():
            raise RpcFailure(
                "FAILED_PRECONDITION", "task must be stopped before deletion: running: failed precondition"
            )
        found.task_left = False
        return tasks.DeleteResponse(id=found.id)

    async def do_GetContainer(self, request: containers.GetContainerRequest) -> containers.GetContainerResponse:
        if request.id not in {**self.world.containers, **self.world.sandboxes}:
            raise RpcFailure("NOT_FOUND", f'container "{request.id}" in namespace "k8s.io": not found')
        return containers.GetContainerResponse()
