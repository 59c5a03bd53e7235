"""Devices of the node: device plugins register here, and drivers of resource claims.

allocations.py           allocations under way, by pod
allocator.py             allocates devices to a container: chooses them, has the plugin allocate them
checkpoint.py            the kubelet's file kubelet_internal_checkpoint: read and written
checkpoint_file.py       reads the device checkpoint once, at the start, and writes it when it has changed
choice.py                which devices a container gets, in the kubelet's order
device_reports.py        reports about devices: for the pod resources API, and for the status of pods
device_service.py        device plugins and their allocations: answers who asks for devices of a container
dials.py                 dials plugins: a few at a time, those that took long before with permits of their own
dra/                     dynamic resource allocation (KEP-4381)
earlier_plugins.py       finds the plugins of the last incarnation: they do not register again
health_reports.py        reports the health of allocated devices to the status manager
hints.py                 on which NUMA nodes a container could get its devices, for the topology manager
holders.py               the pods that still have devices although no worker has them
holdings.py              the devices of each container
inventory.py             the devices that plugins have reported, by resource
node_devices.py          the devices and their holders: each change is written to the checkpoint, then reported
plugin_client.py         calls to a device plugin
plugin_directory.py      the directory device-plugins: sockets of plugins, kubelet.sock and the checkpoint
plugins.py               the connected device plugins: their devices go into the inventory
rate_limit.py            limits the rate at which a stream from a plugin is read
registration.py          how device plugins register: by kubelet.sock in the directory device-plugins
registration_service.py  the service on kubelet.sock, over gRPC
registration_socket.py   kubelet.sock: listens from the start, and has its gRPC server from the first plugin on
"""
