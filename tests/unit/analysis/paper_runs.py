"""The paper's own measurements as if they were ours (Lawenda et al. 2025, tables 2 and 3).

The paper prints whole seconds, and percentages that it computed before it cut them: from the
printed 6 266 s and 3 721 s follow 168.40 %, printed are 168.38 %. The times below have the printed
whole seconds and give back the printed percentages; an integer program over the fractions found
them once. All percentages of table 3 come out to the digit, and 16 of the 17 of table 2: its
252.93 (FP16 on one GPU against FP64) contradicts the others by itself, for 187.66 / 171.41 is not
252.93 / 231.07.
"""

from __future__ import annotations

from gpubench.analysis.inputs import ReportInput
from tests.unit.analysis.result_builders import image_workload, make_input, valid_run

# (GPUs, precision): seconds, and as printed: seconds, accuracy, compared to 1 GPU, to FP64.
TABLE_2 = {
    (1, "FP64"): (6266.001, 6266, 99.43, 100.00, None),
    (1, "FP32"): (3721.237, 3721, 99.32, 100.00, 168.38),
    (1, "FP16"): (2477.072, 2477, 99.57, 100.00, 252.93),
    (2, "FP64"): (3339.105, 3339, 99.20, 187.66, None),
    (2, "FP32"): (2094.172, 2094, 99.24, 177.69, 159.45),
    (2, "FP16"): (1445.074, 1445, 97.94, 171.41, 231.07),
    (3, "FP64"): (2318.122, 2318, 98.70, 270.31, None),
    (3, "FP32"): (1483.077, 1483, 99.03, 250.91, 156.30),
    (3, "FP16"): (1049.052, 1049, 99.21, 236.12, 220.97),
    (4, "FP64"): (1937.030, 1937, 99.32, 323.48, None),
    (4, "FP32"): (1256.093, 1256, 98.88, 296.25, 154.21),
    (4, "FP16"): (919.017, 919, 99.20, 269.53, 210.77),
}

# (GPUs, pin memory): the same, the last compared to pin memory off.
TABLE_3 = {
    (1, False): (3792.001, 3792, 99.30, 100.00, None),
    (1, True): (2921.908, 2921, 99.41, 100.00, 129.78),
    (2, False): (2205.527, 2205, 99.24, 171.93, None),
    (2, True): (1733.471, 1733, 99.48, 168.56, 127.23),
    (3, False): (1579.923, 1579, 99.30, 240.01, None),
    (3, True): (1283.950, 1283, 98.70, 227.57, 123.05),
    (4, False): (1358.742, 1358, 99.20, 279.08, None),
    (4, True): (1165.084, 1165, 99.36, 250.79, 116.62),
}


def table_2_input() -> ReportInput:
    return make_input(
        valid_run(image_workload(precision=precision), gpus, seconds=row[0], accuracy=row[2] / 100)
        for (gpus, precision), row in TABLE_2.items()
    )


def table_3_input() -> ReportInput:
    return make_input(
        valid_run(image_workload(pin_memory=pinned), gpus, seconds=row[0], accuracy=row[2] / 100)
        for (gpus, pinned), row in TABLE_3.items()
    )
