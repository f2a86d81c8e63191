"""What the operator counts about itself."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from gpubench.telemetry.dcgm import Trouble

RECONCILE_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class ApiCounters:
    """Requests to the API server, and those that it refused."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "gpubench_operator_api_requests",
            "Requests to the API server, by verb",
            ["verb"],
            registry=registry,
        )
        self._errors = Counter(
            "gpubench_operator_api_errors",
            "Requests that failed, by HTTP status; 0 where the server was not reached",
            ["status"],
            registry=registry,
        )

    def request(self, verb: str) -> None:
        """Count a request."""
        self._requests.labels(verb).inc()

    def error(self, status: int) -> None:
        """Count a request that failed."""
        self._errors.labels(str(status)).inc()


class DcgmCounters:
    """Scrapes of dcgm-exporters."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._scrapes = Counter(
            "gpubench_operator_dcgm_scrapes", "Scrapes of dcgm-exporters", registry=registry
        )
        self._failures = Counter(
            "gpubench_operator_dcgm_scrape_failures",
            "Scrapes that gave nothing, by reason",
            ["reason"],
            registry=registry,
        )
        self._gaps = Counter(
            "gpubench_operator_dcgm_gaps",
            "Times that an exporter stopped giving answers",
            registry=registry,
        )

    def scraped(self) -> None:
        """Count a scrape."""
        self._scrapes.inc()

    def failed(self, trouble: Trouble) -> None:
        """Count a scrape that gave nothing."""
        self._failures.labels(trouble).inc()

    def gap_began(self) -> None:
        """Count an exporter that stopped answering."""
        self._gaps.inc()


class ReconcileCounters:
    """How reconciling goes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.seconds = Histogram(
            "gpubench_operator_reconcile_seconds",
            "Time of one reconciliation of a benchmark",
            buckets=RECONCILE_BUCKETS,
            registry=registry,
        )
        self.failures = Counter(
            "gpubench_operator_reconcile_failures",
            "Reconciliations that ended with an error and are tried again",
            registry=registry,
        )
        self.waiting = Gauge(
            "gpubench_operator_queue_depth",
            "Benchmarks that wait for their reconciliation",
            registry=registry,
        )
