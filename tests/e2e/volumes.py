"""Claims on folders of this machine, which is the node."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from tests.e2e.cluster import Cluster

OWNER_LABEL = "gpubench.io/e2e-namespace"


def make_claim(cluster: Cluster, namespace: str, name: str, folder: Path | None = None) -> None:
    """Make a claim that is bound to a folder; without one, to one of the cluster's own."""
    if folder is None:
        folder = cluster.state / "volumes" / f"{namespace}-{name}"
        folder.mkdir(parents=True)
        folder.chmod(0o777)  # the kubelet does not give folders of the node to a pod's group
    volume = f"{namespace}-{name}-{secrets.token_hex(2)}"
    size = {"storage": "1Gi"}
    manifests = [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume, "labels": {OWNER_LABEL: namespace}},
            "spec": {
                "capacity": size,
                "accessModes": ["ReadWriteMany"],
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "",
                "hostPath": {"path": str(folder), "type": "Directory"},
                "claimRef": {"namespace": namespace, "name": name},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "storageClassName": "",
                "volumeName": volume,
                "resources": {"requests": size},
            },
        },
    ]
    for manifest in manifests:
        cluster.apply(json.dumps(manifest))
    where = (f"persistentvolumeclaim/{name}", f"--namespace={namespace}")
    cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", *where, "--timeout=60s")


def forget_volumes(cluster: Cluster, namespaces: list[str]) -> None:
    """Delete the volumes that were made for these namespaces."""
    selector = f"--selector={OWNER_LABEL} in ({','.join(namespaces)})"
    cluster.kubectl("delete", "persistentvolume", selector)
