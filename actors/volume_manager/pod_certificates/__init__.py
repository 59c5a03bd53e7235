"""Certificates of pods: a key for each podCertificate source, a PodCertificateRequest for it, and its renewal.

Nothing is saved: after a restart each certificate is requested again, as by the kubelet, and the volumes keep their
files until it is issued.

- `states`: what is known of one certificate, and what is done next
- `requests`: the objects of the API, built and read
- `keys`: makes keys and what they sign, in a disposable process
- `pod_certificate`: one certificate of a pod, from its first request until the pod's volumes are unmounted
- `certificates`: those of all pods
- `api`: what a request needs of the API server, through kube_client
"""
