"""training-operator with its webhooks, from its own manifests."""

from __future__ import annotations

import os

import yaml

from tests.e2e.cluster.builds import TRAINING_OPERATOR, manifests_folder, module_version
from tests.e2e.cluster.commands import run
from tests.e2e.cluster.control_plane import kubectl
from tests.e2e.cluster.images import load_program
from tests.e2e.cluster.layout import Layout

NAMESPACE = "kubeflow"
DEPLOYMENT = "training-operator"
PUBLISHED_IMAGE = "ghcr.io/kubeflow/training-v1/training-operator"
OWN_IMAGE = "localhost/gpubench-training-operator"

# One thread and 20 requests a second are its defaults: too few for a sweep.
ARGUMENTS = ["--controller-threads=8", "--kube-api-qps=200", "--kube-api-burst=400"]


def install(layout: Layout) -> None:
    """Apply the manifests with our own build of the image; nothing changes if it is there."""
    version = module_version("training-operator", TRAINING_OPERATOR)
    program = layout.binaries / "training-operator.v1"
    load_program(program, f"{OWN_IMAGE}:{version}", "/manager", layout)
    folder = layout.configuration / "training-operator"
    folder.mkdir(exist_ok=True)
    base = os.path.relpath(manifests_folder() / "overlays" / "standalone", folder)
    kustomization = {
        "resources": [base],
        "images": [{"name": PUBLISHED_IMAGE, "newName": OWN_IMAGE, "newTag": version}],
        "patches": [
            {
                "target": {"kind": "Deployment", "name": DEPLOYMENT},
                "patch": yaml.safe_dump(_patch()),
            }
        ],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    # The CRDs are too large for the annotation of a client-side apply.
    run(*kubectl(layout), "apply", "--server-side", "--force-conflicts", "-k", folder)


def wait_until_ready(layout: Layout) -> None:
    """Wait until it runs; its webhook refuses all jobs until then."""
    rollout = ("rollout", "status", f"deployment/{DEPLOYMENT}", f"--namespace={NAMESPACE}")
    run(*kubectl(layout), *rollout, "--timeout=300s", timeout=310)


def _patch() -> list[dict[str, object]]:
    container = "/spec/template/spec/containers/0"
    probe = {"op": "replace", "value": 1}
    return [
        {"op": "add", "path": f"{container}/args", "value": ARGUMENTS},
        probe | {"path": f"{container}/readinessProbe/initialDelaySeconds"},
        probe | {"path": f"{container}/readinessProbe/periodSeconds"},
    ]
