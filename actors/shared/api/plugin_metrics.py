"""The metrics of a credential plugin, as in client-go: its runs, and the age and remaining lifetime of its
certificates."""

from __future__ import annotations

from typing import Final

from supervision.metrics import Metrics

from .exec_plugin import PluginRun

CALLS: Final = "rest_client_exec_plugin_call_total"
TTL: Final = "rest_client_exec_plugin_ttl_seconds"
AGE: Final = "rest_client_exec_plugin_certificate_rotation_age"


class PluginMetrics:
    """The counts of one client; without `metrics` it counts nothing."""

    def __init__(self, metrics: Metrics | None = None) -> None:
        self._metrics = metrics
        self._valid: tuple[float, float] | None = None

    def count_run(self, run: PluginRun) -> None:
        if self._metrics is not None:
            self._metrics.count(CALLS, call_status=run.status, code=str(run.code))

    def issued(self, valid: tuple[float, float] | None, now: float) -> None:
        """The plugin has issued credentials. `valid`: start and end of their certificate; `now`: seconds since 1970."""
        before, self._valid = self._valid, valid
        if self._metrics is not None and before is not None and valid is not None and before != valid:
            self._metrics.observe(AGE, now - before[0])

    def tell_rest(self, now: float) -> None:
        """Set the gauge of the time that the certificate is still valid: infinite without one."""
        if self._metrics is not None:
            self._metrics.gauge(TTL, self._valid[1] - now if self._valid is not None else float("inf"))
