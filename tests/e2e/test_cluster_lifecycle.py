"""Up and down, in a network and a mount table of its own beside the cluster of the other tests."""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster, ClusterError, processes
from tests.e2e.cluster.commands import run, wait_until
from tests.e2e.cluster.layout import Layout

# What a kubelet and containerd use whatever they are told: hidden from those of the other cluster.
SHARED = ("/run/containerd", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers")


ROOT = Path(__file__).parents[2]
FORWARDING = "/proc/sys/net/ipv4/ip_forward"


@dataclass
class Elsewhere:
    """A part of this machine that knows no network but its own."""

    pid: int
    layout: Layout

    def run(self, *command: str) -> str:
        enter = ("nsenter", "--target", str(self.pid), "--net", "--mount")
        settings = ("env", f"--chdir={ROOT}", f"GPUBENCH_CLUSTER_DIR={self.layout.state}")
        return run(*enter, *settings, *command, timeout=500)

    def cluster(self, *arguments: str) -> str:
        return self.run(sys.executable, "-m", "tests.e2e.cluster", *arguments)

    def kubectl(self, *arguments: str) -> str:
        kubectl = str(self.layout.binaries / "kubectl")
        return self.run(kubectl, f"--kubeconfig={self.layout.kubeconfig}", *arguments)

    def remains(self) -> list[str]:
        """Everything of a cluster that is still there."""
        state = str(self.layout.state)
        found = [process.name for process in processes.own_processes(self.layout.state)]
        found += [line for line in self.run("cat", "/proc/mounts").splitlines() if state in line]
        links = self.run("ip", "-oneline", "link").splitlines()
        found += [line for line in links if ": lo:" not in line]
        found += self.run("ip", "route").splitlines()
        found += self.run("nft", "list", "tables").splitlines()
        groups = Path("/sys/fs/cgroup").glob(f"**/{self.layout.control_group}")
        found += [str(group) for group in groups]
        found += [path for path in self.run("find", *SHARED).splitlines() if state in path]
        if self.run("cat", FORWARDING) != "0\n":
            found.append(FORWARDING)
        return found


@pytest.fixture
def elsewhere(own_cluster: Cluster) -> Iterator[Elsewhere]:
    assert own_cluster.layout is not None
    # pytest's own folders are too long for sockets.
    state = Path(tempfile.gettempdir(), f"gpubench-{secrets.token_hex(4)}")
    hide = " && ".join(f"mount -t tmpfs hidden {path}" for path in SHARED if Path(path).exists())
    script = f"ip link set lo up && {hide} && echo 0 > {FORWARDING} && echo && exec sleep 900"
    command = ["unshare", "--net", "--mount", "sh", "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        place = Elsewhere(holder.pid, Layout(state))
        try:
            yield place
            place.cluster("down", "--purge")
        finally:
            holder.kill()


def test_down_leaves_nothing_even_after_a_crash(elsewhere: Elsewhere) -> None:
    assert elsewhere.remains() == []
    elsewhere.cluster("up")
    elsewhere.cluster("status")
    elsewhere.kubectl("create", "namespace", "precious")
    state = elsewhere.layout.state
    running = processes.own_processes(state)
    assert {"etcd", "kubelet", "containerd"} <= {process.name for process in running}
    # The pod of training-operator and its shim stay behind, and nobody knows them any more.
    doomed = {"kubelet", "containerd", "kube-apiserver", "kube-controller-manager"}
    processes.kill(process.pid for process in running if process.name in doomed)
    wait_until("end of the killed", lambda: not processes.pids(state, "containerd"), timeout=5)
    with pytest.raises(ClusterError, match=r"kubelet +does not run"):
        elsewhere.cluster("status")

    elsewhere.cluster("down")
    assert elsewhere.remains() == []
    elsewhere.cluster("down")  # nothing to do is no error

    elsewhere.cluster("up", "--keep")
    assert elsewhere.kubectl("get", "namespace", "precious", "-o", "name").strip()


def test_up_mends_what_was_killed_and_keeps_the_rest(elsewhere: Elsewhere) -> None:
    elsewhere.cluster("up")
    elsewhere.kubectl("create", "namespace", "precious")
    state = elsewhere.layout.state
    before = {process.name: process.pid for process in processes.own_processes(state)}
    for name in ("kube-apiserver", "kubelet"):
        processes.signal_process(before[name], signal.SIGKILL)
    wait_until("end of the kubelet", lambda: not processes.pids(state, "kubelet"), timeout=5)
    elsewhere.cluster("up")
    after = {process.name: process.pid for process in processes.own_processes(state)}
    assert after["etcd"] == before["etcd"]
    assert after["kubelet"] != before["kubelet"]
    assert elsewhere.kubectl("get", "namespace", "precious", "-o", "name").strip()


def test_a_second_one_on_the_same_network_is_refused(own_cluster: Cluster) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = ("env", f"--chdir={ROOT}", f"GPUBENCH_CLUSTER_DIR={folder}")
        with pytest.raises(ClusterError, match="take that one down first"):
            run(*command, sys.executable, "-m", "tests.e2e.cluster", "up")
    assert own_cluster.kubectl("get", "--raw=/readyz") == "ok"


def test_a_folder_that_is_too_long_for_sockets_is_refused() -> None:
    folder = f"/tmp/{'long' * 20}"
    command = ("env", f"--chdir={ROOT}", f"GPUBENCH_CLUSTER_DIR={folder}")
    with pytest.raises(ClusterError, match=r"GPUBENCH_CLUSTER_DIR.* at most 70 characters"):
        run(*command, sys.executable, "-m", "tests.e2e.cluster", "up")
    assert not Path(folder).exists()
