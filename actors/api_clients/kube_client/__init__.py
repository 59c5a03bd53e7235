"""Requests for other actors, the pods of this node, and the objects that these refer to.

- `messages`: its messages
- `actor`: messages in and out
- `pod_feed`: the pods that are bound to this node, passed on to pod_config and status_manager
- `pod_references`: which Secrets and ConfigMaps a pod refers to
- `object_cache`, `cached_object`: these objects, watched or read again, by configMapAndSecretChangeDetectionStrategy
- `cached_collection`: Services, RuntimeClasses, CSIDrivers and the Node
- `certificate_requests`: the PodCertificateRequests of this node
- `trust_bundles`: ClusterTrustBundles, and in which version the API server has them
- `refused_collections`: those that the API server refuses, for the log and `supervise status`
- `assigned_config`, `assigned_config_feed`: the ConfigMap that an annotation of the Node assigns as configuration
- `node_annotations`: the annotations of the node that are read
"""
