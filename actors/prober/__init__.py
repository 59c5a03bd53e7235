"""Liveness, readiness and startup probes.

| module | purpose |
|---|---|
| actor | messages in and out: pods to probe, results, events, metrics |
| probed_pods | the probes of a pod, and the state of each (pure) |
| thresholds | from outcomes in a row to a result that counts (pure) |
| schedule | when each probe runs next |
| probe_type | the interface of a probe type, and how to add one |
| probe_types | the registry of the types |
| *_probe | one type each: exec, HTTP, TCP, gRPC |
| grpc_relay | the connections of a gRPC probe, which end with it |
| probe_reports | the event of a failed probe, and labels of metrics (pure) |
| outcome | the result of one run of a probe |
"""
