"""The pod through which a results volume is read. Pure."""

from __future__ import annotations

import json
from typing import Any

from gpubench.api.benchmark import GPUBenchmark
from gpubench.backends.pod_template import RESULTS_MOUNT
from gpubench.cluster.pods import Pod

CONTAINER = "pull"
NAME_PREFIX = "gpubench-pull-"
LABELS = {"app.kubernetes.io/name": "gpubench-pull"}
"""Not those of runs: the operator must not take it for one, nor runs keep off its node."""
MAX_SECONDS = 6 * 3600
"""The pod ends by itself after so long, should whoever made it not be able to delete it."""
USER = 65532
WAIT = "import signal, time; signal.signal(signal.SIGTERM, lambda *_: exit()); time.sleep({})"
WAITING_REASONS = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")


def pull_pod(benchmark: GPUBenchmark, uid: str, claim: str, image: str) -> dict[str, Any]:
    """Return a pod that mounts the claim to be read only, and waits."""
    execution = benchmark.spec.execution
    owner = {
        "apiVersion": benchmark.api_version,
        "kind": benchmark.kind,
        "name": benchmark.name,
        "uid": uid,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": NAME_PREFIX,
            "labels": LABELS,
            # It goes with the benchmark if nothing else ends it.
            "ownerReferences": [owner],
        },
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": MAX_SECONDS,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": USER,
                "runAsGroup": USER,
                "fsGroup": USER,
                "fsGroupChangePolicy": "OnRootMismatch",
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "imagePullSecrets": [{"name": name} for name in execution.image_pull_secrets],
            "nodeSelector": execution.placement.node_selector,
            "tolerations": [each.to_json_dict() for each in execution.placement.tolerations],
            "volumes": [{"name": "results", "persistentVolumeClaim": {"claimName": claim}}],
            "containers": [
                {
                    "name": CONTAINER,
                    "image": image,
                    "imagePullPolicy": execution.image_pull_policy.value,
                    "command": ["python3", "-c", WAIT.format(MAX_SECONDS)],
                    "resources": {
                        "requests": {"cpu": "50m", "memory": "64Mi"},
                        "limits": {"memory": "512Mi"},
                    },
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "volumeMounts": [
                        {"name": "results", "mountPath": RESULTS_MOUNT, "readOnly": True}
                    ],
                }
            ],
        },
    }


def is_running(pod: Pod) -> bool:
    """Tell whether the pod can be asked for files."""
    return bool(pod["status"].get("phase") == "Running")


def why_never(pod: Pod) -> str | None:
    """Return why the pod will not run, None while it may."""
    if pod["status"].get("phase") in ("Failed", "Succeeded"):
        ended = pod["status"].get("message") or json.dumps(_container_states(pod))
        return f"it ended: {ended}"
    for state in _container_states(pod):
        waiting = state.get("waiting") or {}
        if waiting.get("reason") in WAITING_REASONS:
            return f"{waiting['reason']}: {waiting.get('message', '')}"
    return None


def what_for(pod: Pod) -> str:
    """Return what a pod that does not run yet waits for."""
    for state in _container_states(pod):
        waiting = state.get("waiting") or {}
        if waiting.get("reason"):
            return " ".join(f"{waiting['reason']} {waiting.get('message', '')}".split())
    for condition in pod["status"].get("conditions") or []:
        if condition.get("status") == "False" and condition.get("message"):
            return str(condition["message"])
    return str(pod["status"].get("phase", "Pending"))


def _container_states(pod: Pod) -> list[dict[str, Any]]:
    return [each.get("state") or {} for each in pod["status"].get("containerStatuses") or []]
