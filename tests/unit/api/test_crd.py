from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpubench.api.allowed import schema_at
from gpubench.api.crd import HEADER, build_crds, render_crds
from gpubench.api.yaml_reading import read_documents
from tests.unit.api.structural import violations, walk

CRDS = Path(__file__).parents[3] / "manifests" / "crds"

EVERY_CRD = pytest.mark.parametrize("crd", build_crds(), ids=lambda crd: crd["metadata"]["name"])


def schema_of(crd: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = version_of(crd)["schema"]["openAPIV3Schema"]
    return schema


def version_of(crd: dict[str, Any]) -> dict[str, Any]:
    (version,) = crd["spec"]["versions"]
    assert isinstance(version, dict)
    return version


def test_the_committed_files_are_the_generated_ones() -> None:
    committed = {path.name: path.read_text(encoding="utf-8") for path in CRDS.iterdir()}
    assert committed == render_crds(), "run: .venv/bin/gpubench crd -o manifests/crds"


def test_the_files_say_that_they_are_generated_and_read_back_as_built() -> None:
    texts = list(render_crds().values())
    assert all(text.startswith(HEADER) for text in texts)
    assert [read_documents(text) for text in texts] == [[crd] for crd in build_crds()]


def test_building_twice_gives_the_same() -> None:
    assert build_crds() == build_crds()


@EVERY_CRD
def test_a_crd_is_structural(crd: dict[str, Any]) -> None:
    schema = schema_of(crd)
    assert violations(schema) == []
    assert schema["required"] == ["spec"]
    assert schema["properties"]["metadata"] == {"type": "object"}
    assert set(schema["properties"]) == {"apiVersion", "kind", "metadata", "spec", "status"}


@EVERY_CRD
def test_columns_and_selectable_fields_lead_to_scalars(crd: dict[str, Any]) -> None:
    version = version_of(crd)
    for entry in [*version["additionalPrinterColumns"], *version["selectableFields"]]:
        path = entry["jsonPath"]
        if path == ".metadata.creationTimestamp":
            continue
        field = schema_at(schema_of(crd), path.removeprefix(".").split("."))
        assert field is not None, path
        assert field["type"] == entry.get("type", field["type"]), path
        assert field["type"] in ("string", "integer", "number", "boolean"), path


@EVERY_CRD
def test_a_rule_names_a_field_that_exists(crd: dict[str, Any]) -> None:
    rules = 0
    for path, node in walk(schema_of(crd)):
        for rule in node.get("x-kubernetes-validations", ()):
            rules += 1
            assert rule["message"], path
            field = rule.get("fieldPath", "").removeprefix(".")
            assert not field or schema_at(node, field.split(".")) is not None, (path, field)
    assert rules >= 5


@EVERY_CRD
def test_what_rules_compare_is_bounded(crd: dict[str, Any]) -> None:
    """The API server refuses a CRD whose rules could cost too much: it must know the sizes."""
    unbounded = {"string": "maxLength", "array": "maxItems", "object": "maxProperties"}
    for path, node in walk(schema_of(crd)["properties"]["spec"]):
        limit = unbounded.get(node["type"])
        free = "enum" in node or "format" in node or "properties" in node
        assert limit is None or free or limit in node, path


def test_kubectl_get_shows_what_the_guide_says() -> None:
    columns = [
        [column["name"] for column in version_of(crd)["additionalPrinterColumns"]]
        for crd in build_crds()
    ]
    assert columns[0][:5] == ["Phase", "Runs", "Failed", "ETA", "Age"]
    assert columns[1][:6] == ["Phase", "GPUs", "Valid", "Throughput", "Attempts", "Age"]


def test_names_are_those_of_the_guide() -> None:
    names = [crd["spec"]["names"] for crd in build_crds()]
    assert [(n["kind"], n["plural"], n["shortNames"]) for n in names] == [
        ("GPUBenchmark", "gpubenchmarks", ["gpub"]),
        ("GPUBenchmarkRun", "gpubenchmarkruns", ["gpubrun"]),
    ]
    assert [("all" in n["categories"]) for n in names] == [True, False]


def test_descriptions_say_what_is_allowed_and_the_default() -> None:
    spec = schema_of(build_crds()[0])["properties"]["spec"]
    image = spec["properties"]["workload"]["properties"]["imageRecognition"]["properties"]
    assert image["imageSize"]["description"].endswith("Allowed: 8 to 2048. Default: 224.")
    assert image["pinMemory"]["description"].endswith("Default: false.")
    assert image["precision"]["description"].endswith(
        "Allowed: FP64, FP32, TF32, BF16, FP16. Default: FP32."
    )
    axis = spec["properties"]["sweep"]["properties"]["matrix"]["properties"]["gpus"]
    assert axis["description"].endswith("Allowed: 1 to 8.")
