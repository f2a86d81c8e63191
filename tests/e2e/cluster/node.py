"""The node: containerd, the kubelet and kube-proxy, and the GPUs it pretends to have."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from pathlib import Path
from urllib.request import urlopen

import yaml

from tests.e2e.cluster import network, processes
from tests.e2e.cluster.commands import run, succeeds, wait_until
from tests.e2e.cluster.control_plane import kubectl
from tests.e2e.cluster.credentials import kubeconfig_of
from tests.e2e.cluster.layout import (
    GPUS,
    NAME_SERVER_ADDRESS,
    NODE,
    NODE_ADDRESS,
    Layout,
)

PAUSE_IMAGE = "localhost/gpubench-pause:1"
PARTS = ("kubelet", "kube-proxy", "containerd")
SHIM = "containerd-shim-runc-v2"
KUBELET_HEALTH = "127.0.0.1:22248"


def start_containerd(layout: Layout, *, forget: bool) -> None:
    """Start containerd; if told so, without the containers that an earlier cluster left."""
    if not processes.pids(layout.state, "containerd"):
        _launch_containerd(layout)
        if forget and forget_containers(layout):
            # It read its books when it started: once more, with clean ones.
            processes.end(layout.state, ["containerd"])
            _launch_containerd(layout)


def ctr(layout: Layout) -> list[str]:
    """The beginning of a ctr command in the namespace of the kubelet."""
    return ["ctr", "--address", str(layout.containerd_socket), "--namespace", "k8s.io"]


def forget_containers(layout: Layout) -> int:
    """Strike containers without a process out of containerd's books; tell how many there were."""
    names = run(*ctr(layout), "containers", "list", "--quiet").split()
    for name in names:
        run(*ctr(layout), "containers", "delete", name)
    return len(names)


def _launch_containerd(layout: Layout) -> None:
    log = layout.logs / "containerd.log"
    configuration = _write_containerd_configuration(layout)
    processes.start(layout.state, log, ["containerd", "--config", configuration])

    def answers() -> bool:
        processes.must_live(layout.state, "containerd", log)
        return succeeds(*ctr(layout), "version", timeout=5)

    wait_until("containerd's answer", answers, timeout=60)


def start_kubelet(layout: Layout, *, timeout: float = 180) -> None:
    """Start the kubelet, wait until the node is ready, and give it its GPUs."""
    log = layout.logs / "kubelet.log"
    if not processes.pids(layout.state, "kubelet"):
        _make_control_group(layout)
        arguments = [
            f"--config={_write_kubelet_configuration(layout)}",
            f"--kubeconfig={kubeconfig_of(layout, 'kubelet')}",
            f"--hostname-override={NODE}",
            f"--node-ip={NODE_ADDRESS}",
            f"--root-dir={layout.kubelet}",
            f"--cert-dir={layout.kubelet / 'pki'}",
        ]
        processes.start(layout.state, log, [layout.binaries / "kubelet", *arguments])

    def ready() -> bool:
        processes.must_live(layout.state, "kubelet", log)
        # A node that was ready before counts as ready for a while: ask the kubelet, too.
        return _kubelet_answers() and is_ready(layout)

    wait_until(f"readiness of {NODE}", ready, timeout=timeout, interval=0.5)
    offer_gpus(layout)


def _kubelet_answers() -> bool:
    with contextlib.suppress(OSError), urlopen(f"http://{KUBELET_HEALTH}/healthz", timeout=5):
        return True
    return False


def is_ready(layout: Layout) -> bool:
    """Whether the node says that it takes pods."""
    path = '{.status.conditions[?(@.type=="Ready")].status}'
    node = ("get", "node", NODE, "--ignore-not-found", "-o", f"jsonpath={path}")
    return run(*kubectl(layout), *node).strip() == "True"


def offered_gpus(layout: Layout) -> int:
    """How many GPUs the node says pods can have."""
    path = r"{.status.allocatable.nvidia\.com/gpu}"
    text = run(*kubectl(layout), "get", "node", NODE, "-o", f"jsonpath={path}").strip()
    return int(text or 0)


def offer_gpus(layout: Layout, count: int = GPUS) -> None:
    """Make the node say that it has so many GPUs; pods that ask for them run on processors."""
    patch = [
        {"op": "add", "path": f"/status/{where}/nvidia.com~1gpu", "value": str(count)}
        for where in ("capacity", "allocatable")
    ]
    arguments = ("patch", "node", NODE, "--subresource=status", "--type=json")
    run(*kubectl(layout), *arguments, f"--patch={json.dumps(patch)}")
    # The kubelet rounds off what it finds here at its next report; only then is it settled.
    wait_until("the node's GPUs", lambda: offered_gpus(layout) == count, timeout=60)


