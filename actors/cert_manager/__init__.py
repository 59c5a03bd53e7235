"""Certificates of this node: self-signed serving pair, client CA, and (joined) those signed by the cluster."""
