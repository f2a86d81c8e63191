"""etcd and an API server of the bench's own: loopback, free ports, a folder that goes away."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.e2e.cluster import processes
from tests.e2e.cluster.builds import build_missing, manifests_folder
from tests.e2e.cluster.commands import ClusterError, run, wait_until

PROGRAMS = ("kube-apiserver", "etcd")
"""In the order in which they are ended."""
OWN_CRDS = Path("manifests/crds")


@dataclass(frozen=True)
class ControlPlane:
    """A running API server."""

    folder: Path
    address: str
    token: str

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def authority(self) -> Path:
        """The API server's certificate, signed by itself."""
        return self.folder / "certificates" / "apiserver.crt"

    def kubectl(self, *arguments: str | Path) -> str:
        kubectl = build_missing(print) / "kubectl"
        return run(kubectl, f"--kubeconfig={self.kubeconfig}", *arguments)

    def pid(self, program: str) -> int:
        (pid,) = processes.pids(self.folder, program)
        return pid


@contextmanager
def control_plane(folder: Path) -> Iterator[ControlPlane]:
    """Start both with the CRDs of gpubench and the PyTorchJob; end them with the context."""
    binaries = build_missing(print)
    etcd, peers, port = (_free_port() for _ in range(3))
    plane = ControlPlane(folder, f"https://127.0.0.1:{port}", secrets.token_hex(16))
    _write_credentials(plane)
    try:
        for program, arguments in (
            ("etcd", _etcd(folder, etcd, peers)),
            ("kube-apiserver", _api_server(folder, etcd, port)),
        ):
            processes.start(folder, folder / f"{program}.log", [binaries / program, *arguments])
        wait_until("the API server's readiness", lambda: _answers(plane, "/readyz"), timeout=90)
        _apply_crds(plane)
        yield plane
    finally:
        processes.end(folder, PROGRAMS)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _write_credentials(plane: ControlPlane) -> None:
    folder = plane.folder
    run("openssl", "genrsa", "-out", folder / "accounts.key", "2048")
    (folder / "tokens.csv").write_text(f'{plane.token},bench,1,"system:masters"\n')
    cluster = {"server": plane.address, "certificate-authority": str(plane.authority)}
    configuration = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "bench", "cluster": cluster}],
        "users": [{"name": "bench", "user": {"token": plane.token}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        "current-context": "bench",
    }
    plane.kubeconfig.write_text(yaml.safe_dump(configuration), encoding="utf-8")


def _etcd(folder: Path, port: int, peers: int) -> list[str]:
    clients, others = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peers}"
    return [
        f"--data-dir={folder / 'etcd'}",
        "--unsafe-no-fsync",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={others}",
        f"--initial-advertise-peer-urls={others}",
        f"--initial-cluster=default={others}",
        "--log-level=warn",
    ]


def _api_server(folder: Path, etcd: int, port: int) -> list[str]:
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'certificates'}",
        "--service-cluster-ip-range=10.216.0.0/24",
        f"--service-account-key-file={folder / 'accounts.key'}",
        f"--service-account-signing-key-file={folder / 'accounts.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        # There is no controller that would make the accounts that it asks for.
        "--disable-admission-plugins=ServiceAccount",
    ]


def _apply_crds(plane: ControlPlane) -> None:
    job = manifests_folder() / "base" / "crds" / "kubeflow.org_pytorchjobs.yaml"
    files = [f"--filename={path}" for path in (*sorted(OWN_CRDS.glob("*.yaml")), job)]
    plane.kubectl("apply", "--server-side", *files)
    # kubectl's own wait fails on a CRD of a moment ago.
    kinds = "gpubenchmarks,gpubenchmarkruns,pytorchjobs"
    wait_until("the CRDs", lambda: _works(plane, "get", kinds), timeout=60, interval=0.5)


def _answers(plane: ControlPlane, path: str) -> bool:
    return _works(plane, "get", f"--raw={path}", "--request-timeout=5s")


def _works(plane: ControlPlane, *arguments: str) -> bool:
    try:
        plane.kubectl(*arguments)
    except ClusterError:
        return False
    return True
