"""The cluster as a whole: up, down, status, and what tests do to it."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.cluster import (
    control_plane,
    images,
    network,
    node,
    packages,
    processes,
    training_operator,
)
from tests.e2e.cluster.builds import build_missing
from tests.e2e.cluster.commands import ClusterError, run
from tests.e2e.cluster.credentials import make_credentials
from tests.e2e.cluster.layout import Layout

PARTS = (*reversed(control_plane.PARTS), *reversed(node.PARTS))
"""All programs that run while it is up."""


@dataclass(frozen=True)
class Cluster:
    """A cluster to test on: ours, or the one that KUBECONFIG names."""

    kubeconfig: Path
    binaries: Path | None = None
    """Where kubectl, helm and kubeconform are; None: on PATH."""

    layout: Layout | None = None
    """The folders of our own; None for somebody else's."""

    @classmethod
    def own(cls, layout: Layout) -> Cluster:
        """The one that runs on this machine."""
        return cls(layout.kubeconfig, layout.binaries, layout)

    @property
    def state(self) -> Path:
        return self._own().state

    @property
    def containerd_address(self) -> Path:
        return self._own().containerd_socket

    @property
    def audit_log(self) -> Path:
        return self._own().audit_log

    def program(self, name: str) -> str:
        """How to start kubectl, helm or kubeconform."""
        return str(self.binaries / name) if self.binaries else name

    def environment(self) -> dict[str, str]:
        """The environment in which clients find this cluster, and tests find the programs."""
        path = os.environ.get("PATH", "")
        return os.environ | {
            "KUBECONFIG": str(self.kubeconfig),
            "PATH": f"{self.binaries}{os.pathsep}{path}" if self.binaries else path,
        }

    def kubectl(self, *arguments: str, stdin: str | None = None, timeout: float = 120) -> str:
        """What kubectl prints; raises when it fails."""
        command = (self.program("kubectl"), f"--kubeconfig={self.kubeconfig}", *arguments)
        return run(*command, stdin=stdin, timeout=timeout)

    def helm(self, *arguments: str, stdin: str | None = None, timeout: float = 300) -> str:
        """What helm prints; raises when it fails."""
        command = (self.program("helm"), f"--kubeconfig={self.kubeconfig}", *arguments)
        return run(*command, stdin=stdin, timeout=timeout)

    def apply(self, manifest: str, *arguments: str) -> str:
        """Apply YAML text."""
        return self.kubectl("apply", "-f", "-", *arguments, stdin=manifest)

    def load_image(self, image: str | Path) -> None:
        """Bring an image to the node: a name that our buildah knows, or an OCI archive."""
        images.load(image, self._own())

    def restart_api_server(self, *, kill: bool = True) -> None:
        """End the API server, by SIGKILL or politely, start it again and wait for it."""
        layout = self._own()
        with _lock(layout):
            if kill:
                processes.kill(processes.pids(layout.state, "kube-apiserver"))
            else:
                processes.end(layout.state, ["kube-apiserver"], patience=70)
            control_plane.start(layout)

    def stop_kubelet(self) -> None:
        """End the kubelet: to the control plane it is as if the node were lost."""
        processes.end(self._own().state, ["kubelet"])

    def start_kubelet(self) -> None:
        """Start the kubelet again, and wait until the node is ready and has its GPUs."""
        node.start_kubelet(self._own())

    def offer_gpus(self, count: int) -> None:
        """Let the node say that it has so many GPUs."""
        node.offer_gpus(self._own(), count)

    def _own(self) -> Layout:
        if self.layout is None:
            raise ClusterError(
                f"{self.kubeconfig} is not a cluster that make cluster-up started: "
                "its parts are not ours to touch"
            )
        return self.layout


def prepare(layout: Layout, say: Callable[[str], None]) -> None:
    """Install and build all that `up` needs, which may take a quarter of an hour once."""
    obstacle = packages.obstacle()
    if obstacle:
        raise ClusterError(obstacle)
    with _lock(layout):
        packages.install_missing(say)
        build_missing(say)


def up(layout: Layout, say: Callable[[str], None], *, keep: bool = False) -> Cluster:
    """Start whatever does not run. From nothing, it begins with no objects, unless told to keep
    those of last time."""
    obstacle = packages.obstacle()
    if obstacle:
        raise ClusterError(obstacle)
    with _lock(layout):
        packages.install_missing(say)
        build_missing(say)
        network.require_free(layout)
        fresh = not processes.pids(layout.state, "etcd")
        if fresh:
            _tear_down(layout)
            layout.make_folders()
            if not keep:
                shutil.rmtree(layout.etcd, ignore_errors=True)
            if not (keep and layout.kubeconfig.exists()):
                make_credentials(layout)
        layout.make_folders()
        network.start(layout)
        say("starting the control plane")
        control_plane.start(layout)
        control_plane.make_name_service(layout)
        say("starting the node")
        node.start_containerd(layout, forget=fresh)
        images.load_pause(layout)
        node.start_kube_proxy(layout)
        node.start_kubelet(layout)
        say("installing training-operator")
        training_operator.install(layout)
        training_operator.wait_until_ready(layout)
    return Cluster.own(layout)


def down(layout: Layout, *, purge: bool = False) -> None:
    """End all of it, also after a crash. Images stay for next time unless they are purged."""
    if not layout.state.exists() and not processes.own_processes(layout.state):
        return
    with _lock(layout):
        if network.owner() in (None, str(layout.state)):
            _tear_down(layout)
        builder = images.builder(layout)
        if builder is None:
            node.unmount_below(layout.image_store)
            images.remove_leftovers(layout)
        elif purge:
            raise ClusterError(f"process {builder} still builds an image in {layout.image_store}")
        if purge:
            shutil.rmtree(layout.state)
            _lock_file(layout).unlink()


def _tear_down(layout: Layout) -> None:
    """End processes and take away mounts, bridges, routes and tables, whatever is still there."""
    processes.end(layout.state, ["kubelet"])
    node.kill_containers(layout)
    for name in ("kube-proxy", *control_plane.PARTS):
        processes.end(layout.state, [name])
    processes.kill(process.pid for process in processes.own_processes(layout.state))
    node.remove_leftovers(layout)
    network.remove(layout)


def status(layout: Layout) -> tuple[bool, list[str]]:
    """Whether all is well, and a line for each part."""
    running = {process.name for process in processes.own_processes(layout.state)}
    lines = [f"{name:<24} {'runs' if name in running else 'does not run'}" for name in PARTS]
    if not running.issuperset(PARTS):
        return False, lines
    healthy = control_plane.is_ready(layout)
    lines.append(f"{'API server':<24} {'ready' if healthy else 'not ready'}")
    if healthy:
        ready, gpus = node.is_ready(layout), node.offered_gpus(layout)
        lines.append(f"{'node':<24} {'ready' if ready else 'not ready'}, {gpus} GPUs")
        healthy = ready and gpus > 0
    return healthy, lines


@contextmanager
def _lock(layout: Layout) -> Iterator[None]:
    """One `up` or `down` at a time."""
    layout.state.parent.mkdir(parents=True, exist_ok=True)
    with _lock_file(layout).open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _lock_file(layout: Layout) -> Path:
    return layout.state.with_name(f".{layout.state.name}.lock")
