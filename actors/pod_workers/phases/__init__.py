"""The phases of a pod's life: each decides the next step. Pure.

actions.py              the actions for the sandbox and the containers of a pod, as data
admitting.py            the admitting phase: decides whether a new pod runs on this node
container_actions.py    the actions for the containers of a pod in its current sandbox
effects.py              the effects that a phase asks of the executor, as data
ended.py                the ended phase: the pod has only dead containers and logs on the node
garbage.py              the last part of a round: garbage collection of dead containers and sandboxes
next_start.py           when and as which instance a container starts next
phase_functions.py      the function of each phase, and its name in traces
pod_actions.py          computes the next actions for a running pod from the state of the runtime
rejected.py             the rejected phase: the pod stays until no source has it
restart_all.py          whether all containers of a pod are restarted (KEP-5532)
running.py              the running phase, in rounds: look, resize, compute the actions, perform them
step.py                 the input and the output of a phase
terminated.py           the terminated phase: no container runs; volumes are unmounted, then the cgroup is removed
terminating.py          the terminating phase: containers are stopped, then sandboxes
termination_plan.py     plans the termination of containers: order and grace periods
termination_reasons.py  the reasons to terminate a pod
"""
