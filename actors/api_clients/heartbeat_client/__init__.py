"""The Node object and its Lease.

- `actor`: messages in and out
- `registration`: the Node as it is registered, and what is reconciled of one that exists; `node_registration` does it
- `lease`, `lease_renewal`: the Lease, and its renewal every quarter of its duration
- `node_status/`: the status: from what it is computed, and how
- `own_objects`: Node and Lease as the API server answers with them
- `status_sync`: when the status is written; `node_writer`: the requests that create the Node and patch its status
- `node_events`: events of the Node
- `startup_times`: metrics of the way from boot to the first Ready
- `managed_network`: whether a managed container runtime gives pods the addresses that the cluster gave this node;
  `network_check` reports that it does not
- `serving_addresses`: tells cert_manager what a serving certificate is to name
- `resolver_limits`: tells users when the host's resolv.conf leaves no room for the search domains of pods
- `server_trouble`: reports to `supervise status` that the API server does not let the node renew its lease
"""
