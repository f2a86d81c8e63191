"""A sweep as Prometheus would have recorded it: the real collectors, asked at every moment of it.

Rates are near those of Lawenda et al. 2025 on H100s; the sweep itself has never run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from gpubench.api.benchmark import Progress
from gpubench.api.compact import CompactFamily, CompactProfile, CompactResult, CompactTelemetry
from gpubench.api.enums import BenchmarkPhase, Family, RunPhase, ValidityStatus
from gpubench.api.layout import PROGRESS_FILE
from gpubench.api.progress import AttemptProgress, Stage
from gpubench.api.run_telemetry import RunTelemetry
from gpubench.controller.cache import ClusterCache
from gpubench.controller.counters import ApiCounters, ReconcileCounters
from gpubench.controller.health import Health
from gpubench.controller.metrics import ClusterCollector
from gpubench.telemetry.benchmark_metrics import BenchmarkSample, benchmark_metrics
from gpubench.telemetry.dcgm_metrics import dcgm_metrics
from gpubench.telemetry.run_metrics import run_metrics
from gpubench.telemetry.run_sample import RunPod, RunSample
from gpubench_workloads.live_metrics.collector import LiveCollector, LiveRun
from tests.unit.lifecycle.results import good_result

NAMESPACE = "lab"
BENCHMARK = "mobilenet-sweep"
NODE = "gpu-node-1"
BATCH = 64
EPOCHS = 20
RUN_SECONDS = 170.0
PAUSE_SECONDS = 20.0
STEP_SECONDS = 15.0
WATTS = 410.0
IMAGES = 60_000 * EPOCHS
MODEL = "NVIDIA H100 80GB HBM3"


@dataclass(frozen=True)
class SweepRun:
    """One run of the sweep, from its start in seconds since the sweep's."""

    number: int
    gpus: int
    image_size: int
    pin_memory: bool
    dataset: str

    @property
    def name(self) -> str:
        return f"{BENCHMARK}-{self.number:010d}-1"

    @property
    def start(self) -> float:
        return self.number * (RUN_SECONDS + PAUSE_SECONDS)

    @property
    def end(self) -> float:
        return self.start + RUN_SECONDS

    @property
    def efficiency(self) -> float:
        """Small images leave more GPUs with less to do."""
        loss = 0.02 if self.image_size >= 500 else 0.14
        return 1 / (1 + loss * (self.gpus - 1))

    @property
    def rate(self) -> float:
        of_one = (420 if self.image_size >= 500 else 2600) * (1.12 if self.pin_memory else 1.0)
        return of_one * self.gpus * self.efficiency

    @property
    def energy(self) -> float:
        return WATTS * self.gpus * IMAGES / self.rate

    @property
    def parameters(self) -> dict[str, str]:
        group = f"g{self.image_size}{self.pin_memory}{self.dataset}".lower()
        return {
            "workload": "imageRecognition",
            "model": "mobilenet_v2",
            "dataset": self.dataset,
            "gpus": str(self.gpus),
            "strategy": "DDP-DS",
            "precision": "FP32",
            "batch_size": str(BATCH),
            "image_size": str(self.image_size),
            "pin_memory": str(self.pin_memory).lower(),
            "input_pipeline": "DataLoader",
            "repetition": "1",
            "point": f"{self.number:010d}",
            "scaling_group": group,
        }


RUNS: Sequence[SweepRun] = [
    SweepRun(number, gpus, size, pinned, dataset)
    for number, (dataset, size, pinned, gpus) in enumerate(
        [
            *product(["mnist"], [500, 100], [False, True], [1, 2, 4]),
            *product(["fashion"], [500], [False], [1, 2, 4]),
        ]
    )
]
LAST = RUNS[-1]
"""Still runs when the recording ends."""
SECONDS = LAST.start + 0.7 * RUN_SECONDS


def result_of(run: SweepRun) -> CompactResult:
    """What the run's pod would hand over."""
    iteration = BATCH * run.gpus / run.rate
    base = good_result()
    assert base.iteration is not None
    factor = iteration / base.iteration.mean
    spread = {name: value * factor for name, value in base.iteration.model_dump().items()}
    return base.model_copy(
        update={
            "run": run.name,
            "setup_seconds": 8.0,
            "training_seconds": IMAGES / run.rate,
            "evaluation_seconds": 4.0,
            "total_seconds": RUN_SECONDS,
            "steps": int(IMAGES / BATCH / run.gpus),
            "iteration": base.iteration.model_copy(update=spread),
            "samples_per_second": run.rate,
            "dataset_samples_per_second": run.rate,
            "tokens_per_second": 196.0 * run.rate,
            "flops_per_second": 9.4e9 * run.rate,
            "mfu": 9.4e9 * run.rate / (67e12 * run.gpus),
            "accuracy": 0.985 + 0.001 * (run.number % 5),
            "peak_memory_bytes": [21 * 2**30] * run.gpus,
            "telemetry": CompactTelemetry(
                utilization=0.94, power_watts=WATTS, energy_joules=run.energy
            ),
            "profile": profile_of(run),
        }
    )


