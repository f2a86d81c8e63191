"""Numbers for Prometheus, as code."""
