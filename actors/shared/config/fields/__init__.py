"""What a KubeletConfiguration may hold: its types with their defaults, and the values of its fields, parsed.

kubelet_configuration.py   the object, each field with its text and default
groups.py                  its nested objects
duration.py, resources.py  values as Go and Kubernetes write them
names.py, tls.py           label and host names; TLS versions, cipher suites and curves
eviction.py                eviction signals, thresholds and grace periods
shutdown_windows.py        the time that each priority of pods has when the node is shut down
log_settings.py            `logging` as the engine takes it
"""
