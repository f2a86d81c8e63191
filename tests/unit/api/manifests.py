"""Benchmarks as text, for tests of reading them."""

from __future__ import annotations

HEADER = """\
apiVersion: gpubench.io/v1alpha1
kind: GPUBenchmark
metadata: {name: demo}
"""


def manifest(spec: str = "", workload: str = "{imageRecognition: {}}") -> str:
    """Return a benchmark's manifest with this one line of spec and this workload."""
    return f"{HEADER}spec:\n  workload: {workload}\n  {spec}\n"
