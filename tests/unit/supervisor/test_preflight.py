"""What must be there before a run starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gpubench.api.benchmark import Workload
from gpubench.api.enums import DeviceKind, FailureClass, TextSource, WorkloadKind
from gpubench.api.image_recognition import ImageRecognition
from gpubench.api.llm_tuning import LLMTuning, TextDataset
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.supervisor import preflight
from tests.unit.results import run_spec


def image_spec(**fields: object) -> RunSpec:
    workload = ImageRecognition.model_validate(fields)
    return run_spec(Workload(image_recognition=workload))


class Usage(NamedTuple):
    """What shutil.disk_usage tells."""

    total: int
    used: int
    free: int


def failure_of(check: Callable[[], None]) -> tuple[FailureClass, str]:
    with pytest.raises(preflight.PreflightError) as caught:
        check()
    return caught.value.failure_class, str(caught.value)


def test_workload_whose_packages_are_missing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(preflight.PACKAGES, WorkloadKind.LLM_TUNING, ("torch", "no_such_package"))
    spec = run_spec(Workload(llm_tuning=LLMTuning()))
    kind, message = failure_of(lambda: preflight.check_workload(spec))
    assert kind is FailureClass.BAD_SPEC
    assert message == (
        "workload.llmTuning: not part of this installation or image, which lacks no_such_package"
    )


def test_weights_that_are_not_there_are_refused(tmp_path: Path) -> None:
    dataset = TextDataset(source=TextSource.SYNTHETIC, samples=8)
    spec = run_spec(Workload(llm_tuning=LLMTuning(dataset=dataset)))
    spec = spec.model_copy(update={"data_root": str(tmp_path)})
    kind, message = failure_of(lambda: preflight.check_inputs(spec, tmp_path))
    assert kind is FailureClass.DATA_MISSING
    assert message == (
        f"weights of llama3-8b: no folder {tmp_path}/llama3-8b; set weights.path, "
        "or weights.source: Random"
    )


def test_data_parallel_over_a_cpu_is_refused() -> None:
    spec = image_spec(strategy="DataParallel")
    kind, message = failure_of(lambda: preflight.check_workload(spec))
    assert kind is FailureClass.BAD_SPEC
    assert message.startswith("strategy: DataParallel with gpus: 2 makes no sense on a CPU")


def test_gpus_that_are_not_there_are_refused() -> None:
    spec = image_spec().model_copy(update={"device": DeviceKind.CUDA})
    kind, message = failure_of(lambda: preflight.check_devices(spec))
    assert kind is FailureClass.ENVIRONMENT
    assert message == "gpus: 2 are asked for, 0 are visible to this process"


def test_full_disk_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(10**9, 10**9, 3 * 2**20))
    kind, message = failure_of(lambda: preflight.check_disk(tmp_path))
    assert kind is FailureClass.ENVIRONMENT
    assert message == f"results folder {tmp_path}: 3 MiB free, 64 MiB needed"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # 2 ranks x 2 workers x 2 batches of 64 images of 3 x 100 x 100 values
        ({"imageSize": 100, "workers": 2}, 2 * 2 * 2 * 64 * 30_000 * 4),
        ({"imageSize": 100, "workers": 2, "precision": "FP64"}, 2 * 2 * 2 * 64 * 30_000 * 8),
        ({"imageSize": 100, "workers": 0}, 0),
        ({"imageSize": 100, "inputPipeline": "DeviceResident"}, 0),
    ],
)
def test_shared_memory_that_workers_need(fields: dict[str, object], expected: int) -> None:
    assert preflight.shared_memory_bytes(image_spec(**fields)) == expected


def test_small_shared_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(2**26, 0, 2**26))
    spec = image_spec(imageSize=700, workers=4)
    kind, message = failure_of(lambda: preflight.check_shared_memory(spec))
    assert kind is FailureClass.ENVIRONMENT
    assert message.startswith("/dev/shm: 64 MiB free, about 5742 MiB needed by DataLoader workers")
