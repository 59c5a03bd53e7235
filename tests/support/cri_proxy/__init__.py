"""A proxy between an agent and a real container runtime, which spoils calls on order.

__main__.py   the proxy: a process of its own, which reads its orders from its input
figures.py    replaces every number of an answer
modes.py      what may happen to a call
relay.py      passes bytes on, and cuts every connection on order
runtime.py    a containerd that is reached through the proxy
"""
