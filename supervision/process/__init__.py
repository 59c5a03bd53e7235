"""The process of an actor: how it starts, runs the actor's code, shows its state, and ends.

incarnation.py      which process of its name it is, and what the last one left
launch.py           what the fork server gives to an actor's process, and the actor that is made of it
process.py          the actor's process: its start, its message loop, its end
port.py             the actor's port to the tree: implements its calls, and those of Thespian's Actor
actor_runner.py     runs an actor's code: calls, tasks and timers
steps.py            runs a coroutine and notifies an observer of each step
timers.py           `after` and `every`, shared by the real port and the harness, which differ only in their clocks
heartbeat.py        the heartbeat of an actor's process, on the status page, with the counts of its messages
status_page.py      the shared status page: shared memory with one entry per actor, which the fork server reads
blackbox.py         the record that a dying actor leaves: a small file in memory
descriptors.py      detects that this process has nearly run out of file descriptors
hello_sender.py     when an actor says Hello to its feeders: at its start, and after an injected loss of messages
injected_faults.py  the faults injected into one process, on the way of its messages
"""
