"""How to make each point again: a complete benchmark file for it."""

from __future__ import annotations

from typing import Any

from gpubench.analysis.report import Block, Listing, Note, Section
from gpubench.analysis.study import Point, Study
from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.yaml_writing import to_yaml

LONGEST_NAME = 253

# Whoever wants one of more points narrows the whole benchmark down by hand.
MOST_FILES = 500


def reproduction_section(study: Study) -> Section:
    """Return the benchmark as it was run, and a file for each of its points."""
    points = _distinct(study)
    blocks: list[Block] = [
        Listing("whole", "The whole benchmark", to_yaml(_whole(study.input.benchmark))),
        *(
            Listing(f"point-{number}", point.label(study.axes), point_manifest(study, point))
            for number, point in enumerate(points[:MOST_FILES], start=1)
        ),
    ]
    if len(points) > MOST_FILES:
        blocks.append(Note(f"Files for the first {MOST_FILES} of {len(points)} points."))
    return Section(
        "reproduce",
        "Reproduce",
        tuple(blocks),
        intro=(
            "Save a file and run it with “gpubench run FILE” on one machine, or apply it to a "
            "cluster. Fields that have their default are left out."
        ),
    )


def _distinct(study: Study) -> list[Point]:
    """Return each point once, however many devices it ran on."""
    return list({point.hash: point for point in study.points}.values())


def _whole(benchmark: GPUBenchmark) -> dict[str, Any]:
    content = benchmark.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude={"status"}
    )
    return _with_header(content, benchmark)


def point_manifest(study: Study, point: Point) -> str:
    """Return the smallest complete GPUBenchmark that runs exactly this point."""
    benchmark = study.input.benchmark
    run = point.runs[0]
    single = benchmark.model_copy(
        update={
            "metadata": benchmark.metadata.model_copy(update={"name": _name(benchmark, point)}),
            "spec": benchmark.spec.model_copy(
                update={
                    "workload": run.workload,
                    "gpus": run.gpus,
                    "sweep": type(benchmark.spec.sweep)(
                        repetitions=benchmark.spec.sweep.repetitions
                    ),
                    "suspend": False,
                }
            ),
        }
    )
    return to_yaml(_whole(single))


def _name(benchmark: GPUBenchmark, point: Point) -> str:
    room = LONGEST_NAME - len(point.hash) - 1
    return f"{benchmark.name[:room].rstrip('-.')}-{point.hash}"


def _with_header(content: dict[str, Any], benchmark: GPUBenchmark) -> dict[str, Any]:
    """Put back what defaults hide and a file must have: its type, workload and GPUs."""
    spec = content.setdefault("spec", {})
    workload = benchmark.spec.workload
    spec["workload"] = {workload.kind.value: spec.get("workload", {}).get(workload.kind.value, {})}
    ordered = {
        "workload": spec.pop("workload"),
        "gpus": benchmark.spec.gpus,
        **{name: value for name, value in spec.items() if name != "gpus"},
    }
    return {
        "apiVersion": benchmark.api_version,
        "kind": benchmark.kind,
        "metadata": _metadata(benchmark),
        "spec": ordered,
    }


def _metadata(benchmark: GPUBenchmark) -> dict[str, str]:
    namespace = benchmark.metadata.namespace
    return {"name": benchmark.name, **({"namespace": namespace} if namespace else {})}
