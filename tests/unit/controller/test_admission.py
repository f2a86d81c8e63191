"""What a benchmark's author may ask of the operator."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.controller.admission import find_refusal
from gpubench.controller.settings import Images, OperatorSettings
from tests.unit.backends.requests import benchmark

DEFAULT = Images(image_recognition="registry.lab/gpubench/images:1")


def refusal(
    execution: dict[str, Any], images: Images = DEFAULT, **settings: list[str]
) -> str | None:
    own = OperatorSettings(
        images=images,
        allowed_images=settings.get("allowed_images", []),
        allowed_priority_classes=settings.get("allowed_priority_classes", []),
    )
    found = find_refusal(benchmark(execution).spec, own)
    return found.reason if found else None


@pytest.mark.parametrize(
    ("image", "allowed", "reason"),
    [
        (None, [], None),
        ("registry.lab/gpubench/images:1", [], None),
        ("registry.lab/gpubench/images:2", [], "ImageNotAllowed"),
        ("registry.lab/gpubench/images:1@sha256:0", [], "ImageNotAllowed"),
        ("registry.lab/mine:1", ["registry.lab/*"], None),
        ("registry.lab/a/b/mine:1", ["registry.lab/*"], None),
        ("registry.lab.evil.example/mine:1", ["registry.lab/*"], "ImageNotAllowed"),
        ("REGISTRY.LAB/mine:1", ["registry.lab/*"], "ImageNotAllowed"),
        (" registry.lab/mine:1", ["registry.lab/*"], "ImageNotAllowed"),
        ("registry.lab/mine:3", ["registry.lab/mine:[12]"], "ImageNotAllowed"),
        ("registry.lab/mine:2", ["registry.lab/mine:[12]"], None),
        ("anything", ["*"], None),
        ("anything", [""], "ImageNotAllowed"),
    ],
)
def test_images(image: str | None, allowed: list[str], reason: str | None) -> None:
    assert refusal({"image": image} if image else {}, allowed_images=allowed) == reason


def test_workload_without_an_image_is_refused() -> None:
    assert refusal({}, Images()) == "NoImage"
    assert refusal({"image": "x"}, Images(), allowed_images=["x"]) is None


@pytest.mark.parametrize(
    ("allowed", "reason"),
    [([], "PriorityClassNotAllowed"), (["low"], "PriorityClassNotAllowed"), (["high"], None)],
)
def test_priority_classes_are_named_one_by_one(allowed: list[str], reason: str | None) -> None:
    execution = {"priorityClassName": "high"}
    assert refusal(execution, allowed_priority_classes=allowed) == reason


def test_refusals_name_field_value_and_what_is_allowed() -> None:
    own = OperatorSettings(images=DEFAULT, allowed_images=["registry.lab/*"])
    found = find_refusal(benchmark({"image": "evil/x"}).spec, own)
    assert found is not None
    assert found.message == (
        'spec.execution.image: "evil/x" is not allowed by this operator (chart value '
        "allowedImages); allowed: registry.lab/gpubench/images:1, registry.lab/*"
    )
