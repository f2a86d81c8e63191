from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic.alias_generators import to_camel

from gpubench.api.crd import build_crds, render_crds
from gpubench.controller.settings import OperatorSettings
from gpubench.telemetry.rules import rule_groups
from tests.unit.chart.conformance import write_schemas
from tests.unit.chart.helm import (
    CHART,
    MONITORS,
    Object,
    named,
    of_kind,
    program,
    refusal,
    render,
    render_text,
    run_helm,
)

MANIFESTS = CHART.parents[1] / "manifests"
OPERATOR = "gpubench-operator"
LIMITED = {"namespaces": ["team-a", "team-b"]}
BARE = {
    **LIMITED,
    "crds": {"install": False},
    "rbac": {"aggregate": False, "readNodes": False},
    "settings": {"maxGpus": 8},
}
"""For somebody without rights on the cluster as a whole."""

EVERYTHING: Object = {
    "replicas": 2,
    "images": {
        "registry": "registry.example.org/hpc",
        "pullSecrets": ["registry"],
        "operator": {"digest": "sha256:" + "0" * 64},
        "llmTuning": {"repository": "gpubench-llm-tuning", "tag": "v2"},
    },
    "settings": {
        "allowedImages": ["registry.example.org/*"],
        "allowedPriorityClasses": ["low"],
        "imagePullSecrets": ["registry"],
        "runtimeClassName": "nvidia",
        "maxGpus": 8,
    },
    "serviceAccount": {"annotations": {"example.org/role": "gpubench"}},
    "metrics": {"serviceMonitor": {"labels": {"release": "prometheus"}}},
    "networkPolicy": {
        "metricsFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
        "apiServerPorts": [443, 6443],
    },
    "priorityClassName": "system-cluster-critical",
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "control", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "podAnnotations": {"example.org/a": "b"},
    "podLabels": {"example.org/team": "hpc"},
}
VALUE_SETS: dict[str, Object] = {
    "defaults": {},
    "everything": EVERYTHING,
    "limited": LIMITED,
    "bare": BARE,
    "account": {"serviceAccount": {"name": "mine"}},
}
EVERY_VALUE_SET = pytest.mark.parametrize("values", VALUE_SETS.values(), ids=VALUE_SETS)


def settings_of(objects: list[Object]) -> OperatorSettings:
    text = named(objects, "ConfigMap", OPERATOR)["data"]["settings.yaml"]
    return OperatorSettings.model_validate(yaml.safe_load(text))


def pod_specs(objects: list[Object]) -> list[Object]:
    templates = [
        o["spec"]["template"]["spec"] for o in objects if o["kind"] in ("Deployment", "Job")
    ]
    return templates + [pod["spec"] for pod in of_kind(objects, "Pod")]


