"""A containerd of the agent's own: `--container-runtime-endpoint=managed`.

A program in the tree rather than an actor: it is supervised like any other child, and containers survive it. The rest
of this package runs before the tree starts, or removes everything again.

instance.py           where one managed containerd keeps what, and its names on the host
host.py               the host's facts for the configuration
containerd_config.py  the configuration of containerd
network.py            the pod network: bridge, addresses, host ports
host_setup.py         makes directories, configuration and kernel settings
program.py            the child spec of containerd
images.py             the two images that the runtime has from the start; pause.py: the program of the sandbox image
image_import.py       puts these images into containerd; oci.py: writes their image layouts
cleanup.py            removes the runtime from the host
errors.py             the errors that keep a managed container runtime from starting
nat_rules.py          the NAT rules that the CNI plug-ins made for one network, and their removal: text in, text out
socket_check.py       whether the container runtime's socket answers, with a hint when it does not
processes.py          the processes of a managed runtime that outlive it
"""
