"""What the training calls its ranges."""

from __future__ import annotations

PHASE_DOMAIN = "gpubench"
"""NVTX domain of the training's own ranges."""
WINDOW_RANGE = "window"
"""The range that lasts as long as what is profiled."""
INNERMOST_PHASES = frozenset({"data", "host_to_device", "forward", "backward", "optimizer"})
"""Phases of a step, one after the other."""
PHASES = INNERMOST_PHASES | {WINDOW_RANGE, "epoch", "step"}
"""Names of the ranges. Annotations of torch have no domain: there, the names alone tell them."""
