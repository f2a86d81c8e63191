"""Measure how fast machines really train: sweeps of PyTorch runs, profiled and compared."""

__version__ = "0.1.0"
