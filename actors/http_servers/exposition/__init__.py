"""Prometheus text, and the metrics of all actors as one page."""
