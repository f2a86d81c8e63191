"""The hash of a point: the same for the same work, whatever the benchmark is called.

It names runs and tells which of them an earlier attempt at the sweep has finished, so it covers
everything that changes what a run does or is disturbed by, defaults written out, and nothing else:
not the benchmark's name, acceptance, timeouts, retries, order or repetitions.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from decimal import Context, Decimal
from typing import Any

from gpubench.api.benchmark import GPUBenchmarkSpec, Workload

POINT_HASH_LENGTH = 10
"""50 bits: 10,000 points collide with a probability of 5e-8."""

DECIMAL_FIELDS = frozenset({"learningRate"})
"""Fields of a workload that hold a decimal number as text."""

# Decimal numbers of a spec have 32 characters at most, so nothing is rounded.
_EXACT = Context(prec=40)


class PointHasher:
    """Hashes the points of one benchmark."""

    def __init__(self, spec: GPUBenchmarkSpec) -> None:
        self._shared = {
            "profiling": spec.profiling.to_json_dict(),
            "image": spec.execution.image,
            "isolation": spec.execution.isolation,
        }
        if spec.execution.device is not None:
            self._shared["device"] = spec.execution.device

    def hash_point(self, workload: Workload, gpus: int) -> str:
        """Return ten characters of a-z and 2-7."""
        work = {kind: canonical_values(values) for kind, values in workload.to_json_dict().items()}
        return text_hash(
            canonical_json(self._shared | {"workload": work, "gpus": gpus}), POINT_HASH_LENGTH
        )


def canonical_decimal(text: str) -> str:
    """Return one text for equal numbers: `3e-4`, `0.0003` and `0.00030` become `0.0003`."""
    return str(Decimal(text).normalize(_EXACT))


def canonical_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a workload's JSON values with equal decimal numbers written alike."""
    return {
        name: canonical_decimal(value) if name in DECIMAL_FIELDS else value
        for name, value in values.items()
    }


def canonical_json(value: Any) -> str:
    """Return one text for equal values: keys sorted, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def text_hash(text: str, length: int) -> str:
    """Return the first characters of a text's SHA-256 in base32, lower case: a-z and 2-7."""
    return base64.b32encode(hashlib.sha256(text.encode()).digest())[:length].decode().lower()
