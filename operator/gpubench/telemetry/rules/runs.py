"""Recording rules about runs and points. A point's number is the mean of its valid runs."""

from __future__ import annotations

from gpubench.telemetry.rules.model import BENCHMARK, RUN, Recording, of_run, with_parameters

GROUP = f"{BENCHMARK}, scaling_group"
POINT = f"{GROUP}, point"

POINT_RATE = "point:gpubench_dataset_samples_per_second:mean"
POINT_GPUS = "point:gpubench_gpus:max"
SPEEDUP = "point:gpubench_speedup:ratio"
EFFICIENCY = "point:gpubench_scaling_efficiency:ratio"
OVERHEAD = "point:gpubench_profile_overhead_ratio:mean"
PER_GPU = "run:gpubench_samples_per_second:per_gpu"
ENERGY_PER_SAMPLE = "run:gpubench_energy_joules:per_sample"
ENERGY_PER_TOKEN = "run:gpubench_energy_joules:per_token"  # noqa: S105 - of text, not of access


def _by_point(aggregation: str, metric: str) -> str:
    """Return a metric of runs over those of a point."""
    joined = with_parameters(of_run(metric), "scaling_group, point")
    return f"{aggregation} by ({POINT}) ({joined})"


_TRAINING_SECONDS = of_run("gpubench_run_training_seconds")
# What DCGM saw from outside before what the pod saw of its own GPUs.
_ENERGY = (
    f"(sum by ({RUN}) (gpubench_run_dcgm_energy_joules)"
    f" or {of_run('gpubench_run_gpu_energy_joules')})"
)

RUN_RULES = (
    Recording(POINT_GPUS, _by_point("max", "gpubench_run_gpus")),
    Recording(POINT_RATE, _by_point("avg", "gpubench_run_dataset_samples_per_second")),
    # Against the point with one GPU that is the same in everything else.
    Recording(
        SPEEDUP,
        f"{POINT_RATE} / on ({GROUP}) group_left ()"
        f" ({POINT_RATE} and on ({POINT}) {POINT_GPUS} == 1)",
    ),
    Recording(EFFICIENCY, f"{SPEEDUP} / on ({POINT}) {POINT_GPUS}"),
    Recording(OVERHEAD, _by_point("avg", "gpubench_run_profile_overhead_ratio")),
    Recording(
        PER_GPU,
        f"{of_run('gpubench_run_samples_per_second')} / on ({RUN}) {of_run('gpubench_run_gpus')}",
    ),
    # Trained samples are the steady rate times the time of training.
    Recording(
        ENERGY_PER_SAMPLE,
        f"{_ENERGY} / on ({RUN})"
        f" ({of_run('gpubench_run_samples_per_second')} * on ({RUN}) {_TRAINING_SECONDS})",
    ),
    Recording(
        ENERGY_PER_TOKEN,
        f"{_ENERGY} / on ({RUN})"
        f" ({of_run('gpubench_run_tokens_per_second')} * on ({RUN}) {_TRAINING_SECONDS})",
    ),
)
