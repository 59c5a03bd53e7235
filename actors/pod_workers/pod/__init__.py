"""A pod: its state, its events, the table of its phases, and its observations for other actors. Pure.

desired_state.py        the desired state of a pod: what its source and orders to end it ask for
event.py                the base class of a pod's events
lost_container.py       a container that the runtime has lost
observation.py          the observations of a pod for the status manager and the prober
orders.py               events from other actors: the pod's source, an evicting actor, the PLEG and the prober
resize_plan.py          plans a resize (KEP-1287): which containers differ from their allocated resources
resizes.py              events of an in-place resize (KEP-1287)
resize_progress.py      an in-place resize: its request, and how far it is
results.py              events from the pod worker's own effects: looks, admission, retries, termination, clean-up
runtime.py              reads the runtime's state of a pod: containers with a process, and data to keep between looks
starts.py               events of the start of sandboxes and containers, and of their postStart hooks
state.py                a pod worker's whole state, as one immutable value
state_values.py         its parts: views, attempts, instances, probe results, held resources, rounds
phase_transitions.py    the phases as a table: phase, event, next phase
unlisted_containers.py  running containers of a pod that the runtime does not list
"""
