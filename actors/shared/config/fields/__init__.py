"""The fields of a KubeletConfiguration: types, defaults, and parsers of their values.

kubelet_configuration.py   the object, each field with its text and default
groups.py                  its nested objects
duration.py, resources.py  values as Go and Kubernetes write them
names.py, tls.py           label and host names; TLS versions, cipher suites and curves
booleans.py                words for true and false
eviction.py                eviction signals, thresholds and grace periods
shutdown_windows.py        the shutdown time of each pod priority
log_settings.py            `logging`, converted for the engine
"""
