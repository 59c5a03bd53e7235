"""Ends the pods in good order when the node is shut down (KEP-2000, KEP-2712).

inhibitor_lock.py     the inhibitor lock of the agent, and the windows that fit the delay of logind
logind.py             the connection to systemd-logind over the system bus: org.freedesktop.login1(5), Inhibitor Locks
phases.py             the phases of a shutdown as a table: next phase and actions
shutdown_state.py     the state file of the last shutdown, read after the boot
termination_order.py  in which order pods end when the node shuts down
unreported_pods.py    the pods that a shutdown has ended, and whose end the API server does not know yet
"""
