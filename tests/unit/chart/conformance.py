"""kubeconform without the network: Kubernetes' schemas from a file, ours from the models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gpubench.api.crd import build_crds

KUBERNETES = Path(__file__).with_name("kubernetes.json")
DRAFT = "http://json-schema.org/draft-07/schema#"


def write_schemas(folder: Path) -> str:
    """Write one schema per kind; return where kubeconform finds them."""
    known = json.loads(KUBERNETES.read_text(encoding="utf-8"))
    for kind, definition in known["kinds"].items():
        schema = {
            "$schema": DRAFT,
            "$ref": f"#/definitions/{definition}",
            "definitions": known["definitions"],
        }
        _write(folder, kind, schema)
    for crd in build_crds():
        (version,) = crd["spec"]["versions"]
        schema = _strict(version["schema"]["openAPIV3Schema"])
        schema["properties"]["metadata"] = {"type": "object"}
        _write(folder, crd["spec"]["names"]["kind"], {"$schema": DRAFT, **schema})
    return f"{folder}/{{{{.ResourceKind}}}}.json"


def _write(folder: Path, kind: str, schema: dict[str, Any]) -> None:
    (folder / f"{kind.lower()}.json").write_text(json.dumps(schema), encoding="utf-8")


def _strict(node: dict[str, Any]) -> dict[str, Any]:
    """Return a CRD's schema as JSON schema of draft 7 that refuses unknown fields."""
    kept = {key: value for key, value in node.items() if not key.startswith("x-kubernetes")}
    # OpenAPI 3.0 says by a boolean what draft 7 says by a number.
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if kept.pop(exclusive, False):
            kept[exclusive] = kept.pop(bound)
    if "properties" in kept:
        kept["properties"] = {name: _strict(field) for name, field in kept["properties"].items()}
        kept["additionalProperties"] = False
    for key in ("items", "additionalProperties"):
        if isinstance(kept.get(key), dict):
            kept[key] = _strict(kept[key])
    return kept
