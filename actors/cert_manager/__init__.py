"""Certificates of this node: self-signed serving pair, client CA, and (joined) those signed by the cluster.

certificate.py            reads the validity, subject and alternative names of a certificate (RFC 5280)
certificate_requester.py  requests one certificate, attempt by attempt, until it is installed
certificate_store.py      the store of signed pairs: <prefix>-<time>.pem has certificate and key
client_certificate.py     the node's client certificate: its bootstrap and rotation, decided by client_plan.py
client_credentials.py     sends the actors that use the API server their credentials when these change
client_kubeconfig.py      reads a kubeconfig and its client certificate; again only when one of its files has changed
client_plan.py            the next action for the node's client certificate, by the state of the files
client_report.py          logs the client certificate: each problem once, and its validity when that changes
client_state.py           the state of the client certificate's files (both kubeconfigs and the store)
clocks.py                 the clocks of the certificate manager
file_stamp.py             the stamp of a file, which shows a change of it
local_serving.py          the serving pair of a node whose cluster does not sign one: the operator's files
remedies.py               what mends requests for client certificates
request_attempt.py        one attempt to get a certificate signed: create or find a CertificateSigningRequest
request_retries.py        the pauses between attempts to get a certificate signed
rotation.py               when a certificate is due for rotation
self_signed.py            creates a self-signed serving pair for a node whose cluster does not sign one
serving_plan.py           whether the serving pair stays, or a new one is created or requested
signed_serving.py         the serving pair that the cluster signs (serverTLSBootstrap)
signing_keys.py           creates private keys and signs requests with them
signing_request.py        CertificateSigningRequest objects (certificates.k8s.io/v1): builds and reads them
"""