def profile_of(run: SweepRun) -> CompactProfile:
    """A window of 12 s in which smaller images mean more launches, and pinning fewer copies."""
    small = 1.0 if run.image_size >= 500 else 2.4
    whole = 12.0 * run.gpus
    shares = {
        Family.MEMCPY_HOST_TO_DEVICE: 0.05 if run.pin_memory else 0.24,
        Family.CUDA_LAUNCH_KERNEL: 0.09 * small,
        Family.CUDA_STREAM_SYNCHRONIZE: 0.46 if run.pin_memory else 0.31,
        Family.NCCL_ALL_REDUCE: 0.03 * small * (run.gpus - 1) ** 0.5,
        Family.CUDA_MEMCPY_ASYNC: 0.04,
        Family.COMPUTE_KERNEL: 0.62 / small,
    }
    return CompactProfile(
        source="Nsys",
        window_seconds=12.0,
        overhead=0.012 * small,
        idle_share=min(0.07 * small * run.gpus**0.5, 0.9),
        families={
            family: CompactFamily(calls=int(40_000 * share), seconds=share * whole)
            for family, share in shares.items()
            if share > 0
        },
    )


def telemetry_of(run: SweepRun) -> RunTelemetry:
    """What DCGM would have seen of it."""
    return RunTelemetry(
        attempt=1,
        window_seconds=RUN_SECONDS,
        refresh_seconds=STEP_SECONDS,
        samples=11 * run.gpus,
        expected_samples=11 * run.gpus,
        coverage=1.0,
        utilization=0.94,
        sm_active=0.71,
        power_watts=WATTS,
        energy_joules=run.energy,
        temperature_celsius=60.0,
        pcie_receive_bytes=int(6.2e9 * RUN_SECONDS),
    )


