"""Usage figures as the summary API and as metrics. Loaded by the first request.

cadvisor_metrics.py  /metrics/cadvisor: the container_* and machine_* series, with cAdvisor's names
cgroup_rows.py       the rows of /metrics/cadvisor: each cgroup with its pod and container
disk_metrics.py      the container_fs_* and container_blkio_* series of /metrics/cadvisor
log_metrics.py       the series of container logs in /metrics
resource_metrics.py  /metrics/resource, for metrics-server and autoscalers (KEP-727)
sample.py            the usage figures of the pages
stats_fields.py      the groups of fields that nodes, pods and containers share in the Summary
summary.py           /stats/summary: the Summary of stats/v1alpha1
volume_metrics.py    the series of claims in /metrics (kubelet_volume_stats_*), for alerts on full disks
"""
