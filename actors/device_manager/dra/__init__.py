"""Dynamic resource allocation (KEP-4381): prepares the resource claims of pods by the drivers of this node.

batches.py          one call to each driver for all claims of a pod, and what its answer means
checkpoint.py       the file dra_manager_state, in the kubelet's format
claim_store.py      the claims of this node and their file, dra_manager_state
claims.py           the claims that may be prepared on this node, and the pods that use them, as one immutable value
connection.py       calls to a driver
driver_services.py  the services that a driver offers, and which of them are used
drivers.py          the registered drivers, and the plugin of each that serves
health.py           the health of devices as their drivers report it, as one immutable value
health_file.py      the file dra_health_state, in the kubelet's format: JSON without a checksum
health_watch.py     follows the health that drivers report, and reports changes (KEP-4680)
preparation.py      prepares and unprepares the claims of pods
resource_claims.py  dynamic resource allocation in the device manager: drivers, claims, answers
slices.py           deletes the ResourceSlices of this node whose driver is absent
"""
