"""Where the cluster keeps its things, and which names and addresses it takes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.e2e.cluster.builds import binaries_folder
from tests.e2e.cluster.commands import ClusterError

NODE = "gpubench-node"
"""Name of the one node."""

LONGEST_STATE_PATH = 70

GPUS = 4
"""How many `nvidia.com/gpu` the node says it has."""

BRIDGE = "gpubench0"
"""The bridge that all pods hang on. Its address is the node's, so nobody outside can call it."""

SERVICE_BRIDGE = "gpubench-svc"
"""An empty bridge that swallows packets to services which kube-proxy does not know."""

NODE_ADDRESS = "10.214.0.1"
POD_RANGE = "10.214.0.0/22"
SERVICE_RANGE = "10.215.0.0/24"
FIRST_SERVICE_ADDRESS = "10.215.0.1"
NAME_SERVER_ADDRESS = "10.215.0.10"
API_SERVER = f"https://{NODE_ADDRESS}:6443"
ETCD = "http://127.0.0.1:22379"
ETCD_PEERS = "http://127.0.0.1:22380"


@dataclass(frozen=True)
class Layout:
    """The folders of one cluster."""

    state: Path
    """Everything that is written while it runs. `down --purge` removes it."""

    @classmethod
    def of_environment(cls) -> Layout:
        """GPUBENCH_CLUSTER_DIR, else the usual place."""
        path = os.environ.get("GPUBENCH_CLUSTER_DIR") or "/var/lib/gpubench-cluster"
        if not path.startswith("/") or len(path) > LONGEST_STATE_PATH:
            raise ClusterError(
                f"GPUBENCH_CLUSTER_DIR is {path}: it must begin with / and, for the sockets in "
                f"it, have at most {LONGEST_STATE_PATH} characters"
            )
        return cls(Path(path))

    @cached_property
    def binaries(self) -> Path:
        """What was built from Go modules."""
        return binaries_folder()

    @property
    def control_group(self) -> str:
        """The control group, below the root of each hierarchy, that holds all pods."""
        return self.state.name

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self.state / "kubeconfig"

    @property
    def credentials(self) -> Path:
        return self.state / "credentials"

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def audit_log(self) -> Path:
        """One JSON line for each answered request; tests read it to learn who used which right."""
        return self.logs / "audit.log"

    @property
    def configuration(self) -> Path:
        return self.state / "configuration"

    @property
    def etcd(self) -> Path:
        return self.state / "etcd"

    @property
    def kubelet(self) -> Path:
        return self.state / "kubelet"

    @property
    def network(self) -> Path:
        return self.state / "network"

    @property
    def containerd(self) -> Path:
        return self.state / "containerd"

    @property
    def containerd_socket(self) -> Path:
        return self.containerd / "containerd.sock"

    @property
    def image_store(self) -> Path:
        """Where buildah keeps what it builds."""
        return self.state / "buildah"

    def make_folders(self) -> None:
        """Make those that programs expect to find."""
        self.state.mkdir(parents=True, exist_ok=True)
        self.credentials.mkdir(mode=0o700, exist_ok=True)
        for folder in (self.logs, self.configuration, self.kubelet, self.network, self.containerd):
            folder.mkdir(exist_ok=True)
