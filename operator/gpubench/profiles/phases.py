"""What the training calls its ranges."""

from __future__ import annotations

PHASE_DOMAIN = "gpubench"
"""NVTX domain of the training's own ranges."""
WINDOW_RANGE = "window"
"""The range that lasts as long as what is profiled."""
PHASES = frozenset(
    {
        WINDOW_RANGE,
        "epoch",
        "step",
        "data",
        "host_to_device",
        "forward",
        "backward",
        "optimizer",
    }
)
"""Names of the ranges. Annotations of torch have no domain: there, the names alone tell them."""
