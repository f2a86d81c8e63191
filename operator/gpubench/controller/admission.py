"""What a benchmark's author may ask of this operator. Pure.

The operator makes pods with rights of its own, so it checks what it is asked for: an image or a
priority that the author could not use otherwise is refused here.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from gpubench.api.benchmark import GPUBenchmarkSpec
from gpubench.controller.settings import OperatorSettings
from gpubench.lifecycle import Obstacle


def find_refusal(spec: GPUBenchmarkSpec, settings: OperatorSettings) -> Obstacle | None:
    """Return why a benchmark may not run here, None if it may."""
    return _image_refusal(spec, settings) or _priority_refusal(spec, settings)


def _image_refusal(spec: GPUBenchmarkSpec, settings: OperatorSettings) -> Obstacle | None:
    default = settings.pods.images[spec.workload.kind]
    image = spec.execution.image
    if image is None:
        if default:
            return None
        return Obstacle(
            "NoImage",
            f"spec.execution.image: not given, and the operator has no default image for "
            f"{spec.workload.kind} (chart value images.{spec.workload.kind})",
        )
    allowed = [pattern for pattern in (default, *settings.allowed_images) if pattern]
    if any(fnmatchcase(image, pattern) for pattern in allowed):
        return None
    return Obstacle(
        "ImageNotAllowed",
        f'spec.execution.image: "{image}" is not allowed by this operator (chart value '
        f"allowedImages); allowed: {', '.join(allowed) or 'none'}",
    )


def _priority_refusal(spec: GPUBenchmarkSpec, settings: OperatorSettings) -> Obstacle | None:
    name = spec.execution.priority_class_name
    if name is None or name in settings.allowed_priority_classes:
        return None
    allowed = ", ".join(settings.allowed_priority_classes) or "none"
    return Obstacle(
        "PriorityClassNotAllowed",
        f'spec.execution.priorityClassName: "{name}" is not allowed by this operator (chart value '
        f"allowedPriorityClasses); allowed: {allowed}",
    )