@EVERY_VALUE_SET
def test_helm_finds_nothing_to_complain_about(values: Object, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(values), encoding="utf-8")
    done = run_helm("lint", "--strict", str(CHART), f"--values={file}", "--kube-version=1.34.4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stdout


@EVERY_VALUE_SET
def test_kubernetes_knows_every_field(values: Object, tmp_path: Path) -> None:
    location = write_schemas(tmp_path)
    answer = kubeconform(location, "-", stdin=render_text(values))
    assert answer["summary"]["invalid"] == answer["summary"]["errors"] == 0, answer["resources"]
    assert answer["summary"]["skipped"] == 0
    assert answer["summary"]["valid"] > 10


def test_the_samples_conform_to_our_own_schemas(tmp_path: Path) -> None:
    samples = [str(path) for path in sorted(MANIFESTS.glob("*.yaml"))]
    answer = kubeconform(write_schemas(tmp_path), *samples)
    assert answer["summary"]["invalid"] == answer["summary"]["errors"] == 0, answer["resources"]
    assert answer["summary"]["valid"] >= len(samples)


def test_an_unknown_field_does_not_conform(tmp_path: Path) -> None:
    location = write_schemas(tmp_path)
    for rendered in (render_text(), (MANIFESTS / "mobilenet-sweep-cpu.yaml").read_text("utf-8")):
        answer = kubeconform(
            location, "-", stdin=rendered.replace("\nspec:\n", "\nspec:\n  odd: 1\n")
        )
        assert answer["summary"]["invalid"] > 0


def kubeconform(location: str, *files: str, stdin: str | None = None) -> dict[str, Any]:
    command = [program("kubeconform"), "-strict", "-summary", "-output=json"]
    done = subprocess.run(
        [*command, f"-schema-location={location}", *files],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_the_charts_definitions_are_the_generated_ones() -> None:
    copied = {path.name: path.read_text("utf-8") for path in (CHART / "files" / "crds").iterdir()}
    assert copied == render_crds(), "run: make generate"


def test_definitions_are_upgraded_with_the_chart_and_kept_at_uninstall() -> None:
    rendered = of_kind(render(), "CustomResourceDefinition")
    assert [
        crd["spec"] for crd in sorted(rendered, key=lambda crd: str(crd["metadata"]["name"]))
    ] == [crd["spec"] for crd in sorted(build_crds(), key=lambda crd: str(crd["metadata"]["name"]))]
    assert {crd["metadata"]["annotations"]["helm.sh/resource-policy"] for crd in rendered} == {
        "keep"
    }
    unkept = of_kind(render({"crds": {"keep": False}}), "CustomResourceDefinition")
    assert not any("annotations" in crd["metadata"] for crd in unkept)


@EVERY_VALUE_SET
def test_the_operator_understands_its_settings(values: Object) -> None:
    settings = settings_of(render(values))
    assert settings.http_port == 8080
    assert settings.namespaces == values.get("namespaces", [])
    assert settings.lease_name == OPERATOR


def test_settings_come_from_the_values() -> None:
    settings = settings_of(render(EVERYTHING))
    assert settings.images.image_recognition == (
        "registry.example.org/hpc/gpubench-image-recognition:0.1.0"
    )
    assert settings.images.llm_tuning == "registry.example.org/hpc/gpubench-llm-tuning:v2"
    assert settings.allowed_images == ["registry.example.org/*"]
    assert settings.runtime_class_name == "nvidia"
    assert settings.max_gpus == 8
    assert settings.watch_nodes
    assert not settings_of(render(BARE)).watch_nodes


def test_exporters_are_looked_for_only_where_that_is_allowed() -> None:
    assert settings_of(render({})).dcgm.enabled
    assert not settings_of(render(LIMITED)).dcgm.enabled
    found = settings_of(render({**LIMITED, "rbac": {"readExporters": True}})).dcgm
    assert (found.enabled, found.namespace, found.port) == (True, "gpu-operator", 9400)
    endpoints = {"settings": {"dcgm": {"endpoints": [{"url": "http://a:9400/metrics"}]}}}
    assert settings_of(render({**LIMITED, **endpoints})).dcgm.enabled


def test_exporters_can_be_reached_where_calls_are_limited() -> None:
    (rule,) = named(render(EVERYTHING), "NetworkPolicy", OPERATOR)["spec"]["egress"]
    assert {port["port"] for port in rule["ports"]} == {53, 443, 6443, 9400}


def test_the_charts_defaults_are_the_operators() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    defaults = OperatorSettings().model_dump(mode="json", by_alias=True)
    made_by_the_chart = {"namespaces", "leaseName", "httpPort", "images", "watchNodes"}
    assert values["settings"] == {k: v for k, v in defaults.items() if k not in made_by_the_chart}
    assert made_by_the_chart < {to_camel(name) for name in OperatorSettings.model_fields}


def test_changed_settings_start_a_new_pod() -> None:
    objects = render()
    template = named(objects, "Deployment", OPERATOR)["spec"]["template"]
    text = named(objects, "ConfigMap", OPERATOR)["data"]["settings.yaml"]
    digest = hashlib.sha256(text.rstrip("\n").encode()).hexdigest()
    assert template["metadata"]["annotations"]["checksum/settings"] == digest
    assert digest not in render_text({"settings": {"maxGpus": 1}})


@EVERY_VALUE_SET
def test_all_pods_keep_to_the_restricted_standard(values: Object) -> None:
    specs = pod_specs(render(values))
    assert len(specs) == 3
    for spec in specs:
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False
            assert security["readOnlyRootFilesystem"] is True
            assert security["capabilities"] == {"drop": ["ALL"]}
        assert {next(k for k in v if k != "name") for v in spec["volumes"]} == {
            "configMap",
            "emptyDir",
        }


def test_one_operator_at_a_time_that_kubernetes_can_ask_how_it_is() -> None:
    spec = named(render(), "Deployment", OPERATOR)["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    (container,) = spec["template"]["spec"]["containers"]
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["image"] == "localhost/gpubench-operator:0.1.0"


def test_a_digest_wins_over_the_tag() -> None:
    (container,) = named(render(EVERYTHING), "Deployment", OPERATOR)["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["image"].endswith("/gpubench-operator@sha256:" + "0" * 64)


def test_a_disruption_budget_only_where_a_replica_is_left() -> None:
    assert not of_kind(render(), "PodDisruptionBudget")
    (budget,) = of_kind(render({"replicas": 2}), "PodDisruptionBudget")
    assert budget["spec"]["maxUnavailable"] == 1


def test_monitors_only_where_the_cluster_knows_them() -> None:
    assert not of_kind(render(), "ServiceMonitor") + of_kind(render(), "PodMonitor")
    objects = render(EVERYTHING, apis=MONITORS)
    (service_monitor,) = of_kind(objects, "ServiceMonitor")
    (service,) = of_kind(objects, "Service")
    assert service_monitor["metadata"]["labels"]["release"] == "prometheus"
    assert service_monitor["spec"]["selector"]["matchLabels"].items() <= (
        service["metadata"]["labels"].items()
    )
    (pod_monitor,) = of_kind(objects, "PodMonitor")
    assert pod_monitor["spec"]["namespaceSelector"] == {"any": True}
    off = {"metrics": {"serviceMonitor": {"enabled": False}, "podMonitor": {"enabled": False}}}
    assert not of_kind(render(off, apis=MONITORS), "ServiceMonitor")
    assert not of_kind(render(off, apis=MONITORS), "PodMonitor")


def test_rules_only_where_the_cluster_knows_them() -> None:
    assert not of_kind(render(), "PrometheusRule")
    assert not of_kind(
        render({"metrics": {"rules": {"enabled": False}}}, MONITORS), "PrometheusRule"
    )
    page = "https://docs.example.org/alerts"
    rules = {"labels": {"release": "prometheus"}, "runbooks": page}
    (found,) = of_kind(render({"metrics": {"rules": rules}}, MONITORS), "PrometheusRule")
    assert found["metadata"]["labels"]["release"] == "prometheus"
    shipped = [rule for group in found["spec"]["groups"] for rule in group["rules"]]
    written = [rule for group in rule_groups()["groups"] for rule in group["rules"]]
    assert [rule["expr"] for rule in shipped] == [rule["expr"] for rule in written]
    links = [rule["annotations"]["runbook_url"] for rule in shipped if "alert" in rule]
    assert links
    assert all(link.startswith(f"{page}#gpubench") for link in links)


def test_monitors_of_a_limited_operator_look_at_its_namespaces() -> None:
    (pod_monitor,) = of_kind(render(LIMITED, apis=MONITORS), "PodMonitor")
    assert pod_monitor["spec"]["namespaceSelector"] == {"matchNames": ["team-a", "team-b"]}


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"replicaCount": 2}, "replicaCount"),
        ({"replicas": "2"}, "replicas"),
        ({"namespaces": "team-a"}, "namespaces"),
        ({"namespaces": ["Team A"]}, "namespaces"),
        ({"images": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
        ({"images": {"operator": {"digest": "latest"}}}, "digest"),
        ({"images": {"operator": {"repository": ""}}}, "repository"),
        ({"settings": {"runAsUser": 0}}, "runAsUser"),
        ({"settings": {"httpPort": 1}}, "httpPort"),
        ({"settings": {"maxGpus": 0}}, "maxGpus"),
        ({"networkPolicy": {"apiServerPorts": [70000]}}, "apiServerPorts"),
    ],
)
def test_a_wrong_value_is_refused_by_name(values: Object, field: str) -> None:
    assert field in refusal(values)


def test_the_schema_knows_every_value_and_every_default_fits() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))

    def compare(schema: Object, values: Object, path: str) -> None:
        assert schema["additionalProperties"] is False, path
        assert set(schema["properties"]) - {"global", "claims"} == set(values), path
        for name, value in values.items():
            below = schema["properties"][name]
            if isinstance(value, dict) and "properties" in below and path + name != "resources":
                compare(below, value, f"{path}{name}.")

    compare(schema, values, "")
