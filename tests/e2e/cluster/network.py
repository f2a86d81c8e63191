"""The bridges, routes and packet filter of the cluster: nothing of it leaves the machine."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

from tests.e2e.cluster.commands import ClusterError, run, run_all, succeeds
from tests.e2e.cluster.layout import (
    BRIDGE,
    NODE_ADDRESS,
    POD_RANGE,
    SERVICE_BRIDGE,
    SERVICE_RANGE,
    Layout,
)

TABLE = "gpubench_cluster"
KUBE_PROXY_TABLES = (("ip", "kube-proxy"), ("ip6", "kube-proxy"))
SWITCHES = ("net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables")
"""What pods need to reach each other through services."""

# Pods reach this machine and each other; kube-proxy's rules may not lead anywhere else either.
PACKET_FILTER = f"""
table inet {TABLE} {{
    chain forward {{
        type filter hook forward priority filter; policy accept;
        iifname "{BRIDGE}" oifname != "{BRIDGE}" drop
        oifname "{BRIDGE}" iifname != "{BRIDGE}" drop
    }}
}}
"""


def owner() -> str | None:
    """The state folder of the cluster that has the bridge now."""
    if not succeeds("ip", "link", "show", BRIDGE):
        return None
    links = json.loads(run("ip", "-json", "link", "show", BRIDGE))
    return str(links[0].get("ifalias", ""))


def start(layout: Layout) -> None:
    """Make the bridges unless they are there."""
    if owner() == str(layout.state):
        return
    _keep_switches(layout)
    prefix = POD_RANGE.partition("/")[2]
    run_all(
        [
            ("ip", "link", "add", BRIDGE, "type", "bridge"),
            ("ip", "link", "set", BRIDGE, "alias", str(layout.state), "up"),
            ("ip", "address", "add", f"{NODE_ADDRESS}/{prefix}", "dev", BRIDGE),
            # Until kube-proxy knows a service, its packets end here, not at a router outside.
            # A blackhole route would refuse them before kube-proxy could rewrite them.
            ("ip", "link", "add", SERVICE_BRIDGE, "type", "bridge"),
            ("ip", "link", "set", SERVICE_BRIDGE, "up"),
            ("ip", "route", "add", SERVICE_RANGE, "dev", SERVICE_BRIDGE, "src", NODE_ADDRESS),
        ]
    )
    run("nft", "-f", "-", stdin=PACKET_FILTER)
    for switch in SWITCHES:
        with contextlib.suppress(FileNotFoundError):
            Path("/proc/sys", switch).write_text("1", encoding="utf-8")


def write_plugin_configuration(layout: Layout) -> Path:
    """How containerd connects a pod: the folder with the one network."""
    network = {
        "cniVersion": "1.0.0",
        "name": BRIDGE,
        "plugins": [
            {
                "type": "bridge",
                "bridge": BRIDGE,
                "isGateway": True,
                "hairpinMode": True,
                "ipam": {
                    "type": "host-local",
                    "dataDir": str(layout.network / "addresses"),
                    "ranges": [[{"subnet": POD_RANGE}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            }
        ],
    }
    folder = layout.network / "plugins"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gpubench.conflist").write_text(json.dumps(network, indent=2), encoding="utf-8")
    return folder


def remove(layout: Layout) -> None:
    """Take all of it away; the pods' ends of their cables went with their namespaces."""
    for link in (BRIDGE, SERVICE_BRIDGE):
        if succeeds("ip", "link", "show", link):
            run("ip", "link", "delete", link)
    for family, table in (("inet", TABLE), *KUBE_PROXY_TABLES):
        if succeeds("nft", "list", "table", family, table):
            run("nft", "delete", "table", family, table)
    for result in Path("/var/lib/cni/results").glob("*-*"):
        # Each names the network namespace of its pod, which lay in our folder.
        if f"{layout.state}/" in result.read_text(encoding="utf-8"):
            result.unlink()
    _restore_switches(layout)
    shutil.rmtree(layout.network, ignore_errors=True)


def _keep_switches(layout: Layout) -> None:
    kept = {}
    for switch in SWITCHES:
        with contextlib.suppress(FileNotFoundError):
            kept[switch] = Path("/proc/sys", switch).read_text(encoding="utf-8").strip()
    path = layout.configuration / "switches.json"
    if not path.exists():  # else a crash left it, and it holds what was before
        path.write_text(json.dumps(kept), encoding="utf-8")


def _restore_switches(layout: Layout) -> None:
    path = layout.configuration / "switches.json"
    if path.exists():
        for switch, value in json.loads(path.read_text(encoding="utf-8")).items():
            Path("/proc/sys", switch).write_text(value, encoding="utf-8")
        path.unlink()


def require_free(layout: Layout) -> None:
    """Refuse when another cluster of this kind runs on the machine."""
    has_it = owner()
    if has_it is not None and has_it != str(layout.state):
        raise ClusterError(
            f"the bridge {BRIDGE} belongs to the cluster in {has_it or 'an unknown folder'}: "
            f"take that one down first (GPUBENCH_CLUSTER_DIR={has_it} make cluster-down)"
        )
