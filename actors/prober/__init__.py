"""Liveness, readiness and startup probes (and the health of nothing else)."""
