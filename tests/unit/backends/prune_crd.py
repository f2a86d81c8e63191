"""Cuts a CRD's schema down to what our manifests use, so that a copy can be kept here.

    python -m tests.unit.backends.prune_crd CRD.yaml SCHEMA.json

In what is left an unknown field is refused, where an API server would drop it in silence. A new
field of ours is unknown to the copy: make it again from the original, which `schemas.md` names.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

KEPT = ("type", "enum", "pattern", "format", "minimum", "maximum", "maxLength", "minLength")
INT_OR_STRING = "x-kubernetes-int-or-string"
KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields"


def prune(schema: dict[str, Any], examples: list[Any]) -> dict[str, Any]:
    """Return the part of a structural schema that some examples need, closed."""
    if schema.get(INT_OR_STRING):
        return {"type": ["integer", "string"]}
    if schema.get(KEEPS_UNKNOWN):
        return {}
    pruned = {key: schema[key] for key in KEPT if key in schema}
    if "properties" in schema:
        pruned |= _prune_properties(schema, examples)
    elif isinstance(schema.get("additionalProperties"), dict):
        values = [value for example in examples for value in example.values()]
        pruned["additionalProperties"] = prune(schema["additionalProperties"], values)
    if "items" in schema:
        items = [item for example in examples for item in example]
        pruned["items"] = prune(schema["items"], items)
    return pruned


def _prune_properties(schema: dict[str, Any], examples: list[Any]) -> dict[str, Any]:
    used = {name for example in examples for name in example}
    properties = {
        name: prune(part, [example[name] for example in examples if name in example])
        for name, part in schema["properties"].items()
        if name in used
    }
    return {
        "properties": properties,
        "required": [name for name in schema.get("required", []) if name in used],
        "additionalProperties": False,
    }


def main(source: Path, target: Path) -> None:
    """Write the pruned schema of a CRD's first served version."""
    from tests.unit.backends.test_manifests import build_all

    crd = yaml.safe_load(source.read_text(encoding="utf-8"))
    kind = crd["spec"]["names"]["kind"]
    version = next(v for v in crd["spec"]["versions"] if v["served"])
    examples = [job for job in build_all() if job["kind"] == kind]
    schema = version["schema"]["openAPIV3Schema"]
    schema["properties"].pop("metadata")
    bodies = [{k: v for k, v in job.items() if k != "metadata"} for job in examples]
    target.write_text(json.dumps(prune(schema, bodies), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
