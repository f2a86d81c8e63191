from __future__ import annotations

import json

import pytest

from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.enums import Precision
from gpubench.api.errors import SpecError
from gpubench.api.parsing import parse_benchmark
from tests.unit.api.manifests import manifest

AXES = (
    "gpus, model, dataset, imageSize, epochs, batchSize, strategy, precision, casting, pinMemory, "
    "workers, seed, learningRate, optimizer, memoryFormat, compile, inputPipeline, evaluation, "
    "warmupSteps, method, gradientAccumulation, sequenceLength, packed, activationCheckpointing, "
    "maxSteps, loraRank, loraAlpha"
)
DNS = "lower-case letters, digits, '-' and '.', a letter or digit at both ends"
QUOTES = "(specs hold no floats, so that every reader agrees)"
IMAGE = "spec.workload.imageRecognition"
EITHER = "a workload is exactly one of imageRecognition and llmTuning"


def complaint(text: str) -> str:
    with pytest.raises(SpecError) as caught:
        parse_benchmark(text, "b.yaml")
    return str(caught.value)


def test_the_smallest_benchmark_has_every_default() -> None:
    benchmark = parse_benchmark(manifest(), "b.yaml")
    assert benchmark == GPUBenchmark.model_validate(
        {"metadata": {"name": "demo"}, "spec": {"workload": {"imageRecognition": {}}}}
    )


def test_what_is_written_is_read_back() -> None:
    benchmark = parse_benchmark(
        manifest("sweep: {matrix: {precision: [FP16], learningRate: ['3e-4']}}"), "b.yaml"
    )
    assert benchmark.spec.sweep.matrix.model_dump(exclude_none=True) == {
        "precision": [Precision.FP16],
        "learningRate": ["3e-4"],
    }
    assert parse_benchmark(json.dumps(benchmark.to_manifest()), "b.json") == benchmark


@pytest.mark.parametrize(
    "spec",
    [
        "status: {}",
        "gpus: 2.0",
        "gpus: 0o2",
        "gpus:",
        "sweep:",
        "execution: {image: ~}",
        "suspend: on",
        "sweep: {matrix: {}}",
        "sweep: {include: [{}]}",
    ],
)
def test_what_kubectl_accepts_is_accepted(spec: str) -> None:
    text = manifest(spec)
    parse_benchmark(text.replace("  status", "status"), "b.yaml")


def test_a_status_is_ignored() -> None:
    text = manifest() + "status: {phase: Dancing, more: [1]}\n"
    assert parse_benchmark(text, "b.yaml").status is None


