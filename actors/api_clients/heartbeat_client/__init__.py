"""The Node object and its Lease.

- `messages`: its messages
- `actor`: messages in and out
- `registered_node`: the Node to register, and the reconciled fields of an existing one; `node_registration` does it
- `lease`, `lease_renewal`: the Lease, and its renewal every quarter of its duration
- `node_status/`: the status: its inputs and its computation
- `own_objects`: Node and Lease as the API server answers with them
- `status_sync`: when the status is written; `node_writer`: the requests that create the Node and patch its status
- `first_ready`: writes the first Ready of a start at once
- `node_events`: events of the Node
- `startup_times`: metrics of the way from boot to the first Ready
- `managed_network`: whether a managed container runtime gives pods the addresses that the cluster gave this node;
  `network_check` reports that it does not
- `serving_addresses`: sends cert_manager the names for the serving certificate
- `resolver_limits`: reports a host resolv.conf that leaves no room for the search domains of pods
- `server_trouble`: reports to `supervise status` that the API server does not let the node renew its lease
"""
