from __future__ import annotations

from typing import Any

import pytest

from gpubench.api.errors import SpecError
from gpubench.api.overrides import Override, parse_override
from gpubench.api.parsing import parse_benchmark
from tests.unit.api.manifests import manifest

SWEPT = manifest("sweep: {matrix: {gpus: [1, 2], precision: [FP32], dataset: [mnist]}}")
SPEC_FIELDS = "workload, gpus, sweep, execution, profiling, results, suspend"


def spec_with(*overrides: str, text: str = manifest()) -> dict[str, Any]:
    return parse_benchmark(text, "b.yaml", overrides).spec.to_json_dict()


def complaint(*overrides: str, text: str = manifest()) -> str:
    with pytest.raises(SpecError) as caught:
        parse_benchmark(text, "b.yaml", overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "location", "value"),
    [
        ("gpus=2", ("spec", "gpus"), 2),
        ("spec.gpus=2", ("spec", "gpus"), 2),
        (" gpus =2", ("spec", "gpus"), 2),
        ("metadata.name=x", ("metadata", "name"), "x"),
        ("a.b[0].c=yes", ("spec", "a", "b", 0, "c"), True),
        ('a["x.y/z"]=w', ("spec", "a", "x.y/z"), "w"),
        ("a='3'", ("spec", "a"), "3"),
        ("a=[1, 2]", ("spec", "a"), [1, 2]),
        ("a={b: c}", ("spec", "a"), {"b": "c"}),
        ("a=b=c", ("spec", "a"), "b=c"),
        ("a=", ("spec", "a"), None),
        ("a=null", ("spec", "a"), None),
    ],
)
def test_an_override_is_read(text: str, location: tuple[str | int, ...], value: Any) -> None:
    assert parse_override(text) == Override(location, value)


def test_fields_are_set_where_they_were_and_where_they_were_not() -> None:
    spec = spec_with(
        "gpus=2",
        "workload.imageRecognition.imageSize=64",
        "sweep.repetitions=3",
        'execution.placement.nodeSelector["nvidia.com/gpu.product"]=H100',
    )
    assert spec["gpus"] == 2
    assert spec["workload"]["imageRecognition"]["imageSize"] == 64
    assert spec["sweep"]["repetitions"] == 3
    assert spec["execution"]["placement"]["nodeSelector"] == {"nvidia.com/gpu.product": "H100"}


def test_values_of_a_list_are_set_appended_and_taken_out() -> None:
    def precisions(*overrides: str) -> Any:
        return spec_with(*overrides, text=SWEPT)["sweep"]["matrix"].get("precision")

    assert precisions("sweep.matrix.precision[0]=FP64") == ["FP64"]
    assert precisions("sweep.matrix.precision[1]=FP64") == ["FP32", "FP64"]
    assert precisions("sweep.matrix.precision=[FP16]") == ["FP16"]
    assert precisions("sweep.matrix.precision=") is None
    assert spec_with("sweep.matrix.gpus[0]=", text=SWEPT)["sweep"]["matrix"]["gpus"] == [2]


def test_the_last_override_of_a_field_wins() -> None:
    assert spec_with("gpus=2", "gpus=3")["gpus"] == 3


def test_a_field_without_a_value_gets_its_default() -> None:
    text = manifest("gpus: 4")
    assert spec_with("gpus=", text=text)["gpus"] == 1


def test_metadata_can_be_set() -> None:
    assert parse_benchmark(manifest(), "b.yaml", ["metadata.name=other"]).name == "other"


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("gpus", '--set: "gpus" is not of the form path=value, such as gpus=2'),
        ("=2", '--set: "" is not a path such as sweep.matrix.precision[0]'),
        ("gpus.=2", '--set: "gpus." is not a path such as sweep.matrix.precision[0]'),
        ("a b=2", '--set: "a b" is not a path such as sweep.matrix.precision[0]'),
        ("a[x]=2", '--set: "a[x]" is not a path such as sweep.matrix.precision[0]'),
        (
            "gpu=2",
            f"--set: spec.gpu: unknown field; did you mean gpus? allowed: {SPEC_FIELDS}",
        ),
        (
            "workload.imagerecognition.epochs=2",
            "--set: spec.workload.imagerecognition: unknown field; "
            "did you mean imageRecognition? allowed: imageRecognition, llmTuning",
        ),
        ("gpus.x=1", "--set: spec.gpus.x: there is no field below this one"),
        (
            "sweep.include.gpus=1",
            "--set: spec.sweep.include.gpus: a list takes a number in brackets, such as [0]",
        ),
        (
            "workload[0]=1",
            "--set: spec.workload[0]: unknown field; allowed: imageRecognition, llmTuning",
        ),
        (
            "sweep.include[1].gpus=1",
            "--set: spec.sweep.include[1]: the list holds 0 values",
        ),
        ("gpus=[", "--set: spec.gpus: not valid YAML: did not find expected node content"),
        ("gpus=1\n---\n2", "--set: spec.gpus: the value is more than one YAML document"),
        ("status.phase=Running", f"--set: spec.status: unknown field; allowed: {SPEC_FIELDS}"),
        # what the value is, the spec's own checks say
        ("gpus=9", "b.yaml: spec.gpus: 9 is not allowed; allowed: 1 to 8"),
        (
            "sweep.matrix.precision=FP32",
            'b.yaml: spec.sweep.matrix.precision: "FP32" is not a list: write [FP32]',
        ),
    ],
)
def test_a_problem_of_an_override_is_named(override: str, line: str) -> None:
    assert complaint(override) == line


@pytest.mark.parametrize(
    ("override", "line"),
    [
        (
            "gpus=2",
            "--set: spec.gpus: the sweep sets gpus for every point; set sweep.matrix.gpus instead",
        ),
        (
            "workload.imageRecognition.precision=FP16",
            "--set: spec.workload.imageRecognition.precision: "
            "the sweep sets precision for every point; set sweep.matrix.precision instead",
        ),
        (
            "workload.imageRecognition.dataset.name=digits",
            "--set: spec.workload.imageRecognition.dataset.name: "
            "the sweep sets dataset for every point; set sweep.matrix.dataset instead",
        ),
    ],
)
def test_an_override_that_the_sweep_would_ignore_is_refused(override: str, line: str) -> None:
    assert complaint(override, text=SWEPT) == line


def test_other_settings_of_a_swept_dataset_can_be_set() -> None:
    spec = spec_with("workload.imageRecognition.dataset.trainImages=5", text=SWEPT)
    assert spec["workload"]["imageRecognition"]["dataset"]["trainImages"] == 5


def test_an_axis_can_be_taken_out_and_its_parameter_set() -> None:
    spec = spec_with("sweep.matrix.gpus=", "gpus=2", text=SWEPT)
    assert spec["gpus"] == 2
    assert "gpus" not in spec["sweep"]["matrix"]


def test_a_scalar_in_the_way_is_named() -> None:
    text = manifest("sweep: 3")
    assert complaint("sweep.repetitions=2", text=text) == (
        '--set: spec.sweep: 3 has no field "repetitions"'
    )
