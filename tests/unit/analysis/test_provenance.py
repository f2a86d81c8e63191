from __future__ import annotations

from gpubench.analysis.provenance import Origin, origins
from tests.unit.analysis.result_builders import (
    image_workload,
    make_provenance,
    missing_run,
    valid_run,
)


def origin(found: tuple[Origin, ...], name: str) -> Origin:
    return next(origin for origin in found if origin.name == name)


def test_settings_may_follow_the_parameters() -> None:
    runs = [
        valid_run(
            image_workload(precision=precision),
            1,
            provenance=make_provenance(settings={"epsilon": epsilon}),
        )
        for precision, epsilon in (("FP32", "1e-8"), ("FP16", "1e-4"))
    ]
    found = origin(origins(runs), "epsilon")
    assert len(found.values) == 2
    assert not found.is_mixed


def test_settings_that_differ_between_repetitions_are_mixed() -> None:
    runs = [
        valid_run(
            image_workload(),
            1,
            repetition=number,
            provenance=make_provenance(settings={"backend": backend}),
        )
        for number, backend in enumerate(("nccl", "gloo"), start=1)
    ]
    assert origin(origins(runs), "backend").is_mixed


def test_another_content_of_the_same_dataset_is_mixed() -> None:
    runs = [
        valid_run(
            image_workload(),
            gpus,
            provenance=make_provenance(dataset={"name": "mnist", "sha256": digest}),
        )
        for gpus, digest in ((1, "aaa"), (2, "bbb"))
    ]
    assert origin(origins(runs), "sha256").is_mixed
    assert not origin(origins(runs), "name").is_mixed


def test_a_sweep_over_datasets_is_not_mixed() -> None:
    runs = [
        valid_run(
            image_workload(dataset={"name": name}),
            1,
            provenance=make_provenance(dataset={"name": name, "sha256": name}),
        )
        for name in ("mnist", "digits")
    ]
    assert not origin(origins(runs), "sha256").is_mixed


def test_machines_of_a_cluster_may_differ() -> None:
    runs = [
        valid_run(image_workload(), 1, repetition=number, provenance=make_provenance(node=node))
        for number, node in enumerate(("node-1", "node-2"), start=1)
    ]
    assert not origin(origins(runs), "node").is_mixed


def test_runs_without_a_result_say_nothing() -> None:
    assert origins([missing_run(image_workload(), 1)]) == ()
