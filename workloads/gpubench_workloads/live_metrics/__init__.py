"""What Prometheus sees of a run while it runs."""
