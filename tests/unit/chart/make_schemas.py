"""Writes kubernetes.json beside this file: Kubernetes' own schemas of the kinds that we write.

    python -m tests.unit.chart.make_schemas SWAGGER

SWAGGER is api/openapi-spec/swagger.json of the module k8s.io/kubernetes, which the Go module cache
holds once the test cluster was built; the file here is that of v1.34.4. Descriptions are left out,
and fields that Kubernetes does not know are refused.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path(__file__).with_name("kubernetes.json")
REFERENCE = "#/definitions/"
KINDS = {
    "ClusterRole": "io.k8s.api.rbac.v1.ClusterRole",
    "ClusterRoleBinding": "io.k8s.api.rbac.v1.ClusterRoleBinding",
    "ConfigMap": "io.k8s.api.core.v1.ConfigMap",
    "CustomResourceDefinition": (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
    ),
    "Deployment": "io.k8s.api.apps.v1.Deployment",
    "Job": "io.k8s.api.batch.v1.Job",
    "NetworkPolicy": "io.k8s.api.networking.v1.NetworkPolicy",
    "PersistentVolumeClaim": "io.k8s.api.core.v1.PersistentVolumeClaim",
    "Pod": "io.k8s.api.core.v1.Pod",
    "PodDisruptionBudget": "io.k8s.api.policy.v1.PodDisruptionBudget",
    "Role": "io.k8s.api.rbac.v1.Role",
    "RoleBinding": "io.k8s.api.rbac.v1.RoleBinding",
    "Service": "io.k8s.api.core.v1.Service",
    "ServiceAccount": "io.k8s.api.core.v1.ServiceAccount",
}
ANY_OF = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ["integer", "string"],
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ["number", "string"],
}
"""Types that the document calls strings, but the API server takes as numbers, too."""


def tightened(node: Any) -> Any:
    """Return a schema without descriptions that refuses unknown fields."""
    if isinstance(node, list):
        return [tightened(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: {name: tightened(field) for name, field in value.items()}
        if key == "properties"
        else tightened(value)
        for key, value in node.items()
        if key != "description" and not key.startswith("x-kubernetes")
    }
    return {"additionalProperties": False, **kept} if "properties" in node else kept


def references(node: Any) -> Iterator[str]:
    """Yield the names of the definitions that a schema refers to."""
    if isinstance(node, dict):
        if isinstance(target := node.get("$ref"), str):
            yield target.removeprefix(REFERENCE)
        for value in node.values():
            yield from references(value)
    if isinstance(node, list):
        for value in node:
            yield from references(value)


def reachable(definitions: dict[str, Any], start: list[str]) -> dict[str, Any]:
    """Return the definitions that these need, themselves included."""
    found: dict[str, Any] = {}
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = tightened(definitions[name])
            if name in ANY_OF:
                found[name] = {"type": ANY_OF[name]}
            waiting += references(found[name])
    return dict(sorted(found.items()))


def main() -> None:
    """Read the document named on the command line and write the schemas."""
    document = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    schemas = {
        "kinds": KINDS,
        "definitions": reachable(document["definitions"], list(KINDS.values())),
    }
    TARGET.write_text(json.dumps(schemas, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