class RecordedSweep:
    """Tells what every exporter would have served at each moment."""

    def __init__(self, began_at: float, folder: Path) -> None:
        """Record a sweep that began at a time, with a folder for the progress of its runs."""
        self.began_at = began_at
        self._folder = folder
        self._operator = CollectorRegistry()
        self._api = ApiCounters(self._operator)
        self._counters = ReconcileCounters(self._operator)
        self._operator.register(ClusterCollector(ClusterCache(), Health(is_leader=True)))

    def metrics(self, seconds: float) -> Iterator[Metric]:
        """Yield what is served so long after the beginning."""
        self._work(seconds)
        runs = [self._sample(run, seconds) for run in RUNS]
        for metric in self._operator.collect():
            if not metric.name.startswith(("gpubench_run_", "gpubench_benchmark_")):
                yield metric
        yield from run_metrics(runs)
        yield from benchmark_metrics([self._benchmark(runs)])
        yield from dcgm_metrics(runs)
        for run in RUNS:
            if run.start <= seconds < run.end:
                yield from self._live(run, seconds - run.start)
        yield from text_string_to_metric_families(dcgm_exposition(seconds))

    def _work(self, seconds: float) -> None:
        """Let the operator have done something since the last moment."""
        for number in range(3):
            self._counters.seconds.observe(0.01 + 0.004 * number)
            self._api.request("get" if number else "patch")
        if seconds % 300 < STEP_SECONDS:
            self._counters.failures.inc()
            self._api.error(409)

    def _sample(self, run: SweepRun, seconds: float) -> RunSample:
        has_begun, is_over = seconds >= run.start, seconds >= run.end
        phase = RunPhase.SUCCEEDED if is_over else RunPhase.RUNNING
        pod = RunPod(f"{run.name}-1-master-0", NODE)
        return RunSample(
            namespace=NAMESPACE,
            benchmark=BENCHMARK,
            run=run.name,
            phase=phase if has_begun else RunPhase.PENDING,
            parameters=run.parameters,
            attempts=int(has_begun),
            gpu_seconds=run.gpus * RUN_SECONDS if is_over else 0.0,
            validity=ValidityStatus.VALID if is_over else None,
            result=result_of(run) if is_over else None,
            failed_gates=["Profile"] if is_over and run.number == 3 else [],
            started_at=self.began_at + run.start if has_begun else None,
            completed_at=self.began_at + run.end if is_over else None,
            telemetry=telemetry_of(run) if is_over else None,
            pods=[pod] if has_begun and not is_over else [],
        )

    def _benchmark(self, runs: Sequence[RunSample]) -> BenchmarkSample:
        phases = [run.phase for run in runs]
        progress = Progress(
            total=len(runs),
            pending=phases.count(RunPhase.PENDING),
            running=phases.count(RunPhase.RUNNING),
            succeeded=phases.count(RunPhase.SUCCEEDED),
        )
        ends = self.began_at + LAST.end
        times = {"started_at": self.began_at, "completed_at": None, "estimated_completion_at": ends}
        return BenchmarkSample(
            NAMESPACE, BENCHMARK, BenchmarkPhase.RUNNING, progress, failure_budget=4, **times
        )

    def _live(self, run: SweepRun, elapsed: float) -> Iterator[Metric]:
        share = max(elapsed - 8.0, 0.0) / (RUN_SECONDS - 8.0)
        steps = int(IMAGES / BATCH / run.gpus)
        wave = 1 + 0.03 * math.sin(elapsed)
        progress = AttemptProgress(
            stage=Stage.TRAINING if elapsed > 8 else Stage.STARTING,
            epoch=1 + int(share * EPOCHS),
            epochs=EPOCHS,
            step=int(share * steps),
            steps=steps,
            samples_per_second=run.rate * wave,
            iteration_seconds=BATCH * run.gpus / run.rate / wave,
            loss=2.3 * math.exp(-6 * share) + 0.04,
            time=self.began_at + run.start + elapsed,
        )
        path = self._folder / PROGRESS_FILE
        path.write_text(progress.model_dump_json(by_alias=True), encoding="utf-8")
        uuids = [uuid_of(gpu) for gpu in range(run.gpus)]
        live = LiveRun(NAMESPACE, BENCHMARK, run.name, 1, 1800, uuids)
        yield from LiveCollector(live, path).collect()


def uuid_of(gpu: int) -> str:
    return f"GPU-00000000-0000-0000-0000-00000000000{gpu}"


def dcgm_exposition(seconds: float) -> str:
    """What dcgm-exporter of a node with four GPUs serves, with its labels."""
    running = next((run for run in RUNS if run.start <= seconds < run.end), None)
    lines = []
    for gpu in range(4):
        busy = running is not None and gpu < running.gpus and seconds > running.start + 8
        wave = math.sin(seconds / 7 + gpu)
        labels = f'gpu="{gpu}",UUID="{uuid_of(gpu)}",device="nvidia{gpu}",modelName="{MODEL}"'
        labels += f',Hostname="{NODE}"'
        if running is not None and gpu < running.gpus:
            pod = f"{running.name}-1-master-0"
            labels += f',container="pytorch",namespace="{NAMESPACE}",pod="{pod}"'
        for field, idle, at_work, swing in (
            ("DEV_GPU_UTIL", 0, 94, 3),
            ("DEV_MEM_COPY_UTIL", 0, 40, 3),
            ("DEV_FB_USED", 4, 21800, 0),
            ("DEV_POWER_USAGE", 72, 410, 20),
            ("DEV_GPU_TEMP", 31, 58, 2),
            ("DEV_SM_CLOCK", 345, 1980, 0),
            ("DEV_XID_ERRORS", 0, 0, 0),
            ("PROF_SM_ACTIVE", 0, 0.71, 0.03),
            ("PROF_PIPE_TENSOR_ACTIVE", 0, 0.02, 0.005),
            ("PROF_DRAM_ACTIVE", 0, 0.44, 0.03),
            ("PROF_PCIE_RX_BYTES", 1e6, 6.2e9, 4e8),
            ("PROF_PCIE_TX_BYTES", 1e6, 3.1e8, 4e7),
            ("PROF_NVLINK_RX_BYTES", 0, 2.2e9, 1e8),
            ("PROF_NVLINK_TX_BYTES", 0, 2.2e9, 1e8),
        ):
            value = at_work + swing * wave if busy else idle
            lines.append(f"DCGM_FI_{field}{{{labels}}} {value}")
    return "\n".join(sorted(lines)) + "\n"
