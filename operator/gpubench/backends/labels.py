"""Labels by which runs, jobs and pods are found again."""

from __future__ import annotations

from gpubench.sweep.names import run_name_prefix

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "gpubench"
SELECTOR = f"{MANAGED_BY_LABEL}={MANAGED_BY}"
BENCHMARK_LABEL = "gpubench.io/benchmark"
BENCHMARK_UID_LABEL = "gpubench.io/benchmark-uid"
RUN_LABEL = "gpubench.io/run"
ATTEMPT_LABEL = "gpubench.io/attempt"
TEMPLATE_ANNOTATION = "gpubench.io/template"
"""On a job: the digest of the specification that it was made from."""
WAITING_SINCE_ANNOTATION = "gpubench.io/waiting-since"
"""On a job that was made anew because it got no pod: since when its attempt waits."""
IMAGE_ANNOTATION = "gpubench.io/image"
"""On a run: the image of its first attempt's pod, for whoever reads its volume later."""


def benchmark_labels(benchmark: str, benchmark_uid: str) -> dict[str, str]:
    """Return the labels of everything that belongs to a benchmark.

    A benchmark's name may be longer than a label's value, so the label holds it as its runs'
    names begin; the uid tells apart a benchmark that was deleted and made again.
    """
    return {
        MANAGED_BY_LABEL: MANAGED_BY,
        BENCHMARK_LABEL: run_name_prefix(benchmark),
        BENCHMARK_UID_LABEL: benchmark_uid,
    }


def run_labels(benchmark: str, benchmark_uid: str, run: str) -> dict[str, str]:
    """Return the labels of a run."""
    return benchmark_labels(benchmark, benchmark_uid) | {RUN_LABEL: run}


def attempt_labels(benchmark: str, benchmark_uid: str, run: str, attempt: int) -> dict[str, str]:
    """Return the labels of an attempt's job and pod."""
    return run_labels(benchmark, benchmark_uid, run) | {ATTEMPT_LABEL: str(attempt)}
