"""The status of the Node, computed from the API's object and the facts of this node.

- `fact_sources`: where the facts come from: container_manager, image_manager, pleg, the host
- `settings`: the settings of the node in the configuration
- `facts`: the facts, as one immutable value
- `status`: the whole status; `conditions`: Ready and the pressure conditions
- `runtime_state`: whether runtime, PLEG and network are ready
- `machine`: the host's facts: /etc/machine-id, DMI, /proc, os-release
- `patch`: the strategic merge patch between two Nodes
- `report_schedule`: when an unchanged status is written again
"""
