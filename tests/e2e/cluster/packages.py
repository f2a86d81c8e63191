"""What comes from Debian."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.e2e.cluster.commands import ClusterError, run

PACKAGES = (
    "buildah",
    "conntrack",
    "containerd",
    "containernetworking-plugins",
    "debootstrap",
    "iproute2",
    "iptables",
    "nftables",
    "openssl",
    "runc",
)


def obstacle() -> str | None:
    """Why the cluster cannot run on this machine; None when it can."""
    if os.geteuid() != 0:
        return "the cluster needs root (network, mounts, control groups)"
    release = Path("/etc/os-release")
    text = release.read_text(encoding="utf-8") if release.exists() else ""
    if "ID=debian" not in text:
        return "the cluster needs Debian (its containerd, runc, buildah and CNI packages)"
    return None


def install_missing(say: Callable[[str], None]) -> None:
    """Install the packages that are not there."""
    missing = [name for name in PACKAGES if not _is_installed(name)]
    if not missing:
        return
    say(f"installing {', '.join(missing)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    run("apt-get", "update", "-q", environment=environment, timeout=300)
    run(
        *("apt-get", "install", "-y", "-q", "--no-install-recommends", *missing),
        environment=environment,
        timeout=900,
    )


def _is_installed(package: str) -> bool:
    try:
        return run("dpkg-query", "-W", "-f", "${Status}", package) == "install ok installed"
    except ClusterError:
        return False
