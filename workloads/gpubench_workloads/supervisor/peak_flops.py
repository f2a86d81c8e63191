"""Dense peak arithmetic rates of GPUs, from the vendor's data sheets."""

from __future__ import annotations

from gpubench.api.enums import Precision

TERA = 1e12

PEAKS: tuple[tuple[str, dict[Precision, float]], ...] = (
    # NVIDIA H100 data sheet (SXM5) and H200 data sheet: the same processor. FP64 and below by
    # tensor cores, sparsity not counted; FP32 by the ordinary cores, since true FP32 has no others.
    (
        "H100 PCIe",
        {
            Precision.FP64: 51 * TERA,
            Precision.FP32: 51 * TERA,
            Precision.TF32: 378 * TERA,
            Precision.BF16: 756 * TERA,
            Precision.FP16: 756 * TERA,
        },
    ),
    *(
        (
            name,
            {
                Precision.FP64: 67 * TERA,
                Precision.FP32: 67 * TERA,
                Precision.TF32: 494.7 * TERA,
                Precision.BF16: 989.4 * TERA,
                Precision.FP16: 989.4 * TERA,
            },
        )
        for name in ("H100", "H200", "GH200")
    ),
    # NVIDIA A100 data sheet.
    (
        "A100",
        {
            Precision.FP64: 19.5 * TERA,
            Precision.FP32: 19.5 * TERA,
            Precision.TF32: 156 * TERA,
            Precision.BF16: 312 * TERA,
            Precision.FP16: 312 * TERA,
        },
    ),
)
"""Part of a device's name, the longer names first, and its peak in operations per second."""


def peak_flops_per_second(device_name: str, precision: Precision) -> float | None:
    """Return a GPU's dense peak at a precision; None for a GPU that the table does not know."""
    for part, peaks in PEAKS:
        if part in device_name:
            return peaks[precision]
    return None
