"""etcd, the API server, the controller manager and the scheduler."""

from __future__ import annotations

import yaml

from tests.e2e.cluster import processes
from tests.e2e.cluster.commands import run, succeeds, wait_until
from tests.e2e.cluster.credentials import kubeconfig_of
from tests.e2e.cluster.layout import (
    ETCD,
    ETCD_PEERS,
    NAME_SERVER_ADDRESS,
    NODE_ADDRESS,
    SERVICE_RANGE,
    Layout,
)

PARTS = ("kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd")
"""In the order in which they are ended."""


def start(layout: Layout) -> None:
    """Start what does not run, and wait until the API server answers."""
    _write_audit_policy(layout)
    for name, command in commands(layout).items():
        if not processes.pids(layout.state, name):
            start_part(layout, name, command)
        if name == "kube-apiserver":
            wait_until_ready(layout)


def start_part(layout: Layout, name: str, arguments: list[str]) -> None:
    """Start one program of the control plane."""
    log = layout.logs / f"{name}.log"
    processes.start(layout.state, log, [layout.binaries / name, *arguments])


def wait_until_ready(layout: Layout) -> None:
    """Wait until the API server says that all its parts work."""

    def ready() -> bool:
        for name in ("etcd", "kube-apiserver"):
            processes.must_live(layout.state, name, layout.logs / f"{name}.log")
        return is_ready(layout)

    wait_until("the API server's readiness", ready, timeout=180)
    run(*kubectl(layout), "get", "namespace", "default")


def make_name_service(layout: Layout) -> None:
    """A service without a server where pods look for names, so that each lookup fails at once.

    Nothing here needs names, and nothing may be asked outside; without this each pod would get
    a warning as an event, and programs that look up a name would wait for seconds.
    """
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kube-dns", "namespace": "kube-system"},
        "spec": {
            "clusterIP": NAME_SERVER_ADDRESS,
            "ports": [
                {"name": "dns", "port": 53, "protocol": "UDP"},
                {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
            ],
        },
    }
    apply = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    run(*kubectl(layout), *apply, stdin=yaml.safe_dump(service))


def is_ready(layout: Layout) -> bool:
    """Whether the API server answers that it is ready."""
    return succeeds(*kubectl(layout), "get", "--raw=/readyz", "--request-timeout=5s")


def kubectl(layout: Layout) -> list[str]:
    """The beginning of a kubectl command, as the administrator."""
    return [str(layout.binaries / "kubectl"), f"--kubeconfig={layout.kubeconfig}"]


def commands(layout: Layout) -> dict[str, list[str]]:
    """The programs and their arguments, in the order in which they are started."""
    return {
        "etcd": _etcd(layout),
        "kube-apiserver": _api_server(layout),
        "kube-controller-manager": _controller_manager(layout),
        "kube-scheduler": _scheduler(layout),
    }


def _etcd(layout: Layout) -> list[str]:
    return [
        f"--data-dir={layout.etcd}",
        # A machine that loses power may lose a test cluster.
        "--unsafe-no-fsync",
        f"--listen-client-urls={ETCD}",
        f"--advertise-client-urls={ETCD}",
        f"--listen-peer-urls={ETCD_PEERS}",
        f"--initial-advertise-peer-urls={ETCD_PEERS}",
        f"--initial-cluster=default={ETCD_PEERS}",
        "--log-level=warn",
    ]


def _api_server(layout: Layout) -> list[str]:
    folder = layout.credentials
    return [
        f"--etcd-servers={ETCD}",
        # Only this machine and its pods can reach the address of the bridge.
        f"--bind-address={NODE_ADDRESS}",
        f"--advertise-address={NODE_ADDRESS}",
        "--secure-port=6443",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        f"--tls-cert-file={folder / 'api-server.crt'}",
        f"--tls-private-key-file={folder / 'api-server.key'}",
        f"--client-ca-file={folder / 'authority.crt'}",
        f"--kubelet-certificate-authority={folder / 'authority.crt'}",
        f"--kubelet-client-certificate={folder / 'kubelet-client.crt'}",
        f"--kubelet-client-key={folder / 'kubelet-client.key'}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--service-account-key-file={folder / 'service-accounts.key'}",
        f"--service-account-signing-key-file={folder / 'service-accounts.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged",
        f"--audit-policy-file={layout.configuration / 'audit-policy.yaml'}",
        f"--audit-log-path={layout.audit_log}",
        "--audit-log-maxsize=200",
        "--audit-log-maxbackup=3",
    ]


def _controller_manager(layout: Layout) -> list[str]:
    folder = layout.credentials
    return [
        f"--kubeconfig={kubeconfig_of(layout, 'kube-controller-manager')}",
        "--bind-address=127.0.0.1",
        "--secure-port=22257",
        "--leader-elect=false",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={folder / 'service-accounts.key'}",
        f"--root-ca-file={folder / 'authority.crt'}",
        f"--cluster-signing-cert-file={folder / 'authority.crt'}",
        f"--cluster-signing-key-file={folder / 'authority.key'}",
        # The default of 20 requests a second makes deleting thousands of objects slow.
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        # A quota on a kind whose CRD is new is counted at the next round; by default 5 minutes.
        "--resource-quota-sync-period=10s",
    ]


def _scheduler(layout: Layout) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig_of(layout, 'kube-scheduler')}",
        "--bind-address=127.0.0.1",
        "--secure-port=22259",
        "--leader-elect=false",
    ]


def _write_audit_policy(layout: Layout) -> None:
    """Who used which verb on what, without the cluster's own parts, which are most of it."""
    own = ["kube-controller-manager", "kube-proxy", "kube-scheduler", "apiserver"]
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "omitManagedFields": True,
        "rules": [
            {"level": "None", "users": [f"system:{name}" for name in own]},
            {
                "level": "None",
                "userGroups": ["system:nodes", "system:serviceaccounts:kube-system"],
            },
            {"level": "Metadata"},
        ],
    }
    path = layout.configuration / "audit-policy.yaml"
    path.write_text(yaml.safe_dump(policy, sort_keys=False), encoding="utf-8")