def start_kube_proxy(layout: Layout) -> None:
    """Start what makes services' addresses work."""
    if processes.pids(layout.state, "kube-proxy"):
        return
    arguments = [
        f"--kubeconfig={kubeconfig_of(layout, 'kube-proxy')}",
        f"--hostname-override={NODE}",
        "--proxy-mode=nftables",
        "--healthz-bind-address=127.0.0.1:22256",
        "--metrics-bind-address=127.0.0.1:22249",
        # The machine's own settings for connections stay as they are.
        "--conntrack-max-per-core=0",
        "--conntrack-tcp-timeout-established=0",
        "--conntrack-tcp-timeout-close-wait=0",
    ]
    log = layout.logs / "kube-proxy.log"
    processes.start(layout.state, log, [layout.binaries / "kube-proxy", *arguments])


def _write_containerd_configuration(layout: Layout) -> Path:
    text = f"""
version = 2
root = "{layout.containerd}/root"
state = "{layout.containerd}/state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt"]

[grpc]
  address = "{layout.containerd_socket}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  # Where this process may not lower the score, runc would die without a word.
  restrict_oom_score_adj = true
  # Below our own folder, so that nothing stays mounted that `down` does not find.
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{network.write_plugin_configuration(layout)}"

  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
      Root = "{layout.containerd}/runc"
"""
    path = layout.configuration / "containerd.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _write_kubelet_configuration(layout: Layout) -> Path:
    configuration = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": NODE_ADDRESS,
        "readOnlyPort": 0,
        "healthzBindAddress": KUBELET_HEALTH.partition(":")[0],
        "healthzPort": int(KUBELET_HEALTH.partition(":")[2]),
        "tlsCertFile": str(layout.credentials / "kubelet.crt"),
        "tlsPrivateKeyFile": str(layout.credentials / "kubelet.key"),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(layout.credentials / "authority.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{layout.containerd_socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{layout.control_group}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        # Its old packet filter rules guard against what kube-proxy no longer does.
        "makeIPTablesUtilChains": False,
        # The machine is shared: its disk may be full, and no image may vanish.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "podLogsDir": str(layout.logs / "pods"),
        "clusterDNS": [NAME_SERVER_ADDRESS],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
    }
    path = layout.configuration / "kubelet.yaml"
    path.write_text(yaml.safe_dump(configuration, sort_keys=False), encoding="utf-8")
    return path


def _control_groups(layout: Layout) -> list[Path]:
    """Our group in each hierarchy; both versions of control groups."""
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        return [root / layout.control_group]
    return [folder / layout.control_group for folder in root.iterdir() if folder.is_dir()]


def _make_control_group(layout: Layout) -> None:
    for group in _control_groups(layout):
        with contextlib.suppress(OSError):  # a hierarchy that this machine does not let us use
            group.mkdir(exist_ok=True)


def kill_containers(layout: Layout) -> None:
    """Kill all that runs in pods, whoever still knows of it, and the shims around it."""
    processes.end(layout.state, ["containerd"], patience=2)

    def gone() -> bool:
        folders = _control_group_folders(layout)
        inside = _processes_inside(folders)
        for pid in inside:
            processes.signal_process(pid, signal.SIGKILL)
        for folder in folders:
            with contextlib.suppress(OSError):  # still in use, or gone by itself
                folder.rmdir()
        return not inside and not _control_group_folders(layout)

    wait_until("end of all containers", gone, timeout=60)
    processes.end(layout.state, [SHIM, "runc"], patience=1)


def _control_group_folders(layout: Layout) -> list[Path]:
    """Our groups and those in them, the innermost first; they come and go while we look."""
    return [
        Path(folder)
        for group in _control_groups(layout)
        for folder, _, _ in os.walk(group, topdown=False)
    ]


def _processes_inside(folders: list[Path]) -> set[int]:
    found: set[int] = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            found |= {int(pid) for pid in (folder / "cgroup.procs").read_text("utf-8").split()}
    return found


def unmount_below(folder: Path) -> None:
    """Unmount all that is mounted on a folder or below it, the innermost first."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text("utf-8").splitlines()]
    for mount in reversed([path for path in mounts if Path(path).is_relative_to(folder)]):
        run("umount", "--lazy", mount)


def remove_leftovers(layout: Layout) -> None:
    """Unmount and remove what holds only for one life of the node."""
    prefix = f"{layout.state}/"
    for folder in (layout.kubelet, layout.containerd):
        unmount_below(folder)
    for folder in (layout.kubelet, layout.containerd / "state", layout.containerd / "runc"):
        shutil.rmtree(folder, ignore_errors=True)
    layout.containerd_socket.unlink(missing_ok=True)
    for link in Path("/var/log/containers").glob("*.log"):
        if str(link.readlink()).startswith(prefix):
            link.unlink()
    # The kubelet keeps its socket for device plugins in a place that cannot be chosen.
    plugins = Path("/var/lib/kubelet/device-plugins")
    for name in ("kubelet.sock", "kubelet_internal_checkpoint", "DEPRECATION"):
        (plugins / name).unlink(missing_ok=True)
    for folder in (plugins, plugins.parent, Path("/var/log/containers")):
        with contextlib.suppress(OSError):  # not empty: somebody else's
            folder.rmdir()