def test_metadata_keeps_what_others_need() -> None:
    text = manifest().replace(
        "{name: demo}", "{name: demo, labels: {a: b}, creationTimestamp: null, uid: x}"
    )
    assert parse_benchmark(text, "b.yaml").metadata.labels == {"a": "b"}


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        # kinds of values
        (
            "gpus: '1'",
            'spec.gpus: "1" is not a whole number (quotes make it text); allowed: 1 to 8',
        ),
        ("gpus: 2.5", "spec.gpus: 2.5 is not a whole number; allowed: 1 to 8"),
        ("gpus: yes", "spec.gpus: true is not a whole number; allowed: 1 to 8"),
        ("gpus: [1]", "spec.gpus: a list is not a whole number; allowed: 1 to 8"),
        ("gpus: .nan", "spec.gpus: NaN is not a whole number; allowed: 1 to 8"),
        ("gpus: {a: 1}", "spec.gpus: a mapping is not a whole number; allowed: 1 to 8"),
        (
            "suspend: 'yes'",
            'spec.suspend: "yes" is not true or false (quotes make it text); allowed: true, false',
        ),
        ("suspend: 1", "spec.suspend: 1 is not true or false; allowed: true, false"),
        ("sweep: [1]", "spec.sweep: a list is not a mapping"),
        ("sweep: 3", "spec.sweep: 3 is not a mapping"),
        ("execution: {image: 3}", "spec.execution.image: 3 is not text: put it in quotes"),
        ("execution: {image: 1.5}", "spec.execution.image: 1.5 is not text: put it in quotes"),
        ("sweep: {include: [null]}", "spec.sweep.include[0]: null is not a mapping"),
        (
            "sweep: {matrix: {precision: FP32}}",
            'spec.sweep.matrix.precision: "FP32" is not a list: write [FP32]',
        ),
        (
            "sweep: {matrix: {precision: {a: 1}}}",
            "spec.sweep.matrix.precision: a mapping is not a list",
        ),
        (
            "execution: {placement: {nodeSelector: {a/b: 1}}}",
            'spec.execution.placement.nodeSelector["a/b"]: 1 is not text: put it in quotes',
        ),
        # words
        (
            "sweep: {matrix: {precision: [FP31]}}",
            'spec.sweep.matrix.precision[0]: "FP31" is not allowed; '
            "allowed: FP64, FP32, TF32, BF16, FP16",
        ),
        (
            "sweep: {matrix: {precision: [FP32, 16]}}",
            "spec.sweep.matrix.precision[1]: 16 is not allowed; "
            "allowed: FP64, FP32, TF32, BF16, FP16",
        ),
        (
            "profiling: {nsys: {mode: Off}}",
            "spec.profiling.nsys.mode: false is not allowed; allowed: Disabled, Window, Whole "
            "(YAML reads Off, No, On and Yes as false or true: put such words in quotes)",
        ),
        (
            "execution: {placement: {tolerations: [{operator: x}]}}",
            'spec.execution.placement.tolerations[0].operator: "x" is not allowed; '
            "allowed: Exists, Equal",
        ),
        # bounds
        ("gpus: 9", "spec.gpus: 9 is not allowed; allowed: 1 to 8"),
        ("gpus: -1", "spec.gpus: -1 is not allowed; allowed: 1 to 8"),
        (
            "gpus: 1e20",
            "spec.gpus: 100000000000000000000 is not allowed; allowed: 1 to 8",
        ),
        ("gpus: 1e30", "spec.gpus: 1e+30 is not a whole number; allowed: 1 to 8"),
        (
            "sweep: {matrix: {precision: []}}",
            "spec.sweep.matrix.precision: holds 0 values; allowed: 1 to 64",
        ),
        (
            f"sweep: {{matrix: {{seed: {list(range(65))}}}}}",
            "spec.sweep.matrix.seed: holds 65 values; allowed: 1 to 64",
        ),
        (
            "execution: {image: ''}",
            'spec.execution.image: "" is 0 characters long; allowed: 1 to 512',
        ),
        (
            f"execution: {{image: {'i' * 600}}}",
            f'spec.execution.image: "{"i" * 58}… is 600 characters long; allowed: 1 to 512',
        ),
        (
            f"execution: {{placement: {{nodeSelector: {{a: {'v' * 64}}}}}}}",
            f'spec.execution.placement.nodeSelector.a: "{"v" * 58}… is 64 characters long; '
            "allowed: at most 63",
        ),
        (
            f"execution: {{placement: {{nodeSelector: {{{'k' * 318}: a}}}}}}",
            f"spec.execution.placement.nodeSelector.{'k' * 318}: the key is not allowed: "
            "String should have at most 317 characters",
        ),
        (
            "execution: {placement: {nodeSelector: {"
            + ", ".join(f"k{index}: v" for index in range(33))
            + "}}}",
            "spec.execution.placement.nodeSelector: holds 33 entries; allowed: at most 32",
        ),
        # forms
        (
            "execution: {queueName: A_B}",
            f'spec.execution.queueName: "A_B" is not allowed; allowed: {DNS}',
        ),
        (
            "execution: {queueName: a..b}",
            f'spec.execution.queueName: "a..b" is not allowed; allowed: {DNS}',
        ),
        (
            "execution: {resources: {memory: lots}}",
            'spec.execution.resources.memory: "lots" is not allowed; '
            r"allowed: text that matches ^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$",
        ),
        (
            "sweep: {matrix: {learningRate: [0.1]}}",
            'spec.sweep.matrix.learningRate[0]: 0.1 is not allowed: write it in quotes: "0.1" '
            + QUOTES,
        ),
        (
            "results: {acceptance: [{metric: accuracy, atLeast: 1}]}",
            'spec.results.acceptance[0].atLeast: 1 is not allowed: write it in quotes: "1" '
            + QUOTES,
        ),
        (
            "results: {acceptance: [{metric: accuracy, atLeast: high}]}",
            'spec.results.acceptance[0].atLeast: "high" is not allowed: '
            'expected a decimal number in quotes, such as "0.001" or "3e-4"',
        ),
        # fields that do not exist or are missing
        (
            "gpu: 1",
            "spec.gpu: unknown field; did you mean gpus? "
            "allowed: workload, gpus, sweep, execution, profiling, results, suspend",
        ),
        (
            "profling: {}",
            "spec.profling: unknown field; did you mean profiling? "
            "allowed: workload, gpus, sweep, execution, profiling, results, suspend",
        ),
        (
            "sweep: {matrix: {image_size: [1]}}",
            f"spec.sweep.matrix.image_size: unknown field; did you mean imageSize? allowed: {AXES}",
        ),
        (
            "xyz: ~",
            "spec.xyz: unknown field; "
            "allowed: workload, gpus, sweep, execution, profiling, results, suspend",
        ),
        (
            "results: {acceptance: [{atLeast: '1'}]}",
            "spec.results.acceptance[0].metric: required but missing; "
            "allowed: accuracy, finalLoss, throughput, iterationSeconds",
        ),
        # fields that do not go together
        (
            "results: {acceptance: [{metric: accuracy}]}",
            "spec.results.acceptance[0]: a rule needs atLeast, atMost or both",
        ),
        (
            "profiling: {nsys: {mode: Window}}",
            "spec.profiling.nsys: mode Window needs either steps or durationSeconds",
        ),
        (
            "profiling: {nsys: {delaySeconds: 3}}",
            "spec.profiling.nsys: delaySeconds goes with durationSeconds",
        ),
        # repeated values and keys
        (
            "sweep: {matrix: {precision: [FP32, FP32]}}",
            'spec.sweep.matrix.precision: "FP32" is there twice',
        ),
        (
            "profiling: {nsys: {trace: [cuda, cuda]}}",
            'spec.profiling.nsys.trace: "cuda" is there twice',
        ),
        ("workload: {}", 'line 6, column 3: key "workload" is there twice'),
    ],
)
def test_a_problem_of_the_spec_is_named(spec: str, line: str) -> None:
    assert complaint(manifest(spec)) == f"b.yaml: {line}"


@pytest.mark.parametrize(
    ("workload", "line"),
    [
        ("", "spec.workload: required but missing"),
        ("3", "spec.workload: 3 is not a mapping"),
        ("{}", f"spec.workload: {EITHER}"),
        ("{imageRecognition: {}, llmTuning: {}}", f"spec.workload: {EITHER}"),
        ("{imageRecognition: 3}", f"{IMAGE}: 3 is not a mapping"),
        (
            "{imageRecognition: {casting: Pure}}",
            f"{IMAGE}.casting: Pure has no meaning with precision FP32; "
            "it is for BF16 and FP16, leave it out (Auto) otherwise",
        ),
        (
            "{imageRecognition: {dataset: {name: image-folder}}}",
            f"{IMAGE}.dataset.path: image-folder needs the folder that holds train/ and val/",
        ),
        (
            "{imageRecognition: {dataset: {name: samsum}}}",
            f'{IMAGE}.dataset.name: "samsum" is not allowed; '
            "allowed: digits, mnist, idx, image-folder",
        ),
        (
            "{imageRecognition: {dataset: {path: a/../../b}}}",
            f'{IMAGE}.dataset.path: "a/../../b" is not allowed: '
            "a dataset path may not contain '..'",
        ),
        (
            "{imageRecognition: {learningRate: 3e-4}}",
            f'{IMAGE}.learningRate: 0.0003 is not allowed: write it in quotes: "0.0003" {QUOTES}',
        ),
        (
            "{imageRecognition: {learningRate: true}}",
            f"{IMAGE}.learningRate: true is not text: put it in quotes; "
            'allowed: a decimal number in quotes, such as "0.001" or "3e-4"',
        ),
        (
            "{llmTuning: {precision: FP16}}",
            "spec.workload.llmTuning.precision: FP16 is not offered by torchtune; "
            "allowed: BF16, FP32",
        ),
        (
            "{llmTuning: {model: a b}}",
            'spec.workload.llmTuning.model: "a b" is not allowed; '
            "allowed: tiny-llama, llama3-8b, llama3.1-8b, llama3.2-1b, llama3.2-3b, llama2-7b",
        ),
        (
            "{llmTuning: {maxSteps: 9, epochs: 2}}",
            "spec.workload.llmTuning.maxSteps: 9 ends within the first epoch; "
            "it goes with epochs: 1, not epochs: 2",
        ),
    ],
)
def test_a_problem_of_the_workload_is_named(workload: str, line: str) -> None:
    assert complaint(manifest(workload=workload)) == f"b.yaml: {line}"
